/* sample.h: the next token of a text, drawn from the scores that an entry gives. */
#ifndef LATHE_STEP_SAMPLE_H
#define LATHE_STEP_SAMPLE_H

#include "interface/lathe_model.h"

enum { MAX_ENDS = 64 };
typedef struct Ends { /* tokens that end a text, and are not part of it */
    int n;
    int32_t id[MAX_ENDS];
} Ends;

static inline bool is_end(const Ends *e, int32_t token)
{
    for (int i = 0; i < e->n; i++)
        if (e->id[i] == token) return true;
    return false;
}

typedef struct Candidate {
    double weight;
    int32_t id;
} Candidate;

typedef struct Sampler {
    int64_t n, top_k;
    int64_t ids; /* only ids below this and ends are drawn; n is above both */
    const Ends *ends;
    bool may_end;
    const uint64_t *allowed; /* a bit for each id that may come next; NULL: all may */
    double temperature, top_p, min_p, penalty;
    int32_t seed, number; /* number: of the sample */
    int64_t step;         /* of a training run; otherwise 0 */
    Candidate *list;      /* [n], the caller's; several samplers may share it */
    unsigned char *seen;  /* [n], the caller's: not 0 for tokens that the text has */
} Sampler;

enum { NO_TOKEN = -1, SCORE_NOT_FINITE = -2 };

/* Sets it by the recipe, for a new text; the caller has set n, list and seen.  (Without seen, which it sets later, the text may be
 * one that goes on.) */
void sampler_init(Sampler *s, const Lathe_recipe *r, int32_t seed, int number);
/* temperature 0: the likeliest.  NO_TOKEN: none may come.  SCORE_NOT_FINITE: the first candidate in the list is that one,
 * with its score as weight.  position: of the drawn token, from the start of the text. */
int32_t sample_token(Sampler *s, Lathe_dtype type, const void *logits, int64_t position);

#endif
