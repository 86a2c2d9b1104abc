/* nest_text.c: nests as text: a line of a kernel, which parse.c reads.
 *
 *     nest [i0 i1] [i2] threads 1 sweep by_columns start lanes %N … draws %N … across N rolled N … apart dense nt
 *          columns shared team warp beside 4 wide N … rest keep %N … by_warps tensor words stays plain wait blocks
 *                                                                                               (one line)
 *     launch all blocks N shared BYTES room BYTES
 *
 * Each bracket is a walked axis: the kernel's axes that are walked as one. An axis of extent 1 may be missing.
 *
 *     threads    the number of outermost loops that threads share as one; also shared are,
 *                with sweep, the loop over the inner axis, with by_columns, the columns
 *                beside ids, with start, the loop that writes the starting values
 *     lanes      reductions that run in lanes; across: the number of rows at a time
 *     draws      random bits that are drawn for a whole row before its sweep
 *     rolled     numbers of walked axes; the number after them is the loop over a block's rows
 *     apart      loops store to other elements than those that they read
 *     dense      nn, nt, tn, tt: which matrices of a product are transposed; they have no gaps
 *     columns    shared, registers, partials, apart: where sums of columns run
 *     team       elements, one, warp, block: threads of a row
 *     wide       numbers of loads, and behind them of stores, phase by phase
 *     keep       loads whose rows a block copies into shared memory
 *     plain      it has a plain loop to fall back on
 *     wait       threads, blocks: before the kernel; after `end`: at the end of a loop's
 *                iteration; `copied`: threads wait for the copies made before the loop
 *     launch     all, start, columns, plain: the launches, one after another; shared: bytes
 *                of its arrays, room: bytes of the rows that it keeps
 */
#include "kernels/nest_text.h"

const char *const column_words[COLUMN_WORDS] = {COLUMN_LIST(LIST_WORD)};
const char *const dense_words[DENSE_WORDS] = {DENSE_LIST(LIST_WORD)};
const char *const wait_words[WAIT_WORDS] = {WAIT_LIST(LIST_WORD)};
const char *const launch_words[LAUNCH_WORDS] = {LAUNCH_LIST(LIST_WORD)};
#define TEAM_WORD(member, word, size) word,
const char *const team_words[TEAM_WORDS] = {TEAM_LIST(TEAM_WORD)};
const int team_sizes[TEAM_WORDS] = {TEAM_LIST(LIST_MEMBER)};

static void say_axes(Text *t, const Space *s)
{
    for (int j = 0; j < s->shape.rank; j++) {
        bool any = false;
        say(t, " [");
        for (int i = 0; i < s->own.rank; i++) {
            if (s->of[j] >> i & 1) say(t, "%si%d", any ? " " : "", i);
            any |= s->of[j] >> i & 1;
        }
        say(t, "]");
    }
}

static void say_word_if(Text *t, bool is, const char *word)
{
    if (is) say(t, " %s", word);
}

static void say_number_if(Text *t, const char *word, int64_t n)
{
    if (n) say(t, " %s %lld", word, (long long)n);
}

static void say_list(Printer *p, const char *word, const Nodes *nodes)
{
    say_word_if(p->t, nodes->n, word);
    for (int i = 0; i < nodes->n; i++) say(p->t, " %%%d", number_of(p, nodes->at[i]));
}

static void print_loops_of_nest(Printer *p, const Nest *n)
{
    Text *t = p->t;
    say_number_if(t, "threads", n->threads);
    say_word_if(t, n->sweep_shared, "sweep");
    say_word_if(t, n->by_columns, "by_columns");
    say_word_if(t, n->start_shared, "start");
    say_list(p, "lanes", &n->lanes);
    say_list(p, "draws", &n->draws);
    say_number_if(t, "across", n->across);
    say_word_if(t, n->rolled, "rolled");
    for (int j = 0; j <= MAXRANK; j++)
        if (n->rolled >> j & 1) say(t, " %d", j);
    say_word_if(t, n->apart, "apart");
    if (n->dense) say(t, " dense %s", dense_words[n->dense]);
}

static void say_threads(Printer *p, const Nest *n)
{
    Text *t = p->t;
    if (n->columns) say(t, " columns %s", column_words[n->columns]);
    for (int i = 0; i < TEAM_WORDS; i++)
        if (n->team && n->team == team_sizes[i]) say(t, " team %s", team_words[i]);
    say_number_if(t, "beside", n->beside);
    say_word_if(t, n->wide, "wide");
    for (int i = 0; i < MOST_WIDE; i++)
        if (n->wide >> i & 1) say(t, " %d", i);
    say_word_if(t, n->rest, "rest");
    say_list(p, "keep", &n->kept);
    say_word_if(t, n->by_warps, "by_warps");
    say_word_if(t, n->tensor, "tensor");
    say_word_if(t, n->words, "words");
    say_word_if(t, n->stays, "stays");
    say_word_if(t, n->plain, "plain");
    if (n->wait) say(t, " wait %s", wait_words[n->wait]);
}

static void print_launch(Printer *p, const Launch *l)
{
    say(p->t, "%*slaunch %s blocks %lld", 4 * p->depth, "", launch_words[l->what], (long long)l->blocks);
    say_number_if(p->t, "shared", l->shared);
    say_number_if(p->t, "room", l->room);
    say(p->t, "\n");
}

void say_nest(Printer *p, const Kernel *k)
{
    const Nest *n = k->nest;
    Text line = {0}, *t = p->t;
    if (!n) return;
    p->t = &line;
    say_axes(&line, &n->space);
    print_loops_of_nest(p, n);
    say_threads(p, n);
    p->t = t;
    if (line.n) say(t, "%*snest%s\n", 4 * p->depth, "", line.at);
    for (int i = 0; i < n->launches.n; i++) print_launch(p, &n->launches.at[i]);
}

void say_wait_at_end(Printer *p, const Kernel *repeat)
{
    if (repeat->nest) say_word_if(p->t, repeat->nest->wait_copied, "copied");
    if (repeat->nest && repeat->nest->wait_end) say(p->t, " wait %s", wait_words[repeat->nest->wait_end]);
}
