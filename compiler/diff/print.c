/* print.c: differences for people: a table for each section. */
#include "diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 20, WIDEST = 40 };

/* ------------------------------------------------------------------ a value */

static char *shortest_real(double x)
{
    char *text = NULL;
    if (x == floor(x) && fabs(x) < 1e15) return text_of("%.0f", x);
    for (int digits = 6; digits <= 15; digits++) {
        text = text_of("%.*g", digits, x);
        if (strtod(text, NULL) == x) break;
    }
    return text;
}

static const char *value_said(const json_t *value, bool groups)
{
    if (!value || json_is_null(value)) return "-";
    if (json_is_string(value)) return *json_string_value(value) ? json_string_value(value) : "-";
    if (json_is_integer(value) && groups) return grouped_text(json_integer_value(value));
    if (json_is_number(value)) return shortest_real(json_number_value(value));
    return json_written(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

/* "  +12.5 %" of two numbers; "" where that says nothing */
static const char *change_said(const json_t *a, const json_t *b)
{
    double x = json_number_value(a), y = json_number_value(b);
    if (!json_is_number(a) || !json_is_number(b) || x == 0 || !isfinite(y / x)) return "";
    if (y / x > 10) return format("  × %.3g", y / x);
    return format("  %+.*f %%", fabs(y / x - 1) < .1 ? 2 : 0, 100 * (y / x - 1));
}

static int shown_columns(const char *text)
{
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* ------------------------------------------------------------------ a table */

typedef struct Row {
    const char *name, *a, *b, *behind;
} Row;
typedef VEC(Row) Rows_told;

static void print_told_rows(const char *title, const Rows_told *rows, bool whole)
{
    int name = 0, a = 0;
    if (!rows->n) return;
    for (int i = 0; i < rows->n; i++) {
        int n = shown_columns(rows->at[i].name), m = shown_columns(rows->at[i].a);
        if (n > name) name = n;
        if (m > a && m <= WIDEST) a = m;
    }
    show(stdout, "\n%s\n", title);
    for (int i = 0; i < rows->n && (whole || i < MOST_ROWS); i++) {
        show(stdout, "  ");
        print_padded(stdout, rows->at[i].name, name);
        show(stdout, "  ");
        print_padded(stdout, rows->at[i].a, a);
        show(stdout, "  %s%s\n", rows->at[i].b, rows->at[i].behind);
    }
    if (rows->n > MOST_ROWS && !whole) show(stdout, "  … and %d more (--all)\n", rows->n - MOST_ROWS);
}

static void print_section(const json_t *all, const char *name, const char *title, bool whole)
{
    const json_t *row;
    size_t k;
    Rows_told rows = {0};
    bool amounts = same(name, "memory") || same(name, "computation");
    json_array_foreach(json_object_get(all, name), k, row)
    {
        const json_t *a = json_object_get(row, "a"), *b = json_object_get(row, "b");
        push(&rows, ((Row){json_string_value(json_object_get(row, "name")), value_said(a, amounts),
                           value_said(b, amounts), amounts ? change_said(a, b) : ""}));
    }
    print_told_rows(title, &rows, whole);
}

/* ------------------------------------------------------------------ kernels */

static const char *amount_said(const json_t *of, const char *member)
{
    return grouped_text(json_integer_value(json_object_get(of, member)));
}

static const char *kernel_said(const json_t *of)
{
    json_int_t calls = json_integer_value(json_object_get(of, "calls")),
               flops = json_integer_value(json_object_get(of, "flops"));
    const char *times = calls == 1 ? "" : format("%lld of them, ", (long long)calls);
    return flops ? format("%s%s flop, %s bytes", times, amount_said(of, "flops"), amount_said(of, "bytes"))
                 : format("%s%s bytes", times, amount_said(of, "bytes"));
}

static void print_kernel_apart(const json_t *row)
{
    const json_t *a = json_object_get(row, "a"), *b = json_object_get(row, "b");
    const char *name = json_string_value(json_object_get(row, "name")), *formula;
    show(stdout, "    %s %s: ", json_is_null(a) ? "+" : json_is_null(b) ? "-" : "~", name);
    if (json_is_null(a) || json_is_null(b)) show(stdout, "%s\n", kernel_said(json_is_null(a) ? b : a));
    else if (!same(kernel_said(a), kernel_said(b))) show(stdout, "%s → %s\n", kernel_said(a), kernel_said(b));
    else show(stdout, "another formula\n");
    for (int i = 0; i < 2 && (formula = json_string_value(json_object_get(i ? b : a, "formula"))); i++)
        show(stdout, "        %s %.*s\n", i ? "B" : "A", (int)strcspn(formula, "\n"), formula);
}

static void print_kernels_apart(const json_t *kernels, bool whole)
{
    const json_t *row;
    const char *line = "";
    size_t k, n = json_array_size(kernels);
    if (n) show(stdout, "\nkernels of a step, by line and layer (+ added, - gone, ~ changed)\n");
    json_array_foreach(kernels, k, row)
    {
        const char *where = json_string_value(json_object_get(row, "where"));
        if (k == MOST_ROWS && !whole) {
            show(stdout, "  … and %d more (--all)\n", (int)(n - k));
            return;
        }
        if (!same(where, line)) show(stdout, "  %s\n", where);
        line = where;
        print_kernel_apart(row);
    }
}

/* ------------------------------------------------------------------ steps */

static const char *step_said(const json_t *row, const char *member)
{
    const json_t *step = json_object_get(row, member);
    return step ? format("step %.0f", json_number_value(step)) : "";
}

static void print_numbers(const json_t *list, const char *title, bool whole)
{
    const json_t *row;
    size_t k;
    Rows_told rows = {0};
    json_array_foreach(list, k, row)
    {
        const json_t *a = json_object_get(row, "a"), *b = json_object_get(row, "b");
        const char *name = json_string_value(json_object_get(row, "name")), *of_a = step_said(row, "a_step"),
                   *of_b = step_said(row, "b_step"), *step = step_said(row, "step");
        bool apart = *of_a && *of_b && !same(of_a, of_b);
        if (*step) name = format("%s, from %s on", name, step);
        else if (*of_a && same(of_a, of_b)) name = format("%s (%s)", name, of_a);
        push(&rows,
             ((Row){name, apart ? format("%s (%s)", value_said(a, false), of_a) : value_said(a, false),
                    apart ? format("%s (%s)", value_said(b, false), of_b) : value_said(b, false), change_said(a, b)}));
    }
    print_told_rows(title, &rows, whole);
}

static void print_steps(const json_t *steps, bool whole)
{
    double compared = json_number_value(json_object_get(steps, "compared")),
           at = json_number_value(json_object_get(steps, "at"));
    if (!steps) return;
    if (!compared) show(stdout, "\nthey have no step in common\n");
    if (compared && !json_array_size(json_object_get(steps, "parts")))
        show(stdout, "\nall numbers of the %.0f steps that both have are the same\n", compared);
    print_numbers(json_object_get(steps, "parts"), format("where they part, of %.0f steps that both have", compared),
                  whole);
    print_numbers(json_object_get(steps, "values"), format("at step %.0f, the last that both have", at), whole);
    print_numbers(json_object_get(steps, "results"), "results", whole);
    print_numbers(json_object_get(steps, "times"), "time, which is no difference by itself", whole);
}

void print_differences(const json_t *all, bool whole)
{
    static const struct {
        const char *name, *title;
    } titles[] = {{"settings", "settings"},
                  {"configuration", "configuration, built in"},
                  {"program", "model"},
                  {"data", "data"},
                  {"environment", "machine and environment, of the last start"},
                  {"run", "run"},
                  {NULL, NULL},
                  {"parameters", "parameters"},
                  {"start", "initial values and decay"},
                  {"tensors", "inputs and outputs of entries"},
                  {"computation", "computation"},
                  {"memory", "memory, bytes"}};
    for (int side = 0; side < 2; side++) {
        const json_t *s = json_object_get(all, side ? "b" : "a");
        show(stdout, "%s  %s: %s\n", side ? "B" : "A", json_string_value(json_object_get(s, "what")),
             json_string_value(json_object_get(s, "said")));
    }
    for (int i = 0; i < COUNT_OF(titles); i++)
        if (titles[i].name) print_section(all, titles[i].name, titles[i].title, whole);
        else print_steps(json_object_get(all, "steps"), whole);
    print_kernels_apart(json_object_get(all, "kernels"), whole);
}
