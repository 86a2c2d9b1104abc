/* learn.c: learns tokenizers from the counts of a text's pieces, words or characters. */
#include "base/utf8.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

enum { LONGEST_PIECE = 1024 }; /* bytes; longer ones rarely repeat, and are left out */

struct Learner {
    Learning what;
    Tokenizer *t;
    Splitter *splitter; /* BPE */
    Strings seen;       /* pieces or words */
    int64_t *count, room;
    char *word;
    int64_t word_bytes;
};

/* ------------------------------------------------------------------ opening */

static void check_special(const char *s)
{
    int64_t n = (int64_t)strlen(s);
    uint32_t code;
    for (int64_t i = 0; i < n;) {
        int length = decode_utf8((const unsigned char *)s + i, n - i, &code);
        if (length == 0) fail(EXIT_USAGE, NULL, "a special token is to be UTF-8: %s", s);
        i += length;
    }
    if (n == 0 || n > 256)
        fail(EXIT_USAGE, NULL, "a special token has 1 to 256 bytes, and this has %lld", (long long)n);
}

static void add_specials(Learner *s, bool first)
{
    Tokenizer *t = s->t;
    for (int i = 0; s->what.special && i < s->what.special->n; i++) {
        const char *text = s->what.special->at[i];
        check_special(text);
        if (special_id(t, text) >= 0) fail(EXIT_USAGE, NULL, "the special token %s is there already", text);
        int32_t id = first ? add_string(&t->token, text, (int64_t)strlen(text), false) : 0;
        add_special(t, text, (int64_t)strlen(text), id, false, false);
    }
}

static void open_words(Learner *s)
{
    Tokenizer *t = s->t;
    t->punctuation = s->what.punctuation;
    t->lower = s->what.lower;
    t->unknown = add_string(&t->token, "<unk>", 5, false);
    add_special(t, "<unk>", 5, t->unknown, false, false);
    add_specials(s, true);
}

static void take_expression(Learner *s)
{
    char *fault = NULL;
    const char *pattern = s->what.pattern ? s->what.pattern : "gpt2";
    if (!add_split(s->t, pattern, false, false, &fault))
        fail(EXIT_USAGE, NULL, "--pattern %s: expected gpt2, gpt4, llama3, qwen2, o200k or a regular expression: %s",
             pattern, fault);
}

/* Bytes are numbered in the order of their letters, as in GPT-2; special tokens follow all others. */
static void open_bpe(Learner *s)
{
    take_expression(s);
    for (uint32_t letter = 0; letter < 0x200; letter++) {
        int byte = byte_of_letter(letter);
        if (byte < 0) continue;
        s->t->byte_id[byte] = add_string(&s->t->token, (char[]){(char)byte}, 1, true);
    }
    add_specials(s, false);
    s->splitter = open_splitter(s->t, (const char *const *)&s->t->path);
}

/* <unk>, then the bytes, for text that no other token covers. */
static void open_unigram(Learner *s)
{
    Tokenizer *t = s->t;
    take_expression(s);
    t->unknown = add_string(&t->token, "<unk>", 5, false);
    add_special(t, "<unk>", 5, t->unknown, false, false);
    for (int b = 0; b < 256; b++) t->byte_id[b] = add_string(&t->token, (char[]){(char)b}, 1, false);
    add_specials(s, false);
    s->splitter = open_splitter(t, (const char *const *)&t->path);
}

Learner *open_learner(const Learning *what)
{
    Learner *s = must_alloc(sizeof *s);
    s->what = *what;
    s->t = new_tokenizer(what->kind, "text");
    switch (what->kind) {
    case TOKEN_UNIGRAM: open_unigram(s); break;
    case TOKEN_WORDPIECE: /* is not learned here */
    case TOKEN_BYTES: break;
    case TOKEN_CHARS: s->t->id = must_alloc(sizeof *s->t->id * CODE_POINTS); break;
    case TOKEN_WORDS: open_words(s); break;
    case TOKEN_BPE: open_bpe(s); break;
    }
    return s;
}

/* ------------------------------------------------------------------ counting */

static void count_piece(void *learner, const char *at, int64_t n)
{
    Learner *s = learner;
    if (n > LONGEST_PIECE) return;
    int32_t k = find_string(&s->seen, at, n);
    if (k < 0) {
        k = add_string(&s->seen, at, n, true);
        if (k >= s->room) {
            s->room = s->room * 2 + 1024;
            s->count = must_grow(s->count, sizeof *s->count * (size_t)s->room);
        }
        s->count[k] = 0;
    }
    s->count[k]++;
}

/* A word that JSON cannot represent is not learned. */
static bool is_plain_ascii(const char *at, int64_t n)
{
    uint32_t code;
    for (int64_t i = 0; i < n;) {
        int length = decode_utf8((const unsigned char *)at + i, n - i, &code);
        if (length == 0 || code == 0) return false;
        i += length;
    }
    return true;
}

