/* parse.c: reads back the line of a nest that text.c prints.  Whether a kernel may run so, check.c says. */
#include "desc/passes.h"
#include "kernels/nest_text.h"

#include <string.h>

/* "[i0 i1]" as bits; 0: there is none. */
static unsigned read_axes(Reader *r, const Space *s)
{
    Parser *q = &r->q;
    unsigned axes = 0;
    if (!took_char(q, '[')) return 0;
    do {
        skip_spaces(q);
        if (*q->p++ != 'i') err(q->at, "expected an axis of the kernel, i0 …, found %s", rest_of_line(q));
        axes |= 1u << read_integer(q, 0, s->own.rank - 1);
    } while (!took_char(q, ']'));
    return axes;
}

static void drop_others(Reader *r, Space *s, unsigned all)
{
    for (int j = s->shape.rank; j-- > 0;) {
        if (s->of[j] & all) continue;
        if (!may_drop(s, j)) err(r->q.at, "axis i%d is walked: its extent is not 1, or a view shows nothing there", j);
        drop_axis(s, j);
    }
}

/* All but those of extent 1, in their order, each once. */
static void read_space(Reader *r, Space *s)
{
    unsigned wanted[MAXRANK], all = 0;
    int n = 0;
    for (unsigned axes; (axes = read_axes(r, s)); all |= axes) {
        if (all & axes || axes < all) err(r->q.at, "each axis is walked once, in the kernel's order");
        wanted[n++] = axes;
    }
    drop_others(r, s, all);
    for (int j = 0; j < s->shape.rank; j++)
        while (s->of[j] != wanted[j]) {
            if (j + 1 == s->shape.rank || s->of[j + 1] & ~wanted[j]) err(r->q.at, "neighbours alone are walked as one");
            if (!may_merge(s, j)) err(r->q.at, "these axes do not lie in memory as one");
            merge_axis(s, j);
        }
}

static void read_nest_list(Reader *r, Nodes *out)
{
    for (skip_spaces(&r->q); *r->q.p == '%'; skip_spaces(&r->q)) push(out, read_ever(r));
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static uint64_t read_bits(Reader *r, int last)
{
    uint64_t bits = 0;
    for (skip_spaces(&r->q); is_digit(*r->q.p); skip_spaces(&r->q)) bits |= (uint64_t)1 << read_integer(&r->q, 0, last);
    return bits;
}

static void read_loops(Reader *r, Nest *n)
{
    Parser *q = &r->q;
    if (took_word(q, "threads")) n->threads = (int)read_integer(q, 1, 2);
    n->sweep_shared = took_word(q, "sweep");
    n->by_columns = took_word(q, "by_columns");
    n->start_shared = took_word(q, "start");
    if (took_word(q, "lanes")) read_nest_list(r, &n->lanes);
    if (took_word(q, "draws")) read_nest_list(r, &n->draws);
    if (took_word(q, "across")) n->across = read_integer(q, 1, 1024);
    if (took_word(q, "rolled")) n->rolled = (unsigned)read_bits(r, MAXRANK);
    n->apart = took_word(q, "apart");
    if (took_word(q, "dense")) n->dense = (Dense)read_one_of(r, dense_words, DENSE_WORDS, "how matrices lie");
}

static void read_threads(Reader *r, Nest *n)
{
    Parser *q = &r->q;
    if (took_word(q, "columns")) n->columns = (Column_sums)read_one_of(r, column_words, COLUMN_WORDS, "where sums run");
    if (took_word(q, "team")) n->team = team_sizes[read_one_of(r, team_words, TEAM_WORDS, "a team of threads")];
    if (took_word(q, "beside")) n->beside = (int)read_integer(q, 1, 8);
    if (took_word(q, "wide")) n->wide = read_bits(r, MOST_WIDE - 1);
    n->rest = took_word(q, "rest");
    if (took_word(q, "keep")) read_nest_list(r, &n->kept);
    n->by_warps = took_word(q, "by_warps");
    n->tensor = took_word(q, "tensor");
    n->words = took_word(q, "words");
    n->stays = took_word(q, "stays");
    n->plain = took_word(q, "plain");
    if (took_word(q, "wait")) n->wait = (Wait)read_one_of(r, wait_words, WAIT_WORDS, "who waits");
}

static bool is_scheduled(const Reader *r) { return !comes_before(r->p->after, "axes"); }

static void begin_nest(Reader *r, Kernel *k)
{
    const char *fault = kernel_fault(k, r->desc->options->target);
    if (fault) err(r->q.at, "%s %s: %s", kernel_kind(k), k->name, fault);
    k->nest = new_nest(k);
}

static bool took_launch(Reader *r, Kernel *k)
{
    Parser *q = &r->q;
    if (!took_word(q, "launch")) return false;
    if (!is_scheduled(r) || comes_before(r->p->after, "launch"))
        err(q->at, "only what pass launch leaves has launches");
    if (!k->nest) err(q->at, "a kernel's launches stand behind its line 'nest'");
    Launch l = {.what = (Launched)read_one_of(r, launch_words, LAUNCH_WORDS, "what a kernel launches")};
    if (took_word(q, "blocks")) l.blocks = read_count(r);
    if (took_word(q, "shared")) l.shared = read_count(r);
    if (took_word(q, "room")) l.room = read_count(r);
    push(&k->nest->launches, l);
    return true;
}

bool took_nest(Reader *r, Kernel *k)
{
    if (took_launch(r, k)) return true;
    if (!took_word(&r->q, "nest")) return false;
    if (!is_scheduled(r)) err(r->q.at, "only what passes from axes on leave has nests");
    if (k->nest) err(r->q.at, "the kernel has a nest already");
    begin_nest(r, k);
    if (!k->nest) err(r->q.at, "a kernel of kind %s has no nest", kernel_kind(k));
    read_space(r, &k->nest->space);
    if (k->block && k->nest->space.shape.rank == MAXRANK)
        err(r->q.at, "a kernel with a block walks over %d axes at most", MAXRANK - 1);
    end_space(k->nest);
    read_loops(r, k->nest);
    read_threads(r, k->nest);
    return true;
}

/* When the kernel's lines have been read. */
void end_nest(Reader *r, Kernel *k, Where start)
{
    if (!is_scheduled(r) || k->nest) return;
    begin_nest(r, k);
    if (k->nest && k->nest->space.shape.rank) err(start, "expected the kernel's line 'nest'");
}

void read_wait_at_end(Reader *r, Kernel *repeat)
{
    bool copied = took_word(&r->q, "copied"), waits = took_word(&r->q, "wait");
    if (!copied && !waits) return;
    if (repeat->kind != REPEAT) err(r->q.at, "panels do not wait");
    if (!is_scheduled(r)) err(r->q.at, "only what passes from axes on leave waits");
    repeat->nest = new_nest(repeat);
    repeat->nest->wait_copied = copied;
    if (waits) repeat->nest->wait_end = (Wait)read_one_of(r, wait_words, WAIT_WORDS, "who waits");
}
