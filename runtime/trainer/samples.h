/* samples.h: texts of a run, and what is said of them. */
#ifndef LATHE_TRAINER_SAMPLES_H
#define LATHE_TRAINER_SAMPLES_H

#include "base/words.h"
#include "model/block.h"
#include "text/generate.h"
#include "token/tokenizer.h"
#include "trainer/trainer.h"

/* ---- trainer/generate.c */

typedef struct Text_written {
    char *at; /* from malloc; NULL where it is empty */
    size_t bytes, room;
} Text_written;

int generated(const Trainer *t);          /* number of samples that the command line asks for, over all prompts */
Prompt prompt_number(const Trainer *t, int k); /* of the k-th; empty without */
/* As saved beside the weights; else the given text's characters; bytes need neither. */
Tokenizer *vocabulary_of(Trainer *t, const char *weights);

Text_written text_written(const Tokenizer *k, const Written *w);
json_t *written_json(const Text_writer *from, const Tokenizer *k, Passage prompt, const Written *w);

/* ---- trainer/samples.c */

typedef struct Samples Samples;
/* For the recipe's samples: the prompts are read and encoded, so that what is wrong with them is told before training.
 * NULL where there are none.  w: NULL where the model draws them itself. */
Samples *open_samples(const Trainer *t, const Memory *m, Tokenizer *tokenizer, Text_writer *w);
bool wants_samples(const Trainer *t);
int sample_count(const Samples *s);
int sample_calls(const Samples *s); /* draw_sample()s that take time: others are of a batch that was drawn */
/* What is written for the k-th prompt after so many steps, as JSON; changes nothing that training uses but what an
 * evaluation does. */
json_t *draw_sample(Samples *s, int k, int64_t step);

#endif
