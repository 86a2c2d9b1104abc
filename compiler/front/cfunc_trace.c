/* cfunc_trace.c: runs a C function on tensors, which makes the nodes of its result.
 *
 * If a condition is a constant, one side runs.  If it is a tensor, both sides run, each on a copy of the variables, and
 * variables that differ are selected per element.  So loops whose bounds are constants are unrolled, and the result is
 * straight-line code.
 *
 * `return`, `break` and `continue` end the path of some elements while others continue.  A State has a list of exits
 * for each of the three.  Exit (when, values): the elements for which `when` holds, and which took no earlier exit of
 * the list, left with these values.  Variables of a State are valid for elements that have not left.  `gone`: all have.
 */
#include "front/cfunc.h"

#include <string.h>

enum { MOST_STEPS = 20000, MOST_ROUNDS = 1024, MOST_CALLS = 12 };

typedef enum Way { BY_RETURN, BY_BREAK, BY_CONTINUE, WAYS } Way;

typedef struct Exit {
    const struct Exit *earlier;
    C_valuep when;
    C_valuep any;     /* `when` of this exit or an earlier one holds */
    C_valuep *values; /* BY_RETURN: the result; else all variables */
} Exit;

typedef struct State {
    C_valuep *slot;
    const Exit *exits[WAYS]; /* BY_RETURN: of the function; else of the innermost loop */
    C_valuep left;           /* true for elements that left a loop around the innermost one, or its iteration */
    C_valuep path;
    bool gone;
} State;

typedef struct Run {
    C_function *f;
    C_here *h;
    State s;
    int calls; /* depth */
} Run;

static C_valuep eval(Run *r, const C_node *n);
static void execute(Run *r, const C_node *n);

static void count_step(Run *r, const C_node *n)
{
    r->h->at = n->at;
    r->h->path = r->s.path;
    if (++r->h->steps > MOST_STEPS)
        c_error(r->h->text, n->at,
                "this function takes more than %d steps with its loops unrolled; is a loop too long, or its bound not "
                "a constant?",
                MOST_STEPS);
}

static const C_node *back_at(Run *r, const C_node *n) /* after its parts were evaluated */
{
    r->h->at = n->at;
    r->h->path = r->s.path;
    return n;
}

/* ------------------------------------------------------------------ states */

static C_valuep *copy_values(const C_valuep *v, int n) { return copy_of(v, sizeof *v * (size_t)n); }

static State forked(Run *r, C_valuep path)
{
    State s = r->s;
    s.slot = copy_values(s.slot, r->f->nslots);
    s.path = path;
    return s;
}

static C_valuep *choose_values(Run *r, C_valuep c, C_valuep *a, C_valuep *b, int n)
{
    if (a == b) return a;
    C_valuep *v = NEW_ARRAY(C_valuep, n);
    for (int i = 0; i < n; i++) v[i] = c_choose(r->h, c, a[i], b[i]);
    return v;
}

static C_valuep any_exit(const Exit *list) { return list ? list->any : c_number(C_BOOL, 0); }

static const Exit *new_exit(Run *r, const Exit *earlier, C_valuep when, C_valuep *values)
{
    return copy_of(&(Exit){earlier, when, c_or(r->h, any_exit(earlier), when), values}, sizeof(Exit));
}

/* True for elements that took one of the exits down to `end`. */
static C_valuep any_since(Run *r, const Exit *list, const Exit *end)
{
    C_valuep any = c_number(C_BOOL, 0);
    for (; list != end; list = list->earlier) any = c_or(r->h, any, list->when);
    return any;
}

/* The values with which elements left by the exits down to `end`; undefined for other elements. */
static C_valuep *exit_values(Run *r, const Exit *list, const Exit *end, int n)
{
    C_valuep *v = list->values;
    for (const Exit *e = list->earlier; e != end; e = e->earlier) v = choose_values(r, e->when, e->values, v, n);
    return v;
}

static bool extends(const Exit *list, const Exit *end)
{
    while (list && list != end) list = list->earlier;
    return list == end;
}

