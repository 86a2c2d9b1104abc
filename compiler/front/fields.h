/* fields.h: the fields of `input`, and what kinds of data ask of them. */
#ifndef LATHE_FRONT_FIELDS_H
#define LATHE_FRONT_FIELDS_H

#include "front/front.h"

/* The size of an axis, or a bound: a number, or the name of one in config. */
typedef struct Size {
    const char *name; /* NULL: a number */
    int64_t n;
} Size;

enum { MOST_AXES = LATHE_MAXRANK - 2 }; /* beside the batch, and micro-batches */

typedef struct Field { /* a field of input */
    const char *name;
    Lathe_role role;
    DType dtype;
    bool packed, time; /* packed: only if documents share a sequence */
    bool mixed;        /* made by mixup, not in the data */
    int axes;          /* after the batch */
    Size axis[MOST_AXES], below;
    Where where;
} Field;

struct Fields {
    VEC(Field) all;
};

Where at_input(const Trace *trace, const char *name); /* the line of `inputs` that declares it */

/* ------------------------------------------------------------------ front/declared.c */

/* Refuses declared inputs that data.images, data.audio or data.series do not have. */
void check_files_and_series(const Trace *trace);
const char *kind_of_rows(const Trace *trace);   /* "images": of data with declared inputs */
const char *form_of_inputs(const Trace *trace); /* for messages, what they may be */
extern const char array_form[];                 /* of data.arrays */

/* ------------------------------------------------------------------ front/pictures.c */

#define image_form "{ image = { \"f32\", 32, 32, 3 }, label = { \"i32\", below = 10, target = true } }"

/* Once all declared fields are there: checks those of pictures, and adds what mixup makes of their class. */
void add_fields_of_pictures(Trace *trace);

#endif
