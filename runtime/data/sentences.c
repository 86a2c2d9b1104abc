/* sentences.c: texts as the rows of a batch: ids with what the tokenizer puts around a text, their number, which of two
 * texts they are of, and a class, or a label of each word.  All ids are kept in memory. */
#include "base/hash.h"
#include "base/words.h"
#include "data/cells.h"
#include "data/files.h"
#include "data/labels.h"
#include "data/sentences.h"
#include "data/tags.h"
#include "model/tables.h"

#include <stdlib.h>
#include <string.h>

typedef struct Sentence {
    int64_t first;       /* of Sentences.id: tokens, then those of the second text */
    int32_t n[2], class; /* class -1: not known */
    int32_t words;       /* of Sentences.tags, from word on */
    int64_t word;
} Sentence;

struct Sentences {
    const Reading *reading;
    const Tokenizer *tokenizer;
    int64_t most[2];             /* ids of a row; 0: the model has no such input */
    bool classed, typed, tagged; /* tagged: texts are lists of words, which have labels */
    Sentence *at;
    int64_t rows, room;
    int32_t *id, *type; /* [ids]; type NULL: the model reads none */
    int64_t ids, id_room, cut;
    Labels labels; /* as they were met, until they are settled */
    Words classes;
    Tags tags;
    Sentence none; /* of no text: its ids are the last */
    int32_t pad;
    int file; /* that is read */
};

typedef struct Columns { /* of a file; -1: not read */
    int text[2], label;
} Columns;

static const Lathe_tensor *input_called(const Lathe_model *m, const char *name, int64_t *width)
{
    for (int i = 0; i < m->entries; i++)
        for (int k = 0; k < m->entry[i].inputs; k++) {
            const Lathe_tensor *t = &m->entry[i].input[k];
            if (strcmp(t->name, name) != 0) continue;
            *width = tensor_size(t) / m->entry[i].rows;
            return t;
        }
    return NULL;
}

/* ------------------------------------------------------------------ columns */

static int sentence_column(Cells *c, const char *path, const char *name, const char *what, const char *setting)
{
    int at = column_named(c, name);
    if (at >= 0) return at;
    fail(EXIT_DATA, path, "expected %s in a column \"%.60s\" (--set %s=COLUMN names another), found none %s", what,
         name, setting, among_columns(c, name));
}

static Columns columns_in(const Sentences *s, Cells *c, const char *path)
{
    const Lathe_recipe *r = s->reading->recipe;
    Columns at = {{-1, -1}, -1};
    if (s->tagged && r->second_column)
        fail(EXIT_USAGE, NULL, "the words of %s are of one text, so there is no second_column; leave it out",
             s->reading->model->name);
    const char *text = s->tagged ? "the words" : "the text", *label = s->tagged ? "their labels" : "the class";
    at.text[0] = sentence_column(c, path, r->text_column ? r->text_column : "text", text, "text_column");
    bool may_lack = s->reading->predicting && s->most[1]; /* vectors of one side alone */
    if (may_lack && r->second_column) at.text[1] = column_named(c, r->second_column);
    else if (r->second_column)
        at.text[1] = sentence_column(c, path, r->second_column, "the second text", "second_column");
    else if (s->most[1])
        fail(EXIT_USAGE, NULL,
             "%s reads two texts of each row, but its description does not say where the second is: add --set "
             "second_column=COLUMN",
             s->reading->model->name);
    if ((s->classed || s->tagged) && !s->reading->predicting)
        at.label = sentence_column(c, path, r->csv_target ? r->csv_target : "label", label, "csv_target");
    return at;
}

/* ------------------------------------------------------------------ rows */

static void make_room_for_ids(Sentences *s)
{
    int64_t more = s->most[0] + s->most[1];
    if (s->ids + more > s->id_room) {
        s->id_room = (s->ids + more) * 2;
        s->id = must_grow(s->id, sizeof *s->id * (size_t)s->id_room);
        if (s->typed) s->type = must_grow(s->type, sizeof *s->type * (size_t)s->id_room);
    }
}

static Sentence *add_sentence(Sentences *s)
{
    if (s->rows == s->room) s->at = must_grow(s->at, sizeof *s->at * (size_t)(s->room = s->room * 2 + 1024));
    make_room_for_ids(s);
    s->at[s->rows] = (Sentence){.first = s->ids, .class = -1, .word = s->tags.n};
    return &s->at[s->rows];
}

/* Predictions have a row for each of the data's. */
static bool skips_long(const Sentences *s)
{
    return s->reading->recipe->on_long == LATHE_SKIP_LONG && !s->reading->predicting;
}

