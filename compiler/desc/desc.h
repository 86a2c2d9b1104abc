/* desc.h: what a Lua description says, for which target, with which options. */
#ifndef DESC_DESC_H
#define DESC_DESC_H

#include "desc/options.h"
#include "graph/graph.h"
#include "runtime/interface/lathe_model.h"

typedef struct Param Param;
struct Param {
    const char *name;           /* layer path and own name: "layer.attn.qkv.weight" */
    const char *export_name;    /* "h.%d.attn.c_attn.weight": one %d for each leading loop axis */
    int loops;                  /* leading axes that are copies made by nn.stack / nn.map */
    const char *stack;          /* path of the innermost of those: "layer"; NULL where there are none */
    Shape shape;                /* with the loop axes */
    Lathe_init init;
    double init_a, init_b;      /* see Lathe_init */
    bool decay;                 /* weight decay applies */
    DType blocks;               /* the type that it is stored in, frozen (--frozen q8_0): behind all others; BOOL: in none of blocks */
    bool teacher;               /* of the teacher (--distill): it lies behind all of the model's own */
    bool frozen;                /* in all its copies: it has no gradient and no moments, and lies behind those that have */
    bool directed;              /* the entry direction updates it: it lies behind those that have moments, before frozen ones */
    int out_axis;               /* of a matrix of nn.linear: that of its outputs, without copies */
    int64_t zero_row;           /* 1 + the row of each copy that is always zero; 0: none */
    int64_t height;             /* layers above its first copy (front/optimizers.c); 0 without layer_decay */
    Where where;
    bool statistic;             /* no parameter, but a state that checkpoints have beside them: Desc.statistics */
    /* set by layout_parameters(): */
    int64_t offset;             /* elements, in each of the flat arrays */
    int64_t stride[MAXRANK];    /* elements */
    bool adapter;               /* it is of one (--lora): A, B or magnitudes, which groups do not freeze */
    Param *struct_of;           /* the first of those whose copies lie in one struct with its own; NULL: it has no copies */
    /* set by pass_merge: */
    Param *wide;                /* a wide parameter that begins with this one; further ones follow by the same field */
    Param *first;               /* of a wide parameter: the one it begins with; NULL: it is a parameter itself */
    int number;                 /* set by name_parameters(): in the order of offsets */
};

typedef struct Lora {           /* --lora (front/lora.c) */
    int64_t rank;
    double scale, alpha, dropout;
    bool rank_stabilised, decomposed;
    Texts match, train;         /* patterns of export names: of weights that get an adapter (none: all), of what else is trained */
    Texts except;               /* weights that get none */
} Lora;

typedef struct Adapter {        /* x · weightᵀ + scale · (x · aᵀ) · bᵀ; decomposed: times magnitude / norm, for each output */
    Param *weight, *a, *b, *magnitude; /* magnitude: NULL where not decomposed */
    int across;                 /* axis of the weight along x, without its copies: 1: [out, in], 0: [in, out] */
} Adapter;

typedef struct Direction {      /* an optimizer written in Lua (front/direction.c) */
    const char *name;           /* "optim.muon" */
    Texts match;                /* patterns of export names: which parameters it updates; none: matrices of stacks */
    double decay, others;       /* of these, decoupled; the learning rate of all others in relation to lr */
    bool decays;                /* its function takes weight decay itself */
    int function;               /* that, in Lua's registry */
} Direction;

typedef struct Prefer {         /* --prefer (front/prefer.c) */
    bool against_reference;     /* DPO; else ORPO, which needs none */
    double beta;
} Prefer;

typedef struct Distill {        /* --distill (front/distill.c) */
    const char *file, *config;  /* the teacher's description; NULL: its defaults */
    Texts sets;                 /* values of its own configuration */
    double alpha, temperature;
} Distill;

typedef struct Tensor_spec {    /* an input or a state */
    const char *name;
    DType dtype;
    Shape shape;
    Lathe_role role;
    Where where;
    int rows_axis;              /* of a state: as in Lathe_tensor */
    bool fixed;
    int places_axis;            /* of decode: the axis with an entry for each position, written when its token is read; 0: none */
    int64_t below;              /* of an input of ids: they are 0 … below - 1; 0: the description does not say */
} Tensor_spec;

typedef struct Train_turn {           /* of training: Lathe_turn says what its words mean */
    const char *name, *loss, *of;
    int64_t every;
    Lathe_recipe recipe;        /* train's, with the turn's own settings */
    const struct Direction *direction; /* NULL: that has its optimizer */
} Train_turn;

