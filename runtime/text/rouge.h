/* rouge.h: ROUGE, and the stems of words. */
#ifndef LATHE_TEXT_ROUGE_H
#define LATHE_TEXT_ROUGE_H

#include "base/words.h"

typedef struct Rouge {
    double precision, recall, f1;
} Rouge;

enum { ROUGE_1, ROUGE_2, ROUGE_L, ROUGES };
extern const char *const rouge_names[ROUGES]; /* rouge1, rouge2, rougeL: as metrics */
/* Each kind of ROUGE against the one of n references with the best F1; the first of several.  stem: words are
 * stemmed. */
void best_rouge(const Passage *reference, int64_t n, Passage text, bool stem, Rouge *to);
int64_t stem_word(char *word, int64_t n); /* in place, for a-z and 0-9; returns the new length */

#endif
