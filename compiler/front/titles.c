/* titles.c: names values after the description's locals, layers and outputs.
 *
 * Before each line, a tensor without a title gets the name of the local that holds it.  A one-letter name (x, h) ranks
 * below the layer that made the value, a longer one above it.  After many lines that make no tensor the hook is
 * switched off until the next tensor, since it slows down long computations. */
#include "front/front.h"

#include <string.h>

/* Locals of library code that only passes tensors on give no names. */
static bool is_plumbing(const char *source)
{
    static const char *const chunks[] = {"=loop", "=layer", "=options"};
    for (int i = 0; i < COUNT_OF(chunks); i++)
        if (same(source, chunks[i])) return true;
    return false;
}

static Title_rank rank_of_local(const lua_Debug *ar, int number, const char *name)
{
    bool parameter = number <= ar->nparams, ours = ar->source[0] == '=';
    return parameter && ours ? TITLE_ARGUMENT : name[1] ? TITLE_WORD : TITLE_LETTER;
}

enum { A_WHILE = 1000 };

void leave_titles(lua_State *L)
{
    trace_of(L)->untitled = true;
    watch_lines(L, false);
}

void expect_titles(lua_State *L)
{
    Trace *trace = trace_of(L);
    if (trace->lines > A_WHILE && !trace->untitled) watch_lines(L, true);
    trace->lines = 0;
}

void title_locals(lua_State *L, lua_Debug *ar)
{
    Trace *trace = trace_of(L);
    if (++trace->lines > A_WHILE) watch_lines(L, false);
    if (!trace->graph || !lua_getinfo(L, "Su", ar) || is_plumbing(ar->source)) return;
    const char *name;
    for (int i = 1; (name = lua_getlocal(L, ar, i)); i++) {
        const Tensor *t = lua_isuserdata(L, -1) ? is_tensor(L, -1) : NULL;
        Title_rank rank = rank_of_local(ar, i, name);
        if (t && t->trace == trace->number && name[0] != '(' && name[0] != '_' && t->node->title_rank < rank)
            give_title(t->node, copy_string(name), rank, trace->path);
        lua_pop(L, 1);
    }
}

/* core.gives(x): x is a result of the open layer. */
int gives_call(lua_State *L)
{
    const Trace *trace = trace_of(L);
    const Tensor *t = is_tensor(L, 1);
    if (t) give_title(t->node, last_part_of(trace->path), TITLE_LAYER, trace->path);
    return 0;
}