/* Merges two lists that both extend `before`: their new exits become one. */
static const Exit *merged_exits(Run *r, C_valuep c, const Exit *a, const Exit *b, const Exit *before, int n)
{
    if (a == b) return a;
    must(extends(a, before) && extends(b, before));
    C_valuep *va = a == before ? NULL : exit_values(r, a, before, n),
             *vb = b == before ? NULL : exit_values(r, b, before, n);
    C_valuep when = c_choose(r->h, c, any_since(r, a, before), any_since(r, b, before));
    return new_exit(r, before, when, !va ? vb : !vb ? va : choose_values(r, c, va, vb, n));
}

/* Sets r->s to a where c holds, else b; both were forked from `before`. */
static void merge_paths(Run *r, C_valuep c, const State *a, const State *b, const State *before)
{
    State s = *before;
    bool nobody_left = true;
    for (Way w = 0; w < WAYS; w++) {
        s.exits[w] = merged_exits(r, c, a->exits[w], b->exits[w], before->exits[w], w == BY_RETURN ? 1 : r->f->nslots);
        nobody_left = nobody_left && s.exits[w] == before->exits[w];
    }
    s.gone = a->gone && b->gone;
    s.slot = a->gone ? b->slot : b->gone ? a->slot : choose_values(r, c, a->slot, b->slot, r->f->nslots);
    s.path = nobody_left ? before->path : a->gone ? b->path : b->gone ? a->path : c_or(r->h, a->path, b->path);
    r->s = s;
}

/* All elements that are still here leave.  Those that left this way before are earlier in its list.  `when` excludes
 * those that left another way, except where it does not matter: variables after a loop are not used for elements that
 * returned, nor variables after an iteration for those that broke. */
static void leave(Run *r, Way w, C_valuep *values)
{
    C_valuep others = r->s.left;
    if (w == BY_RETURN) others = c_or(r->h, others, any_exit(r->s.exits[BY_BREAK]));
    others = c_or(r->h, others, any_exit(r->s.exits[BY_CONTINUE]));
    r->s.exits[w] = new_exit(r, r->s.exits[w], w == BY_CONTINUE ? c_number(C_BOOL, 1) : c_not(r->h, others), values);
    r->s.gone = true;
}

/* ------------------------------------------------------------------ branches, in statements and in expressions */

/* Runs f on one side if c is known, else on both, and selects between their results. */
static C_valuep branch(Run *r, C_valuep c, const C_node *yes, const C_node *no, C_valuep (*f)(Run *, const C_node *))
{
    bool truth;
    if (c_known(c, &truth)) return f(r, truth ? yes : no);
    State before = r->s;
    C_valuep not_c = c_not(r->h, c);
    r->s = forked(r, c_and(r->h, before.path, c));
    C_valuep a = f(r, yes);
    State after_yes = r->s;
    r->s = before;
    r->s = forked(r, c_and(r->h, before.path, not_c));
    C_valuep b = f(r, no);
    State after_no = r->s;
    r->h->path = before.path;
    merge_paths(r, c, &after_yes, &after_no, &before);
    if (a && b && a->kind != b->kind && a->kind != C_STRUCT && b->kind != C_STRUCT) {
        C_type common = {a->kind == C_REAL || b->kind == C_REAL ? C_REAL : C_INT, NULL};
        a = c_convert(r->h, a, common);
        b = c_convert(r->h, b, common);
    }
    return a && b ? c_choose(r->h, c, a, b) : NULL;
}

static C_valuep eval_truth(Run *r, const C_node *n) { return c_truth(r->h, eval(r, n)); }

/* a && b, a || b: b runs only for elements where a does not decide. */
static C_valuep eval_logic(Run *r, const C_node *n)
{
    C_valuep a = eval_truth(r, n->kid[0]), b;
    bool truth, is_and = n->form == AND;
    if (c_known(a, &truth)) b = truth == is_and ? eval_truth(r, n->kid[1]) : a;
    else {
        State before = r->s;
        r->s = forked(r, c_and(r->h, before.path, is_and ? a : c_not(r->h, a)));
        C_valuep second = eval_truth(r, n->kid[1]);
        State after = r->s;
        r->h->path = before.path;
        merge_paths(r, is_and ? a : c_not(r->h, a), &after, &before, &before);
        b = is_and ? c_and(r->h, a, second) : c_or(r->h, a, second);
    }
    return c_convert(r->h, b, (C_type){C_INT, NULL});
}

