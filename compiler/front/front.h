/* front.h: what the files of the front end share: the trace, places in the user's files, tensors, scopes, loops. */
#ifndef FRONT_H
#define FRONT_H

#include "desc/passes.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <stdarg.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ tensors as Lua sees them */

/* Where the batch or time axis of the inputs is in a value: axis `axis` has extent outer · count · inner, whose middle
 * factor is the batch or time (B and T merged: outer B, inner 1).  axis -1: the value has no such axis. */
typedef struct Factor {
    int axis;
    int64_t outer, inner;
} Factor;

/* Why a value cannot be computed one time step at a time. */
typedef struct Mixed {
    Where where;
    const char *why;
} Mixed;

typedef struct Tensor {
    Node *node;
    Factor batch, time;
    const Mixed *mixed; /* NULL: each time step depends on its own step alone */
    int trace;          /* number of the trace that made it: no other entry may use it */
} Tensor;

enum { NO_AXIS = -1 };
#define NOWHERE ((Factor){.axis = NO_AXIS, .outer = 1, .inner = 1})

/* ------------------------------------------------------------------ the trace: one description while it is read */

typedef struct Trace {
    Desc *desc;
    Graph *graph; /* NULL while no entry is traced */
    int number;   /* of the entry, from 1 */
    int losses;   /* how many outputs of grad, the first, are losses */
    VEC(const char *) metrics; /* front/metrics.c: the description's own, once eval is traced */
    bool measuring;            /* they are being traced */
    int first;    /* id of its first node */
    bool decode;
    int64_t batch, time; /* extents in this entry: in decode, the number of rows decoded together, and 1; in
                          * prefill as many tokens as it reads */
    const Train_turn *turn;    /* that is traced; NULL: none */
    int grown;           /* Graph.grown of train */
    int widened;         /* the multiple of the batch at which the entry is traced again for comparison; 0: not again */
    int states_before;   /* widened: the states that others have made */
    int site;            /* number of random ops so far */
    int decode_states;   /* of prefill: that it has met so far */
    int time_places;     /* number of calls so far that asked whether an axis is time; … */
    VEC(bool) over_time; /* … their answers in the entry before decode */
    struct Uncounted {   /* the `ignore` of the first loss that reads input.targets */
        bool said;
        int64_t id; /* an id that is not a class; 0: none */
        Where where;
    } uncounted;
    int time_aware;      /* > 0: inside a library function that keeps track of the time axis itself */
    const char *path;    /* layer path */
    VEC(Loop *) open;    /* every open loop but micro, outermost first */
    VEC(Loop *) copies;  /* the ones in which each iteration has its own parameters (stack, map) */
    VEC(struct New_state {
        const char *name;
        Node *node;
        int depth;
    }) states; /* new states of this entry; depth: number of open loops around node, without micro */
    Table rows; /* decode: per node, the Factor of its batch axis */

    /* Each of these belongs to one file. */
    struct Fields *fields; /* front/inputs.c: what `input` has */
    struct Preferred {                                       /* front/prefer.c: of this entry */
        Node *likelihood; /* real [rows]: log-probabilities of the answers; NULL: not met yet */
        VEC(Output) metrics;
    } preferred;
    const Param *directed;                                   /* front/direction.c: whose update is being traced; else NULL */
    struct Teacher *teacher;                                 /* front/distill.c: in both traces; NULL: there is none */
    bool adapting;                                           /* front/lora.c: an adapter's parameters are being made */
    VEC(Param *) linear_weights;                             /* front/lora.c: those that an adapter can have */
    struct Usage *used;                                      /* front/limits.c */
    VEC(struct Source { const char *file, *text; }) sources; /* front/lua.c: read so far */
    const char *folder;                                      /* of the description: require looks nowhere else */
    uint64_t hash;                          /* of the description, the library and the options that change c */
    bool settling;                          /* check, train, data or generate is read: what they read of c is not the model's */
    VEC(const char *) late_sets;            /* front/config.c: --set of the recipe's names, for read_recipe() */
    VEC(struct Scope *) scopes, all_scopes; /* front/scope.c: entered, outermost first; all of this entry */
    VEC(struct Known *) known, of_stacks;   /* front/param.c: all parameters; those made in stacks */
    Strings known_names, known_exports;     /* numbers in `known`, from 1; exports: of those outside stacks */
    struct Notes *noting;                   /* front/axes.c: in a process that probes */
    VEC(struct Noted) learned;              /* by place, and there in order */
    VEC(int) next_there;                    /* per place, at its first: tensors met so far in this entry */
    int lines;                              /* front/titles.c: since the last tensor was made */
    bool untitled;                          /* locals give no titles */
} Trace;

