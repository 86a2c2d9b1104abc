/* beam.h: beam search over any model that scores the next tokens of several rows at once.
 *
 * A text's score is the sum of its tokens' log probabilities, its end token included, divided by (number of its
 * tokens)^power.  In each step, the candidates are all live texts with all next tokens.  They are ranked by that sum;
 * if sums are equal, the lower token comes first, then the lower row.  An end token among the best `beams` candidates
 * ends its text; the best `beams` of the others stay live; one that `stops` ends with its last token.  The result is
 * the ended text with the best score, the first of several; if none has ended, it is the best text that is live or that
 * no token may follow.
 *
 * A search ends after `most` tokens, or when no live text can do better: log probabilities are not above 0, so a text
 * with sum s ends with a score of at most s / most^power.  So stopping early changes no result. */
#ifndef LATHE_TEXT_BEAM_H
#define LATHE_TEXT_BEAM_H

#include "interface/lathe_model.h"
#include "step/sample.h"

typedef struct Beam_how {
    int64_t beams;
    int64_t least, most; /* tokens of a text: at least, before its end; at most, with its end */
    int64_t no_repeat;   /* no sequence of this many tokens may repeat; 0: any may */
    double power;        /* 0 or more */
    Ends ends;           /* the likeliest in a row is the one used */
    int32_t ids;         /* only tokens below this are written; ends may be any */
    /* Whether a text ends with the last of these tokens, which stays a part of it; NULL: never. */
    bool (*stops)(void *with, const int32_t *token, int64_t n);
    void *with;
} Beam_how;

typedef struct Beam_model {
    void *with;
    int64_t rows, vocab;
    int extras; /* numbers beside each row's scores, about the next token */
    Lathe_dtype type;
    /* Feeds each row its token; returns unnormalised scores of the next tokens [rows][vocab], and writes extra
     * [rows][extras]. */
    const void *(*feed)(void *with, const int32_t *token, float *extra);
    void (*reorder)(void *with, const int32_t *from); /* row k becomes what row from[k] is */
} Beam_model;

typedef struct Beam_start { /* at least one token that a text begins with; not part of the result */
    const int32_t *token;
    int64_t n;
} Beam_start;

typedef struct Beam_text { /* in the search's memory, valid until the next search */
    const int32_t *token;  /* [n], without its end */
    const float *extra;    /* [n][extras] */
    int64_t n;
    double score;
    bool ended;
} Beam_text;

typedef struct Beam Beam;
/* memory: beam_bytes() bytes, aligned to 16. */
Beam *open_beam(const Beam_how *how, const Beam_model *model, void *memory);
int64_t beam_bytes(const Beam_how *how, const Beam_model *model);
int64_t beam_samples(const Beam *b); /* most searches at once: rows / beams */
/* Search s has the rows from s · beams on; unused rows do the same as the first.  fed: how many tokens the rows have
 * read already, of those before the last of each start. */
void search_beams(Beam *b, const Beam_start *start, int64_t samples, int64_t fed, Beam_text *out);

#endif
