/* draw.h: samples by the entry `sample`. */
#ifndef LATHE_TEXT_DRAW_H
#define LATHE_TEXT_DRAW_H

#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "token/tokenizer.h"

typedef struct Drawing Drawing;
Drawing *open_drawing(const Lathe_model *model, int32_t seed, const Memory *m); /* ends the program without the entry */
bool draws_text(const Drawing *d);                        /* then it needs a tokenizer, */
void set_drawing_tokens(Drawing *d, Tokenizer *k, const char *place); /* place: of prompts, for messages */
int64_t drawing_batch(const Drawing *d);                  /* samples per call */
/* Ends the program (2) if no sample can begin with the prompt.  place: its origin, for messages; NULL: as last time. */
void check_prompt(const Drawing *d, Passage prompt, const char *place);
/* Draws batch number `number`; its first n samples (at most a batch) begin with these prompts. */
void draw_batch(const Drawing *d, const Passage *prompt, int64_t n, int64_t number, int64_t step);
const void *drawn_row(const Drawing *d, const Lathe_tensor *o, int64_t row); /* the elements of an output */
void print_drawn(const Drawing *d, int64_t row);             /* on stdout */
json_t *drawn_json(const Drawing *d, int64_t row, Passage prompt); /* {prompt, text, tokens, outputs} */

#endif