static void count_words(Learner *s, const char *text, int64_t n)
{
    int64_t from = 0, bytes;
    if (4 * n + 8 > s->word_bytes) {
        free(s->word);
        s->word_bytes = 8 * n + 8;
        s->word = must_alloc((size_t)s->word_bytes);
    }
    while (next_word(s->t, text, &from, n, s->word, &bytes))
        if (is_plain_ascii(s->word, bytes)) count_piece(s, s->word, bytes);
}

static void count_characters(Learner *s, const char *text, int64_t n)
{
    uint32_t code;
    for (int64_t i = 0; i < n;) {
        int length = decode_utf8((const unsigned char *)text + i, n - i, &code);
        if (length) s->t->id[code] = 1;
        i += length ? length : 1;
    }
}

static void count_stretch(Learner *s, const char *text, int64_t n)
{
    switch (s->what.kind) {
    case TOKEN_WORDPIECE: /* is not learned here */
    case TOKEN_BYTES: break;
    case TOKEN_CHARS: count_characters(s, text, n); break;
    case TOKEN_WORDS: count_words(s, text, n); break;
    case TOKEN_UNIGRAM:
    case TOKEN_BPE: split_text(s->splitter, text, n, count_piece, s); break;
    }
}

void learn_from(Learner *s, const char *text, int64_t n)
{
    int64_t from = 0;
    while (s->t->specials && from < n) {
        int which;
        int64_t at = find_special(s->t, text, from, n, &which);
        if (which < 0) break;
        count_stretch(s, text + from, at - from);
        from = at + s->t->special[which].bytes;
    }
    count_stretch(s, text + from, n - from);
}

/* ------------------------------------------------------------------ making it */

typedef struct Word {
    int64_t count;
    int32_t number;
    const Strings *all;
} Word;

/* The most frequent first; equal ones by their bytes. */
static int by_count(const void *a, const void *b)
{
    const Word *x = a, *y = b;
    int64_t n, m;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    const char *s = string_at(x->all, x->number, &n), *t = string_at(y->all, y->number, &m);
    int order = memcmp(s, t, (size_t)(n < m ? n : m));
    return order ? order : n < m ? -1 : n > m;
}

static void make_words(Learner *s)
{
    Word *word = must_alloc(sizeof *word * (size_t)s->seen.n);
    for (int32_t k = 0; k < s->seen.n; k++) word[k] = (Word){s->count[k], k, &s->seen};
    if (s->seen.n) qsort(word, (size_t)s->seen.n, sizeof *word, by_count);
    for (int32_t k = 0; k < s->seen.n && word[k].count >= s->what.least; k++) {
        int64_t n;
        if (s->what.size && s->t->token.n >= s->what.size) break;
        const char *at = string_at(&s->seen, word[k].number, &n);
        if (find_string(&s->t->token, at, n) < 0) add_string(&s->t->token, at, n, true);
    }
    free(word);
    finish_tokens(s->t);
}

/* Numbers the special tokens from `first` on, after all others. */
static void number_specials(Learner *s, int first)
{
    Tokenizer *t = s->t;
    for (int i = first; i < t->specials; i++) {
        Special *own = &t->special[i];
        if (find_string(&t->token, own->text, own->bytes) >= 0)
            fail(EXIT_USAGE, NULL, "the special token %s is one that text gives, too; choose another, such as <|%s|>",
                 own->text, own->text);
        own->id = add_string(&t->token, own->text, own->bytes, false);
    }
}

static void make_bpe(Learner *s)
{
    learn_merges(s->t, &s->seen, s->count, s->what.size - s->t->specials, s->what.least);
    number_specials(s, 0);
    finish_tokens(s->t);
}

static void make_unigram(Learner *s)
{
    Tokenizer *t = s->t;
    learn_corpus(t, &s->seen, s->count, s->what.size - t->token.n - (t->specials - 1));
    number_specials(s, 1);
    t->n = t->token.n;
    finish_scores(t);
}

Tokenizer *close_learner(Learner *s)
{
    Tokenizer *t = s->t;
    if (s->splitter) close_splitter(s->splitter);
    switch (s->what.kind) {
    case TOKEN_WORDPIECE: break;
    case TOKEN_BYTES: t->n = 256; break;
    case TOKEN_UNIGRAM: make_unigram(s); break;
    case TOKEN_CHARS: number_characters(t); break;
    case TOKEN_WORDS: make_words(s); break;
    case TOKEN_BPE: make_bpe(s); break;
    }
    free_strings(&s->seen);
    free(s->count);
    free(s->word);
    free(s);
    return t;
}
