/* split.c: divides rows between training and evaluation, by rules that no seed changes.
 *
 *     last        the last rows; folds are stretches of the data.
 *     hash        a row is evaluated if its hash, as a number from 0 to 1, is below the fraction; or lies in the fold's
 *                 part of 0 … 1.  What other rows there are does not matter.
 *     group       groups in the order of their hashes: one is evaluated if this brings the number of rows nearer to the
 *                 fraction; at least one is.  For folds, in the order of their sizes, each to the smallest fold so far.
 *     stratified  rows in the order of their classes, in that of the data within a class: row p of this order is
 *                 evaluated if a whole number lies between p times the fraction and p + 1 times; fold k has the rows
 *                 whose p leaves k - 1 when divided by the number of folds.  So the parts of a class differ from equal
 *                 ones by less than a row, and so do those of all rows. */
#include "base/words.h"
#include "data/split.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FOLDS = 1000 };

typedef struct Group { /* of rows with one key */
    uint64_t key;
    int64_t first, n; /* its first among sorted rows, and its size */
} Group;

/* ------------------------------------------------------------------ the rule */

bool parse_fold(const char *text, int64_t *fold, int64_t *folds)
{
    const char *slash = strchr(text, '/');
    char *first = slash ? text_of("%.*s", (int)(slash - text), text) : NULL;
    bool fits = first && parse_count(first, fold) && parse_count(slash + 1, folds) && *folds >= 2 &&
                *folds <= MOST_FOLDS && *fold >= 1 && *fold <= *folds;
    free(first);
    return fits;
}

Split_rule split_rule(const Lathe_recipe *r)
{
    Split_rule s = {.by = r->split, .fraction = r->val_fraction, .series = r->series};
    s.group = r->series ? "series" : r->group;
    if (r->fold && !parse_fold(r->fold, &s.fold, &s.folds)) fail(EXIT_USAGE, NULL, "fold=%s: expected K/N", r->fold);
    if (s.by == LATHE_BY_GROUP && !s.group)
        fail(EXIT_USAGE, NULL, "split=group: it is not said which column is the group; add --set group=COLUMN");
    if (s.by != LATHE_BY_GROUP && r->group && !r->fold && s.fraction > 0 && s.fraction < 1)
        note("group=%s is not used: rows are not split by it (--set split=group)", s.group);
    return s;
}

bool reads_keys(const Split_rule *s)
{
    return s->by != LATHE_LAST_PART && s->fraction < 1 && (s->folds || s->fraction > 0);
}

const char *group_to_read(const Lathe_recipe *r)
{
    const Split_rule s = {.by = r->split, .fraction = r->val_fraction, .folds = r->fold != NULL};
    return s.by == LATHE_BY_GROUP && reads_keys(&s) ? r->group : NULL;
}

char *words_of_split(const Split_rule *s)
{
    static const char *const words[] = {[LATHE_LAST_PART] = "by the order of the data",
                                        [LATHE_BY_HASH] = "by the hash of a",
                                        [LATHE_BY_GROUP] = "by group",
                                        [LATHE_STRATIFIED] = "stratified by class"};
    if (s->fraction >= 1 || (!s->folds && s->by == LATHE_LAST_PART)) return NULL;
    return text_of("%s%s%s%s", s->folds ? text_of("fold %lld of %lld, ", (long long)s->fold, (long long)s->folds) : "",
                   words[s->by], s->by == LATHE_BY_HASH || s->by == LATHE_BY_GROUP ? " " : "",
                   s->by == LATHE_BY_GROUP  ? s->group
                   : s->by != LATHE_BY_HASH ? ""
                   : s->series              ? "series"
                                            : "row");
}

/* ------------------------------------------------------------------ by order, by hash */

static void mark_last(const Split_rule *s, int64_t rows, bool *held)
{
    int64_t from = (int64_t)((double)rows * (1 - s->fraction)), to = rows; /* as in nanoGPT */
    if (s->folds) {
        from = (s->fold - 1) * rows / s->folds;
        to = s->fold * rows / s->folds;
    }
    for (int64_t r = from; r < to; r++) held[r] = true;
}

static void mark_by_hash(const Split_rule *s, int64_t rows, const uint64_t *key, bool *held)
{
    for (int64_t r = 0; r < rows; r++)
        if (s->folds) held[r] = (int64_t)((double)(key[r] >> 11) * 0x1p-53 * (double)s->folds) == s->fold - 1;
        else held[r] = (double)(key[r] >> 11) * 0x1p-53 < s->fraction;
}

/* ------------------------------------------------------------------ by class, by group */

static int by_group_size(const void *a, const void *b)
{
    const Group *x = a, *y = b;
    if (x->n != y->n) return x->n < y->n ? 1 : -1;
    return (x->key > y->key) - (x->key < y->key);
}

/* Sorts rows by byte `byte` of their keys; those with equal ones keep their order. */
static void sort_by_byte(int64_t rows, const uint64_t *key, int byte, const int32_t *from, int32_t *to)
{
    int64_t place[257] = {0};
    for (int64_t p = 0; p < rows; p++) place[1 + (key[from[p]] >> 8 * byte & 255)]++;
    for (int k = 0; k < 256; k++) place[k + 1] += place[k];
    for (int64_t p = 0; p < rows; p++) to[place[key[from[p]] >> 8 * byte & 255]++] = from[p];
}