static C_valuep execute_or_nothing(Run *r, const C_node *n)
{
    if (n) execute(r, n);
    return NULL;
}

/* ------------------------------------------------------------------ variables */

static int field_index(Run *r, const C_node *n, const C_record *record, const char *name)
{
    for (int i = 0; record && i < record->n; i++)
        if (same(record->field[i], name)) return i;
    c_error(r->h->text, n->at, "there is no field '%s'", name);
}

static C_valuep struct_of(const C_record *record, C_valuep *fields)
{
    return copy_of(&(C_value){.kind = C_STRUCT, .record = record, .field = fields}, sizeof(C_value));
}

/* Names a value after its variable. */
static C_valuep traced_call(C_valuep v, const char *name)
{
    if (v && v->node && name)
        give_title(v->node, name, name[1] ? TITLE_WORD : TITLE_LETTER, making().where.path ? making().where.path : "");
    return v;
}

static C_valuep eval_variable(Run *r, const C_node *n)
{
    C_valuep v = r->s.slot[n->slot];
    if (!v) c_error(r->h->text, n->at, "'%s' is not set on every path to here", n->word);
    return v;
}

static C_valuep eval_field(Run *r, const C_node *n)
{
    C_valuep base = eval(r, n->kid[0]);
    if (base->kind != C_STRUCT) c_error(r->h->text, n->at, "only a struct has fields");
    C_valuep v = base->field[field_index(r, n, base->record, n->field[0])];
    if (!v) c_error(r->h->text, n->at, "field '%s' is not set on every path to here", n->field[0]);
    return v;
}

static C_valuep stored_variable(Run *r, const C_node *to, C_valuep v)
{
    if (to->form == VARIABLE) {
        v = c_convert(r->h, v, to->type);
        return r->s.slot[to->slot] = traced_call(v, to->word);
    }
    const C_node *variable = to->kid[0];
    const C_record *record = variable->type.record;
    C_valuep old = r->s.slot[variable->slot];
    C_valuep *fields = NEW_ARRAY(C_valuep, record->n);
    if (old) memcpy(fields, old->field, sizeof *fields * (size_t)record->n);
    int i = field_index(r, to, record, to->field[0]);
    fields[i] = c_convert(r->h, v, (C_type){record->type[i], NULL});
    r->s.slot[variable->slot] = struct_of(record, fields);
    return fields[i];
}

static C_valuep eval_assign(Run *r, const C_node *n)
{
    C_valuep old = n->word ? eval(r, n->kid[0]) : NULL, v = eval(r, n->kid[1]);
    back_at(r, n);
    return stored_variable(r, n->kid[0], old ? c_binary(r->h, n->word, old, v) : v);
}

static C_valuep eval_step(Run *r, const C_node *n)
{
    C_valuep old = eval(r, n->kid[0]);
    back_at(r, n);
    C_valuep new = stored_variable(r, n->kid[0], c_binary(r->h, n->word, old, c_number(C_INT, 1)));
    return n->late ? old : new;
}

/* Fields that the list does not name are zero. */
static C_valuep eval_list(Run *r, const C_node *n)
{
    const C_record *record = n->type.record;
    C_valuep *fields = NEW_ARRAY(C_valuep, record->n);
    for (int i = 0; i < record->n; i++) fields[i] = c_number(record->type[i], 0);
    for (int i = 0; i < n->n; i++) {
        int k = field_index(r, n, record, n->field[i]);
        fields[k] = c_convert(r->h, eval(r, n->kid[i]), (C_type){record->type[k], NULL});
    }
    return struct_of(record, fields);
}

/* ------------------------------------------------------------------ calls */

