/* front.h: what the files of the front end share: the Lua state, places, tensors, scopes, loops, the entry being
 * traced. */
#ifndef FRONT_H
#define FRONT_H

#include "desc/passes.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <stdarg.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ tensors as Lua sees them */

/* The axis that holds the batch or time axis of the inputs: axis `axis` has extent outer · count · inner, and the
 * middle factor is it (B and T merged: outer B, inner 1).  axis -1: the value has none. */
typedef struct Factor {
    int axis;
    int64_t outer, inner;
} Factor;

/* Why a value cannot be made one time step at a time. */
typedef struct Mixed {
    Where where;
    const char *why;
} Mixed;

typedef struct Tensor {
    Node *node;
    Factor batch, time;
    const Mixed *mixed; /* NULL: each time step depends on its own step alone */
    int trace;          /* the trace it was made in: a value cannot be kept from one entry to the next */
} Tensor;

enum { NO_AXIS = -1 };
#define NOWHERE ((Factor){.axis = NO_AXIS, .outer = 1, .inner = 1})

/* ------------------------------------------------------------------ the trace: what is true while `forward` runs */

typedef struct Trace {
    Desc *desc;
    Graph *graph; /* NULL while no entry is traced */
    int number;   /* 1, 2, … */
    int first;    /* ids of its nodes begin here */
    bool decode;
    int64_t batch, time; /* extents of this entry: in decode the rows decoded together, and 1 */
    int widened;         /* traced again, for comparison, at this multiple of the batch; 0: it is not */
    int site;            /* random ops so far */
    int time_places;     /* so far: calls that asked whether an axis is time, … */
    VEC(bool) over_time; /* … and what they found in the entry before decode */
    struct Uncounted {   /* what the first loss of input.targets said of ids that do not count */
        bool said;
        int64_t id; /* beyond the classes; 0: none */
        Where where;
    } uncounted;
    int time_aware;      /* > 0: inside a library function that answers for the time axis itself */
    const char *path;    /* layer path */
    VEC(Loop *) open;    /* every open loop but micro, outermost first */
    VEC(Loop *) copies;  /* those of them that give each iteration its own parameters (stack, map) */
    VEC(struct New_state {
        const char *name;
        Node *node;
        int depth;
    }) states; /* the entry's; depth: open loops around node, but for micro */
    Table rows; /* decode: a Factor, where the batch axis of a value is */

    /* Each of these belongs to one file. */
    struct Usage *used;                                      /* front/limits.c */
    VEC(struct Source { const char *file, *text; }) sources; /* front/lua.c: read so far */
    const char *folder;                                      /* of the description: require looks nowhere else */
    uint64_t hash;                          /* of the description, the library and the options that change c */
    VEC(const char *) late_sets;            /* front/config.c: --set of the recipe's names, for read_recipe() */
    VEC(struct Scope *) scopes, all_scopes; /* front/scope.c: entered, outermost first; all of this entry */
    VEC(struct Known *) known, of_stacks;   /* front/param.c: all parameters; those made in stacks */
    Strings known_names, known_exports;     /* numbers in `known`, from 1; exports: of those outside stacks */
    struct Notes *noting;                   /* front/axes.c: in a process that probes */
    VEC(struct Noted) learned;              /* by place, and there in order */
    VEC(int) next_there;                    /* per place, at its first: tensors met so far in this entry */
    int lines;                              /* front/titles.c: since the last tensor was made */
    bool untitled;                          /* locals are not looked at */
} Trace;

/* The trace that L runs for: each has a Lua state of its own. */
static inline Trace *trace_of(lua_State *L) { return *(Trace **)lua_getextraspace(L); }

/* front/limits.c */
lua_State *limited_state(Trace *trace);               /* a new one */
void limit_run(lua_State *L);                         /* instructions and time count from now on … */
void end_limits(lua_State *L);                        /* … to here */
void call_lua(lua_State *L, int nargs, int nresults); /* a call of the user's code; errors end the program */
void watch_lines(lua_State *L, bool lines);           /* are lines looked at before they run? */
void leave_few_instructions(Trace *trace);            /* from now on a tenth of what a description may take */

/* ------------------------------------------------------------------ front/lua.c, front/where.c: files, places, errors */

lua_State *sandbox_open(Trace *trace, const Options *o);
void sandbox_close(lua_State *L);
void run_description(lua_State *L, const char *file); /* leaves the returned table on the stack */
const char *library_text(const char *name);           /* compiler/lua/NAME.lua */
void push_library(lua_State *L, const char *name);    /* what it returns */
const char *source_text(const Trace *trace, const char *file); /* of a file read so far, or NULL */
const char *source_name(const Trace *trace, const char *file); /* the same name, in the arena */
Where lua_place(lua_State *L); /* the innermost line of the user's files, with the layer path */
Where place_of_key(const Trace *trace, const char *section, const char *key); /* the description's first line with
                                        `key =` (after the one with `section =`, unless NULL), or its file */