/* The trace that L belongs to: each trace has its own Lua state. */
static inline Trace *trace_of(lua_State *L) { return *(Trace **)lua_getextraspace(L); }

/* front/limits.c */
lua_State *limited_state(Trace *trace);               /* a new one */
void limit_run(lua_State *L);                         /* from now on instructions are counted and time is limited */
void end_limits(lua_State *L);                        /* ends the limit of time */
void call_lua(lua_State *L, int nargs, int nresults); /* a call of the user's code; errors end the program */
void watch_lines(lua_State *L, bool lines);           /* whether title_locals() runs before each line */
void leave_few_instructions(Trace *trace);            /* sets the limit to a tenth of the usual, counted from now */

/* ------------------------------------------------------------------ front/lua.c, front/where.c: files, places, errors */

lua_State *sandbox_open(Trace *trace, const Options *o);
void sandbox_close(lua_State *L);
void run_description(lua_State *L, const char *file); /* pushes the table that it returns */
const char *library_text(const char *name);           /* compiler/lua/NAME.lua */
void push_library(lua_State *L, const char *name);    /* what it returns */
const char *source_text(const Trace *trace, const char *file); /* of a file that was read; else NULL */
const char *source_name(const Trace *trace, const char *file); /* the same name, in the arena */
Where lua_place(lua_State *L); /* the innermost line of the user's files, with the layer path */
Where place_of_key(const Trace *trace, const char *section, const char *key); /* the description's first line with
                                        `key =` (after the one with `section =`, unless NULL), or its file */
Where place_of_quoted(const Trace *trace, const char *key, const char *word); /* the description's first line with
                                        "word", at `key =` or below, or that line */
