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
        usage_error("--%s %s=… names %lld of the %lld matrices called '%s'; name all, or none", only_option(d),
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

static void say_fitting(Text *t, const Desc *d)
{
    for (int i = 0; i < d->params.n; i++)
        if (fits_blocks(d->params.at[i])) say(t, "%s%s", t->n ? ", " : "", d->params.at[i]->export_name);
    if (d->teacher) say_fitting(t, d->teacher);
}

static bool names_one(const char *match, const Desc *d)
{
    for (int i = 0; i < d->params.n; i++)
        if (fits_blocks(d->params.at[i]) && matching_copies(match, d->params.at[i]) > 0) return true;
    return d->teacher && names_one(match, d->teacher);
}

/* Each rule names something, and something is stored in blocks. */
void check_block_types(const Desc *d)
{
    if (!has_blocks(d->options)) return;
    const Block_types types = block_types(d->options);
    Text names = {0};
    say_fitting(&names, d);
    if (!names.n)
        usage_error("%s: %s has no%s matrix whose rows are a multiple of %d numbers%s", block_option(d->options),
                    d->file, only_answers(d->options) ? "" : " frozen", LATHE_BLOCK,
                    only_answers(d->options) ? ""
                                             : "; --lora freezes all but its adapters, and train's groups freeze too");
    for (int i = 0; i < types.rules.n; i++) {
        if (!names_one(types.rules.at[i].match, d))
            usage_error("--%s %s=…: no%s matrix whose rows are a multiple of %d numbers has such a name; theirs are %s",
                        only_option(d), types.rules.at[i].match, only_answers(d->options) ? "" : " frozen", LATHE_BLOCK,
                        names.at);
    }
}
