/* draw.c: points of a grid, and random ones.  The numbers of a trial depend on the seed and on its number alone. */
#include "sweep/sweep.h"

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_word(Draw *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

Draw draws_of_trial(int64_t seed, int trial)
{
    Draw d = {(uint64_t)seed};
    d.state = next_word(&d) + (uint64_t)trial;
    d.state = next_word(&d);
    return d;
}

double draw_unit(Draw *d) { return (double)(next_word(d) >> 11) * 0x1p-53; }

int64_t grid_size(const Dimensions *over)
{
    int64_t n = 1;
    for (int i = 0; i < over->n; i++) n = over->at[i].ranged || n > INT32_MAX ? n : n * over->at[i].values.n;
    return n;
}

void grid_point(const Dimensions *over, int64_t k, const char **to)
{
    for (int i = over->n - 1; i >= 0; i--) {
        const Texts *values = &over->at[i].values;
        to[i] = values->at[k % values->n];
        k /= values->n;
    }
}

void random_point(const Dimensions *over, Draw *draw, const char **to)
{
    for (int i = 0; i < over->n; i++) {
        const Dimension *d = &over->at[i];
        double from, end, unit = draw_unit(draw);
        if (d->ranged) coordinate_bounds(d, &from, &end);
        to[i] = d->ranged ? coordinate_text(d, from + (end - from) * unit) : d->values.at[(int)(unit * d->values.n)];
    }
}