void local_names(const char *text, const char ***words, int *n);              /* that follow `local` or `function` */
_Noreturn void user_error(lua_State *L, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *advice(const char *word, const char *const *known,
                   int n);                     /* "; did you mean 'x'?" or "; known are a, b" or "" */
const char *without_position(const char *message); /* a message of Lua without its "file:line: " */
const char *library_function(lua_State *L);    /* "nn.attention" while one runs, or NULL */
const char *lua_text(lua_State *L, int index); /* a value as an error message shows it */
void keys_of(lua_State *L, int index, const char ***words, int *n); /* string keys, sorted */
void wrap_function(lua_State *L, const char *name, int most); /* the Lua function on the top becomes a C one that calls it */
enum { ANY_NUMBER = -1 };
int parameters_of(lua_State *L);
void check_surplus(lua_State *L, int most, const char *name); /* of arguments, that are not nil */
void wrap_library(lua_State *L, const char *name);  /* the table on the top: its functions become safe to tail-call */
void strict_table(lua_State *L, const char *name);  /* the table on the top: unknown keys are errors */

/* front/config.c */
void read_config(lua_State *L, int model, const Options *o); /* fills desc->knobs, pushes c */
bool knob_integer(const Trace *trace, const char *name, int64_t *value);
void size_of_entry(lua_State *L, int c, const char *name, int64_t value); /* c.name, for the entry that is traced */
void change_knob(lua_State *L, int c, const char *name, int64_t value); /* and what knob_integer() gives */
void apply_late_sets(Trace *trace);           /* --set of the recipe's names */
void check_model_keys(lua_State *L, int model);

/* A function given to Lua, with what an editor shows of it: "axis: integer): lathe.Tensor", a line of documentation. */
typedef struct Binding {
    const char *name;
    lua_CFunction f;
    const char *signature, *doc;
} Binding;

/* front/axes.c: what the axes of the description's tensors are: named in Shapes where Lua is given them */
typedef enum Axes_of { AXES_OF_TENSOR, AXES_OF_STATE, AXES_OF_PARAMETER, AXES_OF_LOOP } Axes_of;
void title_locals(lua_State *L, lua_Debug *ar); /* front/titles.c: before a line runs */
void expect_titles(lua_State *L);               /* a tensor has been made */
void leave_titles(lua_State *L);                /* for the rest of this trace */
int gives_call(lua_State *L);
void learn_axes(lua_State *L, int model, int c); /* before the entries are traced */
void axes_new_entry(Trace *trace);
void name_axes(Trace *trace, Shape *s, Axes_of what); /* of the node that is made next */
void note_read(Trace *trace, const char *knob);
void end_notes_of_entry(Trace *trace); /* what is noted so far is whole */

/* front/tensor.c: tensors as Lua values */
extern const struct Bindings {
    const Binding *list;
    bool function, method;       /* nn.f(x), x:f() */
} all_bindings[];                /* ends with a NULL list */
void open_tensors(lua_State *L); /* the metatable; nn and methods into the table on the top */
void push_tensor(lua_State *L, Node *n, Factor batch, Factor time, const Mixed *mixed);
void push_like(lua_State *L, Node *n, const Tensor *like);  /* of the same shape */
Tensor *tensor_at(lua_State *L, int arg, const char *what); /* error unless a live tensor */
Tensor *is_tensor(lua_State *L, int arg);                   /* NULL where it is none */
char *tensor_text(const Tensor *t);                         /* "[batch 12, time 64, width 128]" */
char *shape_words(const Tensor *t, Shape s);                /* another shape with t's axis names */
int axis_at(lua_State *L, int arg, int rank);               /* -rank … rank-1 */
int axis_value(lua_State *L, lua_Integer axis, int rank);
Shape shape_at(lua_State *L, int arg); /* {2, 3} */
int64_t integer_at(lua_State *L, int arg, const char *what);
void check_words(lua_State *L, int table, const char *const *known, int n, const char *what); /* refuses other keys */
void check_list(lua_State *L, int table, const char *what);                                   /* refuses keys that are words */
void check_size(lua_State *L, Shape s);                     /* extents and elements are not too many */
int64_t extent_sum(lua_State *L, int64_t a, int64_t b, const char *doing); /* of an axis that is made longer */
_Noreturn void refuse_comparison(lua_State *L, const char *symbol, const char *function);

/* front/map.c: every element-wise op of graph/ops.def, operators, broadcasting */
extern const Binding map_bindings[], random_bindings[];
void bind_ops(lua_State *L, int nn, int methods);
void bind_operators(lua_State *L, int meta);
void set_op(lua_State *L, int table, const char *name, lua_CFunction f, Op op);
Op element_twin(Op reduction); /* max of rmax; OPS: none */
Shape broadcast_shape(lua_State *L, const Tensor *t, int n, Tensor *result, const char *doing); /* of an element-wise
                                                           result, and where its batch and time axes are */
const Mixed *mixing(lua_State *L, const Mixed *already, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void check_class(lua_State *L, Op op, DType t, const char *doing);
enum { EXACT_INTEGERS = 1 << 24 }; /* fp32 holds all integers up to it */
bool single(const Trace *trace);   /* whether reals are fp32, or less */
double real_number(lua_State *L, int arg, const char *doing); /* refused beyond the numbers of fp32; a warning where an
                                                                 integer is rounded */

/* front/reduce.c: sum, mean, max, min; axes for all reductions */
extern const Binding reduce_bindings[];
extern const luaL_Reg reduce_functions[];
void bind_reductions(lua_State *L, int nn, int methods);

/* front/equal.c: == between a tensor and something else is an error */
char *guard_comparisons(const char *text);
int equal_call(lua_State *L); /* __equal(a, b) */

/* front/move.c, front/index.c: reshape … topk, dot, zeros; batch and time axes are followed through */
extern const Binding move_methods[], join_functions[], index_methods[], shape_functions[];
Factor factor_moved(Factor f, const int *to); /* to[axis]: where each axis went, or -1 */
const Mixed *mixed_along(lua_State *L, const Tensor *t, int axis, const char *doing); /* values along axis meet */
Shape axes_without(Shape s, int axis, int *to);
void axes_kept(int *to);

/* front/cfunc.c */
extern const Binding cfunc_bindings[];

/* front/scope.c: the layer path, and which parameters belong where */
extern const luaL_Reg scope_functions[];
void scopes_new_entry(Trace *trace);
const char *path_of(const Trace *trace, const char *own);   /* "layer.attn" + own */
const char *export_of(const Trace *trace, const char *own); /* "layer.%d.attn" + own */
const char *stack_here(const Trace *trace); /* "layer": the stack whose copies parameters made here are; NULL */
bool applied_again(const Trace *trace);     /* inside a layer that is applied once more: same names are meant */
void check_name(lua_State *L, const char *name);

/* front/param.c: parameters, and the states of decode */
extern const luaL_Reg param_functions[];

/* front/time.c: time, positions, random bits: what depends on the entry */
extern const luaL_Reg time_functions[];
typedef struct Draws { /* philox(seed, step, site, row, index): seed, step and site i32 [], row and index like a tensor */
    Node *seed, *step, *site, *row, *index;
} Draws;
Node *position_node(Trace *trace); /* i32 []: decode: of the first token */
Draws draws_of(lua_State *L, const Tensor *like, int64_t each); /* a new site; each: numbers an element needs, index counts them */

/* front/attention.c */
extern const luaL_Reg attention_functions[];

/* front/head.c */
extern const luaL_Reg head_functions[];

/* front/loop.c: stack, map and scan open their loops through these */
extern const luaL_Reg loop_functions[];
bool loop_is_open(const Trace *trace, const Loop *l);

/* front/recipe.c */
/* A part of the description: the table itself, or what the function of c returns; false: absent.  c is at the index given. */
bool push_description_part(lua_State *L, int model, int c, const char *key);
void read_recipe(lua_State *L, int model); /* c is at the top; fills desc->recipe */
const char *const *recipe_names(int *n);   /* what --set may name beside the knobs */
void check_recipe(lua_State *L);           /* what it says of parameters and outputs, which are there now */
bool recipe_knows(const char *key);
bool run_knows(const char *key);   /* a setting that is no number: the trainer's alone */
void recipe_set(Trace *trace, const char *key, const char *value);
extern const luaL_Reg recipe_functions[];

/* front/groups.c: train's groups of parameters, on the top; then, with all parameters there, whether each has some */
void read_groups(lua_State *L);
void check_groups(const Trace *trace);

/* front/hf.c */
void read_hf(lua_State *L, int model); /* c is at the top, parameters are known; fills desc->hf */

/* front/encode.c: what of decode depends on the source alone, as an entry of its own; decode reads states instead */
Graph *take_encode(Trace *trace, Graph *decode);

/* front/trace.c: the entries */
void trace_entries(lua_State *L, int model); /* c is at the top */
void trace_for_axes(lua_State *L, int model, int c); /* those that name axes: train, grad, decode */
Graph *begin_entry(Trace *trace, Entry entry); /* from now on trace->graph */
void push_input(lua_State *L);               /* what the function of an entry is given */
Where function_place(lua_State *L, int model, const char *key); /* a function of the description */

void push_begins(lua_State *L);              /* i32 [batch]: whether a row does not go on where it stopped */

/* front/sample.c */
#define SAMPLED_TOKENS "tokens" /* the output that is text */
bool sampling(const Trace *trace); /* whether that entry is being traced */
void trace_sample(lua_State *L, int model, int c); /* where the description has one */

/* front/basics.c */
int print_to_stderr(lua_State *L);
int set_metatable(lua_State *L);
int sorted_pairs(lua_State *L);
void open_sorted_keys(lua_State *L);

#endif