/* The ids of one text, or of two in one row; returns how many.  What does not fit is cut; 0: it is to be left out. */
static int32_t put_framed(Sentences *s, const Cells *c, const Ids *text, bool two, int64_t most)
{
    int64_t n = frame_texts(s->tokenizer, text, two, most, s->id + s->ids, s->typed ? s->type + s->ids : NULL);
    if (n == 0)
        fail(EXIT_DATA, cell_place((Cells *)c, cell_count(c)), "expected a text, found none of one token or more");
    if (n < 0) s->cut++;
    if (n < 0 && skips_long(s)) return 0;
    s->ids += n < 0 ? -n : n;
    return (int32_t)(n < 0 ? -n : n);
}

static int32_t label_in(Labels *l, int file, const Cells *c, int column)
{
    if (column < 0) return -1;
    if (!*cell(c, column))
        fail(EXIT_DATA, cell_place((Cells *)c, column), "expected a class, found %s; leave the row out",
             cell_list(c, column) ? "a list" : "an empty cell");
    return take_label(l, file, c, cell(c, column));
}

static void encode_texts(const Cells *c, const Columns *at, Encoder *e, Ids text[2])
{
    for (int k = 0; k < 1 + (at->text[1] >= 0); k++) {
        if (cell_list(c, at->text[k]))
            fail(EXIT_DATA, cell_place((Cells *)c, at->text[k]),
                 "expected a text, found a list; lists of words are read by models of which each word has a label");
        encode_bytes(e, cell(c, at->text[k]), (int64_t)strlen(cell(c, at->text[k])), &text[k]);
    }
}

static void take_row(Sentences *s, const Cells *c, const Columns *at, Encoder *e, Ids text[2])
{
    bool two = at->text[1] >= 0;
    Sentence *row = add_sentence(s);
    text[0].n = text[1].n = 0;
    if (s->tagged) row->words = add_words(&s->tags, c, at->text[0], e, &text[0]);
    else encode_texts(c, at, e, text);
    row->n[0] = put_framed(s, c, text, two && !s->most[1], s->most[0]);
    if (s->most[1] && row->n[0]) row->n[1] = put_framed(s, c, &text[two], false, s->most[1]);
    if (!row->n[0] || (s->most[1] && !row->n[1])) {
        s->ids = row->first;
        drop_words(&s->tags, row->words);
        return;
    }
    place_words(&s->tags, row->words, text[0].n, row->n[0]);
    if (!s->tagged) row->class = label_in(&s->labels, s->file, c, at->label);
    else if (at->label >= 0) add_word_labels(&s->tags, &s->labels, s->file, c, at->label, row->words);
    s->rows++;
}

static void read_file(Sentences *s, Encoder *e)
{
    const char *path = s->reading->paths.at[s->file];
    Ids text[2] = {{0}, {0}};
    Cells *c = open_cells_and_lists(path);
    Columns at = columns_in(s, c, path);
    while (next_cells(c)) {
        encoder_place(e, path);
        take_row(s, c, &at, e, text);
    }
    close_cells(c);
    free_ids(&text[0]);
    free_ids(&text[1]);
}

/* ------------------------------------------------------------------ classes */

static void check_classes(const Sentences *s, const Lathe_tensor *label)
{
    const char *path = s->reading->paths.at[0];
    if (s->classes.n > label->below)
        fail(EXIT_DATA, path,
             "expected at most %lld classes, as the model has, found %d: %s; build the model for %d (--set classes=%d)",
             (long long)label->below, s->classes.n, shown_words(&s->classes), s->classes.n, s->classes.n);
    if (label->below > s->classes.n && s->reading->training)
        note("the data has %d class%s, and the model has %lld, so the last never occur; build it with --set classes=%d",
             s->classes.n, s->classes.n == 1 ? "" : "es", (long long)label->below, s->classes.n);
}

/* Training on words without a label would have a loss of 0. */
static void check_labelled(const Sentences *s)
{
    const int64_t cut = labelled_words(&s->tags, 0, s->tags.n, false);
    if (!s->rows || labelled_words(&s->tags, 0, s->tags.n, true)) return;
    if (!cut) fail(EXIT_DATA, s->reading->paths.at[0], "expected words with labels, found none: all have %d", NO_LABEL);
    fail(EXIT_DATA, s->reading->paths.at[0],
         "expected words with labels among the first tokens of texts, found all %s of them cut: rows have %lld tokens; "
         "build the model for longer ones (--set seq=N)",
         grouped_text(cut), (long long)s->most[0]);
}

