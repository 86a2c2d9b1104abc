/* of_module.c: what a description says, and the program that it becomes. */
#include "desc/settings.h"
#include "desc/target.h"
#include "diff/diff.h"
#include "emit/emit.h"
#include "lathe.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ settings */

static json_t *setting_json(const Setting *s, const Lathe_recipe *r)
{
    if (s->kind == SETTING_REAL) return real_json(setting_number(s, r));
    if (setting_is_number(s)) return json_integer((json_int_t)setting_number(s, r));
    if (s->kind == SETTING_WORD) return word_json(s->words[setting_choice(s, r)]);
    return word_json(setting_text(s, r));
}

/* A --set that only runs know. */
static void put_set(json_t *settings, const char *set)
{
    const char *equals = strchr(set, '=');
    double x;
    put_json(settings, copy_bytes_as_string(set, (size_t)(equals - set)),
             parse_real(equals + 1, &x) ? json_real(x) : word_json(equals + 1));
}

static void put_settings(json_t *facts, const Desc *d)
{
    const Setting *s;
    const Lathe_recipe none = {.outer_lr = 0.7, .outer_momentum = 0.9}; /* as of a program that does not say them */
    json_t *all = section_of(facts, "settings"), *knobs = section_of(facts, "configuration");
    for (int k = 0; (s = setting_at(k)); k++)
        if (s->hold == SETTING_RUN || s->hold == SETTING_NOTED)
            put_json(all, s->name, setting_json(s, says_setting(&d->recipe, s) ? &d->recipe : &none));
    if (d->direction) put_json(all, "optimizer", word_json(d->direction->name));
    for (int i = 0; i < d->for_run.n; i++) put_set(all, d->for_run.at[i]);
    for (int i = 0; i < d->knobs.n; i++) put_json(knobs, d->knobs.at[i].name, word_json(d->knobs.at[i].value));
}

/* ------------------------------------------------------------------ parameters */

/* "normal 0.02, no decay" */
static char *start_text(const Param *p)
{
    static const char *const words[] = {[LATHE_ZEROS] = "zeros",
                                        [LATHE_ONES] = "ones",
                                        [LATHE_CONSTANT] = "constant",
                                        [LATHE_NORMAL] = "normal",
                                        [LATHE_UNIFORM] = "uniform"};
    const char *numbers = p->init < LATHE_CONSTANT ? "" : format(" %.9g", p->init_a);
    if (p->init > LATHE_CONSTANT) numbers = format("%s %.9g", numbers, p->init_b);
    return format("%s%s%s", words[p->init], numbers, p->decay ? "" : ", no decay");
}

static void put_parameters(json_t *facts, const Desc *d)
{
    for (int i = 0; i < d->params.n; i++) {
        const Param *p = d->params.at[i];
        json_t *copies = extents_json(p->loops, p->shape.dim),
               *shape = extents_json(p->shape.rank - p->loops, p->shape.dim + p->loops);
        put_parameter(facts, p->name, copies, shape, p->frozen);
        put_json(section_of(facts, "start"), p->name, word_json(start_text(p)));
        json_decref(copies);
        json_decref(shape);
    }
}

/* ------------------------------------------------------------------ entries */

static void put_tensors(json_t *facts, const Program *p)
{
    json_t *all = section_of(facts, "tensors");
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *b = p->buffers.at[i];
        if (b->home == INPUTS)
            put_json(all, format("%s: %s", p->graph->name, b->value->name),
                     word_json(format("%s %s", dtype_name(b->dtype), shape_text(b->shape))));
    }
    for (int i = 0; i < p->graph->outs.n; i++)
        if (p->graph->outs.at[i].kind == OUT_VALUE)
            put_json(all, format("%s: gives %s", p->graph->name, p->graph->outs.at[i].name),
                     word_json(shape_text(p->graph->outs.at[i].node->shape)));
}

static json_t *compiled_kernel_json(Page *page, const Kernel *k)
{
    json_t *all = json_object();
    put_json(all, "name", word_json(kernel_called(page, k)));
    put_json(all, "path", word_json(k->where.path ? k->where.path : ""));
    put_json(all, "where", word_json(k->where.file ? format("%s:%d", file_name(k->where.file), k->where.line) : ""));
    put_json(all, "formula", word_json(formula_text(page, k, false)));
    put_json(all, "flops", json_integer((json_int_t)k->flops));
    put_json(all, "bytes", json_integer((json_int_t)k->bytes));
    return all;
}

static void put_kernels(json_t *facts, Page *page, const Program *p, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++)
        if (kernels[i]->kind == REPEAT && !is_one_launch(page, kernels[i]))
            put_kernels(facts, page, p, kernels[i]->body.at, kernels[i]->body.n);
        else put_kernel(facts, p->graph->name, compiled_kernel_json(page, kernels[i]));
}

static void put_program(json_t *facts, Page *page, const Program *p)
{
    json_t *all = section_of(facts, "computation");
    enter_scope(page, p);
    put_tensors(facts, p);
    put_json(all, format("%s: flop", p->graph->name), json_integer((json_int_t)entry_flops(p)));
    put_json(all, format("%s: work memory, bytes", p->graph->name), json_integer(p->work_bytes));
    if (entry_of(p->graph)->step) put_kernels(facts, page, p, p->kernels.at, p->kernels.n);
}

static void put_memory(json_t *facts, const Module *m)
{
    const Categories c = planned_categories(m);
    json_t *all = section_of(facts, "memory");
    put_json(all, "in all", json_integer(m->plan.total));
    for (int i = 0; i < c.all.n; i++) put_json(all, c.all.at[i].category, json_integer(c.all.at[i].bytes));
}

void take_description(Compared *s, const Options *given)
{
    const Choices *tried;
    Options *o = copy_of(given, sizeof *o);
    o->model_file = s->what;
    o->runs = true; /* --set may name settings of a run */
    const Module *m = o->memory ? compile_within(o, &tried) : compile(front(o));
    const Desc *d = m->desc;
    json_t *program = section_of(s->facts, "program");
    Page *page = new_page(m);
    name_kernels(page);
    put_json(program, "model", word_json(d->model));
    put_json(program, "config", word_json(d->config));
    put_json(program, "precision", word_json(precision_of(o).name));
    put_settings(s->facts, d);
    put_parameters(s->facts, d);
    for (int i = 0; i < m->programs.n; i++) put_program(s->facts, page, m->programs.at[i]);
    put_memory(s->facts, m);
    const char *options = options_text(o, OTHER_PROGRAM), *cpu = strstr(options, " --target cpu");
    if (cpu) options = format("%.*s%s", (int)(cpu - options), options, cpu + strlen(" --target cpu"));
    s->said = format("description%s%s", options, o->memory ? format(" --memory %s", o->memory) : "");
}
