/* data_token_cache.c: the ids of files' text, encoded once and kept: in a shard under the cache folder, whose name is
 * made of the hashes of text and tokenizer, so that it fits whoever asks again; or in memory, where there is no such
 * folder.
 *
 * The folder is $LATHE_CACHE, or else lathe/ in $XDG_CACHE_HOME or ~/.cache; LATHE_CACHE=off: none. */
#include "data_token.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 1024 };

/* From malloc; NULL: none. */
static char *cache_folder(void)
{
    const char *own = getenv("LATHE_CACHE"), *all = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *path = own && *own     ? text_of("%s", own)
                 : all && *all   ? text_of("%s/lathe", all)
                 : home && *home ? text_of("%s/.cache/lathe", home)
                                 : NULL;
    Fault fault = {0};
    if (path && strcmp(path, "off") != 0 && make_folders(path, &fault)) return path;
    clear_fault(&fault);
    free(path);
    return NULL;
}

static bool all_below(const Token_list *l, int64_t limit)
{
    for (int64_t i = 0; i < l->n; i++)
        if (list_id(l, i) >= limit) return false;
    return true;
}

/* False: not there, or not whole. */
static bool map_list(Token_list *l, const Tokenizer *t, const char *path)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool ok = fstat(fd, &about) == 0 && about.st_size >= HEAD_BYTES;
    void *map = ok ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (map == MAP_FAILED) return false;
    *l = (Token_list){.at = (char *)map + HEAD_BYTES};
    l->n = shard_ids(map, about.st_size, &l->size);
    if (l->n >= 0 && l->size == shard_id_size(t) && all_below(l, t->n)) return true;
    munmap(map, (size_t)about.st_size);
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

static bool make_shard(const Tokenizer *t, const Stretch *s, int n, const char *path)
{
    Fault fault = {0};
    char *aside = text_of("%s.%d.part", path, (int)getpid());
    Shard_out *out = open_shard_out(aside, shard_id_size(t), &fault);
    encode_stretches(t, s, n, take_into_shard, out);
    close_shard_out(out);
    bool ok = replace_file(aside, path, &fault);
    if (!ok) {
        note("%s %s; the text's tokens are kept in memory", fault.path, fault.text);
        unlink(aside);
    }
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
    if (path && (map_list(&l, t, path) || (make_shard(t, s, n, path) && map_list(&l, t, path)))) {
        free(folder);
        free(path);
        return l;
    }
    encode_stretches(t, s, n, take_into_memory, &ids);
    free(folder);
    free(path);
    return (Token_list){(char *)ids.at, ids.n, 4, sizeof *ids.at * (int64_t)ids.room};
}
