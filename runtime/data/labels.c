/* labels.c: the labels of texts or of their words become classes: names in their order, or numbers, which are ids.
 *
 * A column of other things, such as the numbers of records, is refused: its numbers have gaps, or nearly every row has
 * a label of its own. */
#include "data/files.h"
#include "data/labels.h"

#include <stdlib.h>

enum { FEW = 100, SHOWN = 8 }; /* so many classes may have a row each */

int32_t take_label(Labels *l, int file, const Cells *c, const char *label)
{
    const int64_t n = (int64_t)strlen(label);
    int32_t k = find_string(&l->met, label, n);
    l->given++;
    if (k >= 0) return k;
    k = add_string(&l->met, label, n, true);
    if (k == l->room) l->first = must_grow(l->first, sizeof *l->first * (size_t)(l->room = l->room * 2 + 64));
    l->first[k] = (Label_place){file, cell_line(c)};
    return k;
}

void free_labels(Labels *l)
{
    free_strings(&l->met);
    free(l->first);
}

static char *met_label(const Labels *l, int32_t k)
{
    int64_t n;
    const char *at = string_at(&l->met, k, &n);
    return text_of("%.*s", (int)n, at);
}

static char *place_of_label(const Labels *l, int32_t k)
{
    return text_of("%s:%lld", l->paths->at[l->first[k].file], (long long)l->first[k].line);
}

/* ------------------------------------------------------------------ numbers */

/* Is class k called k, for all? */
static bool are_numbered(const Words *classes)
{
    bool all = classes->n > 0;
    for (int k = 0; k < classes->n && all; k++) {
        char *number = text_of("%d", k);
        all = strcmp(classes->at[k], number) == 0;
        free(number);
    }
    return all;
}

static bool is_met(const Labels *l, const char *class)
{
    return find_string(&l->met, class, (int64_t)strlen(class)) >= 0;
}

/* "3, 5 and 12 more": classes that no row has */
static char *missing_text(const Labels *l, const Words *classes)
{
    char *text = text_of("%s", "");
    int shown = 0, missing = classes->n - l->met.n;
    for (int k = 0; k < classes->n && shown < SHOWN; k++)
        if (!is_met(l, classes->at[k])) text = text_of("%s%s%s", text, shown++ ? ", " : "", classes->at[k]);
    return missing > shown ? text_of("%s and %s more", text, grouped_text(missing - shown)) : text;
}

void tell_missing_labels(const Labels *l, const Words *classes)
{
    if (!are_numbered(classes) || classes->n <= l->met.n) return;
    note("labels are numbers up to %s, so there are %s classes, of which no row has %s", classes->at[classes->n - 1],
         grouped_text(classes->n), missing_text(l, classes));
}

static void check_numbers(const Labels *l, const Words *classes)
{
    const char *largest = classes->at[classes->n - 1];
    if (classes->n - l->met.n <= l->met.n) return;
    fail(EXIT_DATA, place_of_label(l, find_string(&l->met, largest, (int64_t)strlen(largest))),
         "expected labels that are numbered 0, 1, 2, …, since all are numbers, found %s, and only %s of the %s numbers "
         "up to it: none of %s; number them without gaps, give the classes names, or name another column (--set "
         "csv_target=COLUMN)",
         largest, grouped_text(l->met.n), grouped_text(classes->n), missing_text(l, classes));
}

/* ------------------------------------------------------------------ classes */

Words classes_of_labels(const Labels *l, const Words *known)
{
    if (known) return *known;
    Words classes = names_of_labels(&l->met, false);
    if (are_numbered(&classes)) check_numbers(l, &classes);
    if (classes.n > FEW && classes.n > l->given / 2)
        fail(EXIT_DATA, l->paths->at[0],
             "expected classes that many rows share, found %s different labels of %s: %s; name the column of the "
             "classes (--set csv_target=COLUMN)",
             grouped_text(l->met.n), grouped_text(l->given), shown_words(&classes));
    return classes;
}

static int number_below(const char *label, int n)
{
    int64_t k = -1;
    bool digits = *label && !label[strspn(label, "0123456789")];
    return digits && parse_count(label, &k) && k < n ? (int)k : -1;
}

/* Are the labels numbers of classes that have names? */
static bool are_ids(const Labels *l, const Words *classes)
{
    bool all = true;
    for (int k = 0; k < classes->n && all; k++) all = number_below(classes->at[k], INT32_MAX) < 0;
    for (int32_t k = 0; k < l->met.n && all; k++) {
        char *label = met_label(l, k);
        all = number_below(label, classes->n) >= 0;
        free(label);
    }
    return all;
}

int32_t *ids_of_labels(const Labels *l, const Words *classes)
{
    Strings names = {0};
    bool numbers = are_ids(l, classes);
    int32_t *id = must_alloc(sizeof *id * (size_t)(l->met.n + 1));
    for (int k = 0; k < classes->n; k++) add_string(&names, classes->at[k], (int64_t)strlen(classes->at[k]), true);
    for (int32_t k = 0; k < l->met.n; k++) {
        char *label = met_label(l, k);
        id[k] = numbers ? number_below(label, classes->n) : find_string(&names, label, (int64_t)strlen(label));
        if (id[k] < 0)
            fail(EXIT_DATA, place_of_label(l, k),
                 "expected one of the %d classes of training (%s), found \"%.60s\"; leave the row out, or train a new "
                 "model",
                 classes->n, shown_words(classes), label);
        free(label);
    }
    free_strings(&names);
    return id;
}
