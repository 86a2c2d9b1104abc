/* values.c: the values of a ROWS kernel as expressions: where each is, which ones get names, and which names. */
#include "emit/rows.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The value of a row gets a name if a sweep reads it or if it is read twice. */
bool row_named(const Rows *r, const Node *n) { return is_swept(&r->values, n) || uses_in_rows(&r->values, n) > 1; }

int phase_number(const Rows *r) { return (int)(r->phase - r->k->phases.at); }

int sweep_uses(const Rows *r, const Node *n) { return uses_in_sweep(&r->values, phase_number(r), n); }

Known *known(Rows *r, const Node *n)
{
    for (int i = r->known.n; i-- > 0;)
        if (r->known.at[i].node == n) return &r->known.at[i];
    return NULL;
}

void know(Rows *r, const Node *n, Expr e) { push(&r->known, ((Known){n, e})); }

/* ------------------------------------------------------------------ names of values */

enum { MOST_LETTERS = 18 }; /* the longest name of an array that is part of the name of its element */

bool is_another(const Rows *r, int load)
{
    const Use *u = &r->f->uses.at[r->load[load]];
    return u->view.buffer && u->arg >= 0 && r->f->args.at[u->arg].written &&
           r->f->args.at[u->arg].buffer != u->view.buffer;
}

const char *name_of_one(const Rows *r, const char *array)
{
    bool taken = false;
    for (int i = 0; i < r->f->args.n; i++) taken |= same(r->f->args.at[i].name, array);
    return new_name(&r->f->names, taken ? format("one_%s", array) : array);
}

static bool is_array_here(const Rows *r, const char *name)
{
    for (int i = 0; i < r->f->args.n; i++)
        if (same(wished_name(r->f->page, r->f->args.at[i].buffer), name)) return true;
    return false;
}

/* A short word for an element: weight for ln_1.weight, rstd for ln_1_rstd, target for integers called targets. NULL:
 * there is none. */
static const char *short_word(const Rows *r, const Node *n, const Buffer *b, const char *array)
{
    size_t letters = strlen(array);
    if (r->f->page->anonymous) return NULL;
    if (b->home == PARAMETERS) return identifier(r->f->page, last_part_of(b->param->name));
    if (n->title_rank > TITLE_ARGUMENT && strlen(n->title) > 1 && !is_array_here(r, word_for(r->f->page, n)))
        return word_for(r->f->page, n);
    bool plural = letters > 3 && array[letters - 1] == 's' && !strchr("aeisu", array[letters - 2]);
    return plural && !is_real(b->dtype) ? copy_bytes_as_string(array, letters - 1) : NULL;
}

/* The name of an element of an array. If the kernel also writes the array: cell_before, and of a gradient d_cell_later;
 * else its short word, or one_net for net, or just `one` if the array's name is long. A second one gets `other`. */
const char *load_name(Rows *r, int load)
{
    const Use *u = &r->f->uses.at[r->load[load]];
    bool written = u->view.buffer && u->arg >= 0 && r->f->args.at[u->arg].written;
    if (!u->view.buffer) return new_name(&r->f->names, "index");
    const char *array = name_before(wished_name(r->f->page, u->view.buffer), u->before);
    if (is_another(r, load) || (written && u->before)) return name_of_one(r, array);
    const char *brief = short_word(r, r->k->loads.at[load].node, u->view.buffer, array);
    const char *tail = strlen(array) > MOST_LETTERS ? "" : format("_%s", array);
    const char *const wishes[] = {written ? format(starts_with(array, "d_") ? "%s_later" : "%s_before", array) : brief,
                                  format("one%s", tail), format("other%s", tail)};
    for (int i = 0; i < COUNT_OF(wishes); i++)
        if (wishes[i] && !name_taken(&r->f->names, wishes[i])) return new_name(&r->f->names, wishes[i]);
    return new_name(&r->f->names, wishes[1]);
}

Expr declare(Rows *r, const Node *n, const char *name, Expr e)
{
    line(&r->f->w, "const %s %s = %s;", c_type(n->dtype), name, e.text);
    Expr named = {name, PRIMARY};
    know(r, n, named);
    return named;
}

/* ------------------------------------------------------------------ expressions */

/* May the number be a plain 2, because C converts it to the type of the other operand? Not so for a division by 0, of
 * which compilers warn. */
static bool brief_literal(const Rows *r, const Node *reader, int k)
{
    double x;
    if (!is_real(reader->in[k]->dtype)) return true;
    if (reader->op == OP_div && k == 1 && is_filled(reader->in[k], &x) && (float)x == 0) return false;
    for (int i = 0; i < reader->nin; i++) {
        const Node *other = reader->in[i];
        if (i != k && is_real(other->dtype) && !is_filled(value_meant(&r->values, phase_number(r), other), NULL))
            return true;
    }
    return reader->nin == 1 && op_info[reader->op].text[0] != '-' && reader->op != OP_cast;
}

