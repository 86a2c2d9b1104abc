/* distill.c: --distill: a student that also imitates a teacher, another description (Hinton, Vinyals, Dean 2015).
 *
 * The teacher is read in a Lua state of its own, with a trace of its own, so that neither description can touch the
 * other.  Where an entry has gradients, its forward is traced into the student's graph, before the student's: inputs
 * are the student's, parameters are frozen and in the scope `teacher`.  The library tells what the teacher's cross
 * entropy is of (core.teach), and gives it to the student's cross entropy of the same ids (core.lesson). */
#include "front/front.h"

#include <stdlib.h>
#include <string.h>

typedef struct Teacher {
    Trace *trace, *student;
    lua_State *L; /* model and c are at its bottom */
    Options options;
    struct Lesson {              /* of this entry */
        const Node *ids;         /* NULL: the teacher's loss is not met */
        Node *x, *weight, *bias; /* its logits, or a head's x; weight NULL: logits */
        int across;
        int64_t classes;
        Where where;
        bool learnt; /* the student's loss has met it */
        Node *mean;  /* what it became */
    } lesson;
} Teacher;

enum { MODEL_AT = 1, C_AT = 2 };

bool is_teacher(const Trace *trace) { return trace->teacher && trace->teacher->trace == trace; }
const Trace *student_of(const Trace *teacher) { return teacher->teacher->student; }

/* ------------------------------------------------------------------ the option */

static double number_from(const char *word, double least, double most)
{
    const char *value = strchr(word, '=') + 1;
    char *end;
    double x = strtod(value, &end);
    if (end == value || *end || !(x >= least && x <= most))
        usage_error("--distill %s: expected a number from %g to %g", word, least, most);
    return x;
}

static void take_distill_word(Distill *d, const char *word)
{
    static const char *const known[] = {"alpha", "temperature", "config"};
    if (strncmp(word, "alpha=", 6) == 0) d->alpha = number_from(word, 0, 1);
    else if (strncmp(word, "temperature=", 12) == 0) d->temperature = number_from(word, 0.01, 1000);
    else if (strncmp(word, "config=", 7) == 0) d->config = word + 7;
    else if (strchr(word, '=')) push(&d->sets, word);
    else
        usage_error("--distill %s: expected alpha=X, temperature=X, config=NAME, or KEY=VALUE of the teacher's "
                    "configuration, behind commas%s",
                    word, advice(word, known, COUNT_OF(known)));
}

const Distill *read_distill(const char *text)
{
    Distill *d = NEW(Distill);
    *d = (Distill){.alpha = 0.5, .temperature = 2};
    size_t n = strcspn(text, ",");
    d->file = copy_bytes_as_string(text, n);
    if (n < 4 || !same(d->file + n - 4, ".lua"))
        usage_error("--distill %s: expected the teacher's description first, a file that ends with .lua", text);
    for (const char *rest = text + n; *rest;) {
        rest++;
        n = strcspn(rest, ",");
        take_distill_word(d, copy_bytes_as_string(rest, n));
        rest += n;
    }
    return d;
}

void settle_distill(const Trace *trace)
{
    Desc *d = trace->desc;
    if (!d->distill) return;
    const char *why = d->prefer                  ? "--prefer has a loss of its own"
                      : only_answers(d->options) ? "--parameters q8_0 and q4_0 train nothing"
                      : d->turns.n               ? "train has turns"
                                                 : NULL;
    if (why) usage_error("--distill trains a student with one loss, but %s; leave one of them out", why);
    d->one_rank = "--distill trains in one process";
}

/* ------------------------------------------------------------------ the teacher's description */

static const char *words_of_data(const Lathe_recipe *r)
{
    return lathe_reads_rows(r) ? "rows" : r->pairs ? "pairs of texts" : "text";
}

