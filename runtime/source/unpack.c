/* unpack.c: streams of gzip and zstd: any number of members or frames in sequence. */
#include "base/words.h"
#include "source/open.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>

#ifdef LATHE_WITH_ZLIB
#include <zlib.h>
#endif
#ifdef LATHE_WITH_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

struct Unpacker {
    Packed kind;
    bool inside;  /* a member or frame has begun and not ended */
    bool any;     /* a member or frame has ended */
    bool padding; /* gzip: zero bytes after the last member */
#ifdef LATHE_WITH_ZLIB
    z_stream gz;
#endif
#ifdef LATHE_WITH_ZSTD
    ZSTD_DStream *zst;
#endif
};

static const char cut_short[] = "ends in the middle of a compressed block: it was cut short; get it again";

/* ------------------------------------------------------------------ gzip */

#ifdef LATHE_WITH_ZLIB
enum { GZIP_ONLY = 16 };

static void start_gz(Unpacker *u)
{
    if (inflateInit2(&u->gz, GZIP_ONLY + MAX_WBITS) != Z_OK) fail(EXIT_ERROR, NULL, "out of memory for zlib");
}

/* Between members: only zero bytes may end a file (padding of tapes). */
static const char *next_member(Unpacker *u, Flow *flow)
{
    while (u->any && flow->in_bytes && *flow->in == 0) flow->in++, flow->in_bytes--, u->padding = true;
    if (!flow->in_bytes) return NULL;
    if (u->any && (u->padding || (unsigned char)*flow->in != 0x1f)) return "is followed by something that is not gzip";
    inflateReset(&u->gz);
    u->inside = true;
    return NULL;
}

static const char *inflate_some(Unpacker *u, Flow *flow)
{
    uInt most = 1u << 30; /* zlib counts in unsigned int */
    uInt in = flow->in_bytes < most ? (uInt)flow->in_bytes : most,
         out = flow->out_bytes < most ? (uInt)flow->out_bytes : most;
    u->gz.next_in = (Bytef *)(uintptr_t)flow->in, u->gz.avail_in = in;
    u->gz.next_out = (Bytef *)flow->out, u->gz.avail_out = out;
    int code = inflate(&u->gz, Z_NO_FLUSH);
    flow->in += in - u->gz.avail_in, flow->in_bytes -= in - u->gz.avail_in;
    flow->out += out - u->gz.avail_out, flow->out_bytes -= out - u->gz.avail_out;
    if (code == Z_STREAM_END) u->inside = false, u->any = true;
    else if (code != Z_OK && code != Z_BUF_ERROR) return u->gz.msg ? u->gz.msg : "is not gzip";
    return NULL;
}

static const char *unpack_gz(Unpacker *u, Flow *flow)
{
    const char *wrong = NULL;
    while (!wrong && flow->out_bytes > 0) {
        if (!u->inside) wrong = next_member(u, flow);
        if (wrong || !u->inside) break;
        int64_t out = flow->out_bytes;
        wrong = inflate_some(u, flow);
        if (!wrong && u->inside && !flow->in_bytes && flow->out_bytes == out) {
            if (flow->in_ended) return cut_short;
            break;
        }
    }
    return wrong;
}
#endif

/* ------------------------------------------------------------------ zstd */

#ifdef LATHE_WITH_ZSTD
static void start_zst(Unpacker *u)
{
    u->zst = ZSTD_createDStream();
    if (!u->zst) fail(EXIT_ERROR, NULL, "out of memory for zstd");
}

static const char *zst_error(size_t code)
{
    if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge)
        return "is packed with a window of more than 128 MB, which would have to be in memory; pack it again without "
               "--long";
    return ZSTD_getErrorName(code);
}

static const char *unpack_zst(Unpacker *u, Flow *flow)
{
    while (flow->out_bytes > 0 && (flow->in_bytes > 0 || u->inside)) {
        ZSTD_inBuffer in = {flow->in, (size_t)flow->in_bytes, 0};
        ZSTD_outBuffer out = {flow->out, (size_t)flow->out_bytes, 0};
        size_t code = ZSTD_decompressStream(u->zst, &out, &in);
        flow->in += in.pos, flow->in_bytes -= (int64_t)in.pos;
        flow->out += out.pos, flow->out_bytes -= (int64_t)out.pos;
        if (ZSTD_isError(code)) return zst_error(code);
        u->inside = code != 0;
        if (u->inside && !flow->in_bytes && !out.pos) return flow->in_ended ? cut_short : NULL;
    }
    return NULL;
}
#endif

/* ------------------------------------------------------------------ either */

static _Noreturn void lacks(const char *path, const char *what, const char *library, const char *package)
{
    fail(EXIT_DATA, path,
         "is compressed by %s, and this program was built without %s; unpack it, or install %s and build again", what,
         library, package);
}

Unpacker *open_unpacker(Packed kind, const char *path)
{
    Unpacker *u = must_alloc(sizeof *u);
    u->kind = kind;
#ifdef LATHE_WITH_ZLIB
    if (kind == PACKED_GZ) return start_gz(u), u;
#endif
#ifdef LATHE_WITH_ZSTD
    if (kind == PACKED_ZST) return start_zst(u), u;
#endif
    if (kind == PACKED_GZ) lacks(path, "gzip", "zlib", "zlib1g-dev");
    lacks(path, "zstd", "libzstd", "libzstd-dev");
}

void close_unpacker(Unpacker *u)
{
    if (!u) return;
#ifdef LATHE_WITH_ZLIB
    if (u->kind == PACKED_GZ) inflateEnd(&u->gz);
#endif
#ifdef LATHE_WITH_ZSTD
    if (u->kind == PACKED_ZST) ZSTD_freeDStream(u->zst);
#endif
    free(u);
}

const char *unpack(Unpacker *u, Flow *flow)
{
#ifdef LATHE_WITH_ZLIB
    if (u->kind == PACKED_GZ) return unpack_gz(u, flow);
#endif
#ifdef LATHE_WITH_ZSTD
    if (u->kind == PACKED_ZST) return unpack_zst(u, flow);
#endif
    (void)u, (void)flow, (void)cut_short;
    return "";
}

/* zlib: 32 KB of window and tables; zstd reports its memory, with the file's window. */
int64_t unpacker_heap(const Unpacker *u)
{
#ifdef LATHE_WITH_ZSTD
    if (u && u->kind == PACKED_ZST) return (int64_t)ZSTD_sizeof_DStream(u->zst);
#endif
    return u ? 48 << 10 : 0;
}
