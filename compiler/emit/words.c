/* words.c: the names of values in the text of a kernel.
 *
 * A value is called by its title. A value without one is called after the value of which it is the gradient
 * (d_variance), else after how it is made of titled values, if that is short: sum_of_squares, centred_times_rstd.
 * Else it is a part of the first titled value that is made of it. */
#include "emit/rows.h"

#include <ctype.h>
#include <string.h>

enum { MOST_LETTERS = 26 }; /* a longer description is harder to read than the expression */

/* The value whose elements n shows in other places, in another type or in an iteration; NULL: none. */
static const Node *value_behind(const Node *n)
{
    if (n->op == OP_cast || shows_all(n)) return n->in[0];
    if (n->op == OP_loop_arg && n->ints[0] == ARG_X) return n->loop->xs.at[n->ints[1]].outer;
    bool stack = n->op == OP_pick && n->in[0]->op == OP_loop && n->ints[0] == PICK_STACK;
    return stack ? n->in[0]->loop->ys.at[n->ints[1]] : NULL;
}

static const Node *value_shown(const Node *n)
{
    while (!n->title && value_behind(n)) n = value_behind(n);
    return n;
}

const char *word_for(Page *page, const Node *n)
{
    return identifier(page, n->gradient ? format("d_%s", n->title) : n->title);
}

/* The name that a person gave it; NULL: none, or only the name of an argument in a library function. */
static const char *own_word(Page *page, const Node *n)
{
    n = value_shown(n);
    if (n->title_rank <= TITLE_ARGUMENT) return NULL;
    const char *word = word_for(page, n);
    size_t letters = strlen(word);
    while (letters > 1 && word[letters - 1] == '_') letters--; /* one_minus_switch for switch_ */
    return copy_bytes_as_string(word, letters);
}

static const char *in_small_letters(const char *name)
{
    char *small = copy_string(name);
    for (char *c = small; *c; c++) *c = (char)tolower((unsigned char)*c);
    return small;
}

static const char *fit(const char *words) { return strlen(words) <= MOST_LETTERS ? words : NULL; }

static bool is_number(const Node *n, double x)
{
    double value;
    return is_filled(n, &value) && value == x;
}

/* minus_one, …, for a map of one value; %s is its word. */
static const char *pattern_of_map(const Node *n)
{
    switch (n->op) {
    case OP_neg: return "minus_%s";
    case OP_exp:
    case OP_expm1:
    case OP_log:
    case OP_log1p:
    case OP_sin:
    case OP_cos:
    case OP_tanh:
    case OP_erf:
    case OP_floor:
    case OP_abs:
    case OP_sign:
    case OP_sqrt: return format("%s_of_%%s", op_info[n->op].name);
    default: return NULL;
    }
}

/* For a value divided by an extent: x_over_width; share_of_d_variance, since it is not a gradient itself. */
static const char *pattern_of_share(const Node *n, const char *of)
{
    if (of && starts_with(of, "d_")) return "share_of_%s";
    const char *size = size_of_axis(axis_counted(n->in[1]));
    return size ? format("%%s_over_%s", in_small_letters(size)) : "scaled_%s";
}

/* For an operation on a value and a number. */
static const char *pattern_with_number(const Node *n, const char *of)
{
    bool first = is_filled(n->in[0], NULL);
    const Node *number = n->in[!first];
    if (n->op == OP_mul) return is_number(number, 0.5) ? "half_%s" : is_number(number, -1) ? "minus_%s" : "scaled_%s";
    if (n->op == OP_div && !first) return pattern_of_share(n, of);
    if (n->op == OP_div) return is_number(number, 1) ? "one_over_%s" : NULL;
    if (n->op == OP_max) return "limited_%s";
    if (n->op == OP_sub && first && is_number(number, 1)) return "one_minus_%s";
    return n->op == OP_add && is_number(number, 1) ? "one_plus_%s" : NULL;
}

static const char *word_between(Op op)
{
    return op == OP_add ? "plus" : op == OP_sub ? "minus" : op == OP_mul ? "times" : op == OP_div ? "over" : NULL;
}

