/* write.c: writes texts for prompts or sources, one per row of decode at a time, drawn token by token or by beam
 * search. */
#include "base/words.h"
#include "data/chats.h"
#include "data/data.h"
#include "data/reading.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "model/tables.h"
#include "text/beam.h"
#include "text/generate.h"
#include "text/writer.h"
#include "text/writing.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ settings */

/* For an imported model, texts begin as its tokenizer begins them, because it was trained so. */
void settle_tokens(Text_writer *w)
{
    const Writing *asked = &w->asked;
    const Reading reading = {.model = asked->model, .recipe = asked->recipe, .gpus = 1};
    Order o = {.ids = asked->model->vocab, .eos = -1};
    bool pairs = w->d.encode, named = (asked->origin || asked->chat) && !pairs && asked->recipe->bos;
    bool settled = pairs || named || asked->recipe->beams || asked->recipe->eos;
    w->bos = w->pad = -1;
    if (settled) {
        settle_pairs(&o, &reading);
        settle_specials(&o, &reading, w->tokenizer);
        w->bos = o.bos;
        w->pad = o.pad;
    }
    if (named && w->bos >= 0) w->begin = &w->bos, w->begins = 1;
    if (asked->origin && !pairs && !named && !asked->chat) w->begins = tokens_before(w->tokenizer, &w->begin);
    w->how.ends = ends_of_texts(asked, w->tokenizer, pairs, o.eos);
    w->stops = open_stops(asked, w->tokenizer);
}

static void check_beams(const Text_writer *w)
{
    const Lathe_recipe *r = w->asked.recipe;
    if (r->beams && w->asked.grammar)
        fail(EXIT_USAGE, NULL, "a grammar or a schema constrains tokens that are drawn: give --beams 0");
    if (r->beams > w->d.rows)
        fail(EXIT_USAGE, NULL,
             "beams=%lld: each beam needs a row, and this trainer decodes %lld row%s at once; give --beams %lld or "
             "fewer, or build with generate = { rows = %lld }",
             (long long)r->beams, (long long)w->d.rows, w->d.rows == 1 ? "" : "s", (long long)w->d.rows,
             (long long)r->beams);
    if (r->min_tokens && w->how.ends.n == 0)
        fail(EXIT_USAGE, NULL,
             "min_tokens=%lld has no effect, because the tokenizer has no token that ends texts; name one with --set "
             "eos=TOKEN or --stop-token TOKEN",
             (long long)r->min_tokens);
    if (w->asked.ignore_eos && w->asked.stop_tokens.n)
        fail(EXIT_USAGE, NULL, "--ignore-eos lets no token end a text, but --stop-token names some; give one of them");
    if (r->min_tokens > w->how.most)
        fail(EXIT_USAGE, NULL, "min_tokens=%lld: texts have at most %lld tokens; give more (--tokens) or a smaller one",
             (long long)r->min_tokens, (long long)w->how.most);
}

/* A decoder of pairs writes at most seq tokens; a language model has no limit. */
static int64_t most_tokens(const Writing *asked)
{
    int64_t most = lathe_written_tokens(asked->recipe, asked->model->seq);
    if (asked->model->recipe.pairs && asked->tokens_given && asked->recipe->sample_tokens > asked->model->seq)
        fail(EXIT_USAGE, NULL, "--tokens %lld: this decoder was built for %lld; build it with --set seq=%lld",
             (long long)asked->recipe->sample_tokens, (long long)asked->model->seq,
             (long long)asked->recipe->sample_tokens);
    return most;
}

/* ------------------------------------------------------------------ memory */

static const void *feed_decoder(void *with, const int32_t *token, float *extra)
{
    Decoder *d = with;
    const void *logits = feed_rows(d, token);
    for (int64_t r = 0; r < d->rows; r++) read_extras(d, r, extra + r * d->extras);
    return logits;
}

static void reorder_decoder(void *with, const int32_t *from) { reorder_rows(with, from); }

static bool stops_text(void *with, const int32_t *token, int64_t n)
{
    Text_writer *w = with;
    const char *which;
    return bytes_to_stop(w->stops, token, n, &which) > 0;
}