void local_names(const char *text, const char ***words, int *n);              /* that follow `local` or `function` */
_Noreturn void user_error(lua_State *L, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* front/pytorch.c: "; here it is nn.mse" for a name of PyTorch's; NULL: it is none.  known: the functions of nn. */
const char *known_as(const char *name, const char *const *known, int n);
_Noreturn void refuse_torch(lua_State *L, const char *name); /* name: "torch" or "F", which the line says */
const char *option_known_as(const char *word, const char *const *known, int n); /* of options, in the same way */
/* front/python.c */
const char *python_hint(const char *text, int line, const char *message); /* "\n  in Lua, …" or "" */
const char *python_name(const char *name);                                /* "; in Lua it is nil", or NULL */
const char *did_you_mean(const char *word, const char *const *known, int n); /* "; did you mean 'x'?" or "" */
const char *advice(const char *word, const char *const *known,
                   int n);                     /* "; did you mean 'x'?" or "; known are a, b" or "" */
const char *without_position(const char *message); /* a message of Lua without its "file:line: " */
const char *library_function(lua_State *L);    /* "nn.attention" while one runs, or NULL */
const char *lua_text(lua_State *L, int index); /* a value as an error message shows it */
void keys_of(lua_State *L, int index, const char ***words, int *n); /* string keys, sorted */
void wrap_function(lua_State *L, const char *name, int most); /* replaces the Lua function on top by a C function that calls it */
enum { ANY_NUMBER = -1 };
int parameters_of(lua_State *L);
void check_surplus(lua_State *L, int most, const char *name); /* refuses more arguments, unless they are nil */
void wrap_library(lua_State *L, const char *name);  /* makes the functions of the table on the top safe to tail-call */
void strict_table(lua_State *L, const char *name);  /* makes unknown keys of the table on the top errors */

/* front/config.c */
void read_config(lua_State *L, int model, const Options *o); /* fills desc->knobs, pushes c */
bool knob_integer(const Trace *trace, const char *name, int64_t *value); /* the model depends on it from now on */
bool knob_is_integer(const Trace *trace, const char *name, int64_t *value);  /* likewise, without that */
void size_of_entry(lua_State *L, int c, const char *name, int64_t value); /* sets c.name for the current entry */
void change_knob(lua_State *L, int c, const char *name, int64_t value); /* for good, for knob_integer() too */
void apply_late_sets(Trace *trace);           /* --set of the recipe's names */
void check_model_keys(lua_State *L, int model);

/* A function for Lua; for editors its signature, "axis: integer): lathe.Tensor", and a line of documentation. */
typedef struct Binding {
    const char *name;
    lua_CFunction f;
    const char *signature, *doc;
} Binding;

/* front/axes.c: names the axes of tensors that Lua is given */
typedef enum Axes_of { AXES_OF_TENSOR, AXES_OF_STATE, AXES_OF_PARAMETER, AXES_OF_LOOP } Axes_of;
void title_locals(lua_State *L, lua_Debug *ar); /* front/titles.c: before a line runs */
void expect_titles(lua_State *L);               /* a tensor has been made */
void leave_titles(lua_State *L);                /* for the rest of this trace */
int gives_call(lua_State *L);
void learn_axes(lua_State *L, int model, int c); /* before the entries are traced */
void axes_new_entry(Trace *trace);
void name_axes(Trace *trace, Shape *s, Axes_of what); /* of the next node */
void note_read(Trace *trace, const char *knob);
void end_notes_of_entry(Trace *trace); /* the entry was traced to its end */

/* front/tensor.c: tensors as Lua values */
extern const struct Bindings {
    const Binding *list;
    bool function, method;       /* nn.f(x), x:f() */
} all_bindings[];                /* ends with a NULL list */
void open_tensors(lua_State *L); /* the metatable; nn and methods into the table on the top */
void push_tensor(lua_State *L, Node *n, Factor batch, Factor time, const Mixed *mixed);
void push_like(lua_State *L, Node *n, const Tensor *like);  /* of the same shape */
Tensor *tensor_at(lua_State *L, int arg, const char *what); /* error unless a live tensor */
Tensor *is_tensor(lua_State *L, int arg);                   /* NULL: it is not one */
char *tensor_text(const Tensor *t);                         /* "[batch 12, time 64, width 128]" */
char *shape_words(const Tensor *t, Shape s);                /* shape s with the axis names of t */
int axis_at(lua_State *L, int arg, int rank);               /* -rank … rank-1 */
int axis_value(lua_State *L, lua_Integer axis, int rank);
Shape shape_at(lua_State *L, int arg); /* {2, 3} */
int64_t integer_at(lua_State *L, int arg, const char *what);
void check_words(lua_State *L, int table, const char *const *known, int n, const char *what); /* refuses other keys */
void check_list(lua_State *L, int table, const char *what);                                   /* refuses string keys */
void check_size(lua_State *L, Shape s);                     /* refuses extents or a number of elements over the limits */
int64_t extent_sum(lua_State *L, int64_t a, int64_t b, const char *doing); /* a + b, refused if too long for an axis */
_Noreturn void refuse_comparison(lua_State *L, const char *symbol, const char *function);

/* front/map.c: every element-wise op of graph/ops.def, operators, broadcasting */
extern const Binding map_bindings[], random_bindings[];
void bind_ops(lua_State *L, int nn, int methods);
void bind_operators(lua_State *L, int meta);
void set_op(lua_State *L, int table, const char *name, lua_CFunction f, Op op);
Op element_twin(Op reduction); /* max of rmax; OPS: none */
Shape broadcast_shape(lua_State *L, const Tensor *t, int n, Tensor *result, const char *doing); /* of an element-wise
                                                           result; its batch and time axes */
const Mixed *mixing(lua_State *L, const Mixed *already, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void check_class(lua_State *L, Op op, DType t, const char *doing);
enum { EXACT_INTEGERS = 1 << 24 }; /* fp32 represents all integers up to it */
bool single(const Trace *trace);   /* whether reals have fp32 precision or less */
double real_number(lua_State *L, int arg, const char *doing); /* refuses numbers beyond fp32, warns if an integer
                                                                 is rounded */

/* front/reduce.c: sum, mean, max, min; axes for all reductions */
extern const Binding reduce_bindings[];
extern const luaL_Reg reduce_functions[];
void bind_reductions(lua_State *L, int nn, int methods);

/* front/equal.c: == between a tensor and something else is an error */
char *guard_comparisons(const char *text);
int equal_call(lua_State *L); /* __equal(a, b) */

/* front/move.c, front/index.c: reshape … topk, dot, zeros; they keep track of the batch and time axes */
extern const Binding move_methods[], join_functions[], index_methods[], shape_functions[];
Factor factor_moved(Factor f, const int *to); /* to[axis]: where each axis went, or -1 */
const Mixed *mixed_along(lua_State *L, const Tensor *t, int axis, const char *doing); /* of an op along axis */
Shape axes_without(Shape s, int axis, int *to);
void axes_kept(int *to);

/* front/cfunc.c */
extern const Binding cfunc_bindings[];

/* front/scope.c: the layer path, and where parameters belong */
extern const luaL_Reg scope_functions[];
void scopes_new_entry(Trace *trace);
const char *path_of(const Trace *trace, const char *own);   /* "layer.attn" + own */
const char *export_of(const Trace *trace, const char *own); /* "layer.%d.attn" + own */
const char *stack_here(const Trace *trace); /* "layer": the stack to which parameters made here belong; NULL: none */
bool applied_again(const Trace *trace);     /* whether a layer is applied again, with the same parameters */
void check_name(lua_State *L, const char *name);

/* front/param.c: parameters, states, statistics */
extern const luaL_Reg param_functions[];
bool is_statistic(const Desc *d, const char *state);
Shape with_copies(lua_State *L, Shape own); /* of a parameter or state made here: with an axis for each stack around */
const char *new_state_name(const Desc *d, const char *wish); /* wish, wish_2, …: one that no state has */

/* front/time.c: what depends on the entry: time, positions, random bits */
bool own_positions(const Trace *trace); /* whether each row has a position of its own */
extern const luaL_Reg time_functions[];
typedef struct Draws { /* philox(seed, step, site, row, index): seed, step and site i32 [], row and index like a tensor */
    Node *seed, *step, *site, *row, *index;
} Draws;
Node *position_node(Trace *trace); /* i32 []: in decode, the position of the first token; in slots [slots]: of each row */
Draws draws_of(lua_State *L, const Tensor *like, int64_t each); /* at a new site; each: numbers per element, the step of index */

/* front/convolution.c */
extern const luaL_Reg convolution_functions[];

/* front/attention.c */
extern const luaL_Reg attention_functions[];

/* front/head.c */
extern const luaL_Reg head_functions[];
bool are_targets(const Node *n); /* input.targets, or a view of it */

/* front/loop.c: stack, map and scan open their loops through these */
extern const luaL_Reg loop_functions[];
bool loop_is_open(const Trace *trace, const Loop *l);
Node *stack_over(Loop *l, Node *n); /* [trip, …], once l is closed: n of each iteration; copies of an n from outside */
void close_loop(Trace *trace, Loop *l); /* the innermost open one, with the states that were set in it */

/* front/outputs.c: the entry's outputs, of forward's two results at the top */
void collect_returned(lua_State *L, int model);
bool reaches_targets(const Desc *d, Node *n);
void check_plain_name(const char *of, const char *name, Where w); /* of a loss or turn: a word that C can have in names */
void check_logged_name(const char *of, const char *name, Where w); /* and one that lines of metrics.jsonl do not use */
void check_scalar(const Tensor *t, const char *what);

/* front/metrics.c: the description's own metrics, added to the outputs of eval; forward's two results are at the top */
void collect_metrics(lua_State *L, int model, int c);
void check_metrics(lua_State *L, int model, const Graph *eval, const Graph *wide);
bool is_own_metric(const Trace *trace, const char *name);
_Noreturn void refuse_metric(const Trace *trace, const Output *o, const char *why);

/* front/turns.c: the turns of a step */
void read_turn_list(lua_State *L);   /* train's turns, on the top; all else of train was read */
bool go_to_turn(Trace *trace, int k); /* goes to the k-th; without turns there is one round, of none; false: no more */
void mark_turn(const Trace *trace, Graph *g);
int first_site(const Trace *trace);  /* of random ops: each turn draws its own */
Where place_of_turn(const Trace *trace, const Train_turn *u);
void check_turns(const Trace *trace); /* once entries are traced */

/* front/recipe.c */
/* Pushes a part of the description: the table itself, or what the function returns for c, at index c; false: absent. */
bool push_description_part(lua_State *L, int model, int c, const char *key);
void read_turn_settings(lua_State *L);     /* of the table on the top: optimizer, schedule, clipping */
void read_recipe(lua_State *L, int model); /* c is at the top; fills desc->recipe */
const char *const *recipe_names(int *n);   /* that --set takes besides the knobs */
void check_recipe(lua_State *L);           /* against parameters and outputs, once entries are traced */
bool recipe_knows(const char *key);
bool run_knows(const char *key);   /* a setting that is not a number: only the trainer reads it */
void recipe_set(Trace *trace, const char *key, const char *value);
extern const luaL_Reg recipe_functions[];

/* front/direction.c */
extern const luaL_Reg direction_functions[];
void read_direction(lua_State *L);                    /* `own` of train's optimizer, on the top */
bool directs(const Trace *trace, const Param *p);
void trace_direction(lua_State *L); /* once all other entries are traced */

/* front/groups.c: reads train's groups, on the top; once entries are traced, checks that each has parameters */
void read_groups(lua_State *L);
void check_groups(const Trace *trace);
void read_growth(lua_State *L);             /* front/growth.c: accumulate_at of the table on the top */
void set_growth(Trace *trace, const char *text); /* by --set; "none" */
int next_grown(const Trace *trace, int after); /* the next larger of its numbers of micro-batches below accumulate; 0: none */
void check_accumulate_at(const Trace *trace);
void check_noise_scale(const Trace *trace); /* front/noise.c */
void check_exact_sums(const Trace *trace);  /* front/exact.c */
void check_shards(const Trace *trace);
void check_optimizers(const Trace *trace); /* front/optimizers.c; it also counts layers for layer_decay */
int64_t frozen_copies(const Desc *d, const Param *p); /* by train's groups */
bool freezes(const Desc *d, const Param *p);          /* all of them */

const char *names_of_parameters(const Desc *d); /* the first ones */
int64_t copies_of_param(const Param *p);
int64_t matching_copies(const char *pattern, const Param *p); /* whose export names match */

/* front/lora.c */
extern const luaL_Reg lora_functions[];
const Lora *read_lora(const char *text, Texts except);                   /* of --lora */
bool lora_freezes(const Trace *trace, const Param *p);
void check_lora(const Trace *trace); /* once entries are traced: each pattern names something */

/* front/frozen.c */
DType stored_as(const Desc *d, const Param *p); /* in which a parameter is stored; BOOL: in none */
void check_block_types(const Desc *d); /* once entries are traced: --frozen finds something, and so does each of its patterns */

/* front/prefer.c */
extern const luaL_Reg prefer_functions[];
const Prefer *read_prefer(const char *text);  /* of --prefer */
void settle_prefer(const Trace *trace);       /* once train and data are read */
int64_t rows_of_item(const Trace *trace);     /* of the batch: of preference pairs 2, else 1 */
void collect_preferred(const Trace *trace);   /* the metrics of its loss, behind the loss */
void trace_reference(lua_State *L, int model, int c);

/* front/distill.c */
extern const luaL_Reg distill_functions[];
#define TEACHER "teacher"                     /* the scope of its parameters */
const Distill *read_distill(const char *text); /* of --distill */
void settle_distill(const Trace *trace);      /* once train and data are read */
bool is_teacher(const Trace *trace);
const Trace *student_of(const Trace *teacher);
void open_teacher(lua_State *L);              /* reads its description, in a Lua state of its own */
void trace_teacher(lua_State *L);             /* its forward, into the student's entry, which has begun */
void check_taught(lua_State *L);              /* the student's forward is traced: its loss met the teacher's */
void close_teacher(lua_State *L);             /* all entries are traced */

/* front/hf.c */
void read_hf(lua_State *L, int model); /* c is at the top, parameters are known; fills desc->hf */

/* front/encode.c: moves what depends only on the source out of decode, which reads states instead */
Graph *take_encode(Trace *trace, Graph *decode);

/* front/trace.c: the entries */
int read_settings(lua_State *L);             /* of a description: leaves it, and c at the top; 1: Options */
void trace_entries(lua_State *L, int model); /* c is at the top */
void trace_for_axes(lua_State *L, int model, int c); /* the entries that name axes: train, grad, decode */
Graph *begin_entry(Trace *trace, Entry entry); /* from now on trace->graph */
void call_forward(lua_State *L, int model, int c); /* pushes its two results */
void push_input(lua_State *L);               /* the `input` of forward and sample */
void read_extents(lua_State *L, int model, int c); /* batch, seq, …, and what `input` has */
void check_mixed_classes(const Trace *trace); /* that the loss reads what mixup makes; front/pictures.c */
bool is_size_of_inputs(const Trace *trace, const char *knob); /* forward need not read it from c */
Where function_place(lua_State *L, int model, const char *key); /* of a function of the description */

void push_reference(lua_State *L);           /* f32 [batch]: of preference pairs */
void push_begins(lua_State *L);              /* i32 [batch]: 1 for rows that do not continue their text */

/* front/sample.c */
#define SAMPLED_TOKENS "tokens" /* the output that is text */
bool sampling(const Trace *trace); /* whether the entry sample is being traced */
void trace_sample(lua_State *L, int model, int c); /* if the description has one */

/* front/basics.c */
int print_to_stderr(lua_State *L);
int set_metatable(lua_State *L);
int sorted_pairs(lua_State *L);
void give_arithmetic(lua_State *L);
void open_sorted_keys(lua_State *L);

/* front/kept.c */
void keep_entries_of_library(Desc *d); /* of --library: leaves the others out */

#endif
