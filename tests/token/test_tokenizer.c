/* test_tokenizer.c: tokenizers against what GPT-2's own gives, against slow and obvious merging and learning written
 * here, and against themselves: ids decode to the text, files load again as the same, cuts change nothing. */
#include "base/hash.h"
#include "tokenizers.h"

#include <string.h>
#include <unistd.h>

static const char *folder, *data; /* scratch; texts */

/* ------------------------------------------------------------------ helpers */

static char *write_scratch(const char *name, const char *text, size_t n)
{
    char *path = text_of("%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    expect(f && fwrite(text, 1, n, f) == n && fclose(f) == 0, "cannot write %s", path);
    return path;
}

/* ------------------------------------------------------------------ what GPT-2 gives */

static void check_golden(const Tokenizer *t)
{
    char *path = text_of("%s/gpt2-bpe/golden.jsonl", data), line[1 << 16];
    FILE *f = fopen(path, "r");
    Encoder *e = open_encoder(t);
    Ids ids = {0};
    int lines = 0;
    while (f && fgets(line, sizeof line, f)) {
        json_t *all = json_loads(line, 0, NULL), *text = json_object_get(all, "text"), *id;
        size_t i;
        ids.n = 0;
        encode_bytes(e, json_string_value(text), (int64_t)json_string_length(text), &ids);
        expect((size_t)ids.n == json_array_size(json_object_get(all, "ids")), "%s: %lld ids", line, (long long)ids.n);
        json_array_foreach(json_object_get(all, "ids"), i, id)
            expect((int64_t)i < ids.n && ids.at[i] == json_integer_value(id), "%s: id %zu", line, i);
        json_decref(all);
        lines++;
    }
    expect(lines > 0, "nothing in %s", path);
    if (f) fclose(f);
    close_encoder(e);
    free_ids(&ids);
}

/* ------------------------------------------------------------------ files */

/* The text of a tokenizer.json loads as what gives the same ids, and the same text. */
static void check_again(const Tokenizer *t, const char *name)
{
    char *text = tokenizer_text(t), *path = write_scratch("tokenizer.json", text, strlen(text)),
         *draft = malloc(4 * 300);
    Tokenizer *again = load_tokenizer(path);
    Encoder *a = open_encoder(t), *b = open_encoder(again);
    Ids x = {0}, y = {0};
    expect(tokenizer_size(again) == tokenizer_size(t), "%s: %lld ids loaded, %lld saved", name,
           (long long)tokenizer_size(again), (long long)tokenizer_size(t));
    expect(tokenizer_hash(again) == hash_of(text, strlen(text)), "%s: another text", name);
    for (int k = 0; k < 200; k++) {
        int64_t n = draw_text(draft, 1 + draw(200));
        x.n = y.n = 0;
        encode_bytes(a, draft, n, &x);
        encode_bytes(b, draft, n, &y);
        expect(same_ids(&x, &y), "%s: other ids of text %d when loaded again", name, k);
    }
    close_encoder(a);
    close_encoder(b);
    free_tokenizer(again);
    free_ids(&x);
    free_ids(&y);
    free(draft);
    free(text);
}

/* ------------------------------------------------------------------ slow and obvious */

enum { LETTERS = 4, TOKENS = 40 };

typedef struct Slow { /* a BPE over LETTERS letters */
    char text[TOKENS][64];
    int left[TOKENS], right[TOKENS], n; /* token k is made by merge k - LETTERS */
} Slow;

static int slow_find(const Slow *s, const char *text)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->text[i], text) == 0) return i;
    return -1;
}

static Slow drawn_merges(void)
{
    Slow s = {.n = LETTERS};
    for (int i = 0; i < LETTERS; i++) s.text[i][0] = (char)('a' + i);
    for (int tries = 0; s.n < TOKENS && tries < 1000; tries++) {
        char both[128];
        int a = (int)draw((uint32_t)s.n), b = (int)draw((uint32_t)s.n);
        snprintf(both, sizeof both, "%s%s", s.text[a], s.text[b]);
        if (strlen(both) > 20 || slow_find(&s, both) >= 0) continue;
        strcpy(s.text[s.n], both);
        s.left[s.n] = a;
        s.right[s.n++] = b;
    }
    return s;
}

static int64_t slow_encode(const Slow *s, const char *text, int *id)
{
    int64_t n = 0;
    for (; text[n]; n++) id[n] = text[n] - 'a';
    for (;;) {
        int64_t best = -1, rank = TOKENS;
        for (int64_t i = 0; i + 1 < n; i++)
            for (int k = LETTERS; k < s->n; k++)
                if (s->left[k] == id[i] && s->right[k] == id[i + 1] && k < rank) best = i, rank = k;
        if (best < 0) return n;
        id[best] = (int)rank;
        memmove(id + best + 1, id + best + 2, sizeof *id * (size_t)(n - best - 2));
        n--;
    }
}

