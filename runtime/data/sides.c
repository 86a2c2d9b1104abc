/* sides.c: what the rules of a split compare of the rows of each kind of data, and which rows are on both sides. */
#include "base/words.h"
#include "data/data.h"
#include "data/split.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ what is compared */

static const char *place_of_data(const Data *d) { return d->reading->paths.at[0]; }

static uint64_t hash_of_row(const Data *d, int64_t row)
{
    if (d->preferences) return preference_hash(d->preferences, row);
    if (d->rows) return row_hashes(d->rows)[row];
    if (d->files) return index_of_files(d->files)->at[row].draw;
    if (d->sentences) return sentence_hash(d->sentences, row);
    if (d->series) return window_hash(d->series, row);
    return d->table ? table_row_hash(d->table, row) : csv_row_hash(d->csv, row);
}

static uint64_t class_key(const Data *d, int64_t row)
{
    double class = 0;
    if (d->csv) class = csv_class(d->csv, row);
    else if (d->files) class = index_of_files(d->files)->at[row].class;
    else if (d->sentences && has_sentence_class(d->sentences)) class = sentence_class(d->sentences, row);
    else if (d->table && table_schema(d->table)->classes) class = table_target(d->table, row, 0);
    else if (d->table || d->sentences || !class_of_row(d->rows, row, &class))
        fail(EXIT_USAGE, place_of_data(d),
             "split=stratified divides each class alike, but %s; use --set split=hash, or last",
             d->table ? "the target is a number" : "the inputs have not one target that is a class");
    return (uint64_t)(int64_t) class;
}

static uint64_t group_key(const Data *d, int64_t row)
{
    uint64_t key = 0;
    if (d->files) return index_of_files(d->files)->at[row].group;
    if (d->rows && row_groups(d->rows)) return row_groups(d->rows)[row];
    if (d->csv && csv_group(d->csv, d->rule.group, row, &key)) return key;
    fail(EXIT_DATA, place_of_data(d),
         "expected %s \"%.60s\", the group that rows are split by, found none; to evaluate all rows, --val-fraction 1",
         d->rows ? "an array" : "a column", d->rule.group);
}

static uint64_t *keys_of_rows(const Data *d, int64_t rows)
{
    uint64_t *key = must_alloc(sizeof *key * (size_t)(rows + 1));
    for (int64_t r = 0; r < rows; r++)
        key[r] = d->table && table_has_keys(d->table) ? table_key(d->table, r)
                 : d->rule.by == LATHE_BY_HASH        ? hash_of_row(d, r)
                 : d->rule.by == LATHE_BY_GROUP       ? group_key(d, r)
                                                      : class_key(d, r);
    return key;
}

/* ------------------------------------------------------------------ dividing */

static void check_groups(const Data *d, int64_t rows, const uint64_t *key)
{
    int64_t least = d->rule.folds ? d->rule.folds : 2, n = count_groups(rows, key);
    if (n < least)
        fail(EXIT_DATA, place_of_data(d),
             "expected at least %lld different values of the group \"%.60s\"%s, found %lld", (long long)least,
             d->rule.group, d->rule.folds ? ", one for each fold" : ", to train on and to evaluate", (long long)n);
}

static bool is_input_column(const Data *d, const char *name)
{
    const Schema *s = d->table ? table_schema(d->table) : NULL;
    for (int k = 0; s && k < s->columns; k++)
        if (strcmp(s->column[k].name, name) == 0)
            return s->column[k].kind != COLUMN_TARGET && s->column[k].kind != COLUMN_LEFT_OUT;
    return false;
}

void divide_rows(Data *d, int64_t rows)
{
    uint64_t *key = reads_keys(&d->rule) ? keys_of_rows(d, rows) : NULL;
    if (rows > INT32_MAX)
        fail(EXIT_DATA, place_of_data(d), "expected fewer than 2^31 rows, found %lld", (long long)rows);
    if (key && d->rule.by == LATHE_BY_GROUP) check_groups(d, rows, key);
    if (key && d->reading->training && d->rule.by == LATHE_BY_GROUP && is_input_column(d, d->rule.group))
        note("column \"%s\" is the group, and an input too; drop = \"%s\" leaves it out of the inputs", d->rule.group,
             d->rule.group);
    d->row = must_alloc(sizeof *d->row * (size_t)(rows + 1));
    d->train = split_rows(&d->rule, rows, key, d->row);
    d->val = rows - d->train;
    free(key);
}

/* ------------------------------------------------------------------ equal rows */

typedef struct Hashes { /* of the rows to evaluate: the smaller part of most data */
    uint64_t *slot;     /* [slots] 0: free; the lowest bit: a row to train on has this hash */
    uint64_t slots;
} Hashes;

static uint64_t without_mark(uint64_t hash) { return hash < 4 ? 4 : hash & ~UINT64_C(1); }

static uint64_t *slot_of_hash(const Hashes *all, uint64_t hash)
{
    uint64_t i = hash >> 1 & (all->slots - 1);
    while (all->slot[i] && (all->slot[i] & ~UINT64_C(1)) != hash) i = (i + 1) & (all->slots - 1);
    return &all->slot[i];
}

static Hashes hashes_of_held(const Data *held)
{
    Hashes all = {.slots = 1024};
    while (2 * all.slots < 3 * (uint64_t)held->val) all.slots *= 2;
    all.slot = must_alloc(sizeof *all.slot * all.slots);
    for (int64_t k = 0; k < held->val; k++) {
        uint64_t hash = without_mark(hash_of_row(held, val_item(held, k)));
        *slot_of_hash(&all, hash) = hash;
    }
    return all;
}

void tell_equal_rows(const Data *d, const Data *held)
{
    int64_t equal = 0;
    if (!d->row || !held->row || !held->val || d->files) return; /* equal pictures may have other names */
    Hashes all = hashes_of_held(held);
    for (int64_t i = 0; i < d->train; i++) {
        uint64_t *slot = slot_of_hash(&all, without_mark(hash_of_row(d, d->row[i])));
        if (*slot) *slot |= 1;
    }
    for (int64_t k = 0; k < held->val; k++)
        equal += *slot_of_hash(&all, without_mark(hash_of_row(held, val_item(held, k)))) & 1;
    free(all.slot);
    if (equal)
        note("%s of the %s %s to evaluate %s equal to one that is trained on, target included, so evaluations look "
             "better than they are%s",
             grouped_text(equal), grouped_text(held->val), item_word(d), equal == 1 ? "is" : "are",
             d == held && !d->series && d->rule.by != LATHE_BY_HASH ? "; --set split=hash keeps equal rows on one side"
                                                                    : "");
}
