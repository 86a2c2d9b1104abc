/* sentences.h: texts as the rows of a batch: ids, and a class, or labels of their words. */
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
bool has_sentence_class(const Sentences *s); /* one of a row */
int32_t sentence_class(const Sentences *s, int64_t row); /* -1: there is none */
/* Of rows whose words have labels: how many there are; the text of one, and the position of its first piece in the row,
 * -1 if it has none or was cut.  Texts are there when predicting. */
bool has_sentence_words(const Sentences *s);
int32_t sentence_words(const Sentences *s, int64_t row);
const char *sentence_word(const Sentences *s, int64_t row, int32_t k, int32_t *place);
char *words_of_sentences(const Sentences *s); /* "texts of 5 to 40 tokens, …", from malloc */
int64_t sentences_heap(const Sentences *s);
uint64_t sentences_hash(const Sentences *s);
uint64_t sentence_hash(const Sentences *s, int64_t row); /* of its ids, its class, and the places and labels of its words */
/* row -1: of no text, and of words without labels. */
void fill_sentences(const Sentences *s, const Lathe_entry *e, char *in, const int64_t *row);
/* The classes of a column, of texts or of lists, in their order: numbers as numbers, texts as texts. */
Words classes_of_column(const Words *paths, const char *column);

#endif
