/* draw.c: curves as characters: in UTF-8 each is two by four dots of braille, otherwise one letter of a curve. */
#include "look/draw.h"
#include "base/utf8.h"
#include "base/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 11 }; /* columns for numbers */

typedef struct Field {
    int wide, high;   /* dots */
    int across, down; /* dots of a character */
    double low, high_value, from, to;
    unsigned char *dots, *owner; /* [characters]: bits of braille; 1 + the curve that was drawn last */
    bool cut;                    /* values beyond low and high_value are not drawn */
    const Canvas *how;
} Field;

bool terminal_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (int i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "utf-8");
    }
    return false;
}

void draw_sparks(char *to, const double *value, int n, bool utf8)
{
    static const char plain[] = "_.-:=+*#";
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < n; i++)
        if (isfinite(value[i])) low = fmin(low, value[i]), high = fmax(high, value[i]);
    for (int i = 0; i < n; i++) {
        int level = isfinite(value[i]) && high > low ? (int)(7.999 * ((value[i] - low) / (high - low))) : 0;
        if (!isfinite(value[i])) *to++ = '!';
        else if (utf8) to += encode_utf8(0x2581 + (uint32_t)level, to);
        else *to++ = plain[level];
    }
    *to = 0;
}

/* ------------------------------------------------------------------ the field */

static bool height_of(const Canvas *how, double value, double *y)
{
    if (how->log && !(value > 0)) return false;
    return *y = how->log ? log10(value) : value, isfinite(*y);
}

static void widen_range(double *from, double *to)
{
    if (*from < *to) return;
    double by = *from == 0 ? 1 : fabs(*from) * 0.05;
    *from -= by, *to += by;
}

static bool settle_field(Field *d, const Curve *curve, int n)
{
    double y;
    d->low = d->from = INFINITY;
    d->high_value = d->to = -INFINITY;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < curve[i].n; k++) {
            double x = d->how->over(&curve[i].at[k]);
            if (!height_of(d->how, curve[i].at[k].value, &y) || !isfinite(x)) continue;
            d->low = fmin(d->low, y), d->high_value = fmax(d->high_value, y);
            d->from = fmin(d->from, x), d->to = fmax(d->to, x);
        }
    if (!isfinite(d->low) || !isfinite(d->from)) return false;
    if (!d->how->log && !d->how->whole) {
        double low, high;
        d->cut = usual_range(curve, n, &low, &high);
        if (d->cut) d->low = low, d->high_value = high;
    }
    widen_range(&d->low, &d->high_value);
    widen_range(&d->from, &d->to);
    return true;
}

static void set_dot(Field *d, int x, int y, int curve)
{
    static const unsigned char bits[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    if (x < 0 || y < 0 || x >= d->wide || y >= d->high) return;
    int cell = y / d->down * (d->wide / d->across) + x / d->across;
    d->dots[cell] |= d->down == 4 ? bits[y % 4][x % 2] : 1;
    d->owner[cell] = (unsigned char)(curve + 1);
}

static void draw_stroke(Field *d, int x0, int y0, int x1, int y1, int curve)
{
    int steps = abs(x1 - x0) > abs(y1 - y0) ? abs(x1 - x0) : abs(y1 - y0);
    for (int i = 0; i <= steps; i++) {
        double share = steps ? (double)i / steps : 0;
        set_dot(d, x0 + (int)lround(share * (x1 - x0)), y0 + (int)lround(share * (y1 - y0)), curve);
    }
}

static void draw_curve(Field *d, const Curve *c, int number)
{
    double y;
    int before_x = -1, before_y = -1;
    for (int k = 0; k < c->n; k++) {
        double x = d->how->over(&c->at[k]);
        if (!height_of(d->how, c->at[k].value, &y) || !isfinite(x)) continue;
        int at_x = (int)lround((x - d->from) / (d->to - d->from) * (d->wide - 1));
        double share = fmax(-1, fmin(2, (y - d->low) / (d->high_value - d->low))); /* beyond: out of the field */
        int at_y = d->high - 1 - (int)lround(share * (d->high - 1));
        if (before_x < 0) set_dot(d, at_x, at_y, number);
        else draw_stroke(d, before_x, before_y, at_x, at_y, number);
        before_x = at_x, before_y = at_y;
    }
}

/* ------------------------------------------------------------------ printing */

static const int colours[] = {34, 33, 32, 35, 36, 31, 37};
static void start_colour(FILE *f, const Canvas *how, int curve)
{
    if (how->colour) fprintf(f, "\033[%dm", colours[curve % 7]);
}
static void end_colour(FILE *f, const Canvas *how)
{
    if (how->colour) fputs("\033[0m", f);
}

static void print_cell(FILE *f, const Field *d, int cell)
{
    char text[8];
    if (!d->owner[cell]) {
        fputc(' ', f);
        return;
    }
    start_colour(f, d->how, d->owner[cell] - 1);
    if (d->down == 4) fwrite(text, 1, (size_t)encode_utf8(0x2800 + (uint32_t)d->dots[cell], text), f);
    else fputc('a' + d->owner[cell] - 1, f);
    end_colour(f, d->how);
}

static void print_field(FILE *f, const Field *d)
{
    int columns = d->wide / d->across, rows = d->high / d->down;
    for (int r = 0; r < rows; r++) {
        double share = rows > 1 ? 1 - (double)r / (rows - 1) : 1, y = d->low + share * (d->high_value - d->low);
        char number[32] = "";
        if (r % 4 == 0 || r == rows - 1) snprintf(number, sizeof number, "%.4g", d->how->log ? pow(10, y) : y);
        fprintf(f, "%*s |", MARGIN - 2, number);
        for (int c = 0; c < columns; c++) print_cell(f, d, r * columns + c);
        fputc('\n', f);
    }
    fprintf(f, "%*s +", MARGIN - 2, "");
    for (int c = 0; c < columns; c++) fputc('-', f);
    char left[32], right[64];
    snprintf(left, sizeof left, "%.6g", d->from);
    snprintf(right, sizeof right, "%.6g %s", d->to, d->how->axis);
    int between = columns - (int)strlen(left) - (int)strlen(right);
    fprintf(f, "\n%*s%s%*s%s\n", MARGIN, "", left, between > 1 ? between : 1, "", right);
}

void draw_curves(FILE *f, const Curve *curve, int n, const Canvas *how)
{
    Field d = {.across = how->utf8 ? 2 : 1, .down = how->utf8 ? 4 : 1, .how = how};
    int columns = how->columns - MARGIN > 8 ? how->columns - MARGIN : 8, rows = how->rows > 4 ? how->rows : 4;
    d.wide = columns * d.across;
    d.high = rows * d.down;
    if (!settle_field(&d, curve, n)) {
        fprintf(f, "no finite value to draw\n");
        return;
    }
    d.dots = must_alloc((size_t)columns * (size_t)rows);
    d.owner = must_alloc((size_t)columns * (size_t)rows);
    for (int i = 0; i < n; i++) draw_curve(&d, &curve[i], i);
    print_field(f, &d);
    if (d.cut) fprintf(f, "%*s(values far beyond are cut off; --whole draws them)\n", MARGIN, "");
    for (int i = 0; i < n; i++) {
        fprintf(f, "%*s", MARGIN, "");
        start_colour(f, how, i);
        if (how->utf8) fputs("\xe2\xa0\xa4\xe2\xa0\xa4", f);
        else fputc('a' + i, f);
        end_colour(f, how);
        show(f, " %s\n", curve[i].name);
    }
    free(d.dots);
    free(d.owner);
}
