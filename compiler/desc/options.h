/* options.h: what a compilation is asked for. */
#ifndef DESC_OPTIONS_H
#define DESC_OPTIONS_H

#include "graph/graph.h"

typedef struct Target Target; /* desc/target.h */
typedef VEC(const char *) Texts;

typedef uint64_t Passes_out;    /* 1 << PASS_fuse, … (desc/passes.h) */

/* What an option changes. */
typedef enum Changes {
    SAME_PROGRAM,               /* nothing that is built: the folder, what is printed */
    OTHER_PROGRAM,              /* the program, so that it has a folder of its own */
    OTHER_MODEL,                /* that and the model itself, so `lathe replay` gets the option too */
} Changes;

typedef struct Options {        /* of a compilation; desc/options.def says what each is */
#define FLAG(member, ...) bool member;
#define TEXT(member, ...) const char *member;
#define CHECKED(type, member, ...) type member;
#define FOUND(type, member, ...) type member;
#include "desc/options.def"
} Options;
typedef struct Block_rule {     /* of --frozen: PATTERN=TYPE */
    const char *match;          /* export names */
    DType type;                 /* BOOL: in no blocks */
} Block_rule;
typedef struct Block_types {    /* --frozen q4_0,*embed*=q8_0: of frozen matrices */
    DType others;               /* of those that no rule names; BOOL: in no blocks */
    VEC(Block_rule) rules;      /* the last one that names a matrix says its type */
    const char *fault;          /* a word that is neither; NULL: there is none */
} Block_types;
Block_types block_types(const Options *o);    /* of --frozen, or of --parameters */
bool has_blocks(const Options *o);            /* some matrices are stored in blocks */
bool makes_library(const Options *o);         /* --library, --amalgamation or --python */
bool made_for_ranks(const Options *o);          /* a trainer's: several ranks may take a step together */
bool only_answers(const Options *o);          /* --parameters q8_0 and the like: nothing is trained */
DType cache_type(const Options *o);           /* of what decode remembers of each position */
const char *block_option(const Options *o);   /* "--frozen q8_0" */
char *options_text(const Options *o, Changes least);        /* desc/options.c: " --head-rows 3 --no-fuse": those that change so much; "": none */

typedef struct Precision {
    const char *name;           /* as --precision says */
    DType real, saved;          /* what is computed with; how values of forward are kept for backward */
    DType multiplied;           /* what products and attention take: real, or 16 bits where the target multiplies those */
    DType weights;              /* how parameters are stored: real, or 16 bits, updated by rounding at random (--parameters bf16) */
    bool tf32;                  /* products of F32 round their operands to 10 bits of fraction */
    bool scaled;                /* gradients are those of the loss times the input loss_scale */
} Precision;

#endif
