/* labels.c: the labels of texts or of their words become classes: names in their order, or numbers, which are ids.
 *
 * A column of other things, such as the numbers of records, is refused: its numbers have gaps, or nearly every row has
 * a label of its own. */
#include "data/files.h"
#include "data/labels.h"
#include "interface/no_label.h"

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

_Noreturn static void refuse_gaps(const Labels *l, const char *largest, const char *numbers, const char *missing)
{
    fail(EXIT_DATA, place_of_label(l, find_string(&l->met, largest, (int64_t)strlen(largest))),
         "expected labels that are numbered 0, 1, 2, …, since all are numbers, found %s, and only %s of the %snumbers "
         "up to it%s; number them without gaps, give the classes names, or name another column (--set "
         "csv_target=COLUMN)",
         largest, grouped_text(l->met.n), numbers, missing);
}

static void check_numbers(const Labels *l, const Words *classes)
{
    if (classes->n - l->met.n > l->met.n)
        refuse_gaps(l, classes->at[classes->n - 1], text_of("%s ", grouped_text(classes->n)),
                    text_of(": none of %s", missing_text(l, classes)));
}

/* The largest of labels that are all numbers; NULL: one is something else, such as 007. */
static char *largest_label(const Labels *l)
{
    char *largest = text_of("%s", "");
    for (int32_t k = 0; k < l->met.n && largest; k++) {
        char *label = label_of(&l->met, k);
        const size_t n = strlen(label), m = strlen(largest);
        const bool number = n && !label[strspn(label, "0123456789")] && (*label != '0' || n == 1);
        const bool larger = n > m || (n == m && strcmp(label, largest) > 0);
        char *unused = number && !larger ? label : largest;
        largest = !number ? NULL : larger ? label : largest;
        free(unused);
    }
    return largest;
}

/* Numbers from 0 on; below it are the marks of rows without a class in many data sets. */
static void check_signs(const Labels *l)
{
    for (int32_t k = 0; k < l->met.n; k++) {
        char *label = label_of(&l->met, k);
        if (is_negative(label))
            fail(EXIT_DATA, place_of_label(l, k),
                 "expected a class, a name or a number from 0 on, found \"%s\"; leave the row out if it has none (a "
                 "word: %d, a number without quotes)",
                 label, NO_LABEL);
        free(label);
    }
}

/* ------------------------------------------------------------------ classes */

Words classes_of_labels(const Labels *l, const Words *known)
{
    if (known) return *known;
    check_signs(l);
    Words classes = names_of_labels(&l->met, false);
    if (are_numbered(&classes)) check_numbers(l, &classes);
    else if (l->met.n && largest_label(l)) refuse_gaps(l, largest_label(l), "", "");
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
        char *label = label_of(&l->met, k);
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
        char *label = label_of(&l->met, k);
        id[k] = numbers ? number_below(label, classes->n) : find_string(&names, label, (int64_t)strlen(label));
        if (id[k] < 0) refuse_class(place_of_label(l, k), classes, label, "the row");
        free(label);
    }
    free_strings(&names);
    return id;
}
