/* fuzz_shard.c: token shards with and without headers. */
#include "read_twice.h"

void fuzz_one(const char *path, const char *text, size_t n)
{
    (void)text;
    int size = n % 3 ? 2 : 4;
    read_twice(path,
               (Source_options){.format = FORMAT_SHARD,
                                .raw_id_size = size,
                                .separated = n % 2,
                                .separator = 2,
                                .ids_below = n % 5 ? 0 : 60000},
               n);
}
