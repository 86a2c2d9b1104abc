/* converse.c: texts asked for one by one: the answers of a conversation, and what a server is asked for. */
#include "base/words.h"
#include "data/chats.h"
#include "text/generate.h"
#include "text/writer.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ a conversation */

/* Leaves the end of the last token out, which belongs to a stop. */
static void keep_shown(Text_writer *w, Ids *ids, int64_t cut)
{
    const char *piece;
    int64_t bytes = token_bytes(w->tokenizer, ids->at[--ids->n], &piece);
    encode_plain(w->encoder, piece, bytes - cut, ids);
}

static void remove_ids(Ids *ids, int64_t from, int64_t n)
{
    memmove(ids->at + from, ids->at + from + n, sizeof *ids->at * (size_t)(ids->n - from - n));
    ids->n -= n;
}

/* After a stop the states have tokens that are not of the answer, and after a thought one that is not kept: all is fed
 * again. */
void write_answer(Text_writer *w, Talk *talk, Passage said, Take_written *take, See_token *see, void *with)
{
    const Writing *a = &w->asked;
    Ids *ids = &talk->ids, *prompt = &w->prompt[0];
    bug_if(!a->chat || w->beam || w->d.encode);
    encode_said(w->encoder, w->tokenizer, a->chat, talk->turns == 0, a->system, said, ids);
    if (talk->turns == 0) take_begin(w, ids);
    const int64_t head = ids->n;
    encode_thought(w->encoder, a->chat, ids);
    const int64_t thought = ids->n - head;
    if (talk->fed == 0) forget_rows(&w->d);
    Ids own = *prompt;
    *prompt = *ids;
    w->hidden[0] = ids->n;
    talk->fed = draw_group(w, 0, 1, talk->fed, talk->turns++, 0, see, with);
    *prompt = own;
    const Line *l = &w->line[0];
    if (ids->room < l->n) ids->at = must_grow(ids->at, sizeof *ids->at * (size_t)(ids->room = 2 * l->n));
    memcpy(ids->at, l->token, sizeof *ids->at * (size_t)l->n);
    ids->n = l->n;
    if (l->stop || thought) talk->fed = 0;
    if (l->cut) keep_shown(w, ids, l->cut);
    remove_ids(ids, head, thought);
    encode_end(w->encoder, a->chat, ids);
    hand_drawn(w, 0, 1, 0, take, with);
}

/* ------------------------------------------------------------------ a server */

int64_t writer_context(const Text_writer *w) { return w->d.context; }

/* What begins and ends a text depends on whether it is an answer in a chat. */
void take_asked(Text_writer *w, const Asked_text *a, Ids *to)
{
    bug_if(w->beam || w->d.encode);
    w->asked.recipe = &a->recipe;
    w->asked.seed = a->seed;
    w->asked.stop = a->stop;
    w->asked.chat = a->form;
    w->asked.grammar = a->grammar;
    w->how.most = a->recipe.sample_tokens;
    w->begins = 0;
    close_stops(w->stops);
    w->stops = NULL;
    settle_tokens(w);
    w->how.stops = NULL;
    to->n = 0;
    if (a->form) encode_messages(w->encoder, w->tokenizer, a->form, a->message, a->messages, to);
    else encode_bytes(w->encoder, a->text.at, a->text.bytes, to);
    take_begin(w, to);
    if (to->n == 0) take_start(w, to);
}
