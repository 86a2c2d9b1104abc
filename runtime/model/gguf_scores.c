/* gguf_scores.c: SentencePiece's byte pairs: a GGUF file has a score for each token, tokenizer.json a list of merges.
 *
 * By scores, the two neighbours are merged whose token has the highest one, whichever two they are.  So the list has
 * each way to make a token of two others, tokens with higher scores first; and only such a list has scores. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/gguf.h"

#include <stdlib.h>
#include <string.h>

typedef struct Way { /* to make a token of two */
    double score;
    int64_t made, left, right;
    int bytes; /* of the left one */
} Way;

typedef struct Ways {
    Way *at;
    int64_t n, room;
    const char *path; /* of the file, in messages; NULL: none */
} Ways;

static int by_score_down(const void *a, const void *b)
{
    const Way *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    if (x->made != y->made) return x->made < y->made ? -1 : 1;
    return (x->left > y->left) - (x->left < y->left);
}

static bool is_byte_name(const char *text) { return strlen(text) == 6 && strncmp(text, "<0x", 3) == 0; }

/* The id of a token that merges may make; -1: there is none. */
static int64_t id_of_part(const json_t *vocab, const json_t *specials, const char *at, size_t n)
{
    const json_t *id = json_object_getn(vocab, at, n);
    return id && !json_object_getn(specials, at, n) ? json_integer_value(id) : -1;
}

/* Ways are sought at each byte of a token, and each way is a merge. */
enum { LONGEST_MERGED = 1000, MOST_WAYS = 1 << 23 };

static void add_ways_of(Ways *ways, const json_t *vocab, const json_t *specials, const char *text, Way way)
{
    size_t n = strlen(text);
    if (is_byte_name(text)) return;
    if (n > LONGEST_MERGED || ways->n > MOST_WAYS)
        fail(EXIT_DATA, ways->path,
             "the vocabulary is not one of SentencePiece's: expected tokens of at most %d bytes that merge in at "
             "most %d ways",
             LONGEST_MERGED, MOST_WAYS);
    for (size_t k = 1; k < n; k++) {
        if (((unsigned char)text[k] & 0xc0) == 0x80) continue;
        way.left = id_of_part(vocab, specials, text, k);
        way.right = way.left < 0 ? -1 : id_of_part(vocab, specials, text + k, n - k);
        if (way.right < 0) continue;
        if (ways->n == ways->room) {
            ways->room = ways->room ? 2 * ways->room : 1024;
            ways->at = must_grow(ways->at, sizeof *ways->at * (size_t)ways->room);
        }
        way.bytes = (int)k;
        ways->at[ways->n++] = way;
    }
}

/* {content: …} of tokens at which text is cut first. */
static json_t *specials_of(const json_t *added)
{
    json_t *all = json_object(), *token;
    size_t i;
    json_array_foreach((json_t *)added, i, token)
    {
        const json_t *content = json_object_get(token, "content");
        if (json_is_string(content))
            json_object_setn_new(all, json_string_value(content), json_string_length(content), json_true());
    }
    return all;
}

/* ------------------------------------------------------------------ reading */

json_t *merges_of_scores(const Store *s, const json_t *vocab, const json_t *added)
{
    json_t *scores = json_object_get(s->header, "tokenizer.ggml.scores"), *tokens = gguf_tokens(s), *token,
           *merges = json_array(), *specials = specials_of(added);
    Ways ways = {.path = s->path};
    size_t i;
    if (!json_is_array(scores) || json_array_size(scores) != json_array_size(tokens))
        fail(EXIT_DATA, s->path,
             "\"tokenizer.ggml.scores\": expected a list as long as that of tokens; the file is damaged");
    json_array_foreach(tokens, i, token)
    {
        Way way = {.score = json_number_value(json_array_get(scores, i)), .made = (int64_t)i};
        const char *text = json_string_value(token);
        if (!json_object_get(specials, text)) add_ways_of(&ways, vocab, specials, text, way);
    }
    if (ways.n) qsort(ways.at, (size_t)ways.n, sizeof *ways.at, by_score_down);
    for (int64_t k = 0; k < ways.n; k++) {
        const char *text = json_string_value(json_array_get(tokens, (size_t)ways.at[k].made));
        char *pair = text_of("%.*s %s", ways.at[k].bytes, text, text + ways.at[k].bytes);
        add_json(merges, json_string(pair));
        free(pair);
    }
    free(ways.at);
    json_decref(specials);
    return merges;
}