static void settle_labels(Sentences *s, const Words *known)
{
    s->classes = classes_of_labels(&s->labels, known);
    int32_t *id = ids_of_labels(&s->labels, &s->classes);
    if (!known && s->reading->training) tell_missing_labels(&s->labels, &s->classes);
    for (int64_t r = 0; r < s->rows; r++)
        if (s->at[r].class >= 0) s->at[r].class = id[s->at[r].class];
    for (int64_t k = 0; k < s->tags.n; k++)
        if (s->tags.at[k].label >= 0) s->tags.at[k].label = id[s->tags.at[k].label];
    free(id);
    free_labels(&s->labels);
}

Words classes_of_column(const Words *paths, const char *column)
{
    Labels l = {.paths = paths};
    for (int i = 0; i < paths->n; i++) {
        Cells *c = open_cells_and_lists(paths->at[i]);
        int at = sentence_column(c, paths->at[i], column, "the class", "csv_target");
        while (next_cells(c))
            if (cell_list(c, at)) label_cells(&l, i, c, at);
            else label_in(&l, i, c, at);
        close_cells(c);
    }
    return classes_of_labels(&l, NULL);
}

/* ------------------------------------------------------------------ opening */

static void check_vocabulary(const Sentences *s, Tokenizer *k, const Lathe_tensor *tokens)
{
    if (tokenizer_kind(k) == TOKEN_BYTES && tokens->below) limit_bytes(k, tokens->below);
    int64_t n = tokenizer_size(k);
    if (n == 0)
        fail(EXIT_USAGE, NULL,
             "the characters of the tokenizer are not known; give --tokenizer FILE, or --init with one beside it");
    if (tokens->below && n > tokens->below)
        fail(EXIT_DATA, tokenizer_path(s->tokenizer),
             "the tokenizer has %s, the model a vocabulary of %lld: it belongs to another model, or the model must be "
             "built with --set vocab=%lld",
             tokenizer_words(s->tokenizer), (long long)tokens->below, (long long)n);
}

/* What stands around a text, without one. */
static void add_none(Sentences *s)
{
    Ids text[2] = {{0}, {0}};
    make_room_for_ids(s);
    s->none = (Sentence){.first = s->ids, .class = -1};
    for (int k = 0; k < 2; k++)
        if (s->most[k])
            s->none.n[k] = (int32_t)frame_texts(s->tokenizer, text, false, s->most[k], s->id + s->ids + s->none.n[0],
                                                s->typed ? s->type + s->ids + s->none.n[0] : NULL);
}

Sentences *open_sentences(const Reading *reading, Tokenizer *k, const Words *known)
{
    Sentences *s = must_alloc(sizeof *s);
    const Lathe_model *m = reading->model;
    int64_t width;
    *s = (Sentences){.reading = reading, .tokenizer = k, .pad = usual_tokens(k).pad, .labels.paths = &reading->paths};
    const Lathe_tensor *tokens = input_called(m, "tokens", &s->most[0]), *label = input_called(m, "label", &width),
                       *labels = input_called(m, "labels", &width);
    bug_if(!tokens);
    (void)input_called(m, "second", &s->most[1]);
    s->classed = label != NULL;
    s->tagged = labels != NULL;
    if (!label) label = labels;
    s->typed = input_called(m, "types", &width) != NULL;
    if (s->pad < 0) s->pad = 0;
    check_vocabulary(s, k, tokens);
    if (s->tagged) start_tags(&s->tags, k, reading->predicting);
    Encoder *encoder = open_encoder(k);
    for (; s->file < reading->paths.n; s->file++) read_file(s, encoder);
    close_encoder(encoder);
    add_none(s);
    if (s->tagged && !reading->predicting) check_labelled(s);
    if (label) settle_labels(s, known);
    if (label) check_classes(s, label);
    return s;
}

/* "; of words with a label 3 were cut, and 2 rows have none" */
static char *text_of_labelled(const Sentences *s)
{
    const int64_t cut = labelled_words(&s->tags, 0, s->tags.n, false);
    int64_t bare = 0;
    if (!s->tagged || s->reading->predicting) return text_of("%s", "");
    for (const Sentence *q = s->at; q < s->at + s->rows; q++)
        bare += !labelled_words(&s->tags, q->word, q->words, true);
    if (!cut && !bare) return text_of("%s", "");
    return text_of("; of words with a label %s were cut, and %s row%s none", grouped_text(cut), grouped_text(bare),
                   bare == 1 ? " has" : "s have");
}

