/* constrain.h: grammars that texts of generate, chat and serve follow. */
#ifndef LATHE_TRAINER_CONSTRAIN_H
#define LATHE_TRAINER_CONSTRAIN_H

#include "grammar/grammar.h"
#include "serve/request.h"
#include "text/generate.h"
#include "trainer/trainer.h"

/* Before memory is taken, which then counts theirs: of --grammar or --json-schema, if one is given; for any. */
void take_grammar(Trainer *t, const Tokenizer *k);
void allow_grammars(Trainer *t, const Tokenizer *k);
void check_constrained(const Written *w); /* after it was shown: ends the program (3) if no token could come */
bool grammar_of_request(const Request *r, Grammar **g, Refusal *f); /* NULL: none is asked for.  false: *f says why */

#endif
