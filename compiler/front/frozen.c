/* frozen.c: --frozen and --parameters: the type of each frozen matrix, by patterns of export names. */
#include "front/front.h"

static const char *only_option(const Desc *d) { return only_answers(d->options) ? "parameters" : "frozen"; }

/* As in GGUF, only matrices are stored in blocks, along their last axis. */
static bool fits_blocks(const Param *p)
{
    return p->frozen && p->shape.rank - p->loops >= 2 && p->shape.dim[p->shape.rank - 1] % LATHE_BLOCK == 0;
}

/* Copies of one stack lie in one array of structs, so they are of one type. */
static bool names_all(const Desc *d, const Block_rule *rule, const Param *p)
{
    int64_t named = matching_copies(rule->match, p), all = copies_of_param(p);
    if (named && named < all)
        usage_error("--%s %s=… names %lld of the %lld layers that have '%s'; name all, or none", only_option(d),
                    rule->match, (long long)named, (long long)all, p->export_name);
    return named > 0;
}

DType stored_as(const Desc *d, const Param *p)
{
    if (!has_blocks(d->options) || !fits_blocks(p)) return BOOL;
    const Block_types types = block_types(d->options);
    DType t = types.others;
    for (int i = 0; i < types.rules.n; i++)
        if (names_all(d, &types.rules.at[i], p)) t = types.rules.at[i].type;
    return t;
}

static const char *names_of_fitting(const Desc *d)
{
    Text t = {0};
    for (int i = 0; i < d->params.n; i++)
        if (fits_blocks(d->params.at[i])) say(&t, "%s%s", t.n ? ", " : "", d->params.at[i]->export_name);
    return t.at;
}

/* Each rule names something, and something is stored in blocks. */
void check_block_types(const Desc *d)
{
    if (!has_blocks(d->options)) return;
    const Block_types types = block_types(d->options);
    const char *names = names_of_fitting(d);
    if (!names)
        usage_error("%s: %s has no%s matrix whose rows are a multiple of %d numbers%s", block_option(d->options),
                    d->file, only_answers(d->options) ? "" : " frozen", LATHE_BLOCK,
                    only_answers(d->options) ? ""
                                             : "; --lora freezes all but its adapters, and train's groups freeze too");
    for (int i = 0; i < types.rules.n; i++) {
        bool found = false;
        for (int k = 0; k < d->params.n; k++)
            found |= fits_blocks(d->params.at[k]) && matching_copies(types.rules.at[i].match, d->params.at[k]) > 0;
        if (!found)
            usage_error("--%s %s=…: no%s matrix whose rows are a multiple of %d numbers has such a name; theirs are %s",
                        only_option(d), types.rules.at[i].match, only_answers(d->options) ? "" : " frozen", LATHE_BLOCK,
                        names);
    }
}
