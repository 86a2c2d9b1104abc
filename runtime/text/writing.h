/* writing.h: a command's request for texts. */
#ifndef LATHE_TEXT_WRITING_H
#define LATHE_TEXT_WRITING_H

#include "base/words.h"
#include "interface/lathe_model.h"

struct Origin;
struct Chat_form;
struct Grammar;
struct Vocabulary;

typedef struct Writing {
    const Lathe_model *model;
    const Lathe_recipe *recipe;  /* of the run: the model's with --set applied */
    const struct Origin *origin; /* files that the weights came with (model/origin.h); NULL: none */
    Words stop, stop_tokens;     /* what ends texts (text/stop.c) */
    int32_t seed;
    const struct Chat_form *chat; /* prompts are what a person says, and texts are answers; NULL: texts go on */
    Passage system;               /* what the system says before; at NULL: as the form has it */
    const struct Vocabulary *vocabulary; /* for grammars, of the tokenizer; NULL: there are none */
    const struct Grammar *grammar;       /* what texts may be, without their prompts; NULL: anything */
    bool ignore_eos;   /* no token ends a text */
    bool tokens_given; /* --tokens gives the length of texts, not the recipe */
} Writing;

#endif