static Tokenizer *loaded_slow(const Slow *s)
{
    json_t *vocab = json_object(), *merges = json_array();
    for (int i = 0; i < s->n; i++) json_object_set_new(vocab, s->text[i], json_integer(i));
    for (int i = LETTERS; i < s->n; i++)
        json_array_append_new(merges, json_sprintf("%s %s", s->text[s->left[i]], s->text[s->right[i]]));
    json_t *all = json_pack("{s:{s:s, s:b, s:b}, s:{s:s, s:o, s:o}}", "pre_tokenizer", "type", "ByteLevel", "use_regex",
                            0, "add_prefix_space", 0, "model", "type", "BPE", "vocab", vocab, "merges", merges);
    char *text = json_dumps(all, 0);
    Tokenizer *t = load_tokenizer(write_scratch("tokenizer.json", text, strlen(text)));
    json_decref(all);
    free(text);
    return t;
}

/* Pieces on both sides of the length from which a heap is used. */
static void check_merging(void)
{
    for (int k = 0; k < 60; k++) {
        Slow s = drawn_merges();
        Tokenizer *t = loaded_slow(&s);
        Encoder *e = open_encoder(t);
        Ids ids = {0};
        for (int j = 0; j < 40; j++) {
            char text[301] = "";
            int want[300], length = 1 + (int)draw(j % 2 ? 30 : 300), letters = 1 + (int)draw(LETTERS);
            for (int i = 0; i < length; i++) text[i] = (char)('a' + (int)draw((uint32_t)letters));
            int64_t n = slow_encode(&s, text, want);
            ids.n = 0;
            encode_bytes(e, text, length, &ids);
            bool same = ids.n == n;
            for (int64_t i = 0; same && i < n; i++) same = ids.at[i] == want[i];
            expect(same, "merging %s gives other tokens", text);
        }
        free_ids(&ids);
        close_encoder(e);
        free_tokenizer(t);
    }
}

/* Words of letters with a blank before each; after each merge all pairs are counted anew. */
static void check_learning(void)
{
    enum { WORDS = 60, MOST = 12 };
    static int word[WORDS][MOST], length[WORDS], count[WORDS];
    char text[WORDS * MOST * 40], *to = text;
    for (int i = 0; i < WORDS; i++) {
        length[i] = 2 + (int)draw(MOST - 2);
        count[i] = 1 + (int)draw(3);
        word[i][0] = ' ';
        for (int k = 1; k < length[i]; k++) word[i][k] = 'a' + (int)draw(3);
        for (int c = 0; c < count[i]; c++)
            for (int k = 0; k < length[i]; k++) *to++ = (char)word[i][k];
    }
    Learner *learner = open_learner(&(Learning){.kind = TOKEN_BPE, .size = 300, .least = 2});
    learn_from(learner, text, to - text);
    Tokenizer *t = close_learner(learner);
    json_t *all = json_loads(tokenizer_text(t), 0, NULL),
           *merges = json_object_get(json_object_get(all, "model"), "merges");
    json_t *vocab = json_object_get(json_object_get(all, "model"), "vocab");
    for (size_t m = 0; m < json_array_size(merges); m++) {
        static int pairs[400][400];
        const char *pair = json_string_value(json_array_get(merges, m)), *space = strchr(pair, ' ');
        char left[64], both[64], name[8];
        snprintf(left, sizeof left, "%.*s", (int)(space - pair), pair);
        snprintf(both, sizeof both, "%s%s", left, space + 1);
        int a = (int)json_integer_value(json_object_get(vocab, left));
        int b = (int)json_integer_value(json_object_get(vocab, space + 1));
        int made = (int)json_integer_value(json_object_get(vocab, both)), most = 0;
        memset(pairs, 0, sizeof pairs);
        for (int i = 0; m == 0 && i < WORDS; i++)
            for (int k = 0; k < length[i]; k++) {
                name[0] = (char)word[i][k], name[1] = 0;
                word[i][k] = (int)json_integer_value(json_object_get(vocab, word[i][k] == ' ' ? "\xc4\xa0" : name));
            }
        for (int i = 0; i < WORDS; i++)
            for (int k = 0; k + 1 < length[i]; k++) pairs[word[i][k]][word[i][k + 1]] += count[i];
        for (int i = 0; i < 400; i++)
            for (int k = 0; k < 400; k++)
                if (pairs[i][k] > most) most = pairs[i][k];
        /* Runs of a letter count their overlapping pairs when they are first seen, so a count may lag behind there. */
        expect(pairs[a][b] * 2 >= most && pairs[a][b] >= 1, "merge %zu, %s, occurs %d times, another %d", m, pair,
               pairs[a][b], most);
        for (int i = 0; i < WORDS; i++) {
            int kept = 0;
            for (int k = 0; k < length[i]; k++) {
                bool here = k + 1 < length[i] && word[i][k] == a && word[i][k + 1] == b;
                word[i][kept++] = here ? made : word[i][k];
                k += here;
            }
            length[i] = kept;
        }
    }
    expect(json_array_size(merges) == 300 - 256, "%zu merges learnt", json_array_size(merges));
    json_decref(all);
    free_tokenizer(t);
}