void *take_rest(Text_writer *w, int64_t bytes)
{
    void *at = w->d.rest;
    bytes = (bytes + 15) & ~INT64_C(15);
    bug_if(bytes > w->d.rest_bytes);
    w->d.rest += bytes;
    w->d.rest_bytes -= bytes;
    return at;
}

static void open_beams(Text_writer *w)
{
    const Decoder *d = &w->d;
    Beam_model m = {&w->d, d->rows, d->vocab, d->extras, d->logits->dtype, feed_decoder, reorder_decoder};
    w->beam = open_beam(&w->how, &m, take_rest(w, beam_bytes(&w->how, &m)));
}

/* Only ids of the tokenizer are drawn, and ends, which may be above them. */
static void open_samplers(Text_writer *w)
{
    int64_t ids = w->how.ids, n = ids, rows = w->d.rows;
    for (int i = 0; i < w->how.ends.n; i++)
        if (w->how.ends.id[i] >= n) n = w->how.ends.id[i] + 1;
    Candidate *list = take_rest(w, (int64_t)sizeof *list * n);
    w->line = must_alloc(sizeof *w->line * (size_t)rows);
    for (int64_t r = 0; r < rows; r++) {
        w->line[r].sampler = (Sampler){.n = n, .ids = ids, .ends = &w->how.ends, .list = list, .seen = take_rest(w, n)};
        if (w->asked.vocabulary) w->line[r].constraint = open_constraint(w->asked.vocabulary);
        w->line[r].extra = take_rest(w, w->how.most * w->d.extras * (int64_t)sizeof(float));
    }
}

Text_writer *open_text_writer(Writing asked, const Memory *m, const Tokenizer *k, const char *place)
{
    const Lathe_recipe *r = asked.recipe;
    Text_writer *w = must_alloc(sizeof *w);
    *w = (Text_writer){.asked = asked, .tokenizer = k, .encoder = open_encoder(k)};
    encoder_place(w->encoder, place);
    open_decoder(&w->d, asked.model, asked.seed, m, asked.origin != NULL);
    w->how = (Beam_how){.beams = r->beams,
                        .least = asked.ignore_eos ? INT64_MAX : r->min_tokens,
                        .most = most_tokens(&w->asked),
                        .power = r->length_penalty,
                        .no_repeat = r->no_repeat_ngram,
                        .with = w,
                        .ids = (int32_t)tokenizer_size(k)};
    settle_tokens(w);
    w->how.stops = w->stops ? stops_text : NULL;
    check_beams(w);
    w->prompt = must_alloc(sizeof *w->prompt * (size_t)w->d.rows);
    w->hidden = must_alloc(sizeof *w->hidden * (size_t)w->d.rows);
    w->next = must_alloc(sizeof *w->next * (size_t)w->d.rows);
    w->from = must_alloc(sizeof *w->from * (size_t)w->d.rows);
    if (r->beams) open_beams(w);
    else open_samplers(w);
    return w;
}

bool reads_sources(const Text_writer *w) { return w->d.encode != NULL; }
int64_t sources_at_once(const Text_writer *w) { return w->d.rows; }
bool writes_by_rows(const Text_writer *w) { return w->d.rows == 1 && !w->beam; }
int writer_extras(const Text_writer *w) { return w->d.extras; }
const char *extra_name(const Text_writer *w, int k) { return w->d.extra[k]->name; }
int64_t sources_cut(const Text_writer *w) { return w->cut; }

/* ------------------------------------------------------------------ prompts */

void check_start(Text_writer *w, Passage prompt, const char *place)
{
    Ids ids = {0};
    int64_t most = w->asked.model->source_seq;
    encoder_place(w->encoder, place);
    encode_bytes(w->encoder, prompt.at, prompt.bytes, &ids);
    if (w->d.encode && ids.n == 0)
        fail(EXIT_USAGE, NULL, "%s writes a text for a source; give --prompt TEXT or --data FILE",
             w->asked.model->name);
    if (w->d.encode && ids.n > most)
        fail(EXIT_USAGE, NULL,
             "the prompt \"%.*s%s\" has %lld tokens, but this model reads sources of at most %lld; shorten it, or "
             "build with --set source_seq=%lld",
             40, prompt.at, prompt.bytes > 40 ? "…" : "", (long long)ids.n, (long long)most, (long long)ids.n);
    free_ids(&ids);
}

