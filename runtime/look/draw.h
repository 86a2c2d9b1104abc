/* draw.h: curves for a terminal. */
#ifndef LATHE_LOOK_DRAW_H
#define LATHE_LOOK_DRAW_H

#include "look/series.h"

#include <stdbool.h>
#include <stdio.h>

enum { MOST_CURVES = 26 };

typedef struct Curve {
    const char *name;
    const Point *at;
    int n;
} Curve;

typedef struct Canvas {
    int columns, rows; /* of characters, with the numbers on the left */
    bool utf8, colour; /* dots of braille, or letters: a, b, … */
    bool log;          /* values below or at 0 are left out */
    bool whole;        /* also values far beyond the range of most curves */
    double (*over)(const Point *p);
    const char *axis; /* "step" */
} Canvas;

/* look/range.c: where most curves are: false: nothing lies far beyond, at low and high. */
bool usual_range(const Curve *curve, int n, double *low, double *high);

void draw_curves(FILE *f, const Curve *curve, int n, const Canvas *how);
bool terminal_is_utf8(void); /* as LC_ALL, LC_CTYPE or LANG say */
/* n values from the least to the greatest as one character each; to: room for 3 n + 1 bytes */
void draw_sparks(char *to, const double *value, int n, bool utf8);

#endif