/* Both are given the student's data.  Whether tokens mean the same is seen by the trainer. */
static void check_data(const Desc *teacher, const Desc *student)
{
    const Lathe_recipe *a = &teacher->recipe, *b = &student->recipe;
    if (lathe_reads_rows(a) != lathe_reads_rows(b) || a->pairs != b->pairs)
        usage_error("--distill: the teacher %s reads %s, and the student %s reads %s; they are given the same data",
                    teacher->file, words_of_data(a), student->file, words_of_data(b));
    if (a->pack != b->pack)
        usage_error("--distill: the student %s has pack = %s, and the teacher %s pack = %s; they are given the same "
                    "data: add pack=%s to --distill, or change the student's",
                    student->file, b->pack ? "true" : "false", teacher->file, a->pack ? "true" : "false",
                    b->pack ? "true" : "false");
}

static const char *name_of_teacher(const char *file)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    return copy_bytes_as_string(base, strlen(base) - strlen(".lua"));
}

static void take_sizes_of_student(Teacher *t)
{
    Desc *d = t->trace->desc;
    const Desc *student = t->student->desc;
    int64_t n;
    static const char *const sizes[] = {"batch", "seq", "classes", "numbers", "categories", "levels"};
    enum { OF_TABLES = 3 };
    for (int i = 0; i < COUNT_OF(sizes) - (student->recipe.table ? 0 : OF_TABLES); i++)
        if (knob_integer(t->trace, sizes[i], &n) && knob_integer(t->student, sizes[i], &n))
            change_knob(t->L, C_AT, sizes[i], n);
    d->batch = student->batch;
    d->seq = student->seq;
    d->source_seq = student->source_seq;
    d->vocab = student->vocab;
    d->recipe = student->recipe;
}

/* Gives the description, and c. */
static int read_teacher(lua_State *L)
{
    read_settings(L);
    return C_AT;
}

void open_teacher(lua_State *L)
{
    Trace *trace = trace_of(L);
    const Distill *how = trace->desc->distill;
    Teacher *t = NEW(Teacher);
    Desc *d = NEW(Desc);
    t->student = trace;
    t->trace = NEW(Trace);
    t->options = *trace->desc->options;
    t->options.model_file = how->file;
    t->options.config = how->config;
    t->options.sets = how->sets;
    t->options.lora = t->options.prefer = t->options.distill = NULL;
    t->options.runs = false;
    *d = (Desc){.options = &t->options, .file = how->file, .model = name_of_teacher(how->file)};
    *t->trace = (Trace){.desc = d, .first = node_count(), .path = TEACHER, .teacher = t, .untitled = true};
    t->L = sandbox_open(t->trace, &t->options);
    watch_lines(t->L, false);
    lua_settop(t->L, 0);
    lua_pushcfunction(t->L, read_teacher);
    lua_pushlightuserdata(t->L, &t->options);
    call_lua(t->L, 1, 2);
    check_data(d, trace->desc);
    trace->teacher = t;
    trace->desc->teacher = d;
    end_limits(t->L);
    limit_run(L); /* the one timer */
}

/* ------------------------------------------------------------------ an entry */

static void begin_lesson(Teacher *t)
{
    Trace *u = t->trace;
    const Trace *trace = t->student;
    take_sizes_of_student(t);
    u->graph = trace->graph;
    u->number++;
    u->batch = trace->batch;
    u->time = trace->time;
    u->fields = trace->fields;
    u->site = u->time_aware = u->time_places = 0;
    u->uncounted = (struct Uncounted){0};
    u->preferred = (struct Preferred){0};
    u->open.n = u->copies.n = u->states.n = 0;
    u->desc->inputs = trace->desc->inputs;
    t->lesson = (struct Lesson){0};
    scopes_new_entry(u);
    size_of_entry(t->L, C_AT, "batch", trace->batch);
}

static bool has_lessons(const Trace *trace)
{
    return trace->teacher && !trace->noting && entry_of(trace->graph)->gradients;
}

