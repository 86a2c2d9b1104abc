/* pairs.c: a block of pairs for an encoder and a decoder: one row per pair, cut if it is too long, and rows of similar
 * lengths in a batch.
 *
 * The ids of pair k start at run[k]: the source, then the target, then the end token if there is room.  The decoder
 * reads bos and the target without its last id. */
#include "base/words.h"
#include "data/pack.h"
#include "data/stream.h"
#include "interface/lathe_model.h"

#include <stdlib.h>
#include <string.h>

static int64_t at_most(int64_t n, int64_t most) { return n < most ? n : most; }

void open_pairs(Block *b, const Order *o)
{
    int64_t n = lathe_pair_rows(o->block_tokens), longest = o->source_seq > o->seq ? o->source_seq : o->seq;
    b->run = must_alloc(sizeof *b->run * (size_t)n);
    b->pair = must_alloc(sizeof *b->pair * (size_t)n);
    b->scratch = must_alloc((size_t)bucket_scratch(n, longest));
}

/* ------------------------------------------------------------------ filling */

void count_pair(Pair_sum *s, int64_t source, int64_t target)
{
    Pair_sum one = {.pairs = 1, .source = source, .target = target};
    one.least_source = one.most_source = source;
    one.least_target = one.most_target = target;
    add_pairs(s, &one);
}

void add_pairs(Pair_sum *to, const Pair_sum *of)
{
    bool first = to->pairs == 0;
    if (of->pairs == 0) return;
    if (first || of->least_source < to->least_source) to->least_source = of->least_source;
    if (first || of->least_target < to->least_target) to->least_target = of->least_target;
    if (of->most_source > to->most_source) to->most_source = of->most_source;
    if (of->most_target > to->most_target) to->most_target = of->most_target;
    to->pairs += of->pairs;
    to->source += of->source;
    to->target += of->target;
    to->cut += of->cut;
    to->skipped += of->skipped;
    to->places += of->places;
    to->drawn += of->drawn;
    to->bucketed += of->bucketed;
}

static void append_pair_ids(Block *b, const int32_t *id, int64_t n)
{
    if (n) memcpy(b->id + b->ids, id, sizeof *id * (size_t)n);
    b->ids += n;
}

static void end_pair(Block *b, const Order *o, int64_t target)
{
    bool longer = b->source > o->source_seq || target + (o->eos >= 0) > o->seq;
    count_pair(&b->sum, b->source, target);
    b->documents++;
    if (longer && o->skip_long) {
        b->sum.skipped++;
        b->ids = b->run[b->runs];
        return;
    }
    b->sum.cut += longer;
    b->runs++;
}

void add_pair_part(Block *b, const Order *o, const Document_part *p)
{
    int64_t n = at_most(p->n, p->kind == PART_SOURCE ? o->source_seq : o->seq);
    Pair_lengths *pair = &b->pair[b->runs];
    if (p->kind == PART_SOURCE) {
        b->run[b->runs] = (int32_t)b->ids;
        b->source = p->n;
        pair->source = (int32_t)n;
        append_pair_ids(b, p->id, n);
        return;
    }
    append_pair_ids(b, p->id, n);
    if (n < o->seq && o->eos >= 0) b->id[b->ids++] = o->eos;
    pair->target = (int32_t)(b->ids - b->run[b->runs] - pair->source);
    end_pair(b, o, p->n);
}

/* ------------------------------------------------------------------ batches */

void sort_pairs(Block *b, const Order *o)
{
    Bucketing how = {.batch = o->batch,
                     .phase = b->rows_before % o->batch,
                     .buckets = o->buckets,
                     .longest = o->source_seq > o->seq ? o->source_seq : o->seq,
                     .seed = o->seed,
                     .which = b->epoch << 32 | b->number};
    b->sum.places = b->ids;
    b->sum.drawn = bucket_places(&how, b->pair, b->order, b->rows);
    bucket_rows(&how, b->pair, b->order, b->rows, b->scratch);
    b->sum.bucketed = bucket_places(&how, b->pair, b->order, b->rows);
}

/* ------------------------------------------------------------------ rows */

/* Fills to[width] with n ids, then with `rest`. */
static void fill_row(int32_t *to, int64_t width, const int32_t *id, int64_t n, int32_t rest)
{
    memcpy(to, id, sizeof *id * (size_t)n);
    for (int64_t i = n; i < width; i++) to[i] = rest;
}

void read_pair_row(const Block *b, const Order *o, int64_t k, const Rows *to, int64_t at)
{
    int64_t row = b->order[k], S = o->source_seq, T = o->seq;
    Pair_lengths p = b->pair[row];
    const int32_t *source = b->id + b->run[row], *target = source + p.source;
    if (to->source) fill_row(to->source + at * S, S, source, p.source, o->pad);
    if (to->source_lengths) to->source_lengths[at] = p.source;
    if (to->lengths) to->lengths[at] = p.target;
    if (to->targets) fill_row(to->targets + at * T, T, target, p.target, -1);
    if (!to->tokens) return;
    fill_row(to->tokens + at * T, T, target, p.target, o->pad);
    if (p.target == 0) return;
    memmove(to->tokens + at * T + 1, target, sizeof *target * (size_t)(p.target - 1));
    to->tokens[at * T] = o->bos;
}

/* ------------------------------------------------------------------ statistics */

/* "1,234 tokens (3 to 40, 12.3 on average)" */
static char *tokens_text(int64_t sum, int64_t least, int64_t most, int64_t n)
{
    return text_of("%s tokens (%lld to %lld, mean %.1f)", grouped_text(sum), (long long)least, (long long)most,
                   (double)sum / (double)n);
}

static double padding(int64_t used, int64_t places) { return places ? 100 * (1 - (double)used / (double)places) : 0; }

static char *room_text(const Pair_sum *s, const Order *o)
{
    if (!o->pairs) return text_of("; %s longer than a sequence", grouped_text(s->cut));
    int64_t rows = s->pairs - s->skipped;
    char *sorted = text_of(", %.1f %% with rows of similar length together, as this run has them",
                           padding(s->places, s->bucketed));
    return text_of("; %s %s to %lld and %lld; padding: %.1f %% with full rows, %.1f %% with batches cut to their "
                   "longest row%s",
                   grouped_text(s->cut + s->skipped), o->skip_long ? "left out because they are too long" : "cut",
                   (long long)o->source_seq, (long long)o->seq, padding(s->places, rows * (o->source_seq + o->seq)),
                   padding(s->places, s->drawn), o->buckets ? sorted : "");
}

char *pairs_text(const Pair_sum *s, const Order *o)
{
    char *source = tokens_text(s->source, s->least_source, s->most_source, s->pairs);
    char *target = tokens_text(s->target, s->least_target, s->most_target, s->pairs), *room = room_text(s, o);
    char *all = text_of("%s pairs, sources of %s, targets of %s%s", grouped_text(s->pairs), source, target, room);
    free(source);
    free(target);
    free(room);
    return all;
}
