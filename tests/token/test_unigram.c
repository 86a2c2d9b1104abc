/* test_unigram.c: Unigram models: ids that Hugging Face's tokenizers and SentencePiece gave
 * (tests/reference/unigram.py), cuts that change nothing; learning: the same twice, the best of all ways to cut, saved
 * and loaded. */
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

/* ------------------------------------------------------------------ learning */

static const char *const parts[] = {"the ",   "king ",   "queen ", "walks ", "walked ", "walking ",     "and ",
                                    "talks ", "talked ", "a ",     "child ", "\n",      "\xe4\xb8\xad", ", "};

static char *some_text(int64_t *n)
{
    char *text = malloc(1 << 17), *to = text;
    for (int i = 0; i < 12000; i++) {
        const char *part = parts[draw(14)];
        memcpy(to, part, strlen(part));
        to += strlen(part);
    }
    *n = to - text;
    return text;
}

static Tokenizer *learnt(const char *text, int64_t n, int64_t size)
{
    Words special = {0};
    add_word(&special, "<|end|>");
    Learning l = {.kind = TOKEN_UNIGRAM, .size = size, .least = 2, .special = &special};
    Learner *s = open_learner(&l);
    learn_from(s, text, n);
    return close_learner(s);
}

/* The log probability of the best way to cut text, by trying all tokens at all places of its beginnings. */
static double best_score(const json_t *vocab, const char *text, int64_t n)
{
    double best[64] = {0};
    for (int64_t end = 1; end <= n; end++) {
        size_t i;
        json_t *piece;
        best[end] = -1e9;
        json_array_foreach(vocab, i, piece)
        {
            const json_t *token = json_array_get(piece, 0);
            int64_t bytes = (int64_t)json_string_length(token);
            if (i < 257 || bytes > end || memcmp(text + end - bytes, json_string_value(token), (size_t)bytes)) continue;
            double score = best[end - bytes] + json_real_value(json_array_get(piece, 1));
            if (score > best[end]) best[end] = score;
        }
    }
    return best[n];
}

/* Of letters that the text has, in other words. */
static void check_word(Encoder *e, const json_t *vocab)
{
    static const char letters[] = "thekingquwalsdc";
    char word[40] = " ";
    int64_t n = 1 + draw(30);
    for (int64_t i = 1; i < n; i++) word[i] = letters[draw(sizeof letters - 1)];
    Ids ids = {0};
    double score = 0, want = best_score(vocab, word, n);
    encode_bytes(e, word, n, &ids);
    for (int64_t i = 0; i < ids.n; i++)
        score += json_real_value(json_array_get(json_array_get(vocab, (size_t)ids.at[i]), 1));
    expect(score > want - 1e-9 && score < want + 1e-9, "\"%s\": %g, and %g is the best", word, score, want);
    free_ids(&ids);
}

static void check_best(const Tokenizer *t)
{
    char *text = tokenizer_text(t);
    json_t *all = json_loads(text, JSON_ALLOW_NUL, NULL), *model = json_object_get(all, "model");
    Encoder *e = open_encoder(t);
    for (int k = 0; k < 200; k++) check_word(e, json_object_get(model, "vocab"));
    close_encoder(e);
    json_decref(all);
    free(text);
}

static Tokenizer *saved_and_loaded(const Tokenizer *t)
{
    char *path = text_of("%s/tokenizer.json", temp_folder()), *saved = tokenizer_text(t);
    FILE *f = fopen(path, "w");
    expect(f && fputs(saved, f) >= 0 && fclose(f) == 0, "cannot write %s", path);
    free(saved);
    return load_tokenizer(path);
}

static void compare_ids(const Tokenizer *t, const Tokenizer *loaded, const char *text, int64_t n)
{
    Ids a = {0}, b = {0};
    Encoder *x = open_encoder(t), *y = open_encoder(loaded);
    encode_bytes(x, text, n, &a);
    encode_bytes(y, text, n, &b);
    expect(same_ids(&a, &b) && a.n > 0 && a.n < 15000, "saved and loaded: %lld ids", (long long)a.n);
    close_encoder(x);
    close_encoder(y);
    free_ids(&a);
    free_ids(&b);
}

static void check_learning(void)
{
    int64_t n;
    char *text = some_text(&n);
    Tokenizer *t = learnt(text, n, 300), *again = learnt(text, n, 300), *loaded = saved_and_loaded(t);
    expect(tokenizer_hash(t) == tokenizer_hash(again), "learnt twice");
    expect(tokenizer_size(t) <= 300 && special_id(t, "<|end|>") == tokenizer_size(t) - 1, "its size, its last token");
    expect(token_of_text(t, " the") > 0 && token_of_text(t, " queen") > 0 && token_of_text(t, "\xe4\xb8\xad") > 0,
           "its words");
    check_texts(t, "learnt", true);
    expect(check_cuts(t, "learnt") > 500, "cuts");
    check_best(t);
    compare_ids(t, loaded, text, n);
    free_tokenizer(t);
    free_tokenizer(again);
    free_tokenizer(loaded);
    free(text);
}

int main(void)
{
    static const char *const names[] = {"always", "words", "never", "whole", "table"};
    random_numbers = rng_of(12);
    for (int i = 0; i < 5; i++) check_recorded_tokenizer(names[i]);
    check_bytes();
    check_learning();
    return finish();
}
