/* tags.h: the words of texts that are lists of words, and the label of each. */
#ifndef LATHE_DATA_TAGS_H
#define LATHE_DATA_TAGS_H

#include "data/labels.h"
#include "interface/no_label.h"
#include "token/tokenizer.h"

typedef struct Tag { /* of a word */
    int32_t place;   /* of its first piece in the row; -1: it has none, or was cut */
    int32_t label;   /* -1: it has none */
    int64_t text;    /* where it is in Tags.text; only if that is kept */
} Tag;

typedef struct Tags {
    Tag *at; /* the words of all rows, one row after another */
    int64_t n, room;
    char *text; /* each ended by 0 */
    int64_t bytes, text_room;
    bool keeps_text;
    int before, around; /* tokens that the tokenizer puts before a text, and in all */
    bool spaced;        /* words are encoded with a space before each */
} Tags;

void start_tags(Tags *t, const Tokenizer *k, bool keeps_text);
/* Encodes the words of a row's cell, and adds a tag for each; returns how many. */
int32_t add_words(Tags *t, const Cells *c, int column, Encoder *e, Ids *text);
void add_word_labels(Tags *t, Labels *l, int file, const Cells *c, int column, int32_t words); /* of the last words */
void place_words(Tags *t, int32_t words, int64_t pieces, int64_t ids); /* likewise; ids: of the row as it is framed and cut */
void drop_words(Tags *t, int32_t words);
void label_cells(Labels *l, int file, const Cells *c, int column); /* takes the labels of a row's list */
/* How many of the words have a label that losses read, or, if not read, one that was cut. */
int64_t labelled_words(const Tags *t, int64_t first, int64_t words, bool read);
void fill_labels(const Tags *t, int64_t first, int32_t words, int32_t *to, int64_t width);

#endif
