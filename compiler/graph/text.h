/* text.h: printing and reading the text form of graphs, also for the text of kernels. */
#ifndef GRAPH_TEXT_H
#define GRAPH_TEXT_H

#include "graph/graph.h"

#define LARGEST_INT ((int64_t)1 << 48)

/* ---- graph/text.c */
enum { OUT_WORDS = 0 OUT_KINDS(LIST_ONE) };
extern const char *const out_words[OUT_WORDS];
/* Appends to n's line; number: as in Printer. */
typedef void (*Marks)(void *user, Text *t, const Node *n, const int *number);
void print_marked_graph(Text *t, const Graph *g, Marks marks, void *user);
typedef struct Printer {
    Text *t;
    int *number;                /* by id: the number in the text; 0: none yet */
    int last, depth;
    Marks marks;                /* NULL: none */
    void *user;                 /* for marks */
    const Nodes *also;          /* nodes to print besides those that outputs need; NULL: none */
} Printer;
Printer printer_to(Text *t);
void print_graph_by(Printer *p, const Graph *g);
int number_of(const Printer *p, const Node *n); /* n must have been printed */
bool plain_char(char c);        /* needs no quotes in a word (which must not begin with '-' or '.') */
void say_word(Text *t, const char *s);
void say_number(Text *t, double x);
void say_values(Text *t, const double *at, int64_t n);  /* [1, 2] */
void say_where(Text *t, const Where *w);        /* as a comment; may be nothing */



/* ---- graph/lex.c: err() at the line where something else stands */
typedef struct Parser {
    Where at;                   /* the line being read */
    const char *next;           /* the line after it */
    const char *p;              /* the rest of it */
    Node **named;               /* by number; NULL: not defined or out of scope */
    Node **ever;                /* likewise, never out of scope */
    int64_t names;              /* numbers are below this */
    VEC(int64_t) defined;       /* in order, for scopes */
    int depth;
    Graph *g;
} Parser;
bool next_line(Parser *q);      /* the next one that is not empty; false: none */
const char *rest_of_line(const Parser *q);      /* for messages */
void skip_spaces(Parser *q);
bool took_char(Parser *q, char c);
void want_char(Parser *q, char c);
bool took_word(Parser *q, const char *word);    /* if it comes next */
const char *maybe_word(Parser *q);              /* NULL: there is none */
const char *read_word(Parser *q, const char *what);
int64_t read_integer(Parser *q, int64_t low, int64_t high);
double read_number(Parser *q);
Node *read_node(Parser *q);     /* %7 */
Node *read_value(Parser *q);    /* likewise, with one result */
Shape read_shape(Parser *q);
DType read_type(Parser *q, Shape *s);
bool read_where(Parser *q, Where *w);           /* of a comment; false: another comment */
void end_of_line(Parser *q);    /* or a comment comes next */

/* ---- graph/parse.c */
Parser parser_of(const char *file, const char *text);   /* at the first line */
Graph *read_graph(Parser *q);   /* up to the next graph or program, or the end */
bool begins_graph(const Parser *q);
bool begins_program(const Parser *q);

#endif