void trace_teacher(lua_State *L)
{
    Trace *trace = trace_of(L);
    Teacher *t = trace->teacher;
    if (!has_lessons(trace)) return;
    Making was = making();
    begin_lesson(t);
    call_forward(t->L, MODEL_AT, C_AT);
    lua_settop(t->L, C_AT);
    make_with(was);
    trace->desc->inputs = t->trace->desc->inputs;
    t->trace->graph = NULL;
    if (!t->lesson.ids)
        usage_error("--distill: the loss of the teacher %s is not nn.cross_entropy or nn.linear_cross_entropy, their "
                    "mean over ids",
                    t->trace->desc->file);
}

static bool is_scaled(const Node *n, Table *reached)
{
    double number;
    if (n->op == OP_reshape) return table_get(reached, n->in[0]);
    switch (n->op) {
    case OP_add: return table_get(reached, n->in[0]) || table_get(reached, n->in[1]);
    case OP_sub: return table_get(reached, n->in[0]);
    case OP_div: return table_get(reached, n->in[0]) && is_filled(n->in[1], &number);
    case OP_mul:
        return (table_get(reached, n->in[0]) && is_filled(n->in[1], &number)) ||
               (table_get(reached, n->in[1]) && is_filled(n->in[0], &number));
    default: return false;
    }
}

/* Whether the loss is the lesson's mean, but for terms beside it and numbers times it. */
static bool is_of_lesson(const Graph *g, Node *loss, const Node *mean)
{
    Nodes all = {0};
    Table reached = {0};
    nodes_at(g->micro, &loss, 1, &all);
    for (int i = 0; i < all.n; i++)
        if (all.at[i] == mean || is_scaled(all.at[i], &reached)) *table_at(&reached, all.at[i]) = all.at[i];
    return table_get(&reached, loss);
}

/* forward's results are at the top. */
void check_taught(lua_State *L)
{
    const Trace *trace = trace_of(L);
    if (!has_lessons(trace)) return;
    const struct Lesson *l = &trace->teacher->lesson;
    const Tensor *loss = is_tensor(L, -2);
    if (l->mean && loss && !is_of_lesson(trace->graph, loss->node, l->mean))
        err(l->mean->where, "--distill: the loss that forward returns must be this mean, or it times a number, with "
                            "other terms added; found it used in another way, or as a metric alone");
    if (!l->learnt)
        usage_error("--distill: the loss of %s is not nn.cross_entropy or nn.linear_cross_entropy, their mean over the "
                    "ids that the teacher's loss is of (%s:%d)",
                    trace->desc->file, trace->teacher->lesson.where.file, trace->teacher->lesson.where.line);
}

static void check_own_names(const Desc *d)
{
    const size_t n = strlen(TEACHER);
    for (int i = 0; i < d->params.n; i++) {
        const char *name = d->params.at[i]->name;
        if (strncmp(name, TEACHER, n) == 0 && (name[n] == '.' || !name[n]))
            err(d->params.at[i]->where, "--distill: the %s '%s' is the teacher's; give the student's another name",
                name[n] ? "scope" : "name", TEACHER);
    }
}

static int read_form(lua_State *L)
{
    read_hf(L, MODEL_AT);
    return 0;
}

void close_teacher(lua_State *L)
{
    Trace *trace = trace_of(L);
    Teacher *t = trace->teacher;
    const uint64_t hash = t->trace->hash;
    check_own_names(trace->desc);
    lua_pushcfunction(t->L, read_form);
    lua_insert(t->L, 1);
    call_lua(t->L, 2, 0);
    trace->hash = hash_bytes(&hash, sizeof hash, trace->hash);
    sandbox_close(t->L);
}

/* ------------------------------------------------------------------ for the library */

/* Reshaping keeps the order of ids. */
static const Node *before_reshapes(const Node *n)
{
    while (n->op == OP_reshape) n = n->in[0];
    return n;
}

