/* wide.c: CUDA: arrays that a thread reads and writes as wholes, its elements side by side in one access
 * (schedule/wide.c):
 *
 *     const Wide<bf16, 8> own_h = read_wide<8>(&h[r][c8]);
 *     Wide<bf16, 8> own_y;
 *     UNROLL for (int c = c8; c < c8 + 8; c++)
 *         own_y[c - c8] = f(own_h[c - c8]);
 *     write_wide(&y[r][c8], own_y);
 */
#include "emit/threads.h"

bool is_wide(const Rows *r, int bit) { return bit < MOST_WIDE && r->n->wide >> bit & 1; }

static DType type_at(const Rows *r, int use) { return r->f->uses.at[use].view.buffer->dtype; }

static int bit_of_store(const Rows *r, int store)
{
    return number_of_store(r->n, (int)(r->phase - r->k->phases.at), store);
}

static bool reads_whole(const Rows *r, int load)
{
    return is_wide(r, load) && sweep_uses(r, r->k->loads.at[load].node);
}

/* The first element of a turn. */
static char *begin_of_turn(Rows *r, int use)
{
    Axis *c = &r->f->axis[r->inner];
    const char *now = c->now;
    c->now = r->four;
    char *first = element(r->f, use);
    c->now = now;
    return first;
}

/* The name of the value, which may be in an array of another name. */
static const char *value_in(const Rows *r, int use)
{
    const Use *u = &r->f->uses.at[use];
    return name_before(wished_name(r->f->page, u->view.buffer), u->before && r->f->args.at[u->arg].written);
}

static const char *name_of_wide(const Rows *r, int use)
{
    return new_name(&r->f->names, format("own_%s", value_in(r, use)));
}

static void read_whole(Rows *r, int load)
{
    const char *type = c_type(type_at(r, r->load[load])), *name = name_of_wide(r, r->load[load]);
    const char *from = r->kept_load && r->kept_load[load] ? format("%s[%s]", r->kept_load[load], r->four)
                                                          : begin_of_turn(r, r->load[load]);
    line(&r->f->w, "const Wide<%s, %d> %s = read_wide<%d>(&%s);", type, r->beside, name, r->beside, from);
    r->wide[load] = name;
}

/* Declares the whole that the turn fills; if it is added to what is there, it begins with that. */
static void begin_whole(Rows *r, int store)
{
    int use = uses_now(r)->store[store];
    const char *type = c_type(type_at(r, use)), *name = name_of_wide(r, use), *old = "";
    if (r->phase->stores.at[store].add) old = format(" = read_wide<%d>(&%s)", r->beside, begin_of_turn(r, use));
    line(&r->f->w, "Wide<%s, %d> %s%s;", type, r->beside, name, old);
    r->wide[bit_of_store(r, store)] = name;
}

void begin_wholes(Rows *r)
{
    r->wide = NEW_ARRAY(const char *, MOST_WIDE);
    r->wide_given = false;
    for (int i = 0; i < r->k->loads.n; i++)
        if (reads_whole(r, i)) read_whole(r, i);
    for (int i = 0; i < r->phase->stores.n; i++)
        if (is_wide(r, bit_of_store(r, i))) begin_whole(r, i);
}

void end_wholes(Rows *r)
{
    for (int i = 0; i < r->phase->stores.n; i++)
        if (is_wide(r, bit_of_store(r, i)))
            line(&r->f->w, "write_wide(&%s, %s);", begin_of_turn(r, uses_now(r)->store[i]),
                 r->wide[bit_of_store(r, i)]);
    r->wide = NULL;
}

void elements_beside(Rows *r)
{
    begin_wholes(r);
    open_beside(r, r->four);
    one_element(r, "");
    close_block(&r->f->w);
    end_wholes(r);
}

const char *given_elements(Rows *r)
{
    Text t = {0};
    r->wide = NEW_ARRAY(const char *, MOST_WIDE);
    r->wide_given = true;
    for (int i = 0; i < r->k->loads.n; i++) {
        if (!reads_whole(r, i)) continue;
        r->wide[i] = name_of_one(r, value_in(r, r->load[i]));
        say(&t, ", %s %s", c_type(type_at(r, r->load[i])), r->wide[i]);
    }
    for (int i = 0; i < r->phase->stores.n; i++) {
        int use = uses_now(r)->store[i], bit = bit_of_store(r, i);
        if (!is_wide(r, bit)) continue;
        r->wide[bit] = name_of_one(r, value_in(r, use));
        say(&t, ", %s &%s", c_type(type_at(r, use)), r->wide[bit]);
    }
    return t.n ? t.at : "";
}

const char *elements_to_give(Rows *r)
{
    Text t = {0};
    for (int i = 0; i < r->k->loads.n; i++)
        if (reads_whole(r, i)) say(&t, ", %s", load_at(r, i).text);
    for (int i = 0; i < r->phase->stores.n; i++)
        if (is_wide(r, bit_of_store(r, i))) say(&t, ", %s", store_at(r, i));
    return t.n ? t.at : "";
}
