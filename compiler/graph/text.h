/* text.h: what prints and what reads the text form of graphs, for the text of kernels as well. */
#ifndef GRAPH_TEXT_H
#define GRAPH_TEXT_H

#include "graph/graph.h"

#define LARGEST_INT ((int64_t)1 << 48)

/* ---- graph/text.c */
enum { OUT_WORDS = 0 OUT_KINDS(LIST_ONE) };
extern const char *const out_words[OUT_WORDS];
/* What stands behind n's line; number: of names, by id. */
typedef void (*Marks)(void *user, Text *t, const Node *n, const int *number);
void print_marked_graph(Text *t, const Graph *g, Marks marks, void *user);
typedef struct Printer {
    Text *t;
    int *number;                /* by id: its number in the text; 0: it has none yet */
    int last, depth;
    Marks marks;                /* NULL: none */
    void *user;                 /* what they are told */
    const Nodes *also;          /* what is printed beside what the outputs are made of; NULL: nothing */
} Printer;
Printer printer_to(Text *t);
void print_graph_by(Printer *p, const Graph *g);
int number_of(const Printer *p, const Node *n); /* it must have been printed */
bool plain_char(char c);        /* may stand in a word without quotes (the first is no '-' or '.') */
void say_word(Text *t, const char *s);
void say_number(Text *t, double x);
void say_values(Text *t, const double *at, int64_t n);  /* [1, 2] */
void say_where(Text *t, const Where *w);        /* a comment, or nothing */



/* ---- graph/lex.c: err() at the line where something else stands */
typedef struct Parser {
    Where at;                   /* the line being read */
    const char *next;           /* the line after it */
    const char *p;              /* what is left of it */
    Node **named;               /* by number; NULL: not defined, or out of scope */
    Node **ever;                /* likewise, but never out of scope */
    int64_t names;              /* numbers are below this */
    VEC(int64_t) defined;       /* in order, for scopes */
    int depth;
    Graph *g;
} Parser;
bool next_line(Parser *q);      /* that has something on it; false: there is none */
const char *rest_of_line(const Parser *q);      /* what comes next, for messages */
void skip_spaces(Parser *q);
bool took_char(Parser *q, char c);
void want_char(Parser *q, char c);
bool took_word(Parser *q, const char *word);    /* exactly this one */
const char *maybe_word(Parser *q);              /* NULL: there is none */
const char *read_word(Parser *q, const char *what);
int64_t read_integer(Parser *q, int64_t low, int64_t high);
double read_number(Parser *q);
Node *read_node(Parser *q);     /* %7 */
Node *read_value(Parser *q);    /* likewise, of one result */
Shape read_shape(Parser *q);
DType read_type(Parser *q, Shape *s);
bool read_where(Parser *q, Where *w);           /* of a comment; false: it is another */
void end_of_line(Parser *q);    /* or a comment */

/* ---- graph/parse.c */
Parser parser_of(const char *file, const char *text);   /* whose first line has been read */
Graph *read_graph(Parser *q);   /* up to the line that begins another, or a program, or the end */
bool begins_graph(const Parser *q);
bool begins_program(const Parser *q);

#endif
