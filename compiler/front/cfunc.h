/* cfunc.h: what the files of nn.cfunc share: the text, its tree, values while it is traced.
 *
 *   text ──front/cfunc_text.c: what may stand in it──▶ ──front/cfunc_read.c: libclang's tree becomes ours──▶ C_function
 *   C_function + tensors ──front/cfunc_trace.c: statements, front/cfunc_value.c: arithmetic──▶ nodes of the graph */
#ifndef FRONT_CFUNC_H
#define FRONT_CFUNC_H

#include "front/front.h"

/* ------------------------------------------------------------------ the text and its tree */

typedef struct C_text {
    const char *text, *plain;   /* plain: comments are blanks; as long, line for line */
    Where where;                /* the Lua line of nn.cfunc */
    int line, column;           /* where the text begins in that Lua file, from 1; 0: it does not stand there as it is */
    Where call;                 /* of the function while it is traced; line 0: it is not */
    void *index, *unit;         /* libclang's, while it is read */
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
    C_kind type[MOST_FIELDS];   /* no structs */
} C_record;

typedef struct C_type {
    C_kind kind;
    const C_record *record;     /* C_STRUCT */
} C_type;

/* The order in kid[] is that of the source.  LOOP: start, condition, step, body; NULL: absent. */
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
    const char **field;         /* LIST: which field each kid is for; FIELD: field[0] */
    bool late;                  /* STEP: the value is the old one; REPEATED: the body comes before the condition */
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
    enum { UNSEEN, BEING_SEEN, SEEN } seen;     /* while recursion is looked for */
};

/* front/cfunc_text.c */
C_text *c_text(lua_State *L, const char *text, size_t bytes);      /* checked for what libclang must not see */
_Noreturn void c_error(C_text *t, C_place at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* front/cfunc_read.c */
C_function *c_read(C_text *t);          /* the last function of the text */
void c_close(C_text *t);                    /* gives back what libclang holds */

/* ------------------------------------------------------------------ values while tracing */

/* A constant, a tensor, or a struct of those.  A value that is not there (a variable not set yet) is NULL. */
typedef struct C_value {
    C_kind kind;
    Node *node;                         /* NULL: a constant; a C_INT or C_BOOL may be a node of BOOL */
    double number;
    const struct C_value **field;       /* C_STRUCT */
    const C_record *record;
} C_value;
typedef const C_value *C_valuep;

/* The position of the trace: for messages, and for the condition (path) under which something is computed. */
typedef struct C_here {
    C_text *text;
    C_place at;
    C_valuep path;                      /* holds where the code at hand is reached; never NULL */
    int steps;                          /* so far, against endless loops */
} C_here;

/* front/cfunc_value.c */
C_valuep c_number(C_kind k, double number);
C_valuep c_tensor(C_kind k, Node *n);
bool c_known(C_valuep v, bool *truth);                                  /* a constant, and whether it is not 0 */
C_valuep c_convert(C_here *h, C_valuep v, C_type to);
C_valuep c_truth(C_here *h, C_valuep v);                                /* v != 0 */
C_valuep c_not(C_here *h, C_valuep v);                                  /* of truths */
C_valuep c_and(C_here *h, C_valuep a, C_valuep b);
C_valuep c_or(C_here *h, C_valuep a, C_valuep b);
C_valuep c_choose(C_here *h, C_valuep c, C_valuep a, C_valuep b);       /* NULL where one of them is */
C_valuep c_unary(C_here *h, const char *op, C_valuep a);
C_valuep c_binary(C_here *h, const char *op, C_valuep a, C_valuep b);
const char *c_math_fault(const char *name, int n);                      /* of a call of math.h; NULL: c_math() knows it */
C_valuep c_math(C_here *h, const char *name, int n, C_valuep *v);
Node *c_node(C_valuep v, DType t);                                      /* a scalar where it is a constant */

/* front/cfunc_trace.c: the result, not NULL */
C_valuep c_trace(C_function *f, int n, C_valuep *arguments);

#endif
