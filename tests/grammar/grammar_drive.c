/* grammar_drive.c: the room grammar/ for scripts: grammar_drive TOKENIZER; a line of JSON in, a line out.
 *
 *     {"gbnf": TEXT} or {"schema": VALUE}   the grammar of what follows: {"gbnf": its text} or {"error": words}
 *     {"texts": [TEXT…]}                    for each 0: refused, 1: it may go on, 2: it is whole
 *     {"ids": [ID…]}                        after these tokens: {"next": [ID…], "ends": BOOL, "us": microseconds of a
 * token}
 *     {"draw": SEED, "most": N}             N bytes at most that the grammar allows, at random: {"text": TEXT, "whole":
 * BOOL} */
#include "base/json_text.h"
#include "grammar/grammar.h"

#include <stdlib.h>
#include <string.h>

static Grammar *grammar;
static Constraint *constraint;
static int64_t size;

static json_t *read_grammar(const json_t *in)
{
    Grammar_fault f;
    const json_t *gbnf = json_object_get(in, "gbnf"), *schema = json_object_get(in, "schema");
    char *text = schema ? gbnf_of_schema(schema, &f) : strdup(json_string_value(gbnf));
    free_grammar(grammar);
    grammar = schema ? schema_grammar(schema, &f) : read_gbnf(text, (int64_t)strlen(text), &f);
    json_t *out = grammar ? json_pack("{s:s}", "gbnf", text)
                          : json_pack("{s:s, s:i, s:i}", "error", f.words, "line", f.line, "column", f.column);
    free(text);
    return out;
}

static json_t *read_texts(const json_t *texts)
{
    json_t *out = json_array();
    size_t i;
    const json_t *one;
    json_array_foreach(texts, i, one)
    {
        begin_constraint(constraint, grammar);
        bool good = follow_bytes(constraint, json_string_value(one), (int64_t)json_string_length(one));
        json_array_append_new(out, json_integer(constraint_fault(constraint) ? -1
                                                : good                       ? 1 + may_end_here(constraint)
                                                                             : 0));
    }
    return out;
}

static json_t *read_ids(const json_t *ids)
{
    bool any, good = true;
    size_t i;
    const json_t *one;
    double from = seconds_now();
    begin_constraint(constraint, grammar);
    const uint64_t *next = next_tokens(constraint, &any);
    json_array_foreach(ids, i, one)
    {
        good = good && take_token(constraint, (int32_t)json_integer_value(one));
        next = next_tokens(constraint, &any);
    }
    double took = (seconds_now() - from) / (double)(json_array_size(ids) + 1);
    json_t *list = json_array();
    for (int64_t k = 0; next && good && k < size; k++)
        if (next[k >> 6] >> (k & 63) & 1) json_array_append_new(list, json_integer(k));
    return json_pack("{s:o, s:b, s:f}", "next", list, "ends", may_end_here(constraint), "us", took * 1e6);
}

/* Bytes alone: a text of tokens is as good. */
static json_t *draw_text(const json_t *in)
{
    uint64_t seed = (uint64_t)json_integer_value(json_object_get(in, "draw")) * 2654435761u + 88172645463325252u;
    char text[4096];
    int64_t n = 0, most = json_integer_value(json_object_get(in, "most"));
    begin_constraint(constraint, grammar);
    for (bool any; n < most && n < (int64_t)sizeof text;) {
        const uint64_t *next = next_tokens(constraint, &any);
        int byte[256], bytes = 0;
        for (int b = 0; next && b < 256; b++)
            if (next[b >> 6] >> (b & 63) & 1) byte[bytes++] = b;
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        if (bytes == 0 || (may_end_here(constraint) && seed % 8 == 0)) break;
        text[n] = (char)byte[(seed >> 8) % (uint64_t)bytes];
        follow_bytes(constraint, text + n++, 1);
    }
    return json_pack("{s:o, s:b}", "text", text_json(text, (size_t)n), "whole", may_end_here(constraint));
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t room = 0;
    Tokenizer *k = argc > 1 ? load_tokenizer(argv[1]) : open_tokenizer(TOKEN_BYTES);
    if (argc < 2) limit_bytes(k, 256);
    size = tokenizer_size(k);
    double from = seconds_now();
    const Vocabulary *v = open_vocabulary(k);
    fprintf(stderr, "%lld tokens, %.1f ms, %.2f MB with one text\n", (long long)size, (seconds_now() - from) * 1e3,
            (double)constraint_bytes(v, 1) / 1e6);
    constraint = open_constraint(v);
    while (getline(&line, &room, stdin) > 0) {
        json_t *in = json_loads(line, JSON_DECODE_ANY, NULL), *out, *texts = json_object_get(in, "texts"),
               *ids = json_object_get(in, "ids");
        out = texts                         ? read_texts(texts)
              : ids                         ? read_ids(ids)
              : json_object_get(in, "draw") ? draw_text(in)
                                            : read_grammar(in);
        char *text = json_dumps(out, JSON_COMPACT | JSON_ENCODE_ANY);
        puts(text);
        fflush(stdout);
        free(text);
        json_decref(out);
        json_decref(in);
    }
    return 0;
}
