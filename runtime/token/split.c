/* split.c: cutting text into pieces by regular expressions (PCRE2), before byte pairs are merged.
 *
 * The expressions are those that GPT-2 and later models publish.  PCRE2 matches UTF-8 by Unicode's properties, so text
 * is first cut into stretches that are UTF-8; any other byte is a piece of its own. */
#include "base/utf8.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

/* ------------------------------------------------------------------ published expressions */

#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPER       "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER       "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define GPT4(numbers)                                                                                                  \
    CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers                                                              \
                "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const struct {
    const char *name, *pattern;
} published[] = {
    {"gpt2", "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"},
    {"gpt4", GPT4("\\p{N}{1,3}")},
    {"llama3", GPT4("\\p{N}{1,3}")},
    {"qwen2", GPT4("\\p{N}")},
    {"o200k", "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" CONTRACTION "?|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER
              "*" CONTRACTION "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {NULL, "\\S+"},    /* words */
    {NULL, "\\p{N}"},  /* digits, one by one */
    {NULL, "\\p{N}+"}, /* or in runs */
    {NULL, "\\p{N}{1,3}"},
};
enum { PUBLISHED = sizeof published / sizeof *published };

const char *published_pattern(const char *name)
{
    for (int i = 0; i < PUBLISHED; i++)
        if (published[i].name && strcmp(published[i].name, name) == 0) return published[i].pattern;
    return NULL;
}

/* ------------------------------------------------------------------ UTF-8 */

/* The number of leading bytes of text that are UTF-8. */
static int64_t utf8_stretch(const char *text, int64_t n)
{
    int64_t i = 0;
    while (i < n) {
        uint64_t eight;
        uint32_t code;
        if (i + 8 <= n && (memcpy(&eight, text + i, 8), (eight & 0x8080808080808080u) == 0)) {
            i += 8;
            continue;
        }
        int length = decode_utf8((const unsigned char *)text + i, n - i, &code);
        if (length == 0) return i;
        i += length;
    }
    return n;
}

#ifdef LATHE_WITH_PCRE2

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* ------------------------------------------------------------------ compiling */

enum { LONGEST_PATTERN = 10000, STEPS = 10 << 20, STACK = 1 << 20 }; /* STEPS: limit for one match */

/* Published patterns always end a piece between a letter and a space: token/token.c, safe_cut. */
static bool is_published(const char *pattern)
{
    for (int i = 0; i < PUBLISHED; i++)
        if (strcmp(published[i].pattern, pattern) == 0) return true;
    return false;
}

static void *take_memory_for(size_t bytes, void *unused) { return (void)unused, malloc(bytes); }
static void give_memory(void *at, void *unused) { (void)unused, free(at); }

static pcre2_general_context *general(void)
{
    pcre2_general_context *g = pcre2_general_context_create(take_memory_for, give_memory, NULL);
    if (!g) abort();
    return g;
}

static pcre2_code *compile(const char *pattern, char **fault)
{
    pcre2_general_context *g = general();
    pcre2_compile_context *c = pcre2_compile_context_create(g);
    int number;
    size_t at;
    if (!c) abort();
    pcre2_set_max_pattern_length(c, LONGEST_PATTERN);
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &number, &at, c);
    if (!code) {
        char words[256];
        pcre2_get_error_message(number, (PCRE2_UCHAR *)words, sizeof words);
        *fault = text_of("%s, at byte %zu of the expression", words, at);
    }
    pcre2_compile_context_free(c);
    pcre2_general_context_free(g);
    return code;
}

bool add_split(Tokenizer *t, const char *pattern, bool only, bool digits, char **fault)
{
    bug_if(t->stages == MAX_STAGES);
    const char *named = published_pattern(pattern);
    if (named) pattern = named;
    pcre2_code *code = compile(pattern, fault);
    if (!code) return false;
    bool jit = false;
#ifndef LATHE_NO_JIT /* fuzzers free memory per input, but JIT memory is not from malloc */
    jit = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
#endif
    bool known = (t->stages == 0 || t->known_stages) && is_published(pattern),
         number = strncmp(pattern, "\\p{N}", 5) == 0;
    t->known_stages = known;
    t->words_end = t->words_end || !number;
    t->marks_begin = known && (t->marks_begin || (!number && strcmp(pattern, "\\S+") != 0));
    t->letters_end = known && t->words_end;
    t->stage[t->stages++] = (Split){text_of("%s", pattern), only, digits, code, jit};
    return true;
}

void free_splits(Tokenizer *t)
{
    for (int i = 0; i < t->stages; i++) {
        pcre2_code_free(t->stage[i].code);
        free(t->stage[i].pattern);
    }
    t->stages = 0;
}

/* ------------------------------------------------------------------ matching */

