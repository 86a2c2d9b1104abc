/* test_sides.c: a split's two parts are all rows, each once; folds are disjoint and cover all; classes are divided
 * alike, groups lie on one side, and hashed rows stay on theirs when others come, at odd sizes and for all rules. */
#include "base/hash.h"
#include "data/split.h"
#include "sources.h"

enum { MOST = 1009, MOST_KEYS = 64 };

static const int64_t sizes[] = {1, 2, 3, 7, 16, 100, 203, MOST}, folds[] = {2, 3, 5, 7, 10};
static const double fractions[] = {0.01, 0.1, 0.2, 1.0 / 3, 0.5, 0.9};
#define EACH(i, list) for (size_t i = 0; i < sizeof list / sizeof *list; i++)

static uint64_t key[MOST];
static bool held[MOST];

static uint64_t key_of(uint64_t x) { return hash_of(&x, sizeof x); }

/* Some keys are rare: number k is drawn k times as often as the first. */
static void draw_keys(int64_t rows, int64_t keys)
{
    for (int64_t r = 0; r < rows; r++) {
        int64_t a = below((uint32_t)keys), b = below((uint32_t)keys);
        key[r] = key_of((uint64_t)(a > b ? a : b));
    }
}

/* Marks the rows to evaluate; returns their number. */
static int64_t split(const Split_rule *s, int64_t rows)
{
    int32_t row[MOST];
    bool seen[MOST] = {0};
    int64_t train = split_rows(s, rows, key, row);
    for (int64_t i = 0; i < rows; i++) {
        expect(row[i] >= 0 && row[i] < rows && !seen[row[i]], "a row once");
        if (row[i] < 0 || row[i] >= rows) continue;
        seen[row[i]] = true;
        held[row[i]] = i >= train;
        expect(!i || i == train || row[i] > row[i - 1], "the order of the data");
    }
    return rows - train;
}

static bool near(double x, double y) { return x > y - 1 && x < y + 1; }

/* Rows with the key of row r; of them those that are evaluated. */
static int64_t rows_like(int64_t rows, int64_t r, int64_t *of_held)
{
    int64_t n = 0;
    *of_held = 0;
    for (int64_t i = 0; i < rows; i++)
        if (key[i] == key[r]) n++, *of_held += held[i];
    return n;
}

/* Of each class, and of all, the part; of groups all or none. */
static void check_keys(const Split_rule *s, int64_t rows, double part, int64_t n)
{
    for (int64_t r = 0; r < rows; r++) {
        int64_t here, all = rows_like(rows, r, &here);
        if (s->by == LATHE_STRATIFIED)
            expect(near((double)here, part * (double)all), "%lld of %lld rows of a class, part %g", (long long)here,
                   (long long)all, part);
        if (s->by == LATHE_BY_GROUP) expect(!here || here == all, "a group on both sides");
    }
    if (s->by == LATHE_STRATIFIED || (s->by == LATHE_LAST_PART && s->folds))
        expect(near((double)n, part * (double)rows), "%lld of %lld rows, part %g", (long long)n, (long long)rows, part);
}

/* ------------------------------------------------------------------ folds */

static void check_folds(Lathe_split by, int64_t rows, int64_t n)
{
    int64_t times[MOST] = {0}, least = rows, most = 0, largest = 0, unused;
    for (int64_t k = 1; k <= n; k++) {
        const Split_rule s = {.by = by, .fraction = 0.1, .fold = k, .folds = n, .group = "g"};
        int64_t size = split(&s, rows);
        check_keys(&s, rows, 1 / (double)n, size);
        for (int64_t r = 0; r < rows; r++) times[r] += held[r];
        least = size < least ? size : least;
        most = size > most ? size : most;
    }
    for (int64_t r = 0; r < rows; r++) {
        expect(times[r] == 1, "row %lld of %lld is in %lld of %lld folds", (long long)r, (long long)rows,
               (long long)times[r], (long long)n);
        int64_t like = rows_like(rows, r, &unused);
        largest = like > largest ? like : largest;
    }
    if (by == LATHE_BY_GROUP && count_groups(rows, key) >= n)
        expect(most - least <= largest, "folds of %lld to %lld rows, groups of up to %lld", (long long)least,
               (long long)most, (long long)largest);
}