typedef struct Knob {           /* of the resolved configuration */
    const char *name, *value;   /* as Lua would print it */
    const char *type;           /* integer, number, boolean, string */
    bool modelled;              /* not only check, train, data and generate read it; set where entries are traced */
} Knob;

typedef struct Desc {
    const struct Options *options;          /* what it is compiled with */
    const char *file, *model, *config;      /* models/gpt.lua, gpt, char */
    bool of_text;                           /* graphs came as text: of parameters the shapes are known, not where they lie */
    VEC(Knob) knobs;
    Texts configs;              /* the names of its configurations */
    Texts for_run;                          /* those of Options.sets that a run of the trainer knows, and nobody before it */
    VEC(Param *) params;                    /* in order of first use */
    VEC(Tensor_spec) inputs;                /* of all entries, by name */
    VEC(Param *) statistics;                /* of nn.batchnorm; also states, in the same order: offset, stride are not used */
    VEC(Tensor_spec) states;                /* that entries keep */
    VEC(Graph *) graphs;                    /* of its entries: train, grad, eval and those that it has */
    Lathe_recipe recipe;                    /* train = {…} and data = {…} */
    VEC(Lathe_group) groups;                /* of parameters, as train says */
    const Lora *lora;                       /* NULL: none */
    VEC(Adapter) adapters;
    const Direction *direction; /* NULL: the recipe's optimizer updates all parameters, or there are turns */
    const Prefer *prefer;       /* NULL: the description's own loss */
    const Distill *distill;     /* NULL: no teacher */
    struct Desc *teacher;       /* of it name, config, knobs, params and hf; NULL: none */
    Texts unfit;                                  /* weights whose adapters would do nothing, or more when merged: it is read again without */
    int losses;                                   /* by name, which a step reports beside their sum; 0: one, or turns */
    VEC(Train_turn) turns;                        /* in their order; none: one loss, one optimizer */
    const char *hf;                         /* how Hugging Face knows it, as JSON (front/hf.c); NULL: it does not */
    int64_t batch, seq, source_seq, vocab;              /* 0 where it has none */
    int64_t context;                                    /* positions that decode has room for; 0: no attention or table says */
    const char *uncut, *one_rank;           /* why --memory, several ranks may not cut the batch, with the line; NULL: they may */
    uint64_t source_hash;                   /* of every Lua file read and every override */
    struct Param_names *param_names;        /* find_param() */
} Desc;

/* describe.c: of graphs that came as text: parameters, inputs, states */
Desc *parse_graphs(const char *file, const char *text, const Options *o);    /* of all that the text has */
Desc *describe(Graph *g, const char *file, const Options *o);    /* g may be NULL */
void describe_also(Desc *d, Graph *g);
const Graph *entry_graph(const Desc *d, Entry entry);       /* the first of that entry; NULL: it has none */
int turn_of(const Desc *d, const char *param);              /* the turn that trains it; -1: none */
bool has_directions(const Desc *d);                         /* an optimizer is written in Lua */
const Direction *direction_of(const Desc *d, const char *param); /* that of its optimizer; NULL: that is not written in Lua */
int64_t pieces_of_micro_batch(const Desc *d, const Graph *g); /* that --memory or --exact-sums cuts each micro-batch of training into; it divides the rows */
int64_t parts_of_batch(const Desc *d, const Graph *g);      /* micro-batches, or their pieces, that g computes one after another */

/* parameters.c */
Param *find_param(const Desc *d, const char *name);         /* wide ones too; NULL where there is none */
void know_param(const Desc *d, Param *p);                   /* find_param() finds p, and wide ones that begin with it, from now on */
void layout_parameters(const Desc *d);                      /* their offsets and strides */
int64_t first_of_teacher(const Desc *d);                    /* the offset of its first; once they are laid out */

/* form.c: what pass normal leaves */
void check_form(const Graph *g, const char *stage);            /* desc/form.c: after pass normal */
void refuse_text(const Desc *d, const char *first);             /* err() where a pass before the first would have changed it */

/* range.c */
bool may_wrap(const Node *n);                               /* an i32 sum, product, … that may be beyond what 32 bits hold */
bool ids_below(const Node *ids, int64_t n, const struct Desc *d);   /* all 0 … n - 1 for certain, data being as the trainer checks it */
int64_t largest_integer(const Node *n, const struct Desc *d);   /* the largest |value| that an i32 node may have; 0: anything */
bool classes_below(const Node *ids, int64_t n, int64_t ignored, const struct Desc *d);  /* or the one that counts for none */

#endif
