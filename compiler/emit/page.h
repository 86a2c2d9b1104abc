/* page.h: the sources of one program while they are printed.  Whatever asks for a name or an extent is handed this, so
 * several programs can be printed side by side. */
#ifndef EMIT_PAGE_H
#define EMIT_PAGE_H

#include "kernels/nest.h"

/* What a text describes is printed once, under one name. */
typedef struct Described {
    const char *text, *name, *remark, *where;
} Described;
typedef VEC(Described) Descriptions;

/* An extent of the description: BATCH. */
typedef struct Size {
    const char *name, *key;
    int64_t value;
    bool used;
} Size;

/* A parameter as a member of the struct of parameters, or of an array of structs in it. */
typedef struct Placed {
    Param *param;
    const char *group, *member; /* group: the array's name, or NULL */
} Placed;

/* The entry that is printed: what its buffers and loops are called, and which of them its text mentions. */
typedef struct Scope {
    VEC(struct Named_buffer {
        const Buffer *buffer;
        const char *name;
        bool noted;
    }) buffers;
    VEC(struct Lettered_loop {
        const Loop *loop;
        const char *letter;
        bool noted;
    }) loops;
    VEC(int) places; /* the buffers that are noted */
    bool homes[TABLES + 1];
    bool in_kernel; /* the text is a kernel's, not the entry's */
} Scope;

/* The functions of kernels. */
typedef struct Functions {
    /* One for each text: the name that its kernels wish for, and, once it is printed, the name that it has. */
    VEC(struct Printed_text { const char *wish, *name, *const *part_names; }) printed;
    Strings texts; /* text without names -> 1 + its place in `printed` */
    Strings names; /* of functions */
    Strings taken; /* in the whole file: functions, and what the entries call their buffers */
    Text text;
} Functions;

typedef struct Page {
    const Module *module;
    const Desc *desc;
    const Target *target;
    Precision precision;
    VEC(Size) sizes;
    VEC(Placed) params;      /* by their offsets */
    VEC(struct Constant {
        const Node *node;
        const char *name;
    }) constants;            /* table.c: printed as static arrays */
    const Program *program;  /* of the entry that is printed */
    Scope scope;
    Functions functions;
    bool anonymous;          /* buffers and values get one name: to compare the text of kernels */
    Descriptions products, attentions;
    Descriptions step_products, launched_loops; /* CUDA: loops that are one launch, and the products in them */
} Page;

Page *new_page(const Module *m);

#endif