static C_valuep run_function(Run *caller, C_function *f, C_here *h, C_valuep path, C_valuep *arguments)
{
    C_valuep no = c_number(C_BOOL, 0);
    Run r = {f, h, {.slot = NEW_ARRAY(C_valuep, f->nslots), .left = no, .path = path}, caller ? caller->calls + 1 : 0};
    if (r.calls > MOST_CALLS) c_error(f->text, h->at, "functions call each other too deeply");
    for (int i = 0; i < f->nparams; i++) r.s.slot[i] = traced_call(c_convert(h, arguments[i], f->type[i]), f->param[i]);
    execute(&r, f->body);
    if (!r.s.gone) c_error(f->text, f->at, "%s can end without a return", f->name);
    return *exit_values(&r, r.s.exits[BY_RETURN], NULL, 1);
}

static C_valuep eval_call(Run *r, const C_node *n)
{
    C_valuep v[MOST_PARAMETERS];
    if (n->n > MOST_PARAMETERS) c_error(r->h->text, n->at, "a function can have at most 16 parameters");
    for (int i = 0; i < n->n; i++) v[i] = eval(r, n->kid[i]);
    back_at(r, n);
    if (n->callee) return run_function(r, n->callee, r->h, r->s.path, v);
    for (int i = 0; i < n->n; i++)
        if (v[i]->kind == C_STRUCT) c_error(r->h->text, n->at, "%s takes numbers, found a struct", n->word);
    return c_math(r->h, n->word, n->n, v);
}

/* ------------------------------------------------------------------ expressions */

static C_valuep eval_constant(Run *r, const C_node *n)
{
    C_type t = n->type;
    if (n->number - n->number != 0) c_error(r->h->text, n->at, "this constant is infinite or too large for a float");
    return c_number(t.kind, n->number);
}

static C_valuep eval_operator(Run *r, const C_node *n)
{
    C_valuep a = eval(r, n->kid[0]), b = n->form == BINARY ? eval(r, n->kid[1]) : NULL;
    back_at(r, n);
    return b ? c_binary(r->h, n->word, a, b) : c_unary(r->h, n->word, a);
}

static C_valuep eval(Run *r, const C_node *n)
{
    count_step(r, n);
    switch (n->form) {
    case NUMBER: return eval_constant(r, n);
    case VARIABLE: return eval_variable(r, n);
    case FIELD: return eval_field(r, n);
    case UNARY:
    case BINARY: return eval_operator(r, n);
    case AND:
    case OR: return eval_logic(r, n);
    case CHOOSE: return branch(r, eval_truth(r, n->kid[0]), n->kid[1], n->kid[2], eval);
    case ASSIGN: return eval_assign(r, n);
    case STEP: return eval_step(r, n);
    case CALL: return eval_call(r, n);
    case CONVERT: return c_convert(r->h, eval(r, n->kid[0]), n->type);
    case LIST: return eval_list(r, n);
    case COMMA: return eval(r, n->kid[0]), eval(r, n->kid[1]);
    default: die("form %d is no expression", n->form);
    }
}

/* ------------------------------------------------------------------ loops */

static void come_back(Run *r, Way w)
{
    const Exit *list = r->s.exits[w];
    int n = r->f->nslots;
    r->s.exits[w] = NULL;
    if (!list) return;
    C_valuep *back = exit_values(r, list, NULL, n);
    r->s.slot = copy_values(r->s.gone ? back : choose_values(r, any_exit(list), back, r->s.slot, n), n);
    r->s.gone = false;
}

/* Elements that left by `continue` rejoin.  The path is again that of the iteration's start, without the elements that
 * left by `return` or `break`. */
static void end_iteration(Run *r, const State *start)
{
    come_back(r, BY_CONTINUE);
    r->s.path = start->path;
    for (Way w = BY_RETURN; w <= BY_BREAK; w++)
        if (r->s.exits[w] != start->exits[w]) r->s.path = c_and(r->h, r->s.path, c_not(r->h, any_exit(r->s.exits[w])));
}

