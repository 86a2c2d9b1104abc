/* optim_ranges.h: updates of ranges of the flat arrays (step/optim.c), compiled for float and for double: REAL, NAME(x). */

static void NAME(update_segment)(const Optimizer *o, void *params, const void *grads, int64_t begin, int64_t end,
                                 const Rule *rule, const Rates *rates)
{
    const NAME(Update) u = NAME(update_of)(o, rule, rates);
    NAME(update_some)(o, params, grads, begin, end, NAME(moments)(o, begin, &u), &u, rates);
}

/* Block `block` of a piece (step/coded.h): moments in 8 bits are numbers while it is updated. */
static void NAME(update_block)(const Optimizer *o, void *params, const void *grads, const Piece *p, int64_t block,
                               const Rates *rates)
{
    REAL wide[2][LATHE_CODED_BLOCK];
    const Coded *c = o->coded;
    const NAME(Update) u = NAME(update_of)(o, &p->rule, rates);
    const int64_t from = block * LATHE_CODED_BLOCK, n = smaller(p->n - from, LATHE_CODED_BLOCK), at = p->begin + from;
    const int64_t first = p->first + from, scale = p->scale + block;
    NAME(Moments) m = {{0}, o->average ? (REAL *)o->average + at : NULL};
    for (int k = 0; k < 2 && p->kind == PLAIN; k++) m.at[k] = (REAL *)c->plain[k] + first;
    for (int k = 0; k < 2 && p->kind == CODED; k++) {
        NAME(decode_block)(&c->table[k], c->code[k] + first, c->largest[k][scale], n, wide[k]);
        m.at[k] = wide[k];
    }
    NAME(update_some)(o, params, grads, at, at + n, m, &u, rates);
    for (int k = 0; k < 2 && p->kind == CODED; k++)
        NAME(code_block)(&c->table[k], wide[k], n, c->code[k] + first, &c->largest[k][scale]);
}
