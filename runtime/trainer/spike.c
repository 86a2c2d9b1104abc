/* spike.c: measures how far a loss jumps above those before it, and warns. */
#include "trainer/report.h"

#include <math.h>

/* The number of standard deviations by which the loss is above its mean, both over about the last hundred steps
 * (exponentially weighted; Welford's update).  0 for the first thirty steps, and for jumps of the size of rounding
 * errors. */
double spike_score(Spike *s, double loss)
{
    enum { SETTLED = 30, MEMORY = 100 };
    double share = 1.0 / (s->n < MEMORY ? s->n + 1 : MEMORY), off = loss - s->mean;
    double deviation = sqrt(s->variance), least = 1e-3 * fabs(s->mean);
    double score = s->n < SETTLED ? 0 : off / (deviation > least ? deviation : least);
    if (score > SPIKE) off = SPIKE * deviation; /* so that one jump does not hide the next */
    s->mean += share * off;
    s->variance = (1 - share) * (s->variance + share * off * off);
    s->n++;
    return score;
}

void warn_of_spike(Report *r, int64_t done, double loss)
{
    enum { APART = 100 }; /* steps between two warnings */
    double mean = r->spike.mean, score = spike_score(&r->spike, loss);
    if (score <= SPIKE || done < r->next_warning) return;
    r->next_warning = done + APART;
    report_text(r,
                "step %lld: the loss jumped to %.4f, %.0f standard deviations above its mean of %.4f; if that lasts, "
                "lower the learning rate (--set lr=%g)%s",
                (long long)done, loss, score, mean, r->t->recipe.lr / 2,
                r->t->recipe.clip > 0 ? "" : " or clip gradients (--set clip=1)");
}