/* Elements that left by `break` rejoin, and the outer loop becomes the innermost again. */
static void end_loop(Run *r, const State *start)
{
    come_back(r, BY_BREAK);
    r->s.path = start->path;
    if (r->s.exits[BY_RETURN] != start->exits[BY_RETURN])
        r->s.path = c_and(r->h, r->s.path, c_not(r->h, any_exit(r->s.exits[BY_RETURN])));
    r->s.left = start->left;
    r->s.exits[BY_BREAK] = start->exits[BY_BREAK];
    r->s.exits[BY_CONTINUE] = start->exits[BY_CONTINUE];
}

/* Does any element continue?  Those whose condition fails leave. */
static bool goes_on(Run *r, const C_node *n)
{
    if (!n->kid[1]) return true;
    C_valuep c = eval_truth(r, n->kid[1]);
    bool truth;
    if (c_known(c, &truth)) return truth;
    back_at(r, n);
    State before = r->s, on = before;
    r->s = forked(r, before.path);
    leave(r, BY_BREAK, r->s.slot);
    State out = r->s;
    on.path = c_and(r->h, before.path, c);
    merge_paths(r, c, &on, &out, &before);
    return true;
}

static void execute_loop(Run *r, const C_node *n)
{
    State start = r->s;
    C_valuep left = c_or(r->h, any_exit(start.exits[BY_BREAK]), any_exit(start.exits[BY_CONTINUE]));
    r->s.left = c_or(r->h, start.left, left);
    r->s.exits[BY_BREAK] = r->s.exits[BY_CONTINUE] = NULL;
    if (n->kid[0]) execute(r, n->kid[0]);
    for (int round = 0; !r->s.gone; round++) {
        count_step(r, n);
        if (round == MOST_ROUNDS)
            c_error(r->h->text, n->at, "this loop has not ended after %d iterations; its bound must be a constant",
                    MOST_ROUNDS);
        if (!(n->late && round == 0) && !goes_on(r, n)) break;
        State iteration = r->s;
        execute(r, n->kid[3]);
        end_iteration(r, &iteration);
        if (n->kid[2] && !r->s.gone) eval(r, n->kid[2]);
    }
    end_loop(r, &start);
}

/* ------------------------------------------------------------------ statements */

static void execute_declaration(Run *r, const C_node *n)
{
    C_valuep v = n->kid[0] ? eval(r, n->kid[0]) : NULL;
    back_at(r, n);
    r->s.slot[n->slot] = traced_call(c_convert(r->h, v, n->type), n->word);
}

static void execute_return(Run *r, const C_node *n)
{
    C_valuep v = eval(r, n->kid[0]);
    back_at(r, n);
    v = c_convert(r->h, v, r->f->result);
    leave(r, BY_RETURN, copy_values(&v, 1));
}

static void execute(Run *r, const C_node *n)
{
    if (r->s.gone) return;
    count_step(r, n);
    switch (n->form) {
    case BLOCK:
        for (int i = 0; i < n->n; i++) execute(r, n->kid[i]);
        break;
    case DECLARE: execute_declaration(r, n); break;
    case IF: branch(r, eval_truth(r, n->kid[0]), n->kid[1], n->kid[2], execute_or_nothing); break;
    case REPEATED: execute_loop(r, n); break;
    case RETURN: execute_return(r, n); break;
    case BREAK: leave(r, BY_BREAK, copy_values(r->s.slot, r->f->nslots)); break;
    case CONTINUE: leave(r, BY_CONTINUE, copy_values(r->s.slot, r->f->nslots)); break;
    case NOTHING: break;
    default: eval(r, n);
    }
}

C_valuep c_trace(C_function *f, int n, C_valuep *arguments)
{
    C_here h = {.text = f->text, .at = f->at, .path = c_number(C_BOOL, 1)};
    must(n == f->nparams);
    C_valuep y = run_function(NULL, f, &h, h.path, arguments);
    for (int i = 0; y->kind == C_STRUCT && i < y->record->n; i++)
        if (!y->field[i])
            c_error(f->text, f->at, "field '%s' of the result is not set on every path", y->record->field[i]);
    return y;
}