static const char *described_pair(Page *page, const Node *n)
{
    bool first = is_filled(n->in[0], NULL), second = is_filled(n->in[1], NULL);
    const char *a = own_word(page, n->in[0]), *b = own_word(page, n->in[1]), *between = word_between(n->op);
    if (first != second) {
        const char *of = first ? b : a, *pattern = pattern_with_number(n, of);
        return pattern && of ? format(pattern, of) : NULL;
    }
    if (!a || !b || !between) return NULL;
    if (n->op == OP_mul && value_shown(n->in[0]) == value_shown(n->in[1])) return format("%s_squared", a);
    return format("%s_%s_%s", a, between, b);
}

static bool is_square(const Node *n) { return n->op == OP_mul && value_shown(n->in[0]) == value_shown(n->in[1]); }

static const char *extreme_of(const Node *n) { return n->op == OP_rmin ? "smallest" : "largest"; }

const char *many_of(const Node *n) { return n->op == OP_sum ? "sums" : n->op == OP_rmin ? "minima" : "maxima"; }

static const char *described_reduction(Page *page, const Node *n)
{
    const Node *x = value_shown(n->in[0]);
    const char *of = own_word(page, x), *words = n->op == OP_sum ? "sum" : extreme_of(n);
    if (n->op == OP_sum && !of && is_square(x)) return "sum_of_squares";
    return of ? format("%s_of_%s", words, of) : NULL;
}

/* cell, or half_cell if it is that much of a titled value. */
static const char *word_or_scaled(Page *page, const Node *n)
{
    const char *word = own_word(page, n);
    bool scaled = !word && n->op == OP_mul && is_filled(n->in[0], NULL) != is_filled(n->in[1], NULL);
    return scaled ? described_pair(page, n) : word;
}

/* How a value without a title is made of titled values; NULL: there is no short way to say that. */
static const char *description(Page *page, const Node *n)
{
    const char *pattern, *of;
    if (op_info[n->op].kind == REDUCE) {
        const char *words = described_reduction(page, n);
        return words ? fit(words) : NULL;
    }
    if (n->nin == 1) {
        pattern = pattern_of_map(n), of = word_or_scaled(page, n->in[0]);
        return pattern && of ? fit(format(pattern, of)) : NULL;
    }
    if (n->op == OP_where) {
        of = own_word(page, n->in[1]);
        return of && is_number(n->in[2], 0) ? fit(format("%s_or_zero", of)) : NULL;
    }
    const char *words = n->nin == 2 && is_real(n->dtype) ? described_pair(page, n) : NULL;
    return words ? fit(words) : NULL;
}

/* For the gradient of a value without a name: d_sum_of_squares. */
static const char *described_gradient(Page *page, const Node *n)
{
    const char *of = n->gradient && n->of ? description(page, n->of) : NULL;
    return of ? format("d_%s", of) : NULL;
}

static const char *word_of_user(const Rows *r, const Node *n)
{
    const Node *user = n->title ? NULL : table_get(&r->found.users, n);
    return user ? user->title ? word_for(r->f->page, user) : wished_name(r->f->page, table_get(&r->found.places, user))
                : NULL;
}

/* A summand is part_of_y, a factor factor_of_y; neither is said twice. */
static const char *word_for_part(const char *user, const char *what)
{
    if (starts_with(user, "part_of_") || starts_with(user, "factor_of_")) return user;
    const char *word = fit(format("%s_of_%s", what, user));
    return word ? word : what;
}

const char *word_of(const Rows *r, const Node *n)
{
    if (n->title) return word_for(r->f->page, n);
    if (n->dtype == BOOL) return "holds";
    const char *word = r->f->page->anonymous ? "value" : described_gradient(r->f->page, n);
    if (!word) word = description(r->f->page, n);
    const char *user = word ? NULL : word_of_user(r, n);
    if (user) word = word_for_part(user, table_get(&r->found.added, n) ? "part" : "factor");
    return word ? word : n->gradient ? "gradient" : "value";
}

const char *word_for_total(const Rows *r, const Node *n)
{
    if (n->title_rank > TITLE_ARGUMENT) return word_for(r->f->page, n);
    const char *word = r->f->page->anonymous ? "total" : described_gradient(r->f->page, n);
    if (!word) word = description(r->f->page, n);
    if (!word && word_of_user(r, n))
        word = format("%s_for_%s", n->op == OP_sum ? "sum" : extreme_of(n), word_of_user(r, n));
    return word ? word : n->op == OP_sum ? "total" : extreme_of(n);
}

