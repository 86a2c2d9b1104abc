/* cfunc.h: what the files of nn.cfunc share: the text, its tree, values while it is traced.
 *
 *   text ──front/cfunc_text.c: checks──▶ ──front/cfunc_read.c: libclang's tree becomes ours──▶ C_function
 *   C_function + tensors ──front/cfunc_trace.c: statements, front/cfunc_value.c: arithmetic──▶ nodes of the graph */
#ifndef FRONT_CFUNC_H
#define FRONT_CFUNC_H

#include "front/front.h"

/* ------------------------------------------------------------------ the text and its tree */

typedef struct C_text {
    const char *text, *plain;   /* plain: comments are blanks, lines and columns the same */
    Where where;                /* the Lua line of nn.cfunc */
    int line, column;           /* where the text begins in that Lua file, from 1; 0: not found there */
    Where call;                 /* line of the call that is traced; line 0: none */
    void *index, *unit;         /* libclang's, while the text is read */
} C_text;

typedef struct C_place {
    int line, column;           /* in the text, from 1 */
} C_place;

#define C_KINDS(X) X(C_VOID, "void") X(C_BOOL, "bool") X(C_INT, "int") X(C_REAL, "float") X(C_STRUCT, "struct")
typedef enum C_kind { C_KINDS(LIST_MEMBER) } C_kind;    /* C_REAL: float and double, the program's reals */

enum { MOST_FIELDS = 16, MOST_PARAMETERS = 16 };
typedef struct C_record {
    const char *name;
    int n;
    const char *field[MOST_FIELDS];
    C_kind type[MOST_FIELDS];   /* not C_STRUCT */
} C_record;

typedef struct C_type {
    C_kind kind;
    const C_record *record;     /* C_STRUCT */
} C_type;

/* kid[] is in the order of the source.  REPEATED: start, condition, step, body; NULL: absent. */
typedef enum C_form {
    /* expressions */
    NUMBER, VARIABLE, FIELD, UNARY, BINARY, AND, OR, CHOOSE, ASSIGN, STEP, CALL, CONVERT, LIST, COMMA,
    /* statements */
    BLOCK, DECLARE, IF, REPEATED, RETURN, BREAK, CONTINUE, NOTHING
} C_form;

typedef struct C_function C_function;
typedef struct C_node {
    C_form form;
    C_place at;
    C_type type;                /* NUMBER, CONVERT, LIST, DECLARE */
    int n;
    struct C_node **kid;
    const char *word;           /* the operator ("+", also of `+=`; NULL: `=`); CALL, VARIABLE: the name */
    double number;              /* NUMBER */
    int slot;                   /* VARIABLE, DECLARE: which; LIST: none */
    const char **field;         /* LIST: the field of each kid; FIELD: field[0] */
    bool late;                  /* STEP: its value is the old one; REPEATED: body before condition */
    C_function *callee;         /* CALL: of the same text; NULL: of math.h */
} C_node;

struct C_function {
    const char *name;
    C_text *text;
    C_place at;
    C_type result;
    int nparams, nslots;        /* parameters are the first slots */
    const char *param[MOST_PARAMETERS];
    C_type type[MOST_PARAMETERS];
    C_node *body;
    enum { UNSEEN, BEING_SEEN, SEEN } seen;     /* for finding recursion */
};

/* front/cfunc_text.c */
C_text *c_text(lua_State *L, const char *text, size_t bytes);      /* checked: see the head of its file */
_Noreturn void c_error(C_text *t, C_place at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* front/cfunc_read.c */
C_function *c_read(C_text *t);          /* the last function of the text */
void c_close(C_text *t);                    /* frees what libclang holds */

/* ------------------------------------------------------------------ values while tracing */

/* A constant, a tensor, or a struct of these.  NULL: no value, of a variable that is not set yet. */
typedef struct C_value {
    C_kind kind;
    Node *node;                         /* NULL: a constant; a C_INT or C_BOOL may be a node of BOOL */
    double number;
    const struct C_value **field;       /* C_STRUCT */
    const C_record *record;
} C_value;
typedef const C_value *C_valuep;

/* The position of the trace, for messages, and the condition (path) under which it is reached. */
typedef struct C_here {
    C_text *text;
    C_place at;
    C_valuep path;                      /* true for elements that reach this code; never NULL */
    int steps;                          /* so far, to detect endless loops */
} C_here;

/* front/cfunc_value.c */
C_valuep c_number(C_kind k, double number);
C_valuep c_tensor(C_kind k, Node *n);
bool c_known(C_valuep v, bool *truth);                                  /* is it a constant; *truth: and not 0 */
C_valuep c_convert(C_here *h, C_valuep v, C_type to);
C_valuep c_truth(C_here *h, C_valuep v);                                /* v != 0 */
C_valuep c_not(C_here *h, C_valuep v);                                  /* of a truth value */
C_valuep c_and(C_here *h, C_valuep a, C_valuep b);
C_valuep c_or(C_here *h, C_valuep a, C_valuep b);
C_valuep c_choose(C_here *h, C_valuep c, C_valuep a, C_valuep b);       /* NULL if a or b is NULL */
C_valuep c_unary(C_here *h, const char *op, C_valuep a);
C_valuep c_binary(C_here *h, const char *op, C_valuep a, C_valuep b);
const char *c_math_fault(const char *name, int n);                      /* of a call of math.h; NULL: c_math() takes it */
C_valuep c_math(C_here *h, const char *name, int n, C_valuep *v);
Node *c_node(C_valuep v, DType t);                                      /* of a constant: a scalar */

/* front/cfunc_trace.c: the result, not NULL */
C_valuep c_trace(C_function *f, int n, C_valuep *arguments);

#endif
