/* fuzz_jsonl.c: JSON lines: text, pairs, or either; what is taken as an object, jansson takes too. */
#include "read_twice.h"

#include <string.h>

/* A line that the reader takes is JSON to jansson, unless it is only its limits that are passed. */
static void compare_line(const char *path, const char *line, size_t n)
{
    FILE *f = fopen(path, "wb");
    bug_if(!f || fwrite(line, 1, n, f) != n || fclose(f) != 0);
    Words paths = {0};
    Document d;
    add_word(&paths, path);
    Sources *s =
        open_sources(&paths, &(Source_options){.format = FORMAT_JSONL, .bad_records = INT64_MAX, .text = "text"});
    Reader *r = open_reader(s, 1 << 20, NULL, NULL);
    reader_file(r, 0, NULL);
    bool got = next_document(r, &d);
    json_error_t why;
    json_t *all = json_loadb(line, n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &why);
    const json_t *text = json_object_get(all, "text");
    if (got && json_is_string(text))
        bug_if(json_string_length(text) != (size_t)d.bytes ||
               memcmp(json_string_value(text), d.text, (size_t)d.bytes) != 0);
    if (!got && json_is_string(text)) bug_if(json_string_length(text) > 0);
    json_decref(all);
    close_reader(r);
    close_sources(s);
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    read_twice(path, (Source_options){.format = FORMAT_JSONL, .bad_records = INT64_MAX}, n);
    read_twice(
        path,
        (Source_options){.format = FORMAT_JSONL, .bad_records = INT64_MAX, .text = "a", .target = "b", .join = ""}, n);
    if (!memchr(text, '\n', n)) compare_line(path, text, n);
}
