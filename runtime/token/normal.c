/* normal.c: normalises text before it is cut: SentencePiece's table of characters (Precompiled in tokenizer.json:
 * mostly NFKC), Unicode's normal forms, collapsing of spaces, stripping of ends, replacement of strings.
 *
 * The table is a double array (Aoe 1989) over bytes; as in SentencePiece, the longest entry at each position is
 * replaced, and a character that begins no entry stays. */
#include "base/utf8.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

enum { MOST_STEPS = 8, DEEPEST = 64, MOST_NODES = 1 << 20 };

typedef enum Normal_kind {
    NORMAL_TABLE,
    NORMAL_RUNS,
    NORMAL_STRING,
    NORMAL_STRIP,
    NORMAL_FORM,
    NORMAL_CLEAN
} Normal_kind;

typedef struct Normal {
    Normal_kind kind;
    char *from, *to;  /* STRING: each `from` becomes `to`; RUNS: each run of two or more spaces does */
    bool left, right; /* STRIP */
    int form;         /* FORM; CLEAN: which of token/clean.c */
    char *blob;       /* TABLE: units, then strings that end in 0 */
    const uint32_t *unit;
    uint32_t units;
    const char *strings;
    int64_t string_bytes;
} Normal;

struct Normals {
    int n;
    Normal step[MOST_STEPS];
};

/* ------------------------------------------------------------------ the table */

static uint32_t unit_offset(uint32_t unit) { return unit >> 10 << ((unit & 1 << 9) >> 6); }

/* Follows a byte; false: no entry continues with it. */
static bool follow_unit(const Normal *s, uint32_t *at, unsigned char byte)
{
    uint32_t next = *at ^ byte;
    if (next >= s->units || (s->unit[next] & 0x800000ffu) != byte) return false;
    *at = next ^ unit_offset(s->unit[next]);
    return true;
}

/* The replacement of the entry that ends at a unit reached by `last`; NULL: none. */
static const char *string_of(const Normal *s, uint32_t last, uint32_t at)
{
    if (!(s->unit[last] >> 8 & 1) || at >= s->units) return NULL;
    uint32_t value = s->unit[at] & 0x7fffffff;
    return value < s->string_bytes ? s->strings + value : NULL;
}

/* The longest entry that text begins with: its bytes; *to: its replacement; 0: none. */
static int64_t longest_entry(const Normal *s, const char *text, int64_t n, const char **to)
{
    uint32_t at = unit_offset(s->unit[0]);
    int64_t longest = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t last = at ^ (unsigned char)text[i];
        if (!follow_unit(s, &at, (unsigned char)text[i])) break;
        const char *string = string_of(s, last, at);
        if (string) *to = string, longest = i + 1;
    }
    return longest;
}

/* Whether an entry has an ASCII space after its first byte, or there are too many entries to check. */
static bool has_inner_blank(const Normal *s, uint32_t at, int depth, int *seen)
{
    for (int byte = 1; byte < 256; byte++) {
        uint32_t next = at;
        if (!follow_unit(s, &next, (unsigned char)byte)) continue;
        if (depth > 0 && is_blank((char)byte)) return true;
        if (depth == DEEPEST || ++*seen > MOST_NODES) return true;
        if (has_inner_blank(s, next, depth + 1, seen)) return true;
    }
    return false;
}

static bool take_table(Tokenizer *t, Normal *s, const char *text)
{
    int64_t n = (int64_t)strlen(text);
    s->kind = NORMAL_TABLE;
    s->blob = must_alloc((size_t)n + 1);
    int64_t bytes = decode_base64(text, n, s->blob);
    uint32_t size = 0;
    if (bytes > 8) memcpy(&size, s->blob, 4);
    if (bytes <= 8 || size < 4 || size % 4 || size > bytes - 5 || s->blob[bytes - 1])
        fail(EXIT_DATA, t->path,
             "\"precompiled_charsmap\": expected a table of SentencePiece's in base 64; the file is damaged");
    s->unit = (const uint32_t *)(s->blob + 4);
    s->units = size / 4;
    s->strings = s->blob + 4 + size;
    s->string_bytes = bytes - 4 - size;
    int seen = 0;
    return !has_inner_blank(s, unit_offset(s->unit[0]), 0, &seen);
}

/* ------------------------------------------------------------------ from tokenizer.json */

/* Whether text may still be cut before a space; sets t->other if the part is unknown. */
static bool take_normal(Tokenizer *t, const json_t *part)
{
    const json_t *pattern = json_object_get(part, "pattern");
    const char *type = type_of(part), *regex = json_string_value(json_object_get(pattern, "Regex"));
    const char *string = json_string_value(json_object_get(pattern, "String"));
    const char *content = json_string_value(json_object_get(part, "content"));
    const char *table = json_string_value(json_object_get(part, "precompiled_charsmap"));
    if (t->normals->n == MOST_STEPS) return set_other(t, text_of("a tokenizer with many normalizers")), false;
    Normal *s = &t->normals->step[t->normals->n++];
    if (strcmp(type, "Precompiled") == 0 && table) return take_table(t, s, table);
    if (find_normal_form(t, type, &s->form)) return s->kind = NORMAL_FORM, true;
    if (strcmp(type, "Strip") == 0) {
        *s = (Normal){.kind = NORMAL_STRIP,
                      .left = flag_of(part, "strip_left", true),
                      .right = flag_of(part, "strip_right", true)};
        return !s->left;
    }
    bool runs = regex && strcmp(regex, " {2,}") == 0;
    if (strcmp(type, "Replace") == 0 && content && (runs || (string && *string))) {
        *s = (Normal){.kind = runs ? NORMAL_RUNS : NORMAL_STRING, .to = text_of("%s", content)};
        if (string) s->from = text_of("%s", string);
        return runs || !strpbrk(string, " \t\n\v\f\r");
    }
    set_other(t, text_of("a tokenizer with the normalizer %.40s", type));
    return false;
}