static Node *optional_node(lua_State *L, int arg)
{
    return lua_isnoneornil(L, arg) ? NULL : tensor_at(L, arg, "core.teach")->node;
}

/* core.teach(ids, logits), or core.teach(ids, x, weight, across, bias or nil): in a teacher: what its loss is of */
static int teach_call(lua_State *L)
{
    const Trace *trace = trace_of(L);
    if (!is_teacher(trace)) return 0;
    struct Lesson *l = &trace->teacher->lesson;
    if (trace->open.n) user_error(L, "--distill: the loss of a teacher cannot be inside nn.stack, nn.map or nn.scan");
    if (l->ids)
        user_error(L, "--distill takes one loss of the teacher, and this is the second; the first is at %s:%d",
                   l->where.file, l->where.line);
    *l = (struct Lesson){.ids = before_reshapes(tensor_at(L, 1, "core.teach")->node), .where = lua_place(L)};
    l->x = optional_node(L, 2);
    l->weight = optional_node(L, 3);
    l->across = l->weight ? (int)luaL_checkinteger(L, 4) : 0;
    l->bias = optional_node(L, 5);
    const Shape s = l->weight ? l->weight->shape : l->x->shape;
    l->classes = s.dim[l->weight ? 1 - l->across : s.rank - 1];
    return 0;
}

static void check_lesson(lua_State *L, const struct Lesson *l, const char *name, int64_t classes)
{
    if (l->learnt) user_error(L, "%s: --distill takes one loss of the student, and this is the second", name);
    if (classes != l->classes)
        user_error(L,
                   "%s: --distill compares distributions, but the student has %lld classes, and the teacher %lld "
                   "(%s:%d); both must have the same ones",
                   name, (long long)classes, (long long)l->classes, l->where.file, l->where.line);
}

static void give_node(lua_State *L, const char *key, Node *n)
{
    if (!n) return;
    push_tensor(L, n, NOWHERE, NOWHERE, NULL);
    lua_setfield(L, -2, key);
}

/* core.lesson(name, ids, classes): in a student, where its ids are those of the teacher's loss: { alpha, temperature,
 * logits }, or { …, x, weight, across, bias or nil }, whose rows are those of the ids; else nil */
static int lesson_call(lua_State *L)
{
    const Trace *trace = trace_of(L);
    const char *name = luaL_checkstring(L, 1);
    const Tensor *ids = tensor_at(L, 2, "core.lesson");
    if (is_teacher(trace) || !has_lessons(trace)) return 0;
    struct Lesson *l = &trace->teacher->lesson;
    if (before_reshapes(ids->node) != l->ids) return 0;
    check_lesson(L, l, name, luaL_checkinteger(L, 3));
    l->learnt = true;
    make_at(lua_place(L));
    lua_newtable(L);
    Shape s = with_axis(ids->node->shape, l->x->shape, l->x->shape.rank - 1);
    push_tensor(L, reshape(l->x, s), ids->batch, ids->time, NULL);
    lua_setfield(L, -2, l->weight ? "x" : "logits");
    give_node(L, "weight", l->weight);
    give_node(L, "bias", l->bias);
    lua_pushinteger(L, l->across);
    lua_setfield(L, -2, "across");
    lua_pushnumber(L, trace->desc->distill->alpha);
    lua_setfield(L, -2, "alpha");
    lua_pushnumber(L, trace->desc->distill->temperature);
    lua_setfield(L, -2, "temperature");
    return 1;
}

/* core.taught(loss): the mean that a student's lesson became */
static int taught_call(lua_State *L)
{
    trace_of(L)->teacher->lesson.mean = tensor_at(L, 1, "core.taught")->node;
    lua_settop(L, 1);
    return 1;
}

const luaL_Reg distill_functions[] = {
    {"teach", teach_call}, {"lesson", lesson_call}, {"taught", taught_call}, {NULL, NULL}};
