/* frame.c: the tokens that a tokenizer's file puts around one text, or around two in one row ("post_processor"):
 * [CLS] first [SEP] second [SEP], and which of the ids belong to the second; and how long texts are cut for it. */
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

/* ------------------------------------------------------------------ from tokenizer.json */

static void add_framed(Tokenizer *t, Frame *f, const json_t *id, int part, int type)
{
    json_int_t i = json_is_integer(id) ? json_integer_value(id) : -1;
    if (f->n == MAX_FRAME || (part < 0 && (i < 0 || i >= t->n)))
        fail(EXIT_DATA, t->path, "\"post_processor\": expected ids of the vocabulary around a text, at most %d parts",
             MAX_FRAME);
    f->at[f->n++] = (Framed){part < 0 ? (int32_t)i : -1, part, type};
}

/* [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, …] */
static void take_template(Tokenizer *t, Frame *f, const json_t *parts, const json_t *tokens)
{
    size_t i, k;
    json_t *part, *id;
    f->n = 0;
    json_array_foreach(parts, i, part)
    {
        const json_t *token = json_object_get(part, "SpecialToken"), *text = json_object_get(part, "Sequence");
        const char *name = json_string_value(json_object_get(token ? token : text, "id"));
        int type = json_integer_value(json_object_get(token ? token : text, "type_id")) != 0;
        if (!name) fail(EXIT_DATA, t->path, "\"post_processor\": expected tokens and sequences; the file is damaged");
        if (!token) add_framed(t, f, NULL, strcmp(name, "B") == 0, type);
        json_array_foreach(json_object_get(token ? json_object_get(tokens, name) : NULL, "ids"), k, id)
            add_framed(t, f, id, -1, type);
    }
}

/* A row of none of its texts would be the same for all. */
static void check_sequences(const Tokenizer *t, const Frame *f, int texts)
{
    int seen = 0;
    for (int i = 0; i < f->n; i++) seen |= f->at[i].part < 0 ? 0 : 1 << f->at[i].part;
    if (f->n && seen != (1 << texts) - 1)
        fail(EXIT_DATA, t->path, "\"post_processor\": expected %s; the file is damaged",
             texts == 1 ? "\"single\" with sequence A alone" : "\"pair\" with sequences A and B");
}

/* Of BERT, and of RoBERTa, which has two tokens between texts and no types. */
static void take_pair(Tokenizer *t, const json_t *post, bool roberta)
{
    const json_t *cls = json_array_get(json_object_get(post, "cls"), 1),
                 *sep = json_array_get(json_object_get(post, "sep"), 1);
    t->spaced_words = roberta;
    for (int k = 0; k < 2; k++) {
        Frame *f = &t->frame[k];
        f->n = 0;
        add_framed(t, f, cls, -1, 0);
        add_framed(t, f, NULL, 0, 0);
        add_framed(t, f, sep, -1, 0);
        if (k == 0) continue;
        if (roberta) add_framed(t, f, sep, -1, 0);
        add_framed(t, f, NULL, 1, !roberta);
        add_framed(t, f, sep, -1, !roberta);
    }
}

void take_frame(Tokenizer *t, const json_t *post)
{
    const char *type = json_string_value(json_object_get(post, "type"));
    size_t i;
    json_t *part;
    if (!type) return;
    if (strcmp(type, "Sequence") == 0)
        json_array_foreach(json_object_get(post, "processors"), i, part) take_frame(t, part);
    if (strcmp(type, "TemplateProcessing") == 0) {
        const json_t *tokens = json_object_get(post, "special_tokens");
        take_template(t, &t->frame[0], json_object_get(post, "single"), tokens);
        take_template(t, &t->frame[1], json_object_get(post, "pair"), tokens);
        for (int k = 0; k < 2; k++) check_sequences(t, &t->frame[k], k + 1);
    }
    if (strcmp(type, "BertProcessing") == 0) take_pair(t, post, false);
    if (strcmp(type, "RobertaProcessing") == 0) take_pair(t, post, true);
}

/* ------------------------------------------------------------------ a row */

static const Frame bare[2] = {{{{-1, 0, 0}}, 1}, {{{-1, 0, 0}, {-1, 1, 1}}, 2}};

static const Frame *frame_for(const Tokenizer *t, bool two) { return t->frame[two].n ? &t->frame[two] : &bare[two]; }

/* How many ids of each text fit into `room`: the longer one is cut first, as Hugging Face's "longest_first" does. */
static void cut_texts(int64_t room, int64_t n[2])
{
    int longer = n[1] >= n[0];
    int64_t *less = &n[!longer], *more = &n[longer];
    if (*less + *more <= room) return;
    if (*less > room) *more = *less;
    else *more = room - *less > *less ? room - *less : *less;
    if (*less + *more <= room) return;
    *less = room / 2;
    *more = room / 2 + room % 2;
}

int64_t frame_texts(const Tokenizer *t, const Ids *text, bool two, int64_t most, int32_t *id, int32_t *type)
{
    const Frame *f = frame_for(t, two);
    int64_t around = 0, n[2] = {text[0].n, two ? text[1].n : 0}, used = 0;
    for (int i = 0; i < f->n; i++) around += f->at[i].part < 0;
    int64_t room = most > around ? most - around : 0, whole = n[0] + n[1];
    if (two) cut_texts(room, n);
    else if (n[0] > room) n[0] = room;
    for (int i = 0; i < f->n; i++) {
        const Framed *p = &f->at[i];
        for (int64_t k = 0; k < (p->part < 0 ? 1 : n[p->part]) && used < most; k++, used++) {
            id[used] = p->part < 0 ? p->id : text[p->part].at[k];
            if (type) type[used] = p->type;
        }
    }
    return whole > room ? -used : used;
}

void frame_sizes(const Tokenizer *t, int *before, int *around)
{
    const Frame *f = frame_for(t, false);
    *before = *around = 0;
    while (f->at[*before].part < 0) ++*before;
    for (int i = 0; i < f->n; i++) *around += f->at[i].part < 0;
}

bool spaces_words(const Tokenizer *t) { return t->spaced_words; }
