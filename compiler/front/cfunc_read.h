/* cfunc_read.h: what the readers of C functions share: their state, questions to libclang, expressions. */
#ifndef FRONT_CFUNC_READ_H
#define FRONT_CFUNC_READ_H

#include "front/cfunc.h"
#include "front/clang.h"

enum { DEEPEST = 200, MOST_SLOTS = 256 };

typedef VEC(Cursor) Cursors;

typedef struct C_reader {
    C_text *t;
    VEC(C_function *) functions;
    VEC(struct Known_record {
        Cursor c;
        C_record *r;
    }) records;
    C_function *f; /* being read */
    VEC(struct Local {
        Cursor c;
        C_type type;
    }) locals; /* of f, by slot */
    int depth;
} C_reader;

/* Functions over libclang's cursors. */
Cursors c_children(Cursor c);
const char *c_kind_of(Cursor c);
bool c_is_kind(Cursor c, const char *kind);
const char *c_name_of(Cursor c);
C_place c_place(Cursor c);                                      /* of its beginning in the text */
C_place c_place_in_text(Clang_place p, unsigned *offset);       /* *offset: in bytes; may be NULL */

/* Refuse unsupported syntax, with a message at its place. */
_Noreturn void c_refuse(C_reader *r, Cursor c, const char *what);
_Noreturn void c_refuse_kind(C_reader *r, Cursor c);

/* cfunc_read.c: types, expressions */
C_type c_value_type(C_reader *r, Clang_type t, Cursor at);
void c_read_record(C_reader *r, Cursor c);
C_node *c_new_node(C_form form, Cursor c, int n);
C_node *c_read_kids(C_reader *r, Cursor c, C_form form, int n); /* n expressions */
C_node *c_read_expression(C_reader *r, Cursor c);

/* cfunc_statements.c */
int c_new_slot(C_reader *r, Cursor c, C_type type);             /* for a variable */
C_node *c_read_block(C_reader *r, Cursor c);
C_node *c_read_statement(C_reader *r, Cursor c);

#endif
