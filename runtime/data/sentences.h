/* sentences.h: texts as the rows of a batch: ids, and a class. */
#ifndef LATHE_DATA_SENTENCES_H
#define LATHE_DATA_SENTENCES_H

#include "base/words.h"
#include "data/reading.h"
#include "interface/lathe_model.h"
#include "token/tokenizer.h"

typedef struct Sentences Sentences;

/* Reads the tables of --data, and encodes their texts.  known: the classes of training; NULL: those of the data.  What
 * does not fit ends the program (3). */
Sentences *open_sentences(const Reading *reading, Tokenizer *k, const Words *known);
int64_t sentence_rows(const Sentences *s);
const Words *sentence_classes(const Sentences *s); /* NULL: the model reads none */
int32_t sentence_class(const Sentences *s, int64_t row); /* -1: there is none */
char *words_of_sentences(const Sentences *s); /* "texts of 5 to 40 tokens, …", from malloc */
int64_t sentences_heap(const Sentences *s);
uint64_t sentences_hash(const Sentences *s);
uint64_t sentence_hash(const Sentences *s, int64_t row); /* of its ids and class */
void fill_sentences(const Sentences *s, const Lathe_entry *e, char *in, const int64_t *row);
/* The classes of a column, in their order: numbers as numbers, texts as texts. */
Words classes_of_column(const Words *paths, const char *column);

#endif