/* What BERT's normaliser does, one after the other.  Accents go with capital letters, if the file does not say. */
static bool take_bert(Tokenizer *t, const json_t *part)
{
    const json_t *strips = json_object_get(part, "strip_accents");
    bool lower = flag_of(part, "lowercase", true), accents = json_is_boolean(strips) ? json_is_true(strips) : lower;
    Normals *all = t->normals;
    int nfd;
    if (all->n + 5 > MOST_STEPS) return set_other(t, text_of("a tokenizer with many normalizers")), false;
    bool found = find_normal_form(t, "NFD", &nfd); /* ends the program if there is no library for it */
    bug_if(!found);
    if (flag_of(part, "clean_text", true)) all->step[all->n++] = (Normal){.kind = NORMAL_CLEAN, .form = CLEAN_TEXT};
    if (flag_of(part, "handle_chinese_chars", true))
        all->step[all->n++] = (Normal){.kind = NORMAL_CLEAN, .form = CLEAN_IDEOGRAPHS};
    if (accents) all->step[all->n++] = (Normal){.kind = NORMAL_FORM, .form = nfd};
    if (accents) all->step[all->n++] = (Normal){.kind = NORMAL_CLEAN, .form = CLEAN_MARKS};
    if (lower) all->step[all->n++] = (Normal){.kind = NORMAL_CLEAN, .form = CLEAN_CAPITALS};
    return true;
}

bool take_normalizer(Tokenizer *t, const json_t *part)
{
    size_t i;
    json_t *own;
    bool cuts = true;
    t->normals = must_alloc(sizeof *t->normals);
    if (strcmp(type_of(part), "BertNormalizer") == 0) return take_bert(t, part);
    if (strcmp(type_of(part), "Sequence") != 0) return take_normal(t, part);
    json_array_foreach(json_object_get(part, "normalizers"), i, own) cuts = take_normal(t, own) && cuts;
    return cuts;
}

void free_normals(Normals *all)
{
    for (int i = 0; all && i < all->n; i++) {
        free(all->step[i].from);
        free(all->step[i].to);
        free(all->step[i].blob);
    }
    free(all);
}

/* ------------------------------------------------------------------ text */

void put_text(Draft_text *d, const char *at, int64_t n)
{
    if (d->n + n > d->room) {
        d->room = (d->n + n) * 2 + 64;
        d->at = must_grow(d->at, (size_t)d->room);
    }
    if (n) memcpy(d->at + d->n, at, (size_t)n);
    d->n += n;
}

static int64_t character_bytes(const char *at, int64_t n)
{
    uint32_t code;
    int length = decode_utf8((const unsigned char *)at, n, &code);
    return length ? length : 1;
}

/* The match of a step at the beginning of text: its bytes, and the replacement; 0: none. */
static int64_t find_change(const Normal *s, const char *text, int64_t n, const char **to)
{
    int64_t run = 0, bytes = s->from ? (int64_t)strlen(s->from) : 0;
    if (s->kind == NORMAL_TABLE) return longest_entry(s, text, n, to);
    *to = s->to;
    if (s->kind == NORMAL_STRING) return bytes <= n && memcmp(text, s->from, (size_t)bytes) == 0 ? bytes : 0;
    while (run < n && text[run] == ' ') run++;
    return run > 1 ? run : 0;
}

static void replace_all(const Normal *s, const char *text, int64_t n, Draft_text *out)
{
    for (int64_t i = 0, bytes; i < n; i += bytes) {
        const char *to = NULL;
        int64_t found = find_change(s, text + i, n - i, &to);
        bytes = found ? found : character_bytes(text + i, n - i);
        put_text(out, found ? to : text + i, found ? (int64_t)strlen(to) : bytes);
    }
}

static int64_t blank_before(const char *text, int64_t n)
{
    int64_t k = n - 1;
    while (k > 0 && ((unsigned char)text[k] & 0xc0) == 0x80) k--;
    return n && is_space_at(text + k, n - k) ? n - k : 0;
}

static void strip(const Normal *s, const char *text, int64_t n, Draft_text *out)
{
    int64_t begin = 0, bytes;
    while (s->left && begin < n && is_space_at(text + begin, n - begin))
        begin += character_bytes(text + begin, n - begin);
    while (s->right && n > begin && (bytes = blank_before(text + begin, n - begin))) n -= bytes;
    put_text(out, text + begin, n - begin);
}

bool changes_text(const Normals *all) { return all && all->n; }

const char *only_form(const Normals *all)
{
    return all && all->n == 1 && all->step[0].kind == NORMAL_FORM ? name_of_form(all->step[0].form) : NULL;
}

const char *normal_text(const Normals *all, const char *text, int64_t *n, Draft_text room[2])
{
    for (int i = 0; i < all->n; i++) {
        const Normal *s = &all->step[i];
        Draft_text *out = &room[i % 2];
        out->n = 0;
        if (s->kind == NORMAL_STRIP) strip(s, text, *n, out);
        else if (s->kind == NORMAL_CLEAN) put_clean(s->form, text, *n, out);
        else if (s->kind == NORMAL_FORM) put_normal_form(s->form, text, *n, out);
        else replace_all(s, text, *n, out);
        text = out->at;
        *n = out->n;
    }
    return text;
}
