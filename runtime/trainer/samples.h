/* samples.h: texts that a run writes. */
#ifndef LATHE_TRAINER_SAMPLES_H
#define LATHE_TRAINER_SAMPLES_H

#include "base/words.h"
#include "model/block.h"
#include "text/generate.h"
#include "token/tokenizer.h"
#include "trainer/trainer.h"

/* ---- trainer/generate.c */

void check_weights_named(const Trainer *t); /* by --out or by --weights, not both (2) */
int generated(const Trainer *t);          /* number of samples that the command line asks for, over all prompts */
Prompt prompt_number(const Trainer *t, int k); /* of the k-th; empty without */
/* The tokenizer saved beside the weights, or else the characters of the given text; bytes need neither. */
Tokenizer *vocabulary_of(Trainer *t, const char *weights);

/* ---- trainer/chat.c */

/* What a chat asks for: answers in the form that the run was trained on. */
Writing chat_of(Trainer *t, const Tokenizer *k);
struct Chat_form;
void add_chat_stops(Words *to, const struct Chat_form *f, const Tokenizer *k); /* texts that end an answer */

/* ---- trainer/samples.c */

typedef struct Samples Samples;
/* Reads and encodes the prompts of the recipe's samples, so that errors in them are reported before training.  NULL if
 * there are none.  w: NULL if the description's function sample draws them. */
Samples *open_samples(const Trainer *t, const Memory *m, Tokenizer *tokenizer, Text_writer *w);
bool wants_samples(const Trainer *t);
int sample_count(const Samples *s);
int sample_calls(const Samples *s); /* number of draw_sample() calls that run the model; the others use its batch */
/* The sample for the k-th prompt after `step` steps, as JSON.  Like an evaluation, it does not change training. */
json_t *draw_sample(Samples *s, int k, int64_t step);

#endif