/* Rows by their keys, and by their numbers within a key.  They take 8 bytes a row for a while, then 4. */
static int32_t *sorted_rows(int64_t rows, const uint64_t *key)
{
    int32_t *all = must_alloc(sizeof *all * (size_t)(rows + 1)),
            *other = must_alloc(sizeof *other * (size_t)(rows + 1));
    uint64_t differ = 0;
    for (int64_t r = 0; r < rows; r++) all[r] = (int32_t)r, differ |= key[r] ^ key[0];
    for (int byte = 0; byte < 8; byte++) {
        if (!(differ >> 8 * byte & 255)) continue;
        sort_by_byte(rows, key, byte, all, other);
        int32_t *swap = all;
        all = other;
        other = swap;
    }
    free(other);
    return all;
}

static void mark_stratified(const Split_rule *s, int64_t rows, const uint64_t *key, bool *held)
{
    int32_t *all = sorted_rows(rows, key);
    for (int64_t p = 0; p < rows; p++)
        if (s->folds) held[all[p]] = p % s->folds == s->fold - 1;
        else held[all[p]] = (int64_t)((double)p * s->fraction) < (int64_t)((double)(p + 1) * s->fraction);
    free(all);
}

/* From sorted rows. */
static Group *find_groups(const int32_t *all, int64_t rows, const uint64_t *key, int64_t *n)
{
    *n = 0;
    for (int64_t p = 0; p < rows; p++) *n += p == 0 || key[all[p]] != key[all[p - 1]];
    Group *group = must_alloc(sizeof *group * (size_t)(*n + 1));
    for (int64_t p = 0, g = -1; p < rows; p++) {
        if (p == 0 || key[all[p]] != key[all[p - 1]]) group[++g] = (Group){.key = key[all[p]], .first = p};
        group[g].n++;
    }
    return group;
}

int64_t count_groups(int64_t rows, const uint64_t *key)
{
    int64_t n;
    int32_t *all = sorted_rows(rows, key);
    free(find_groups(all, rows, key, &n));
    free(all);
    return n;
}

static void mark_group(const int32_t *all, const Group *group, bool *held)
{
    for (int64_t i = 0; i < group->n; i++) held[all[group->first + i]] = true;
}

static void mark_groups_by_fraction(const Split_rule *s, int64_t rows, const int32_t *all, Group *group, int64_t n,
                                    bool *held)
{
    double wanted = s->fraction * (double)rows;
    int64_t taken = 0;
    for (int64_t g = 0; g < n; g++) {
        if ((double)taken + 0.5 * (double)group[g].n >= wanted) continue;
        mark_group(all, &group[g], held);
        taken += group[g].n;
    }
    if (taken || n < 2) return;
    qsort(group, (size_t)n, sizeof *group, by_group_size);
    mark_group(all, &group[n - 1], held);
}

/* The number of the smallest fold, the first of equal ones. */
static int64_t smallest_fold(const int64_t *size, int64_t folds)
{
    int64_t least = 0;
    for (int64_t k = 1; k < folds; k++)
        if (size[k] < size[least]) least = k;
    return least;
}

static void mark_fold_of_groups(const Split_rule *s, const int32_t *all, Group *group, int64_t n, bool *held)
{
    int64_t folds = s->folds < n ? s->folds : n, *size = must_alloc(sizeof *size * (size_t)(folds + 1));
    qsort(group, (size_t)n, sizeof *group, by_group_size);
    for (int64_t g = 0; g < n; g++) {
        int64_t k = smallest_fold(size, folds);
        size[k] += group[g].n;
        if (k == s->fold - 1) mark_group(all, &group[g], held);
    }
    free(size);
}

static void mark_groups(const Split_rule *s, int64_t rows, const uint64_t *key, bool *held)
{
    int64_t n;
    int32_t *all = sorted_rows(rows, key);
    Group *group = find_groups(all, rows, key, &n);
    if (s->folds) mark_fold_of_groups(s, all, group, n, held);
    else mark_groups_by_fraction(s, rows, all, group, n, held);
    free(all);
    free(group);
}

/* ------------------------------------------------------------------ the two parts */

int64_t split_rows(const Split_rule *s, int64_t rows, const uint64_t *key, int32_t *row)
{
    bool *held = must_alloc((size_t)rows + 1);
    int64_t train = 0, at;
    if (!reads_keys(s)) mark_last(s->fraction >= 1 ? &(Split_rule){.fraction = 1} : s, rows, held);
    else if (s->by == LATHE_BY_HASH) mark_by_hash(s, rows, key, held);
    else if (s->by == LATHE_BY_GROUP) mark_groups(s, rows, key, held);
    else mark_stratified(s, rows, key, held);
    for (int64_t r = 0; r < rows; r++)
        if (!held[r]) row[train++] = (int32_t)r;
    at = train;
    for (int64_t r = 0; r < rows; r++)
        if (held[r]) row[at++] = (int32_t)r;
    free(held);
    return train;
}
