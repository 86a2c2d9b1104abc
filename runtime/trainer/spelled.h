/* spelled.h: texts that an output of CTC spells. */
#ifndef LATHE_TRAINER_SPELLED_H
#define LATHE_TRAINER_SPELLED_H

#include "trainer/predict.h"

/* Whether the output is the scores of characters, logits [rows][time][characters], where the target is a text. */
bool are_spellings(const Lathe_model *m, const Lathe_tensor *t);
/* Its companion: lengths, i32 [rows]: how much of the time counts; NULL: all. */
const Lathe_tensor *length_of_spellings(const Lathe_entry *e);
/* The likeliest class of each time, repeats read once, blanks left out; from malloc.  x: the row's numbers. */
char *spelled_text(const Predictions *p, const Lathe_tensor *t, const char *out, int64_t row, const double *x);

typedef struct Spelling_errors { /* sums over rows */
    int64_t rows, letters, words;         /* of the texts */
    int64_t wrong_letters, wrong_words;   /* the fewest that are put in, left out or replaced */
} Spelling_errors;

void add_spelling(Spelling_errors *e, const char *spelled, const char *text);

#endif
