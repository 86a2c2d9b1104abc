/* kernels.c: which kernels of a step were added, are gone, or do another amount of work.  A kernel is found again by
 * the entry, the layer and its name: lines move when a description is edited. */
#include "diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Of_name { /* all kernels with one name, of a layer */
    const char *where, *name;
    json_int_t calls[2];       /* of a and b: how many there are */
    double flops[2], bytes[2]; /* all of them, each once */
    Text formulas[2];
} Of_name;
typedef VEC(Of_name) Of_names;

static const char *kernel_word(const json_t *kernel, const char *member)
{
    const char *word = json_string_value(json_object_get(kernel, member));
    return word ? word : "";
}

static Of_name *named_kernel(Of_names *all, Strings *numbers, const char *entry, const json_t *kernel)
{
    const char *name = kernel_word(kernel, "name"), *path = kernel_word(kernel, "path");
    int *number = strings_at(numbers, format("%s\n%s\n%s", entry, path, name));
    if (!*number) {
        push(all, ((Of_name){.where = format("%s %s", kernel_word(kernel, "where"), path),
                             .name = same(entry, "train") ? name : format("%s: %s", entry, name)}));
        *number = all->n;
    }
    return &all->at[*number - 1];
}

static void note_kernels(Of_names *all, Strings *numbers, const char *entry, const json_t *kernels, int side)
{
    const json_t *kernel;
    size_t k;
    json_array_foreach(kernels, k, kernel)
    {
        Of_name *n = named_kernel(all, numbers, entry, kernel);
        n->calls[side]++;
        n->flops[side] += json_number_value(json_object_get(kernel, "flops"));
        n->bytes[side] += json_number_value(json_object_get(kernel, "bytes"));
        say(&n->formulas[side], "%s\n", kernel_word(kernel, "formula"));
    }
}

/* A trainer cuts long formulas off and ends them in "...": what is left is compared. */
static bool same_formulas(const char *a, const char *b)
{
    while (*a && *b) {
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        bool cut_a = n >= 3 && strncmp(a + n - 3, "...", 3) == 0, cut_b = m >= 3 && strncmp(b + m - 3, "...", 3) == 0;
        size_t most = cut_a && cut_b ? (n < m ? n : m) - 3 : cut_a ? n - 3 : cut_b ? m - 3 : n;
        if (strncmp(a, b, most) != 0 || (!cut_a && !cut_b && n != m)) return false;
        a += n + 1;
        b += m + 1;
    }
    return !*a && !*b;
}

static bool is_other(const Of_name *n)
{
    return n->calls[0] != n->calls[1] || n->flops[0] != n->flops[1] || n->bytes[0] != n->bytes[1] ||
           !same_formulas(n->formulas[0].at, n->formulas[1].at);
}

static double change_of(const Of_name *n) { return fabs(n->flops[1] - n->flops[0]) + fabs(n->bytes[1] - n->bytes[0]); }

/* Lines with the largest change first, in a line likewise. */
typedef struct Of_line {
    double change;
    const Of_name *of;
} Of_line;

static int by_line_change(const void *a, const void *b)
{
    const Of_line *x = a, *y = b;
    if (x->change != y->change) return x->change < y->change ? 1 : -1;
    int way = strcmp(x->of->where, y->of->where);
    if (way) return way;
    double own = change_of(x->of), other = change_of(y->of);
    return own != other ? (own < other ? 1 : -1) : strcmp(x->of->name, y->of->name);
}

static json_t *amounts_json(const Of_name *n, int side)
{
    if (!n->calls[side]) return json_null();
    json_t *all = json_object();
    put_json(all, "calls", json_integer(n->calls[side]));
    put_json(all, "flops", whole_json(n->flops[side]));
    put_json(all, "bytes", whole_json(n->bytes[side]));
    if (n->calls[0] && n->calls[1] && !same_formulas(n->formulas[0].at, n->formulas[1].at))
        put_json(all, "formula", word_json(n->formulas[side].at));
    return all;
}

static json_t *ordered_kernels(const Of_names *all)
{
    VEC(Of_line) lines = {0};
    Strings places = {0};
    double *change = NEW_ARRAY(double, all->n + 1);
    json_t *list = json_array();
    for (int i = 0; i < all->n; i++) {
        if (!is_other(&all->at[i])) continue;
        int *place = strings_at(&places, all->at[i].where);
        if (!*place) *place = i + 1;
        change[*place] += change_of(&all->at[i]);
        push(&lines, ((Of_line){.of = &all->at[i]}));
    }
    for (int i = 0; i < lines.n; i++) lines.at[i].change = change[strings_get(&places, lines.at[i].of->where)];
    if (lines.n) qsort(lines.at, (size_t)lines.n, sizeof *lines.at, by_line_change);
    for (int i = 0; i < lines.n; i++) {
        const Of_name *n = lines.at[i].of;
        json_t *row = json_object();
        put_json(row, "where", word_json(n->where));
        put_json(row, "name", word_json(n->name));
        put_json(row, "a", amounts_json(n, 0));
        put_json(row, "b", amounts_json(n, 1));
        add_json(list, row);
    }
    return list;
}

/* Entries that one of them lacks are told elsewhere, or not known of a run. */
json_t *kernel_differences(const json_t *a, const json_t *b)
{
    Of_names all = {0};
    Strings numbers = {0};
    const char *entry;
    const json_t *kernels;
    json_object_foreach((json_t *)a, entry, kernels)
    {
        const json_t *others = json_object_get(b, entry);
        if (!others) continue;
        note_kernels(&all, &numbers, entry, kernels, 0);
        note_kernels(&all, &numbers, entry, others, 1);
    }
    for (int i = 0; i < all.n; i++)
        for (int side = 0; side < 2; side++) say(&all.at[i].formulas[side], "%s", "");
    return ordered_kernels(&all);
}