struct Splitter {
    const Tokenizer *t;
    const char *const *place;
    pcre2_match_data *found[MAX_STAGES];
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    Take_piece *take; /* of the call */
    void *arg;
};

Splitter *open_splitter(const Tokenizer *t, const char *const *place)
{
    Splitter *s = must_alloc(sizeof *s);
    pcre2_general_context *g = general();
    s->t = t;
    s->place = place;
    for (int i = 0; i < t->stages; i++)
        if (!(s->found[i] = pcre2_match_data_create(1, g))) abort();
    s->context = pcre2_match_context_create(g);
    s->stack = pcre2_jit_stack_create(1 << 15, STACK, g);
    if (!s->context) abort();
    pcre2_set_match_limit(s->context, STEPS);
    if (s->stack) pcre2_jit_stack_assign(s->context, NULL, s->stack);
    pcre2_general_context_free(g);
    return s;
}

void close_splitter(Splitter *s)
{
    for (int i = 0; i < s->t->stages; i++) pcre2_match_data_free(s->found[i]);
    pcre2_match_context_free(s->context);
    pcre2_jit_stack_free(s->stack);
    free(s);
}

/* The next match from `from` on; false: none. */
static bool find_match(Splitter *s, int stage, const char *text, int64_t n, int64_t from)
{
    const Split *p = &s->t->stage[stage];
    PCRE2_SPTR at = (PCRE2_SPTR)text;
    int rc = PCRE2_ERROR_JIT_STACKLIMIT;
    if (p->jit) rc = pcre2_jit_match(p->code, at, (size_t)n, (size_t)from, 0, s->found[stage], s->context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(p->code, at, (size_t)n, (size_t)from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, s->found[stage],
                         s->context);
    if (rc >= 0) return true;
    if (rc == PCRE2_ERROR_NOMATCH) return false;
    char words[256];
    pcre2_get_error_message(rc, (PCRE2_UCHAR *)words, sizeof words);
    fail(EXIT_DATA, *s->place,
         "the expression with which %s cuts text fails on a text of %lld bytes: %s; use another one", s->t->path,
         (long long)n, words);
}

static int64_t next_character(const char *text, int64_t n, int64_t i)
{
    for (i++; i < n && ((unsigned char)text[i] & 0xc0) == 0x80;) i++;
    return i;
}

/* Splits text by one stage, and each of its pieces by the next. */
static void split_by(Splitter *s, int stage, const char *text, int64_t n)
{
    if (n == 0) return;
    if (stage == s->t->stages) {
        s->take(s->arg, text, n);
        return;
    }
    bool only = s->t->stage[stage].only;
    int64_t done = 0, from = 0;
    while (from < n && find_match(s, stage, text, n, from)) {
        const size_t *where = pcre2_get_ovector_pointer(s->found[stage]);
        int64_t begin = (int64_t)where[0], end = (int64_t)where[1];
        if (end <= begin || begin < done) { /* an empty match, or one before the last match's end (\K) */
            from = next_character(text, n, from > end ? from : end);
            continue;
        }
        if (!only) split_by(s, stage + 1, text + done, begin - done);
        split_by(s, stage + 1, text + begin, end - begin);
        done = from = end;
    }
    if (!only) split_by(s, stage + 1, text + done, n - done);
}

void split_text(Splitter *s, const char *text, int64_t n, Take_piece *take, void *arg)
{
    s->take = take;
    s->arg = arg;
    for (int64_t i = 0; i < n;) {
        int64_t good = utf8_stretch(text + i, n - i);
        split_by(s, 0, text + i, good);
        i += good;
        if (i < n) take(arg, text + i++, 1);
    }
}

#else /* without PCRE2 */

bool add_split(Tokenizer *t, const char *pattern, bool only, bool digits, char **fault)
{
    (void)pattern, (void)only, (void)digits, (void)fault;
    fail(EXIT_DATA, t->path,
         "a BPE cuts text by a regular expression, and this program was built without PCRE2; install it (Debian, "
         "Ubuntu: apt install libpcre2-dev) and build again");
}

void free_splits(Tokenizer *t) { t->stages = 0; }

struct Splitter {
    const Tokenizer *t;
};

/* Without stages, text is cut only at bytes that are not UTF-8. */
Splitter *open_splitter(const Tokenizer *t, const char *const *place)
{
    Splitter *s = must_alloc(sizeof *s);
    (void)place;
    s->t = t;
    return s;
}

void close_splitter(Splitter *s) { free(s); }

void split_text(Splitter *s, const char *text, int64_t n, Take_piece *take, void *arg)
{
    (void)s;
    for (int64_t i = 0; i < n;) {
        int64_t good = utf8_stretch(text + i, n - i);
        if (good) take(arg, text + i, good);
        i += good;
        if (i < n) take(arg, text + i++, 1);
    }
}

#endif