/* Without a prompt, the text starts after a newline token, or after token 0 if there is none. */
void take_start(Text_writer *w, Ids *to)
{
    int32_t line_end = token_of_text(w->tokenizer, "\n");
    if (to->room == 0) to->at = must_grow(to->at, sizeof *to->at * (size_t)(to->room = 16));
    to->at[0] = line_end < 0 ? 0 : line_end;
    to->n = 1;
}

/* Appends the ids of a prompt, as a text or as what a person says. */
static void encode_prompt(Text_writer *w, Passage prompt, Ids *to)
{
    const Writing *a = &w->asked;
    if (!a->chat) {
        encode_bytes(w->encoder, prompt.at, prompt.bytes, to);
        return;
    }
    encode_said(w->encoder, w->tokenizer, a->chat, true, a->system, prompt, to);
    encode_thought(w->encoder, a->chat, to);
}

/* Adds the tokens that texts begin with, unless the prompt begins with them. */
int take_begin(const Text_writer *w, Ids *to)
{
    size_t bytes = sizeof *to->at * (size_t)w->begins;
    if (w->begins == 0 || (to->n >= w->begins && memcmp(to->at, w->begin, bytes) == 0)) return 0;
    if (to->room < to->n + w->begins)
        to->at = must_grow(to->at, sizeof *to->at * (size_t)(to->room = to->n + w->begins));
    memmove(to->at + w->begins, to->at, sizeof *to->at * (size_t)to->n);
    memcpy(to->at, w->begin, bytes);
    to->n += w->begins;
    return w->begins;
}

void take_prompts(Text_writer *w, const Passage *prompt, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        Ids *to = &w->prompt[k];
        to->n = 0;
        encode_prompt(w, prompt[k], to);
        w->hidden[k] = take_begin(w, to);
        if (w->d.encode && to->n > w->asked.model->source_seq) to->n = w->asked.model->source_seq, w->cut++;
        if (to->n == 0) take_start(w, to);
        if (prompt[k].bytes == 0 || w->asked.chat) w->hidden[k] = w->d.encode ? 0 : to->n;
    }
}

static Id_list start_of(const Text_writer *w, int64_t k)
{
    return w->d.encode ? (Id_list){&w->bos, 1} : (Id_list){w->prompt[k].at, w->prompt[k].n};
}

/* ------------------------------------------------------------------ drawn */

void begin_line(Text_writer *w, Line *l, Id_list start, int64_t number, int64_t step)
{
    free(l->token); /* of a text that failed */
    l->token = must_alloc(sizeof *l->token * (size_t)(start.n + w->how.most));
    memcpy(l->token, start.at, sizeof *start.at * (size_t)start.n);
    l->n = l->given = start.n;
    l->made = 0;
    l->ended = l->over = false;
    l->stop = l->stuck = NULL;
    l->cut = 0;
    sampler_init(&l->sampler, w->asked.recipe, w->asked.seed, (int)number);
    l->sampler.step = step;
    if (w->asked.grammar) begin_constraint(l->constraint, w->asked.grammar);
}

/* What the grammar lets come next.  false: nothing, so the text is over; whole, or stuck. */
static bool constrain_next(Line *l)
{
    bool any = false;
    l->sampler.allowed = next_tokens(l->constraint, &any);
    l->sampler.may_end &= may_end_here(l->constraint);
    if (any) return true;
    l->over = true;
    l->ended = l->sampler.allowed && may_end_here(l->constraint);
    l->stuck = l->ended ? NULL : constraint_fault(l->constraint);
    if (!l->ended && !l->stuck) l->stuck = "no token of the vocabulary may come next by the grammar";
    return false;
}

/* If the n tokens end in a stop, leaves it out: returns the number of tokens that stay; the last may be shown in
 * part. */
static int64_t cut_at_stop(Text_writer *w, const int32_t *token, int64_t n, const char **stop, int64_t *cut)
{
    const char *piece;
    int64_t left = bytes_to_stop(w->stops, token, n, stop);
    for (; left > 0; n--) {
        int64_t bytes = token_bytes(w->tokenizer, token[n - 1], &piece);
        if (bytes > left) break;
        left -= bytes;
    }
    *cut = left;
    return n;
}

void note_token(Line *l, int64_t at)
{
    if (l->token[at] < l->sampler.n) l->sampler.seen[l->token[at]] = 1;
}

