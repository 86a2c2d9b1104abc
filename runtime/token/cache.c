/* cache.c: caches the ids of files' text: in a shard in the cache folder (base/cache.c), named by the hashes of text
 * and tokenizer; or in memory, if there is no such folder.  The shard's header has a checksum of its ids, in words that
 * other shards leave at zero. */
#include "base/cache.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 1024, SUM_AT = 16 };

/* The index of the first id beyond the tokenizer's; -1: none. */
static int64_t beyond(const Token_list *l, int64_t size)
{
    for (int64_t i = 0; i < l->n; i++)
        if (list_id(l, i) < 0 || list_id(l, i) >= size) return i;
    return -1;
}

/* The checksum shows that the ids were not changed; this also checks their range. */
static bool is_sound(const Token_list *l, const Tokenizer *t, uint64_t sum, const char *path)
{
    if (l->n < 0 || l->size != shard_id_size(t) || sum != hash_of(l->at, (size_t)(l->n * l->size))) return false;
    int64_t bad = beyond(l, tokenizer_size(t));
    if (bad >= 0)
        note("%s: token %lld has the id %d, and the tokenizer is %s; the text is encoded again", path, (long long)bad,
             (int)list_id(l, bad), tokenizer_words(t));
    return bad < 0;
}

/* The descriptor stays open, so the shard is in use until the program ends.  False: missing or damaged; a damaged one
 * is removed. */
static bool map_list(Token_list *l, const Tokenizer *t, const char *path)
{
    struct stat about;
    uint64_t sum;
    int fd = open_cached(path);
    bool ok = fd >= 0 && fstat(fd, &about) == 0 && about.st_size > HEAD_BYTES;
    char *map = ok ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (map != MAP_FAILED) {
        *l = (Token_list){.at = map + HEAD_BYTES};
        l->n = shard_ids(map, about.st_size, &l->size);
        memcpy(&sum, map + SUM_AT, sizeof sum);
        if (is_sound(l, t, sum, path)) return true;
        munmap(map, (size_t)about.st_size);
        (void)unlink(path);
    }
    if (fd >= 0) close(fd);
    return false;
}

/* ------------------------------------------------------------------ encoding */

static void take_into_shard(void *shard, const int32_t *id, int64_t n) { put_ids(shard, id, n); }

static void take_into_memory(void *ids, const int32_t *id, int64_t n)
{
    Ids *all = ids;
    need_ids(all, n);
    memcpy(all->at + all->n, id, sizeof *id * (size_t)n);
    all->n += n;
}

static void encode_stretches(const Tokenizer *t, const Stretch *s, int n, Take_ids *take, void *arg)
{
    for (int i = 0; i < n; i++) encode_text(t, s[i].name, s[i].at, s[i].bytes, take, arg);
}

static void put_sum(const char *path, Fault *f)
{
    struct stat about;
    int fd = f->path ? -1 : open(path, O_RDWR | O_CLOEXEC);
    bool ok = fd >= 0 && fstat(fd, &about) == 0 && about.st_size > HEAD_BYTES;
    char *map = ok ? mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (map != MAP_FAILED) {
        uint64_t sum = hash_of(map + HEAD_BYTES, (size_t)about.st_size - HEAD_BYTES);
        memcpy(map + SUM_AT, &sum, sizeof sum);
        munmap(map, (size_t)about.st_size);
    }
    if (map == MAP_FAILED || fsync(fd) != 0) set_fault(f, path, "written");
    if (fd >= 0) close(fd);
}

/* Maps the shard before renaming it: if it does not fit into the cache, it can still be used by this program. */
static bool make_shard(Token_list *l, const Tokenizer *t, const Stretch *s, int n, const char *path)
{
    Fault fault = {0};
    char *aside = text_of("%.*s.%d.part", (int)(strlen(path) - strlen(".bin")), path, (int)getpid());
    Shard_out *out = open_shard_out(aside, shard_id_size(t), &fault);
    int lock = open_cached(aside);
    encode_stretches(t, s, n, take_into_shard, out);
    close_shard_out(out);
    put_sum(aside, &fault);
    bool ok = !fault.path && map_list(l, t, aside);
    bool kept = keep_in_cache(aside, path, &fault);
    if (fault.path) note("%s %s; the text's tokens are not cached", fault.path, fault.text);
    else if (!kept)
        note("the text's tokens (%s) do not fit into the cache (LATHE_CACHE_LIMIT) and are not cached",
             grouped_text(l->n));
    if (lock >= 0) close(lock);
    clear_fault(&fault);
    free(aside);
    return ok;
}

Token_list list_tokens(const Tokenizer *t, const Stretch *s, int n, uint64_t hash)
{
    Token_list l = {0};
    Ids ids = {0};
    char *folder = cache_folder(), *path = NULL;
    if (folder)
        path = text_of("%s/tokens-%016llx-%016llx.bin", folder, (unsigned long long)hash,
                       (unsigned long long)tokenizer_hash(t));
    bool ok = path && (map_list(&l, t, path) || make_shard(&l, t, s, n, path));
    free(folder);
    free(path);
    if (ok) return l;
    encode_stretches(t, s, n, take_into_memory, &ids);
    return (Token_list){(char *)ids.at, ids.n, 4, sizeof *ids.at * (int64_t)ids.room};
}
