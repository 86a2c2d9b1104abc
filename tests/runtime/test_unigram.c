/* test_unigram.c: Unigram models: ids that Hugging Face's tokenizers and SentencePiece gave
 * (tests/reference/unigram.py), files that load again as the same, cuts that change nothing, damaged tables. */
#include "tokenizers.h"

#include <unistd.h>

static void check_line(Encoder *e, const char *name, const char *line)
{
    Ids ids = {0};
    json_t *all = json_loads(line, JSON_ALLOW_NUL, NULL), *text = json_object_get(all, "text"),
           *want = json_object_get(all, "ids"), *id;
    size_t i;
    encode_bytes(e, json_string_value(text), (int64_t)json_string_length(text), &ids);
    bool same = (size_t)ids.n == json_array_size(want);
    json_array_foreach(want, i, id) same = same && ids.at[i] == json_integer_value(id);
    expect(same, "%s: other ids: %s", name, line);
    json_decref(all);
    free_ids(&ids);
}

static Tokenizer *recorded_tokenizer(const char *name)
{
    char *folder = text_of("tests/reference/unigram/%s", name);
    Tokenizer *t = load_tokenizer(folder);
    free(folder);
    return t;
}

static void check_recorded_tokenizer(const char *name)
{
    char *path = text_of("tests/reference/unigram/%s/ids.jsonl", name), line[1 << 14];
    Tokenizer *t = recorded_tokenizer(name);
    Encoder *e = open_encoder(t);
    FILE *f = fopen(path, "r");
    int lines = 0;
    for (; f && fgets(line, sizeof line, f); lines++) check_line(e, name, line);
    expect(lines == 150, "%s: %d lines", path, lines);
    if (f) fclose(f);
    int64_t cuts = check_cuts(t, name);
    expect(cuts > 100, "%s: %lld cuts", name, (long long)cuts);
    expect(tokenizer_kind(t) == TOKEN_UNIGRAM && special_id(t, "</s>") >= 0 && token_of_text(t, " the") >= 0,
           "%s: its special token, its words", name);
    close_encoder(e);
    free_tokenizer(t);
    free(path);
}

/* With tokens of bytes all text comes back, but for U+2581, which is a blank in such files. */
static void check_bytes(void)
{
    static const char text[] = "  The king's \xe4\xb8\xad \xff\x80 \n\n\t<0x41> end \xe2\x96\x81";
    Tokenizer *t = recorded_tokenizer("never");
    Encoder *e = open_encoder(t);
    Ids ids = {0};
    int64_t n, want = (int64_t)strlen(text) - 3;
    encode_bytes(e, text, want, &ids);
    char *back = decoded(t, &ids, &n);
    expect(n == want && memcmp(back, text, (size_t)n) == 0, "bytes come back");
    ids.n = 0;
    encode_bytes(e, text + want, 3, &ids);
    expect(ids.n == 1 && ids.at[0] == token_of_text(t, " "), "U+2581 is a blank");
    free(back);
    free_ids(&ids);
    close_encoder(e);
    free_tokenizer(t);
}

int main(void)
{
    static const char *const names[] = {"always", "words", "never", "whole", "table"};
    random_numbers = rng_of(12);
    for (int i = 0; i < 5; i++) check_recorded_tokenizer(names[i]);
    check_bytes();
    return finish();
}
