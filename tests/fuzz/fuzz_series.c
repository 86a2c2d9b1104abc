/* fuzz_series.c: time series from tables and JSON lines: what is read lies within the rows that windows are made of. */
#include "fuzz.h"
#include "base/words.h"
#include "data/series.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAST = 3, AHEAD = 2, INPUTS = 3 };

typedef struct Probe {
    Lathe_tensor tensor[INPUTS];
    Lathe_entry entry;
    Lathe_model model;
    Lathe_recipe recipe;
    Reading reading;
} Probe;

static Lathe_tensor input(const char *name, int64_t rows, int64_t columns, int64_t offset)
{
    return (Lathe_tensor){.name = name, .dtype = LATHE_F32, .rank = 3, .dim = {1, rows, columns}, .offset = 4 * offset};
}

/* Of a file whose columns were found, so that it is read whatever they are. */
static void settle_probe(Probe *p, const Schema *s)
{
    int channels = s->targets + columns_of_kind(s, COLUMN_NUMBER), known = columns_of_kind(s, COLUMN_KNOWN);
    p->tensor[0] = input("past", PAST, channels, 0);
    p->tensor[1] = input("future", AHEAD, s->targets, PAST * channels);
    p->tensor[2] = input("known", PAST + AHEAD, known, PAST * channels + AHEAD * s->targets);
    p->entry = (Lathe_entry){.name = "train", .rows = 1, .inputs = INPUTS, .input = p->tensor};
    p->model = (Lathe_model){.name = "fuzz", .entries = 1, .entry = &p->entry};
    p->reading.model = &p->model;
    p->reading.recipe = &p->recipe;
    p->reading.gpus = 1;
    p->reading.training = true;
}

static void read_windows(const Probe *p, Schema *schema)
{
    const Lathe_tensor *last = &p->tensor[INPUTS - 1];
    char *in = must_alloc((size_t)(last->offset + 4 * last->dim[1] * last->dim[2] + 4));
    const Split_rule rule = {.by = p->recipe.split, .fraction = 0.25, .series = true, .group = "series"};
    int32_t *row;
    int64_t train;
    Series *s = open_series(&p->reading, schema);
    int64_t n = divide_series(s, &rule, &row, &train);
    learn_series(s, &rule, row, train);
    fill_missing(s);
    for (int64_t i = 0; i < n; i++) {
        int64_t item = row[i];
        fill_series(s, &p->entry, in, &item);
        (void)window_hash(s, item);
        (void)series_target(s, item, AHEAD - 1, s->targets - 1);
        if (s->time) free(series_time_text(s, item));
    }
    free(in);
}

static const char *named_early(const char *text, size_t n, const char *word)
{
    for (size_t i = 0; i < 64 && i + strlen(word) <= n; i++)
        if (memcmp(text + i, word, strlen(word)) == 0) return word;
    return NULL;
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    char *own = text_of("%s.%s", path, n && *text == '{' ? "jsonl" : "csv");
    Probe p = {.recipe = {.series = true,
                          .stride = 1,
                          .split = n % 3 ? LATHE_LAST_PART : LATHE_BY_GROUP,
                          .missing = n % 2 ? LATHE_FILL_MISSING : LATHE_REFUSE_MISSING}};
    Series_form form = {
        .time = named_early(text, n, "t"), .series = named_early(text, n, "id"), .known = named_early(text, n, "k")};
    (void)unlink(own);
    bug_if(link(path, own) != 0);
    add_word(&p.reading.paths, own);
    Schema *s = find_series_schema(&p.reading.paths, &form);
    settle_probe(&p, s);
    read_windows(&p, s);
    unlink(own);
    free(own);
}
