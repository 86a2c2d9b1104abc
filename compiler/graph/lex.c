/* lex.c: reads the tokens of the text form of graphs and kernels: lines, words, numbers, types.  Errors name the line.
 */
#include "graph/text.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ lines and tokens */

void skip_spaces(Parser *q)
{
    while (*q->p == ' ' || *q->p == '\t' || *q->p == '\r') q->p++;
}

/* Moves to the next line that is not empty. */
bool next_line(Parser *q)
{
    while (*q->next) {
        q->at.line++;
        size_t n = strcspn(q->next, "\n");
        q->p = copy_bytes_as_string(q->next, n);
        q->next += n + (q->next[n] == '\n');
        skip_spaces(q);
        if (*q->p && *q->p != '#') return true;
    }
    q->p = "";
    return false;
}

/* What comes next, for messages. */
const char *rest_of_line(const Parser *q) { return *q->p ? format("'%.40s'", q->p) : "the end of the line"; }

bool took_char(Parser *q, char c)
{
    skip_spaces(q);
    if (*q->p != c) return false;
    q->p++;
    return true;
}

void want_char(Parser *q, char c)
{
    if (!took_char(q, c)) err(q->at, "expected '%c', found %s", c, rest_of_line(q));
}

/* Reads exactly this word, if no other character of a word follows. */
bool took_word(Parser *q, const char *word)
{
    skip_spaces(q);
    size_t n = strlen(word);
    if (strncmp(q->p, word, n) != 0 || plain_char(q->p[n])) return false;
    q->p += n;
    return true;
}

void end_of_line(Parser *q)
{
    skip_spaces(q);
    if (*q->p && *q->p != '#') err(q->at, "expected the end of the line, found %s", rest_of_line(q));
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* NULL: not well formed */
static const char *quoted_name(Parser *q)
{
    Text t = {0};
    say_bytes(&t, "", 0);
    for (q->p++; *q->p != '"'; q->p++) {
        char c = *q->p;
        if (!c) return NULL;
        if (c == '\\') {
            c = *++q->p;
            if (c == 'x') {
                int high = hex_digit(q->p[1]), low = high < 0 ? -1 : hex_digit(q->p[2]);
                if (low < 0 || high + low == 0) return NULL;
                c = (char)(high * 16 + low);
                q->p += 2;
            } else if (c != '"' && c != '\\') {
                return NULL;
            }
        }
        say_bytes(&t, &c, 1);
    }
    q->p++;
    return t.at;
}

/* NULL: there is none */
const char *maybe_word(Parser *q)
{
    skip_spaces(q);
    if (*q->p == '"') return quoted_name(q);
    const char *start = q->p;
    if (!plain_char(*start) || *start == '-' || *start == '.') return NULL;
    while (plain_char(*q->p)) q->p++;
    return copy_bytes_as_string(start, (size_t)(q->p - start));
}

const char *read_word(Parser *q, const char *what)
{
    const char *w = maybe_word(q);
    if (!w) err(q->at, "expected %s, found %s", what, rest_of_line(q));
    return w;
}

int64_t read_integer(Parser *q, int64_t low, int64_t high)
{
    skip_spaces(q);
    char *end;
    long long x = strtoll(q->p, &end, 10);
    if (end == q->p) err(q->at, "expected a whole number, found %s", rest_of_line(q));
    if (x < low || x > high)
        err(q->at, "expected a number from %lld to %lld, found %s", (long long)low, (long long)high, rest_of_line(q));
    q->p = end;
    return x;
}

double read_number(Parser *q)
{
    skip_spaces(q);
    char *end;
    double x = strtod(q->p, &end);
    if (end == q->p) err(q->at, "expected a number, found %s", rest_of_line(q));
    q->p = end;
    return x;
}

/* ------------------------------------------------------------------ names, types, ends of lines */

Node *read_node(Parser *q)
{
    want_char(q, '%');
    int64_t n = read_integer(q, 0, q->names - 1);
    if (!q->named[n]) err(q->at, "%%%lld is not defined here", (long long)n);
    return q->named[n];
}

Node *read_value(Parser *q)
{
    Node *n = read_node(q);
    if (has_several(n)) err(q->at, "%s has several results: pick one", op_info[n->op].name);
    return n;
}

static DType read_dtype(Parser *q)
{
    for (int t = 0; t < DTYPES; t++)
        if (took_word(q, dtype_name((DType)t))) return (DType)t;
    err(q->at, "expected a type (bool, i32, f32, f64, bf16, f16), found %s", rest_of_line(q));
}

/* [12, 64] */
Shape read_shape(Parser *q)
{
    Shape s = {0};
    want_char(q, '[');
    while (!took_char(q, ']')) {
        if (s.rank == MAXRANK) err(q->at, "a shape has at most %d axes", MAXRANK);
        if (s.rank) want_char(q, ',');
        s.dim[s.rank++] = read_integer(q, 1, LARGEST_INT);
    }
    return s;
}

/* : f32[12, 64] */
DType read_type(Parser *q, Shape *s)
{
    want_char(q, ':');
    DType t = read_dtype(q);
    *s = read_shape(q);
    return t;
}

/* " models/gpt.lua:31 in layer.attn"; false: another comment */
bool read_where(Parser *q, Where *w)
{
    if (!took_word(q, "in")) {
        w->file = maybe_word(q);
        if (!w->file || *q->p != ':' || q->p[1] < '0' || q->p[1] > '9') return false;
        q->p++;
        long line = strtol(q->p, (char **)&q->p, 10);
        if (line > INT32_MAX) return false;
        w->line = (int)line;
        skip_spaces(q);
        if (!*q->p) return true;
        if (!took_word(q, "in")) return false;
    }
    w->path = maybe_word(q);
    skip_spaces(q);
    return w->path && !*q->p;
}