/* ------------------------------------------------------------------ kinds */

static const char lines[] =
    "The cat sat on the mat, and the dog didn't.  \"We'll see,\" said the cat;\n\n  \tthe dog's answer: 12345 barks\r\n"
    "of the loudest kind \xe2\x80\x94 na\xc3\xafve caf\xc3\xa9s \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e "
    "closed.\n<|end|>the end of the dog, the cat and the mat.\n";

static Tokenizer *learnt(Learning l)
{
    static const char *const special[] = {"<|end|>", "<|end|>2", "<x>"};
    Words all = {(const char **)special, 3};
    if (l.kind == TOKEN_BPE || l.kind == TOKEN_WORDS) l.special = &all;
    Learner *s = open_learner(&l);
    for (int i = 0; i < 20; i++) learn_from(s, lines, (int64_t)strlen(lines));
    return close_learner(s);
}

static void check_bpe(void)
{
    static const char *const patterns[] = {"gpt2", "gpt4", "llama3", "qwen2", "o200k"};
    for (int i = 0; i < 5; i++) {
        Tokenizer *t = learnt((Learning){.kind = TOKEN_BPE, .size = 330, .least = 2, .pattern = patterns[i]});
        expect(special_id(t, "<|end|>") == tokenizer_size(t) - 3, "%s: special tokens come last", patterns[i]);
        check_texts(t, patterns[i], false);
        check_texts(t, "invalid bytes", true);
        expect(check_cuts(t, patterns[i]) > 300, "%s: few texts can be cut", patterns[i]);
        check_again(t, patterns[i]);
        free_tokenizer(t);
    }
    Tokenizer *own = learnt((Learning){.kind = TOKEN_BPE, .size = 330, .least = 2, .pattern = "[a-z]+|\\s+|\\p{L}+"});
    check_texts(own, "an expression of its own", true);
    check_again(own, "an expression of its own");
    check_cuts(own, "an expression of its own");
    free_tokenizer(own);
}

static void check_words(void)
{
    Tokenizer *t = learnt((Learning){.kind = TOKEN_WORDS, .least = 1, .lower = true, .punctuation = true});
    Encoder *e = open_encoder(t);
    Ids ids = {0};
    int64_t n;
    const char text[] = "The  DOG\xc2\xa0sat,NAÏVE zebra <unk>cat<|end|>";
    encode_bytes(e, text, (int64_t)strlen(text), &ids);
    char *back = decoded(t, &ids, &n);
    const char want[] = "the dog sat , naïve <unk> <unk> cat <|end|> ";
    expect(n == (int64_t)strlen(want) && memcmp(back, want, strlen(want)) == 0, "words: %.*s", (int)n, back);
    expect(special_id(t, "<unk>") == 0 && special_id(t, "<x>") == 3, "words: special ids");
    expect(ids.at[0] == 4, "words: the most frequent comes first");
    expect(check_cuts(t, "words") > 300, "words: few texts can be cut");
    check_again(t, "words");
    close_encoder(e);
    free_ids(&ids);
    free_tokenizer(t);
}

static void check_characters(void)
{
    Tokenizer *t = learnt((Learning){.kind = TOKEN_CHARS}), *b = learnt((Learning){.kind = TOKEN_BYTES});
    Encoder *e = open_encoder(t);
    Ids ids = {0};
    int64_t n;
    encode_bytes(e, lines, (int64_t)strlen(lines), &ids);
    char *back = decoded(t, &ids, &n);
    expect(n == (int64_t)strlen(lines) && memcmp(back, lines, (size_t)n) == 0, "characters come back");
    expect(safe_cut(e, "na\xc3\xaf", 3) == 2 && safe_cut(e, "na\xc3\xaf", 4) == 4 && safe_cut(e, "\xe6\x97", 2) == 0,
           "characters are cut in two");
    check_texts(b, "bytes", true);
    check_cuts(b, "bytes");
    close_encoder(e);
    free_ids(&ids);
    free_tokenizer(t);
    free_tokenizer(b);
}

/* ------------------------------------------------------------------ GPT-2 in other files */

