/* data_info_pairs.c: what training would make of pairs (data.pairs): an epoch of the trainer's own rows, counted. */
#include "data/data.h"
#include "tools/data_command.h"

static void refuse_pipes(const Sources *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->file[i].bytes < 0)
            fail(EXIT_USAGE, s->file[i].path, "--source-seq reads twice, and a pipe can be read once; give files");
}

/* Which tokens stand around the halves does not matter here, only that an end token does. */
Order pairs_order(const Pairs_asked *a)
{
    Order o = {.seq = a->seq,
               .stride = a->seq,
               .block_tokens = a->shuffle_tokens ? a->shuffle_tokens : LATHE_SHUFFLE_TOKENS,
               .shuffle = true,
               .once = true,
               .seed = (int32_t)a->seed,
               .sep = -1,
               .pair_end = -1,
               .ids = INT32_MAX,
               .pairs = true,
               .skip_long = a->skip_long,
               .source_seq = a->source_seq,
               .batch = a->batch,
               .buckets = a->buckets};
    o.first_tokens = first_block_tokens(&o);
    return o;
}

Pair_sum count_pairs(const Words *paths, Source_options how, const Tokenizer *t, const Order *o)
{
    Stream_sum sum;
    int code;
    how.both = true;
    Sources *from = open_sources(paths, &how);
    refuse_pipes(from);
    Row_stream *s = open_stream(from, t, o, 1, NULL);
    while (skip_rows(s, 1)) continue;
    const char *failure = stream_failure(s, &code);
    if (failure) end_program(code, failure);
    if (!epoch_ended(s, &sum)) sum = (Stream_sum){0};
    close_stream(s);
    close_sources(from);
    return sum.pairs;
}

static double unused(int64_t used, int64_t places) { return places ? 1 - (double)used / (double)places : 0; }

json_t *pairs_json(const Pair_sum *s, const Order *o)
{
    int64_t rows = s->pairs - s->skipped;
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:f,s:f}", "source_seq", (json_int_t)o->source_seq, "seq",
                     (json_int_t)o->seq, "batch", (json_int_t)o->batch, "buckets", (json_int_t)o->buckets, "rows",
                     (json_int_t)rows, "cut", (json_int_t)s->cut, "skipped", (json_int_t)s->skipped, "padding",
                     unused(s->places, rows * (o->source_seq + o->seq)), "padding_of_batches",
                     unused(s->places, s->drawn), "padding_in_buckets", unused(s->places, s->bucketed));
}
