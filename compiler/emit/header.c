/* header.c: model.h: sizes, structs, entries. */
#include "desc/target.h"
#include "emit/emit.h"
#include "passes/passes.h"

#include <ctype.h>
#include <string.h>

static void say_tensor_member(Page *page, Text *t, DType type, const char *name, Shape s, const char *remark)
{
    Text x = {0};
    const char *extents = array_text(page, s, 0);
    if (in_blocks(type)) extents = format("%.*s / LATHE_BLOCK]", (int)strlen(extents) - 1, extents);
    say(&x, "    %s %s%s;", c_type(type), name, extents);
    if (*remark) say(t, "%-60s /* %s */\n", x.at, in_comment(remark));
    else say(t, "%s\n", x.at);
}

int count_home(const Program *p, Home home)
{
    int n = 0;
    for (int i = 0; i < p->buffers.n; i++) n += p->buffers.at[i]->home == home;
    return n;
}

static void say_entry_struct(Page *page, Text *t, const Program *p, Home home, const char *what)
{
    if (!count_home(p, home)) return;
    char *name = type_name(page, p->graph->name, what);
    say(t, "typedef struct %s {\n", name);
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *b = p->buffers.at[i];
        if (b->home == home) say_tensor_member(page, t, b->dtype, buffer_name(page, b), b->shape, "");
    }
    say(t, "} %s;\n\n", name);
}

static void say_state_struct(Page *page, Text *t)
{
    if (!page->desc->states.n) return;
    char *name = type_name(page, NULL, "state");
    bool wide = in_doubles(page);
    bool fixed = false, statistics = page->desc->statistics.n > 0;
    for (int i = 0; i < page->desc->states.n; i++) fixed |= page->desc->states.at[i].fixed;
    say(t, "/* Kept between calls; zero at first%s%s. */\ntypedef struct %s {\n",
        fixed ? ", but for what encode writes" : "", statistics ? ", but for statistics" : "", name);
    for (int i = 0; i < page->desc->states.n; i++) {
        const Tensor_spec *s = &page->desc->states.at[i];
        DType type = s->dtype == F32 && wide ? F64 : s->dtype;
        const char *remark = s->where.file ? format("%s:%d", file_name(s->where.file), s->where.line) : "";
        say_tensor_member(page, t, type, state_member(page, s->name), s->shape, remark);
    }
    say(t, "} %s;\n\n", name);
}

/* The sizes come first in the file, but only at the end is it known which are used. */
void say_header(Page *page, Text *t, const char *prototypes)
{
    const Module *m = page->module;
    Text body = {0};
    char *guard = copy_string(type_name(page, NULL, "MODEL_H"));
    for (char *c = guard; *c; c++) *c = (char)toupper((unsigned char)*c);
    say_params(page, &body);
    say_state_struct(page, &body);
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        enter_scope(page, p);
        say_entry_struct(page, &body, p, INPUTS, "in");
        say_entry_struct(page, &body, p, OUTPUTS, "out");
    }
    const char *file = file_name(page->desc->file);
    say_comment(t, 0,
                format("model.h: sizes, parameters and entries of %s, made by lathe.  Edit %s, not this file.",
                       page->desc->model, file));
    say(t, "#ifndef %s\n#define %s\n\n#include \"%s\"\n", guard, guard, page->target->interface);
    DType cache = cache_type(page->desc->options);
    bool narrow = is_stored(page->precision.weights) || is_stored(cache) ||
                  elements_in_blocks(&page->module->plan.flat) || elements_in_blocks(&page->module->plan.taught);
    say(t, "%s\n", in_blocks(cache) ? "#include \"math/blocks.h\"\n" : narrow ? "#include \"math/math.h\"\n" : "");
    say_sizes(page, t);
    say(t, "%s%s\n#endif\n", body.at, prototypes);
}