void draw_next(Text_writer *w, Line *l, int64_t row, int64_t fed, const char *logits)
{
    const Decoder *d = &w->d;
    if (l->over) return;
    note_token(l, fed);
    if (fed + 1 < l->n) return;
    l->sampler.may_end = l->made >= w->how.least;
    l->sampler.allowed = NULL;
    if (w->asked.grammar && !constrain_next(l)) return;
    const char *own = logits + row * d->vocab * dtype_size(d->logits->dtype);
    int32_t id = sample_token(&l->sampler, d->logits->dtype, own, l->n);
    if (id == SCORE_NOT_FINITE)
        fail(EXIT_DIVERGED, NULL, "the logit of token %d is %g: the weights are from a run that diverged",
             l->sampler.list[0].id, l->sampler.list[0].weight);
    if (id == NO_TOKEN) {
        l->stuck = "the model gives no probability to any token that may come next";
        l->over = true;
        return;
    }
    l->ended = is_end(&w->how.ends, id);
    if (!l->ended) {
        read_extras(d, row, l->extra + l->made++ * d->extras);
        l->token[l->n++] = id;
        if (w->asked.grammar) bug_if(!take_token(l->constraint, id) && !constraint_fault(l->constraint));
        l->made = cut_at_stop(w, l->token + l->given, l->made, &l->stop, &l->cut);
        l->n = l->given + l->made;
        l->ended = l->stop != NULL;
    }
    l->over = l->ended || l->made == w->how.most;
}

/* Feeds the tokens that the prompts of all rows have, except the last of each, whose logits are needed; returns how
 * many each row has read then. */
static int64_t feed_given(Text_writer *w, const Id_list *of_row, int64_t fed)
{
    int64_t end = of_row[0].n - 1, rows = w->d.rows;
    for (int64_t r = 1; r < rows; r++)
        if (of_row[r].n - 1 < end) end = of_row[r].n - 1;
    if (end <= fed) return fed;
    int32_t *id = must_alloc(sizeof *id * (size_t)((end - fed) * rows));
    for (int64_t i = fed; i < end; i++)
        for (int64_t r = 0; r < rows; r++) id[(i - fed) * rows + r] = of_row[r].at[i];
    feed_prompt(&w->d, id, end - fed);
    free(id);
    return end;
}

/* Rows beyond the n texts do the same as the first. */
static int64_t feed_lines(Text_writer *w, int64_t n, int64_t fed)
{
    Id_list *of_row = must_alloc(sizeof *of_row * (size_t)w->d.rows);
    for (int64_t r = 0; r < w->d.rows; r++) {
        const Line *l = &w->line[r < n ? r : 0];
        of_row[r] = (Id_list){l->token, l->given};
    }
    fed = feed_given(w, of_row, fed);
    free(of_row);
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < fed; i++) note_token(&w->line[k], i);
    return fed;
}

/* Texts go on from the first `fed` tokens, which the states have; returns how many they have then. */
int64_t draw_group(Text_writer *w, int64_t first, int64_t n, int64_t fed, int64_t number, int64_t step, See_token *see,
                   void *with)
{
    for (int64_t k = 0; k < n; k++) begin_line(w, &w->line[k], start_of(w, first + k), number + k, step);
    const Line *only = &w->line[0];
    int64_t live = n, seen = w->hidden[first];
    for (fed = feed_lines(w, n, fed); live; fed++) {
        for (; see && seen < only->n; seen++) see(with, only->token[seen]);
        for (int64_t r = 0; r < w->d.rows; r++) {
            const Line *l = &w->line[r < n ? r : 0];
            w->next[r] = l->token[fed < l->n ? fed : l->n - 1];
        }
        const char *logits = feed_rows(&w->d, w->next);
        live = 0;
        for (int64_t k = 0; k < n; k++) {
            draw_next(w, &w->line[k], k, fed, logits);
            live += !w->line[k].over;
        }
    }
    for (; see && !only->stop && seen < only->n; seen++) see(with, only->token[seen]);
    return fed;
}

