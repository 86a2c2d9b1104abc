/* tags.c: words of texts and their labels.  A word is encoded on its own; its first piece has its label, and other
 * pieces, what stands around the text, and padding have none: as in transformers' examples of token classification. */
#include "data/files.h"
#include "data/tags.h"

#include <stdlib.h>

void start_tags(Tags *t, const Tokenizer *k, bool keeps_text)
{
    t->keeps_text = keeps_text;
    t->spaced = spaces_words(k);
    frame_sizes(k, &t->before, &t->around);
}

/* ------------------------------------------------------------------ words */

static char *place_in_list(const Cells *c, int column, size_t k)
{
    return text_of("%s, number %zu", cell_place((Cells *)c, column), k + 1);
}

static const json_t *needed_list(const Cells *c, int column, const char *form)
{
    const json_t *all = cell_list(c, column);
    if (!all)
        fail(EXIT_DATA, cell_place((Cells *)c, column),
             "expected a list, such as %s, found %s; lists are in JSON lines", form,
             *cell(c, column) ? "another value" : "nothing");
    if (json_array_size(all) == 0)
        fail(EXIT_DATA, cell_place((Cells *)c, column),
             "expected a list of one or more, found an empty one; leave "
             "the row out");
    return all;
}

static void keep_word(Tags *t, Tag *word, const char *text)
{
    size_t n = strlen(text) + 1;
    if (!t->keeps_text) return;
    if (t->bytes + (int64_t)n > t->text_room)
        t->text = must_grow(t->text, (size_t)(t->text_room = (t->bytes + (int64_t)n) * 2));
    word->text = t->bytes;
    memcpy(t->text + t->bytes, text, n);
    t->bytes += (int64_t)n;
}

static void encode_word(const Tags *t, Encoder *e, const char *word, Ids *text)
{
    char *spaced = t->spaced && *word != ' ' ? text_of(" %s", word) : NULL;
    const char *all = spaced ? spaced : word;
    encode_bytes(e, all, (int64_t)strlen(all), text);
    free(spaced);
}

int32_t add_words(Tags *t, const Cells *c, int column, Encoder *e, Ids *text)
{
    const json_t *all = needed_list(c, column, "[\"EU\", \"rejects\"]");
    size_t n = json_array_size(all);
    if (n > 1 << 24) fail(EXIT_DATA, cell_place((Cells *)c, column), "expected at most %d words", 1 << 24);
    for (size_t k = 0; k < n; k++) {
        const char *word = json_string_value(json_array_get(all, k));
        if (!word || !*word)
            fail(EXIT_DATA, place_in_list(c, column, k), "expected a word, found %s; take it out, and its label",
                 word ? "an empty text" : "no text");
        if (t->n == t->room) t->at = must_grow(t->at, sizeof *t->at * (size_t)(t->room = t->room * 2 + 1024));
        t->at[t->n] = (Tag){.place = (int32_t)text->n, .label = -1};
        encode_word(t, e, word, text);
        keep_word(t, &t->at[t->n++], word);
    }
    return (int32_t)n;
}

void drop_words(Tags *t, int32_t words)
{
    t->n -= words;
    if (t->keeps_text && words) t->bytes = t->at[t->n].text;
}

void place_words(Tags *t, int32_t words, int64_t pieces, int64_t ids)
{
    Tag *w = t->at + t->n - words;
    for (int32_t k = 0; k < words; k++) {
        int64_t begin = w[k].place, end = k + 1 < words ? w[k + 1].place : pieces;
        w[k].place = begin < end && begin < ids - t->around ? (int32_t)(t->before + begin) : -1;
    }
}

/* ------------------------------------------------------------------ labels */

/* Ids and names in one column would all be names. */
static void check_mixture(Labels *l, const Cells *c, int column, bool whole, const char *text, size_t k)
{
    int64_t number;
    if (whole) l->whole = true;
    else if (!parse_count(text, &number)) l->worded = true;
    if (l->whole && l->worded)
        fail(EXIT_DATA, place_in_list(c, column, k),
             "expected labels that are all whole numbers or all names, found %s after %s; give all of them names, or "
             "none",
             whole ? text : text_of("\"%.60s\"", text), whole ? "names" : "numbers");
}

/* -1: losses leave the word out. */
static int32_t label_of_word(Labels *l, int file, const Cells *c, int column, const json_t *label, size_t k)
{
    char number[32];
    const char *text = json_string_value(label);
    if (json_is_integer(label)) {
        if (json_integer_value(label) == NO_LABEL) return -1;
        if (json_integer_value(label) < 0)
            fail(EXIT_DATA, place_in_list(c, column, k),
                 "expected a label, a text or a number from 0 on, found %" JSON_INTEGER_FORMAT
                 "; %d is of words without one",
                 json_integer_value(label), NO_LABEL);
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(label));
        text = number;
    }
    if (!text || !*text)
        fail(EXIT_DATA, place_in_list(c, column, k),
             "expected a label, a text or a whole number, found %s; %d is of words without one",
             text ? "an empty text" : "another value", NO_LABEL);
    if (!json_is_integer(label) && is_negative(text))
        fail(EXIT_DATA, place_in_list(c, column, k),
             "expected a label, a text or a number from 0 on, found \"%s\"; %d (a number) is of words without one",
             text, NO_LABEL);
    check_mixture(l, c, column, json_is_integer(label), text, k);
    return take_label(l, file, c, text);
}

void label_cells(Labels *l, int file, const Cells *c, int column)
{
    const json_t *all = needed_list(c, column, "[\"B-ORG\", \"O\"]");
    for (size_t k = 0; k < json_array_size(all); k++) label_of_word(l, file, c, column, json_array_get(all, k), k);
}

void add_word_labels(Tags *t, Labels *l, int file, const Cells *c, int column, int32_t words)
{
    const json_t *all = needed_list(c, column, "[\"B-ORG\", \"O\"]");
    Tag *w = t->at + t->n - words;
    if ((size_t)words != json_array_size(all))
        fail(EXIT_DATA, cell_place((Cells *)c, column), "expected a label for each of the %d words, found %zu", words,
             json_array_size(all));
    for (int32_t k = 0; k < words; k++)
        w[k].label = label_of_word(l, file, c, column, json_array_get(all, (size_t)k), (size_t)k);
}

int64_t labelled_words(const Tags *t, int64_t first, int64_t words, bool read)
{
    int64_t n = 0;
    for (const Tag *w = t->at + first; w < t->at + first + words; w++) n += w->label >= 0 && (w->place >= 0) == read;
    return n;
}

void fill_labels(const Tags *t, int64_t first, int32_t words, int32_t *to, int64_t width)
{
    for (int64_t i = 0; i < width; i++) to[i] = NO_LABEL;
    for (int32_t k = 0; k < words; k++) {
        const Tag *word = &t->at[first + k];
        if (word->place >= 0 && word->label >= 0) to[word->place] = word->label;
    }
}
