/* beam.h: beam search over anything that scores the next tokens of rows side by side.  Included by trainer/trainer.h.
 *
 * A text's score is the sum of its tokens' log probabilities over (number of its tokens)^power; its end is one of them.
 * Step by step the candidates, each live text with each token behind it, are ranked by that sum, the lower token, then
 * the lower row first where sums are equal.  An end among the best `beams` candidates ends its text; the best `beams`
 * of the others live on; what `stops` there ends its text with its last token.  Of the texts that ended the best by
 * score is the result, the first of several; where none has ended, the best of those that live, or that nothing may
 * follow.
 *
 * A search ends after `most` tokens, or when no live text can do better: log probabilities are not above 0, so a
 * text of sum s ends with a score of s / most^power at best.  So that stopping changes no result. */
#ifndef LATHE_TEXT_BEAM_H
#define LATHE_TEXT_BEAM_H

#include "interface/lathe_model.h"

enum { MAX_ENDS = 64 };
typedef struct Ends { /* tokens that end a text; none of them is part of it */
    int n;
    int32_t id[MAX_ENDS];
} Ends;

static inline bool is_end(const Ends *e, int32_t token)
{
    for (int i = 0; i < e->n; i++)
        if (e->id[i] == token) return true;
    return false;
}

typedef struct Beam_how {
    int64_t beams;
    int64_t least, most; /* tokens of a text: before its end; at most, its end included */
    int64_t no_repeat;   /* no so many tokens in a row that the text has already; 0: any */
    double power;        /* 0 or more */
    Ends ends;           /* a row's likeliest is the one that counts */
    int32_t ids;         /* only tokens below are written; ends come in any case */
    /* Whether a text of these tokens is over with the last of them, which stays a part of it; NULL: none is. */
    bool (*stops)(void *with, const int32_t *token, int64_t n);
    void *with;
} Beam_how;

typedef struct Beam_model {
    void *with;
    int64_t rows, vocab;
    int extras; /* numbers beside each row's scores, about the token that they are of */
    Lathe_dtype type;
    /* Each row goes on by its token; returns the scores of what comes next [rows][vocab], to be normalised, and writes
     * extra [rows][extras]. */
    const void *(*feed)(void *with, const int32_t *token, float *extra);
    void (*reorder)(void *with, const int32_t *from); /* row k becomes what row from[k] is */
} Beam_model;

typedef struct Beam_start { /* what a text begins with, one token at least; not part of the result */
    const int32_t *token;
    int64_t n;
} Beam_start;

typedef struct Beam_text { /* in the search's memory, until the next */
    const int32_t *token;  /* [n], without its end */
    const float *extra;    /* [n][extras] */
    int64_t n;
    double score;
    bool ended;
} Beam_text;

typedef struct Beam Beam;
/* In so many bytes of memory, beam_bytes() of the same, aligned to 16. */
Beam *open_beam(const Beam_how *how, const Beam_model *model, void *memory);
int64_t beam_bytes(const Beam_how *how, const Beam_model *model);
int64_t beam_samples(const Beam *b); /* searches side by side, at most: rows / beams */
/* Rows s · beams … are the s-th's; those that nobody has go on like the first. */
void search_beams(Beam *b, const Beam_start *start, int64_t samples, Beam_text *out);

#endif