static char *base64(const char *at, int64_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *out = malloc((size_t)n * 2 + 8), *to = out;
    for (int64_t i = 0; i < n; i += 3) {
        uint32_t bits = (uint32_t)(unsigned char)at[i] << 16;
        if (i + 1 < n) bits |= (uint32_t)(unsigned char)at[i + 1] << 8;
        if (i + 2 < n) bits |= (unsigned char)at[i + 2];
        for (int k = 0; k < 4; k++) *to++ = i + k > n ? '=' : digit[bits >> (18 - 6 * k) & 63];
    }
    *to = 0;
    return out;
}

/* Its ranks as tiktoken has them are its ids. */
static void check_ranks(const Tokenizer *gpt2)
{
    char *path = text_of("%s/r50k.tiktoken", folder), *text = malloc(4 * 2000);
    FILE *f = fopen(path, "w");
    for (int32_t id = 0; id < 50256; id++) {
        const char *at;
        int64_t n = token_bytes(gpt2, id, &at);
        char *code = base64(at, n);
        fprintf(f, "%s %d\n", code, (int)id);
        free(code);
    }
    fclose(f);
    Tokenizer *t = load_tokenizer(path);
    Encoder *a = open_encoder(gpt2), *b = open_encoder(t);
    Ids x = {0}, y = {0};
    expect(tokenizer_size(t) == 50257 && special_id(t, "<|endoftext|>") == 50256, "ranks: its special token");
    for (int k = 0; k < 300; k++) {
        int64_t n = draw_text(text, 1 + draw(1000));
        x.n = y.n = 0;
        encode_bytes(a, text, n, &x);
        encode_bytes(b, text, n, &y);
        expect(same_ids(&x, &y), "ranks give other ids than merges");
    }
    check_again(t, "ranks");
    close_encoder(a);
    close_encoder(b);
    free_tokenizer(t);
    free_ids(&x);
    free_ids(&y);
    free(text);
}

static void check_gpt2(void)
{
    char *path = text_of("%s/gpt2-bpe", data);
    if (access(path, R_OK) != 0) {
        printf("note: no %s: GPT-2's own ids are not compared\n", path);
        return;
    }
    Tokenizer *t = load_tokenizer(path);
    expect(tokenizer_size(t) == 50257, "GPT-2 has %lld tokens", (long long)tokenizer_size(t));
    check_golden(t);
    check_texts(t, "GPT-2", false);
    check_texts(t, "GPT-2, invalid bytes", true);
    check_cuts(t, "GPT-2");
    check_again(t, "GPT-2");
    check_ranks(t);
    free_tokenizer(t);
}

/* Every published pattern, on text without blanks. */
static void check_wide_cuts(void)
{
    static const char *const patterns[] = {"gpt2", "gpt4", "llama3", "qwen2", "o200k"};
    static const char *const bits[] = {
        "\xe4\xb8\xad", "\xe3\x81\x82",  "\xea\xb0\x80", "\xe3\x80\x82", "\xef\xbc\x8c", "a", "7", "'s", "\n", "!",
        "\xcc\x81",     "\xe3\x80\x82\n"};
    for (int p = 0; p < 5; p++) {
        Learning l = {.kind = TOKEN_BPE, .size = 300, .least = 2, .pattern = patterns[p]};
        Learner *s = open_learner(&l);
        learn_from(s, "\xe4\xb8\xad\xe3\x80\x82\xe4\xb8\xad\xe3\x80\x82\xe4\xb8\xad\xe3\x80\x82", 18);
        Tokenizer *t = close_learner(s);
        Encoder *e = open_encoder(t);
        int cuts = 0;
        for (int k = 0; k < 400; k++) {
            char text[256] = "";
            Ids whole = {0}, parts = {0};
            for (int i = 0; i < 40; i++) strcat(text, bits[draw(12)]);
            int64_t n = (int64_t)strlen(text), cut = safe_cut(e, text, 1 + draw((uint32_t)n));
            cuts += cut > 0;
            encode_bytes(e, text, n, &whole);
            encode_bytes(e, text, cut, &parts);
            encode_bytes(e, text + cut, n - cut, &parts);
            expect(same_ids(&whole, &parts), "%s: other ids when \"%s\" is cut at %lld", patterns[p], text,
                   (long long)cut);
            free_ids(&whole);
            free_ids(&parts);
        }
        expect(cuts > 200, "%s: %d cuts in text without blanks", patterns[p], cuts);
        close_encoder(e);
        free_tokenizer(t);
    }
}

int main(void)
{
    random_numbers = rng_of(11);
    folder = temp_folder();
    data = getenv("DATA") ? getenv("DATA") : getenv("LATHE_DATA") ? getenv("LATHE_DATA") : "../shared/data";
    check_merging();
    check_learning();
    check_bpe();
    check_words();
    check_wide_cuts();
    check_characters();
    check_gpt2();
    return finish();
}
