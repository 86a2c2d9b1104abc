/* data_sources.c: the options by which commands say how files are to be read. */
#include "tools/data_command.h"

#include <string.h>

int choice_of(const char *option, const char *word, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (!word || strcmp(word, words[i]) == 0) return i;
    const char *close = nearest_word(word, words, n);
    fail(EXIT_USAGE, NULL, "%s %s: there is no such choice%s%s; --help lists them", option, word,
         close ? "; did you mean " : "", close ? close : "");
}

int64_t whole_number(const char *option, const char *word, int64_t below, int64_t otherwise)
{
    int64_t n = otherwise;
    if (word && (!parse_count(word, &n) || n < 0 || n >= below))
        fail(EXIT_USAGE, NULL, "%s %s: expected a whole number, 0 or more", option, word);
    return n;
}

Source_options source_options(const Source_words *w, Bad_utf8 bad_utf8, int64_t bad_records)
{
    static const char *const splits[] = {
        [SPLIT_FILE] = "file", [SPLIT_BLANK] = "blank", [SPLIT_LINE] = "line", [SPLIT_WHOLE] = "whole"};
    static const char *const bad[] = {[UTF8_REPLACE] = "replace", [UTF8_STOP] = "stop", [UTF8_KEEP] = "keep"};
    Source_options o = {.text = w->text, .target = w->target, .bad_utf8 = bad_utf8};
    o.split = (Split_text)choice_of("--split", w->split, splits, SPLIT_WHOLE + 1);
    if (w->bad_utf8) o.bad_utf8 = (Bad_utf8)choice_of("--bad-utf8", w->bad_utf8, bad, UTF8_KEEP + 1);
    if (w->format && !parse_format(w->format, &o.format))
        fail(EXIT_USAGE, NULL, "--format %s: expected text, jsonl, csv, tsv or shard", w->format);
    o.bad_records = whole_number("--bad-records", w->bad_records, INT64_MAX, bad_records);
    return o;
}
