/* special.c: special tokens in text: they are found before the text is cut into pieces, the leftmost first, and the
 * longest of those at one position; and the tokens that a tokenizer's file puts before a text. */
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

void add_special(Tokenizer *t, const char *text, int64_t bytes, int32_t id, bool left, bool right)
{
    t->special = must_grow(t->special, sizeof *t->special * (size_t)(t->specials + 1));
    char *own = must_alloc((size_t)bytes + 1);
    memcpy(own, text, (size_t)bytes);
    t->special[t->specials++] = (Special){own, bytes, id, left, right};
    if (bytes) t->starts[(unsigned char)text[0]] = true;
}

static int longest_at(const Tokenizer *t, const char *text, int64_t n)
{
    int best = -1;
    for (int i = 0; i < t->specials; i++) {
        const Special *s = &t->special[i];
        if (s->bytes == 0 || s->bytes > n || memcmp(s->text, text, (size_t)s->bytes) != 0) continue;
        if (best < 0 || s->bytes > t->special[best].bytes) best = i;
    }
    return best;
}

int64_t find_special(const Tokenizer *t, const char *text, int64_t from, int64_t n, int *which)
{
    *which = -1;
    for (int64_t i = from; i < n; i++) {
        if (!t->starts[(unsigned char)text[i]]) continue;
        *which = longest_at(t, text + i, n - i);
        if (*which >= 0) return i;
    }
    return n;
}

/* Also true if one may, depending on what follows text[n). */
bool special_crosses(const Tokenizer *t, const char *text, int64_t n, int64_t cut)
{
    for (int i = 0; i < t->specials; i++) {
        const Special *s = &t->special[i];
        for (int64_t at = cut - s->bytes + 1 > 0 ? cut - s->bytes + 1 : 0; at < cut; at++) {
            int64_t seen = n - at < s->bytes ? n - at : s->bytes;
            if (memcmp(s->text, text + at, (size_t)seen) == 0) return true;
        }
    }
    return false;
}

bool has_special(const Tokenizer *t, const char *text, int64_t n, int64_t from, int64_t to)
{
    int which;
    for (int64_t at = 0; t->specials; at += t->special[which].bytes) {
        at = find_special(t, text, at, n, &which);
        if (which < 0 || at >= to) return false;
        if (at + t->special[which].bytes > from) return true;
    }
    return false;
}

/* ------------------------------------------------------------------ before a text */

static void add_begin(Tokenizer *t, const json_t *id)
{
    json_int_t i = json_is_integer(id) ? json_integer_value(id) : -1;
    if (i < 0 || i >= t->n || t->begins == MAX_BEGINS)
        fail(EXIT_DATA, t->path, "\"post_processor\": expected ids of the vocabulary before a text, %d at most",
             MAX_BEGINS);
    t->begin[t->begins++] = (int32_t)i;
}

/* [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, …]; the ids are in special_tokens. */
static void take_template(Tokenizer *t, const json_t *post)
{
    size_t i, k;
    json_t *part, *id;
    json_array_foreach(json_object_get(post, "single"), i, part)
    {
        const json_t *token = json_object_get(part, "SpecialToken");
        const char *name = json_string_value(json_object_get(token, "id"));
        const json_t *ids = json_object_get(json_object_get(json_object_get(post, "special_tokens"), name), "ids");
        if (!token) return;
        if (json_array_size(ids) == 0) add_begin(t, NULL);
        json_array_foreach(ids, k, id) add_begin(t, id);
    }
}

void take_post_processor(Tokenizer *t, const json_t *post)
{
    const char *type = json_string_value(json_object_get(post, "type"));
    const json_t *first = json_object_get(post, "cls");
    size_t i;
    json_t *part;
    if (!type) return;
    if (strcmp(type, "Sequence") == 0)
        json_array_foreach(json_object_get(post, "processors"), i, part) take_post_processor(t, part);
    if (strcmp(type, "TemplateProcessing") == 0) take_template(t, post);
    if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0)
        add_begin(t, json_array_get(first, 1));
}

int tokens_before(const Tokenizer *t, const int32_t **id)
{
    *id = t->begin;
    return t->begins;
}

/* ------------------------------------------------------------------ tokens by their usual names */

/* The first of the names, ended by NULL, that the tokenizer has. */
static int32_t first_special(const Tokenizer *k, const char *const *names)
{
    int32_t id = -1;
    while (id < 0 && *names) id = special_id(k, *names++);
    return id;
}

static const char *const begins[] = {"<s>", "<bos>", "[BOS]", "<|startoftext|>", "<|begin_of_text|>", NULL};
static const char *const ends[] = {"</s>", "<eos>", "[EOS]", "<|endoftext|>", "<|end_of_text|>", NULL};
static const char *const pads[] = {"<pad>", "[PAD]", "<|pad|>", "<|padding|>", NULL};

Usual_tokens usual_tokens(const Tokenizer *k)
{
    return (Usual_tokens){first_special(k, begins), first_special(k, ends), first_special(k, pads)};
}