Written written_line(const Text_writer *w, const Line *l, int64_t hidden)
{
    return (Written){.token = l->token,
                     .n = l->given + l->made,
                     .from = l->given,
                     .extra = l->extra,
                     .shown = hidden,
                     .stop = l->stop,
                     .cut = l->cut,
                     .ended = l->ended,
                     .stuck = l->stuck,
                     .unfinished = w->asked.grammar && !may_end_here(l->constraint)};
}

void hand_drawn(Text_writer *w, int64_t first, int64_t n, int64_t number, Take_written *take, void *with)
{
    for (int64_t k = 0; k < n; k++) {
        Line *l = &w->line[k];
        Written r = written_line(w, l, w->hidden[first + k]);
        if (w->d.encode) r.token += l->given, r.n = l->made, r.from = 0;
        take(with, number + k, &r);
        free(l->token);
        l->token = NULL;
    }
}

/* ------------------------------------------------------------------ by beams */

static void hand_found(Text_writer *w, int64_t k, const Beam_text *found, int64_t number, Take_written *take,
                       void *with)
{
    Id_list start = start_of(w, k);
    int64_t given = w->d.encode ? 0 : start.n;
    int32_t *token = must_alloc(sizeof *token * (size_t)(given + found->n + 1));
    memcpy(token, start.at, sizeof *token * (size_t)given);
    memcpy(token + given, found->token, sizeof *token * (size_t)found->n);
    Written r = {.token = token,
                 .n = given + found->n,
                 .from = given,
                 .shown = w->hidden[k],
                 .extra = found->extra,
                 .score = found->score,
                 .scored = true,
                 .ended = found->ended};
    r.n = given + cut_at_stop(w, found->token, found->n, &r.stop, &r.cut);
    take(with, number, &r);
    free(token);
}

static void search_group(Text_writer *w, int64_t first, int64_t n, int64_t number, Take_written *take, void *with)
{
    Beam_start *start = must_alloc(sizeof *start * (size_t)n);
    Beam_text *found = must_alloc(sizeof *found * (size_t)n);
    Id_list *of_row = must_alloc(sizeof *of_row * (size_t)w->d.rows);
    for (int64_t k = 0; k < n; k++) start[k] = (Beam_start){start_of(w, first + k).at, start_of(w, first + k).n};
    for (int64_t r = 0; r < w->d.rows; r++)
        of_row[r] = start_of(w, first + (r / w->how.beams < n ? r / w->how.beams : 0));
    search_beams(w->beam, start, n, feed_given(w, of_row, 0), found);
    for (int64_t k = 0; k < n; k++) hand_found(w, first + k, &found[k], number + k, take, with);
    free(of_row);
    free(start);
    free(found);
}

/* ------------------------------------------------------------------ all of them */

/* Takes prompts first … first + n - 1, whose texts are written at once. */
static void take_sources(Text_writer *w, int64_t first, int64_t n)
{
    int64_t each = w->beam ? w->how.beams : 1;
    for (int64_t r = 0; r < w->d.rows; r++) w->from[r] = (int32_t)(first + (r / each < n ? r / each : 0));
    take_encoded(&w->d, w->from);
}

static void encode_group(Text_writer *w, int64_t n)
{
    Id_list *source = must_alloc(sizeof *source * (size_t)n);
    for (int64_t k = 0; k < n; k++) source[k] = (Id_list){w->prompt[k].at, w->prompt[k].n};
    encode_rows(&w->d, source, n, w->pad);
    free(source);
}

void write_texts(Text_writer *w, const Passage *prompt, int64_t n, int64_t number, int64_t step, Take_written *take,
                 See_token *see, void *with)
{
    int64_t most = w->beam ? beam_samples(w->beam) : w->d.rows, group = w->d.encode ? w->d.rows : most;
    for (int64_t k = 0; k < n; k += group) {
        int64_t all = n - k < group ? n - k : group;
        take_prompts(w, prompt + k, all);
        if (w->d.encode) encode_group(w, all);
        for (int64_t i = 0; i < all; i += most) {
            int64_t some = all - i < most ? all - i : most;
            forget_rows(&w->d);
            if (w->d.encode) take_sources(w, i, some);
            if (w->beam) {
                search_group(w, i, some, number + k + i, take, with);
                continue;
            }
            draw_group(w, i, some, 0, number + k + i, step, see, with);
            hand_drawn(w, i, some, number + k + i, take, with);
        }
    }
}
