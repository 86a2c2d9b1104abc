/* titles.c: values are called what the description calls them: by its locals, by the layers that give them, by its
 * outputs.
 *
 * Whenever Lua comes to another line, the locals of the function that runs are looked at: what one of them holds, and
 * nobody has named yet, has its name from then on.  A letter (x, h) says less than the layer that gives a value, a word
 * says more.  Lines that make no tensor, one after another, are looked at no more after a while: a description may
 * compute. */
#include "front/front.h"

#include <string.h>

/* What hands tensors about for other functions calls them by no names of theirs. */
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
static int lines; /* since the last tensor was made */

static bool off;

void leave_titles(lua_State *L)
{
    off = true;
    watch_lines(L, false);
}

void expect_titles(lua_State *L)
{
    if (lines > A_WHILE && !off) watch_lines(L, true);
    lines = 0;
}

void title_locals(lua_State *L, lua_Debug *ar)
{
    if (++lines > A_WHILE) watch_lines(L, false);
    if (!trace.graph || !lua_getinfo(L, "Su", ar) || is_plumbing(ar->source)) return;
    const char *name;
    for (int i = 1; (name = lua_getlocal(L, ar, i)); i++) {
        const Tensor *t = lua_isuserdata(L, -1) ? is_tensor(L, -1) : NULL;
        Title_rank rank = rank_of_local(ar, i, name);
        if (t && t->trace == trace.number && name[0] != '(' && name[0] != '_' && t->node->title_rank < rank)
            give_title(t->node, copy_string(name), rank, trace.path);
        lua_pop(L, 1);
    }
}

/* core.gives(x): the layer that is open gives x. */
int gives_call(lua_State *L)
{
    const Tensor *t = is_tensor(L, 1);
    if (t) give_title(t->node, last_part_of(trace.path), TITLE_LAYER, trace.path);
    return 0;
}