char *words_of_sentences(const Sentences *s)
{
    int32_t least = INT32_MAX, most = 0;
    for (int64_t r = 0; r < s->rows; r++) {
        if (s->at[r].n[0] < least) least = s->at[r].n[0];
        if (s->at[r].n[0] > most) most = s->at[r].n[0];
    }
    char *long_ones = skips_long(s) ? "left out because they are longer" : "cut";
    return text_of("texts of %d to %d tokens, mean %.1f; %s %s%s%s%s", s->rows ? least : 0, most,
                   s->rows ? (double)s->ids / (double)s->rows : 0, grouped_text(s->cut), long_ones, text_of_labelled(s),
                   s->classes.n ? "; classes: " : "", s->classes.n ? shown_words(&s->classes) : "");
}

/* ------------------------------------------------------------------ asking */

int64_t sentence_rows(const Sentences *s) { return s->rows; }
const Words *sentence_classes(const Sentences *s) { return s->classed || s->tagged ? &s->classes : NULL; }
bool has_sentence_class(const Sentences *s) { return s->classed; }
bool has_sentence_words(const Sentences *s) { return s->tagged; }
int32_t sentence_words(const Sentences *s, int64_t row) { return s->at[row].words; }

const char *sentence_word(const Sentences *s, int64_t row, int32_t k, int32_t *place)
{
    const Tag *word = &s->tags.at[s->at[row].word + k];
    *place = word->place;
    return s->tags.text + word->text;
}

int32_t sentence_class(const Sentences *s, int64_t row) { return s->at[row].class; }

int64_t sentences_heap(const Sentences *s)
{
    return (int64_t)sizeof *s->at * s->room + (int64_t)sizeof *s->id * s->id_room * (s->typed ? 2 : 1) +
           (int64_t)sizeof *s->tags.at * s->tags.room + s->tags.text_room;
}

static void add_to_hash(const Sentences *s, Hash *h, int64_t row)
{
    const Sentence *q = &s->at[row];
    hash_add(h, q->n, sizeof q->n);
    hash_add(h, &q->class, sizeof q->class);
    hash_add(h, s->id + q->first, sizeof *s->id * (size_t)(q->n[0] + q->n[1]));
    for (int32_t k = 0; k < q->words; k++) {
        const Tag *word = &s->tags.at[q->word + k];
        hash_add(h, &word->place, sizeof word->place);
        hash_add(h, &word->label, sizeof word->label);
    }
}

uint64_t sentence_hash(const Sentences *s, int64_t row)
{
    Hash h;
    hash_start(&h);
    add_to_hash(s, &h, row);
    return hash_end(&h);
}

uint64_t sentences_hash(const Sentences *s)
{
    Hash h;
    hash_start(&h);
    for (int64_t r = 0; r < s->rows; r++) add_to_hash(s, &h, r);
    return hash_end(&h);
}

/* ------------------------------------------------------------------ batches */

static void fill_ids(int32_t *to, int64_t width, const int32_t *from, int32_t n, int32_t rest)
{
    memcpy(to, from, sizeof *to * (size_t)n);
    for (int64_t i = n; i < width; i++) to[i] = rest;
}

static void fill_input(const Sentences *s, const Lathe_tensor *t, int32_t *to, int64_t width, const Sentence *q)
{
    if (strcmp(t->name, "tokens") == 0) fill_ids(to, width, s->id + q->first, q->n[0], s->pad);
    if (strcmp(t->name, "types") == 0) fill_ids(to, width, s->type + q->first, q->n[0], 0);
    if (strcmp(t->name, "second") == 0) fill_ids(to, width, s->id + q->first + q->n[0], q->n[1], s->pad);
    if (strcmp(t->name, "lengths") == 0) *to = q->n[0];
    if (strcmp(t->name, "second_lengths") == 0) *to = q->n[1];
    if (strcmp(t->name, "label") == 0) *to = q->class < 0 ? 0 : q->class;
    if (strcmp(t->name, "labels") == 0) fill_labels(&s->tags, q->word, q->words, to, width);
}

void fill_sentences(const Sentences *s, const Lathe_entry *e, char *in, const int64_t *row)
{
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *t = &e->input[i];
        int64_t width = tensor_size(t) / e->rows;
        if (t->role != LATHE_FEATURES && t->role != LATHE_TARGETS) continue;
        for (int64_t r = 0; r < e->rows; r++)
            fill_input(s, t, (int32_t *)(void *)(in + t->offset) + r * width, width,
                       row[r] < 0 ? &s->none : &s->at[row[r]]);
    }
}