/* ------------------------------------------------------------------ writing */

/* The token that a merge makes, from malloc; NULL: it is none. */
static char *made_by(const json_t *merge)
{
    const char *a = json_string_value(json_array_get(merge, 0)), *b = json_string_value(json_array_get(merge, 1)),
               *pair = json_string_value(merge), *space = pair ? strchr(pair, ' ') : NULL;
    if (a && b) return text_of("%s%s", a, b);
    return space ? text_of("%.*s%s", (int)(space - pair), pair, space + 1) : NULL;
}

static int64_t count_ways(const json_t *vocab, const json_t *specials, const char *text)
{
    Ways ways = {0};
    add_ways_of(&ways, vocab, specials, text, (Way){0});
    free(ways.at);
    return ways.n;
}

/* The first made has 0, the next -1 and so on; tokens that nothing makes come after them.  False: some token has merges
 * that are not next to each other, or not all of its ways. */
static bool score_made(const json_t *tokenizer, const json_t *specials, double *score, int64_t n, int64_t *made)
{
    const json_t *model = json_object_get(tokenizer, "model"), *vocab = json_object_get(model, "vocab");
    const json_t *merges = json_object_get(model, "merges");
    size_t k = 0, all = json_array_size(merges);
    while (k < all) {
        char *text = made_by(json_array_get(merges, k)), *next = NULL;
        int64_t id = text ? id_of_part(vocab, specials, text, strlen(text)) : -1;
        size_t first = k;
        do {
            free(next);
            next = ++k < all ? made_by(json_array_get(merges, k)) : NULL;
        } while (next && text && strcmp(next, text) == 0);
        free(next);
        bool good = id >= 0 && id < n && score[id] > 0 && (int64_t)(k - first) == count_ways(vocab, specials, text);
        if (good) score[id] = -(double)(*made)++;
        free(text);
        if (!good) return false;
    }
    return true;
}

/* Tokens that text is cut at, and bytes, are no part of the order. */
static void score_apart(const json_t *vocab, const json_t *specials, double *score, int64_t n)
{
    const char *text;
    json_t *id;
    json_object_foreach((json_t *)vocab, text, id)
    {
        json_int_t i = json_integer_value(id);
        if (i >= 0 && i < n && (is_byte_name(text) || json_object_get(specials, text))) score[i] = 0;
    }
}

/* Whether some token could be made of two, and the list has no way. */
static bool misses_ways(const json_t *vocab, const json_t *specials, const double *score, int64_t n)
{
    const char *text;
    json_t *id;
    json_object_foreach((json_t *)vocab, text, id)
    {
        json_int_t i = json_integer_value(id);
        if (i >= 0 && i < n && score[i] > 0 && count_ways(vocab, specials, text)) return true;
    }
    return false;
}

bool scores_of_merges(const json_t *tokenizer, double *score, int64_t n)
{
    json_t *specials = specials_of(json_object_get(tokenizer, "added_tokens"));
    const json_t *vocab = json_object_get(json_object_get(tokenizer, "model"), "vocab");
    int64_t made = 0;
    for (int64_t i = 0; i < n; i++) score[i] = 1;
    score_apart(vocab, specials, score, n);
    bool good = score_made(tokenizer, specials, score, n, &made) && !misses_ways(vocab, specials, score, n);
    for (int64_t i = 0; i < n; i++)
        if (score[i] > 0) score[i] = -(double)made++;
    json_decref(specials);
    return good;
}