/* ------------------------------------------------------------------ fractions */

/* No group on the wrong side would bring the number nearer to what is wanted, by the rule's own order. */
static void check_group_share(int64_t rows, double wanted, int64_t n)
{
    int64_t least = rows, most = 0;
    for (int64_t r = 0; r < rows; r++) {
        int64_t here, all = rows_like(rows, r, &here);
        if (held[r]) most = all > most ? all : most;
        else least = all < least ? all : least;
    }
    expect(n > 0 && n < rows, "both sides have a group");
    expect((double)n < wanted + 0.5 * (double)most || n == most, "%lld rows of %g wanted", (long long)n, wanted);
    expect((double)n + 0.5 * (double)least >= wanted, "%lld rows of %g wanted: too few", (long long)n, wanted);
}

static void check_fraction(Lathe_split by, int64_t rows, double fraction)
{
    const Split_rule s = {.by = by, .fraction = fraction, .group = "g"};
    int64_t n = split(&s, rows);
    check_keys(&s, rows, fraction, n);
    if (by == LATHE_BY_GROUP && fraction <= 0.5 && count_groups(rows, key) > 3)
        check_group_share(rows, fraction * (double)rows, n);
    expect(split(&(Split_rule){.by = by, .fraction = 1, .fold = 1, .folds = 2}, rows) == rows, "all are evaluated");
    expect(split(&(Split_rule){.by = by}, rows) == 0, "none is evaluated");
}

/* The last part as it was before there were other splits. */
static void check_last(void)
{
    EACH(i, sizes) EACH(k, fractions)
    {
        int64_t n = split(&(Split_rule){.fraction = fractions[k]}, sizes[i]);
        expect(sizes[i] - n == (int64_t)((double)sizes[i] * (1 - fractions[k])), "the last part");
        for (int64_t r = 0; r < sizes[i]; r++) expect(held[r] == (r >= sizes[i] - n), "the last rows");
    }
}

/* ------------------------------------------------------------------ rows that come and go */

static void check_growing(const Split_rule *s)
{
    bool before[MOST];
    for (int64_t r = 0; r < MOST; r++) key[r] = key_of((uint64_t)r);
    int64_t n = split(s, MOST / 2), all = s->folds ? s->folds : 5;
    expect(near((double)n / 50, (double)MOST / 100 / (double)all), "%lld rows by their hashes", (long long)n);
    memcpy(before, held, sizeof before);
    for (int64_t r = 0; r < MOST; r++) key[r] = key_of((uint64_t)(r % 2 ? r / 2 : MOST + r));
    split(s, MOST);
    for (int64_t r = 1; r < MOST - 1; r += 2) expect(held[r] == before[r / 2], "row %lld changes sides", (long long)r);
}

static void check_texts(void)
{
    static const char *const wrong[] = {"", "2", "2/", "/5", "0/5", "6/5", "1/1", "2/1001", "-1/5", "2/5/6", "a/b"};
    int64_t k, n;
    expect(parse_fold("2/5", &k, &n) && k == 2 && n == 5, "fold 2 of 5");
    EACH(i, wrong) expect(!parse_fold(wrong[i], &k, &n), "%s is no fold", wrong[i]);
}

int main(void)
{
    static const Lathe_split rules[] = {LATHE_LAST_PART, LATHE_BY_HASH, LATHE_BY_GROUP, LATHE_STRATIFIED};
    make_test_folder();
    EACH(b, rules) EACH(i, sizes) for (int64_t keys = 1; keys <= MOST_KEYS; keys *= 4)
    {
        draw_keys(sizes[i], keys);
        EACH(k, folds) check_folds(rules[b], sizes[i], folds[k]);
        EACH(k, fractions) check_fraction(rules[b], sizes[i], fractions[k]);
    }
    check_last();
    check_growing(&(Split_rule){.by = LATHE_BY_HASH, .fraction = 0.2});
    check_growing(&(Split_rule){.by = LATHE_BY_HASH, .fold = 3, .folds = 5});
    check_texts();
    return finish();
}