/* The name of the lanes of a reduction: sums_of_squares, sums_for_d_rstd. */
const char *word_for_lanes(const Rows *r, const Node *n)
{
    bool sum = n->op == OP_sum;
    const char *many = many_of(n), *of = own_word(r->f->page, n->in[0]);
    if (r->f->page->anonymous) return many;
    if (sum && !of && is_square(value_shown(n->in[0]))) return "sums_of_squares";
    if (of && fit(of)) return format("%s_of_%s", many, of);
    if (!sum && n->title) return many;
    if (n->title_rank > TITLE_ARGUMENT)
        return name_taken(&r->f->names, many) ? format("%s_for_%s", many, word_for(r->f->page, n)) : many;
    return word_of_user(r, n) ? format("%s_for_%s", many, word_of_user(r, n)) : many;
}

/* For the second value with a word, in a kernel of several layers: cross_norm_mean, d_cross_norm_centred. */
static const char *with_layer(Page *page, const Node *n, const char *word)
{
    const char *path = n->title ? n->layer : n->where.path, *layer = path ? last_part_of(path) : "";
    bool gradient = starts_with(word, "d_");
    return *layer ? identifier(page, format("%s%s_%s", gradient ? "d_" : "", layer, word + (gradient ? 2 : 0))) : word;
}

/* Adds the value that is made of it: from_x_for_to_f. */
static const char *with_user(const Rows *r, const Node *n, const char *word)
{
    const Node *user = table_get(&r->found.users, n);
    if (!user || !user->title || strstr(word, "_for_")) return format("other_%s", word);
    return identifier(r->f->page, format("%s_for_%s", word, word_for(r->f->page, user)));
}

const char *name_told_apart(Rows *r, const Node *n, const char *word)
{
    Names *names = &r->f->names;
    if (r->f->page->anonymous || !name_taken(names, word)) return new_name(names, word);
    const bool part = starts_with(word, "part_of_");
    const char *other = part ? format("rest_of_%s", word + strlen("part_of_")) : format("other_%s", word);
    const char *const others[] = {with_layer(r->f->page, n, word), part ? other : with_user(r, n, word), other};
    for (int i = part; i < COUNT_OF(others); i++)
        if (!name_taken(names, others[i])) return new_name(names, others[i]);
    return new_name(names, word);
}

const char *name_for(Rows *r, const Node *n)
{
    const char *word = word_of(r, n);
    for (int i = 0; i < r->f->args.n; i++)
        if (same(r->f->args.at[i].name, word)) return name_told_apart(r, n, format("one_%s", word));
    return name_told_apart(r, n, word);
}

/* ------------------------------------------------------------------ who is made of what */

static bool takes_as_factor(const Node *n)
{
    return n->op == OP_div || (n->op == OP_mul && !is_filled(n->in[0], NULL) && !is_filled(n->in[1], NULL));
}

static void note_users(Rows *r, const Node *n)
{
    Table *users = &r->found.users;
    const Node *of = n->title ? n : table_get(users, n);
    if (!of && table_get(&r->found.places, n)) of = n;
    for (int i = 0; of && i < n->nin; i++)
        for (const Node *x = n->in[i];; x = x->in[0]) {
            bool alike = x->title && of->title && same(x->title, of->title) && x->gradient == of->gradient;
            const Node *user = alike ? table_get(users, of) : of, *later = table_get(users, x);
            bool back = later && user && user->gradient && !later->gradient;
            if (user && !back) *table_at(users, x) = (void *)user;
            if (!takes_as_factor(n)) *table_at(&r->found.added, x) = (void *)n;
            if (x->title || !is_view(x) || !x->nin) break;
        }
}

static void note_places(Rows *r, const Operands *stores)
{
    for (int i = 0; i < stores->n; i++) *table_at(&r->found.places, stores->at[i].node) = stores->at[i].view.buffer;
}

/* For each value, finds the first other one with a title or a place that is made of it. Gradients are taken only if
 * there is no other. */
void find_users(Rows *r)
{
    for (int p = 0; p < r->k->phases.n; p++) {
        note_places(r, &r->k->phases.at[p].row_stores);
        note_places(r, &r->k->phases.at[p].stores);
    }
    for (int p = r->k->phases.n; p-- > 0;) {
        const Phase *q = &r->k->phases.at[p];
        const Nodes *all[] = {&q->columns, &q->sums, &q->each, &q->row};
        for (int a = 0; a < COUNT_OF(all); a++)
            for (int i = all[a]->n; i-- > 0;) note_users(r, all[a]->at[i]);
    }
}
