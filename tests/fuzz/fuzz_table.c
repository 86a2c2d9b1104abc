/* fuzz_table.c: CSV and TSV: a column, or pairs. */
#include "read_twice.h"

void fuzz_one(const char *path, const char *text, size_t n)
{
    (void)text;
    read_twice(path, (Source_options){.format = n % 2 ? FORMAT_CSV : FORMAT_TSV, .bad_records = INT64_MAX}, n);
}