static Expr value_expression(Rows *r, const Node *n, bool brief);

char *kept_element(const Rows *r, int i)
{
    return format("%s[%s]", r->kept[i], r->kept_at ? r->kept_at : r->f->axis[r->inner].now);
}

int kept_number(const Rows *r, const Node *n) { return kept_of(&r->values, n); }

Expr computed_here(Rows *r, const Node *n)
{
    Expr in[8];
    must(n->nin <= COUNT_OF(in));
    for (int k = 0; k < n->nin; k++) in[k] = value_expression(r, n->in[k], brief_literal(r, n, k));
    double x; /* a mean is divided by an extent, which has a name */
    if (n->op == OP_div && is_filled(n->in[1], &x) && brief_literal(r, n, 1) && axis_counted(n->in[1]))
        in[1] = (Expr){factor_text(r->f->page, (int64_t)x, axis_counted(n->in[1])), PRIMARY};
    return as_written(n, apply(r->f->page, n, in));
}

static const char *kept_load(const Rows *r, int load) { return r->kept_load ? r->kept_load[load] : NULL; }
static const char *wide_load(const Rows *r, int load) { return r->wide && load < MOST_WIDE ? r->wide[load] : NULL; }

bool is_local_load(const Rows *r, int load) { return kept_load(r, load) || wide_load(r, load); }

static char *of_whole(const Rows *r, const char *whole)
{
    if (r->wide_given) return format("%s", whole);
    return format("%s[%s - %s]", whole, r->f->axis[r->inner].now, r->four);
}

Expr load_at(Rows *r, int load)
{
    if (wide_load(r, load)) return (Expr){of_whole(r, wide_load(r, load)), PRIMARY};
    if (!kept_load(r, load)) return value_at(r->f, r->load[load]);
    return (Expr){format("%s[%s]", kept_load(r, load), r->f->axis[r->inner].now), PRIMARY};
}

char *store_at(const Rows *r, int store)
{
    int bit = number_of_store(r->n, phase_number(r), store);
    if (r->wide && bit < MOST_WIDE && r->wide[bit]) return of_whole(r, r->wide[bit]);
    return element(r->f, uses_now(r)->store[store]);
}

/* 1.0f / (BATCH * SEQ) if that is the number, to the bit; for integers VOCAB - 1. */
Expr share_text(Page *page, const Node *n, double x, Expr number)
{
    int axis = axis_shared(n), counted = n->dtype == I32 ? axis_counted(n) : 0;
    if (counted) return extent_expression(page, (int64_t)x, counted);
    double extent = axis ? (double)axis_numbered(axis)->extent : 1;
    bool single = n->dtype == F32,
         same_bits = single ? (float)x == copysignf(1, (float)x) / (float)extent : n->dtype == F64;
    const char *text = factor_text(page, (int64_t)extent, axis);
    if (!axis || !same_bits || extent > 1 << 24 || (*text >= '0' && *text <= '9')) return number;
    return (Expr){format("%s1.0%s / %s", x < 0 ? "-" : "", single ? "f" : "", text), TIMES};
}

/* A load that the sweep reads twice gets a name where it is first used. */
static Expr loaded(Rows *r, const Node *n, int load)
{
    const Operand *o = &r->k->loads.at[load];
    Expr e = load_at(r, load);
    const Use *u = &r->f->uses.at[r->load[load]];
    bool simple = !u->view.buffer || (u->arg >= 0 && single_number(&r->f->args.at[u->arg]));
    if (simple && e.binding == PRIMARY) return e;
    bool twice = r->sweeping && !is_per_row(&r->values, phase_number(r), n) && sweep_uses(r, n) > 1;
    if (!twice || (simple && strlen(e.text) < 8)) return e;
    return declare(r, o->node, load_name(r, load), e);
}

static Expr value_expression(Rows *r, const Node *n, bool brief)
{
    n = value_meant(&r->values, phase_number(r), n);
    Known *v = known(r, n);
    double x;
    if (v) return v->expr;
    if (kept_number(r, n) >= 0) return (Expr){kept_element(r, kept_number(r, n)), PRIMARY};
    int load = load_of(&r->values, n);
    if (load >= 0) return loaded(r, n, load);
    if (is_filled(n, &x)) return share_text(r->f->page, n, x, literal(x, n->dtype, brief));
    die("kernel %s reads %s node %d before it is computed", r->k->name, op_info[n->op].name, n->id);
}

Expr value_of(Rows *r, const Node *n) { return value_expression(r, n, true); }
