/* test_parts.c: pass_parts makes in parts what slices alone are read of, and leaves what is read as a whole, twice, or
 * by products. */
#include "harness.h"
#include "lathe.h"

#include <string.h>

static void becomes(const char *what, const char *from, const char *to)
{
    Graph *g = parse_graph(what, from);
    pass_parts(g, describe(NULL, "test", &options));
    check_graph(g, "parts");
    expect(strcmp(printed(g), printed(parse_graph(what, to))) == 0, "%s becomes\n%s", what, printed(g));
}

/* exp(x) + y of two halves. */
#define HEAD                                                                                                           \
    "graph g\n"                                                                                                        \
    "%1 = input x : f32[2, 6]\n"                                                                                       \
    "%2 = input y : f32[2, 6]\n"
#define SUM                                                                                                            \
    "%3 = exp %1 : f32[2, 6]\n"                                                                                        \
    "%4 = add %3 %2 : f32[2, 6]\n"
#define LEFT  "%5 = slice %4 {0, 0, 1, 1} : f32[2, 3]\n"
#define RIGHT "%6 = slice %4 {0, 3, 1, 1} : f32[2, 3]\n"

static const char halves[] = HEAD SUM LEFT RIGHT "%7 = mul %5 %6 : f32[2, 3]\nvalue a = %7\n";
static const char in_parts[] = HEAD "%3 = slice %1 {0, 0, 1, 1} : f32[2, 3]\n"
                                    "%4 = exp %3 : f32[2, 3]\n"
                                    "%5 = slice %2 {0, 0, 1, 1} : f32[2, 3]\n"
                                    "%6 = add %4 %5 : f32[2, 3]\n"
                                    "%7 = slice %1 {0, 3, 1, 1} : f32[2, 3]\n"
                                    "%8 = exp %7 : f32[2, 3]\n"
                                    "%9 = slice %2 {0, 3, 1, 1} : f32[2, 3]\n"
                                    "%10 = add %8 %9 : f32[2, 3]\n"
                                    "%11 = mul %6 %10 : f32[2, 3]\n"
                                    "value a = %11\n";

/* The inner map has a reader of its own: only the outer one is made in parts. */
static const char inner_read[] = HEAD SUM LEFT "%6 = neg %5 : f32[2, 3]\nvalue a = %6\nvalue b = %3\n";
static const char outer_alone[] = HEAD "%3 = exp %1 : f32[2, 6]\n"
                                       "%4 = slice %3 {0, 0, 1, 1} : f32[2, 3]\n"
                                       "%5 = slice %2 {0, 0, 1, 1} : f32[2, 3]\n"
                                       "%6 = add %4 %5 : f32[2, 3]\n"
                                       "%7 = neg %6 : f32[2, 3]\n"
                                       "value a = %7\n"
                                       "value b = %3\n";

static const char *const left_alone[] = {
    /* slices that overlap would be computed twice */
    HEAD SUM LEFT "%6 = slice %4 {0, 2, 1, 1} : f32[2, 3]\n%7 = mul %5 %6 : f32[2, 3]\nvalue a = %7\n",
    /* an output, and a value that a loop keeps */
    HEAD SUM LEFT "%6 = neg %5 : f32[2, 3]\nvalue a = %6\nvalue b = %4\n",
    /* a product reads its slice from memory */
    HEAD SUM LEFT RIGHT "%7 = dot %5 %6 {0, 1, 1, 1} : f32[2, 2]\nvalue a = %7\n",
    /* a slice that is an output */
    HEAD SUM LEFT "value a = %5\n",
};

int main(void)
{
    becomes("two halves", halves, in_parts);
    becomes("a map that is read elsewhere", inner_read, outer_alone);
    for (int i = 0; i < COUNT_OF(left_alone); i++) becomes("what is left alone", left_alone[i], left_alone[i]);
    return finish();
}
