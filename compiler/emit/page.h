/* page.h: the sources of one module while they are printed. All of the printer is handed this, so several modules can
 * be printed side by side; of one module, one page at a time. */
#ifndef EMIT_PAGE_H
#define EMIT_PAGE_H

#include "kernels/nest.h"

/* A description that is printed once, and its name. */
typedef struct Described {
    const char *text, *name, *remark, *where;
} Described;
typedef VEC(Described) Descriptions;

/* A size of the description, such as BATCH. */
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

/* The entry that is printed: the names of its buffers and loops, and which of them its text mentions. */
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
    VEC(int) places; /* the numbers of buffers that are noted */
    bool homes[TABLES + 1];
    bool in_kernel; /* the text belongs to a kernel, not to the entry */
} Scope;

typedef VEC(const char *) Lines; /* of the description: "gpt.lua:17 h.ln_1" */

/* The functions of kernels. */
typedef struct Functions {
    /* One for each text: the name that its kernels would like, and the name that it gets when it is printed; the lines
     * that ask for it. */
    VEC(struct Printed_text { const char *wish, *name, *const *part_names; Lines lines; }) printed;
    Strings texts; /* text without names -> 1 + its place in `printed` */
    Strings names; /* names of functions */
    Strings taken; /* every name that a new function may not have */
    Text text;
} Functions;

typedef struct Page {
    const Module *module;
    const Desc *desc;
    const Target *target;
    Precision precision;
    VEC(Size) sizes;
    VEC(Placed) params; /* in the order of their offsets */
    VEC(struct Constant {
        const Node *node;
        const char *name;
    }) constants;           /* table.c: printed as static arrays */
    const Program *program; /* whose entry is printed */
    Scope scope;
    Functions functions;
    bool library;   /* the text becomes part of a library, not of a trainer */
    bool anonymous; /* all buffers and values have one name: to compare the texts of kernels */
    Texts product_rows; /* of a library: one for each product and type */
    Descriptions products, attentions, convolutions, by_ids;
    Descriptions step_products, launched_loops; /* CUDA: products in loops that are one launch, and those loops */
} Page;

Page *new_page(const Module *m);
const char *described(const Descriptions *list, const char *text); /* the name of the one with this text, or NULL */

#endif
