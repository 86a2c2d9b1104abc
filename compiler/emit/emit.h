/* emit.h: what the emitter's files share: text of a function, expressions, and how a kernel addresses its buffers. */
#ifndef EMIT_H
#define EMIT_H

#include "emit/page.h"
#include "runtime/interface/settings.h"

/* ------------------------------------------------------------------ emit/emit.c: text */

/* Statements with indentation and the braces that they need: a block of one statement gets none. */
typedef struct Writer {
    Text text;
    int depth;
    struct {
        size_t at;
        int children;
    } block[24];
} Writer;
void line(Writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* one statement */
/* for (…), or the head of a function */
void open_block(Writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void close_block(Writer *w);
void close_lambda(Writer *w);                /* ends a lambda of C++: }; */
void say_wrapped(Text *t, const char *text); /* keeps lines under 100 columns */
void say_within(Text *t, const char *text, int columns);
void say_comment(Text *t, int indent, const char *text); /* a block comment, filled into lines */

/* Names that are taken in some scope. */
typedef struct Names {
    const char **at;
    int n, cap;
} Names;
bool name_taken(const Names *s, const char *name);
const char *unique_name(Strings *taken, const char *wish); /* as new_name(), for many names */
const char *new_name(Names *s, const char *wish);          /* wish, wish_b, …, which is taken from then on */
const char *new_index(Names *s, const char *letter, const char *word); /* the letter, or the word if that is taken */
typedef struct Header_word {
    const char *word;
    bool everywhere; /* no variable may have its name; else no function of the file */
} Header_word;
extern const Header_word header_words[]; /* sorted by strcmp(); made by build/header_words.awk */
extern const int header_word_count;
bool is_word_of_c(const char *word); /* declared in a header that generated code includes */
bool is_size_name(Page *page, const char *word); /* emit/sizes.c: a size of the model or a macro of the headers */
char *identifier(Page *page, const char *words); /* "layer.attn.qkv" -> layer_attn_qkv, never a C keyword */
const char *file_name(const char *path);         /* without its folders */
char *upper(const char *word);                   /* Gpt from gpt: first letter only */

/* An expression and how tightly its outermost operator binds. */
typedef enum Binding {
    TERNARY = 1,
    LOGIC_OR,
    LOGIC_AND,
    BIT_XOR,
    BIT_AND,
    EQUAL,
    LESS,
    PLUS,
    TIMES,
    UNARY,
    PRIMARY
} Binding;
typedef struct Expr {
    const char *text;
    Binding binding;
} Expr;
const char *in_parentheses(const char *text);    /* if it is more than one word */
char *within(Expr e, Binding least);             /* its text, in parentheses if it binds less tightly than `least` */
Expr literal(double value, DType t, bool brief); /* brief: 2 instead of 2.0f, where C converts it anyway */
Expr apply(Page *page, const Node *n, const Expr *in); /* the element text of the op over its inputs */
char *store_text(DType t, const char *to, bool add, const char *what); /* sets or adds `what`; without the ; */
char *reduction_step(Page *page, const Node *n, const char *running, Expr value); /* "s += x" or "s = max_f32(s, x)" */
const char *c_type(DType t);                     /* float */
const char *type_suffix(DType t);                /* f32 */
bool in_doubles(Page *page);                     /* --precision fp64 */

const char *number_text(double x); /* the fewest digits that read back as x */

/* ------------------------------------------------------------------ emit/sizes.c: extents with the user's names */
void set_sizes(Page *page);
void say_sizes(Page *page, Text *t); /* an enum of those that were used */
/* BATCH * SEQ; the number if nothing is known about the axis. */
const char *extent_text(Page *page, int64_t n, int axis);
const char *factor_text(Page *page, int64_t n, int axis); /* in parentheses if it needs them */
Expr extent_expression(Page *page, int64_t n, int axis);  /* with parentheses where an operator needs them */
const char *row_in_blocks(const char *extent);            /* the blocks of a row of so many elements */
const char *as_term(const char *text);                    /* in parentheses if it is a sum */
const char *multiplied(const char *a, const char *b);     /* BATCH * (SEQ + 1); a may be NULL */
const char *divided(const char *a, int64_t by);
const char *extent_in(Page *page, Shape s, int k);     /* of axis k */
const char *product_in(Page *page, Shape s, int from, int to); /* of merged axes */
const char *letter_of_axis(int axis, int j, int n);    /* emit/axes.c: of its index, as axis j of n; or NULL */
bool is_axis_of(int axis, const char *size);           /* is its extent that size and nothing else */
const char *trip_text(Page *page, const Loop *l);      /* LAYERS */
const char *array_text(Page *page, Shape s, int from); /* [LAYERS + 1][BATCH][SEQ][WIDTH], from axis `from` on */
const char *subscript_text(Page *page, Shape s, int k, int64_t at); /* a constant subscript of axis k */
/* A number of elements in the array of axes from … to - 1. */
const char *step_text(Page *page, Shape s, int from, int to, int64_t n);
const char *grouped(int64_t n); /* 1,234,567 */

/* ------------------------------------------------------------------ emit/view.c: addressing */

/* An index: const + Σ coef · axis of the kernel + Σ coef · iteration of a loop. */
typedef struct Index {
    int64_t constant, axis[MAXRANK + 2];
    int nover;
    struct {
        Loop *loop;
        int64_t coef;
    } over[MAXRANK];
    const Buffer *in; /* the index counts elements of this buffer's axes from … to - 1, as one; NULL: it is a value */
    int from, to;
} Index;

/* One parameter of a kernel function: a buffer, or the part of it that `lead` picks, as an array of known size. */
typedef struct Arg {
    Buffer *root, *buffer; /* the buffer that owns the bytes; the one that gives the shape */
    bool read, written;
    int nlead; /* the number of leading axes that the caller picks */
    Index lead[MAXRANK];
    int first[MAXRANK + 1]; /* dimension k of the array is axes first[k] … first[k + 1] - 1 of the buffer, merged */
    int dims;
    bool flat;      /* no array fits, so it is a plain pointer */
    bool by_value;  /* a single element that is only read, on targets that pass it so */
    unsigned parts; /* the parts of the function that mention it, a bit each */
    const char *name;
} Arg;

typedef struct Use {
    View view;
    bool write;
    bool before; /* reads a carry for which the kernel makes the next value */
    int arg;
    Index sub[MAXRANK];
    Index offset;
} Use;

typedef struct Axis {
    const char *name; /* the loop variable's */
    const char *now;  /* its text at the moment: "c", "c + l" inside lanes, "0" for extent 1 */
    int64_t extent;
    int what;          /* the number of the axis; 0: not known */
    const char *count; /* the text of the extent */
} Axis;

/* CUDA: one of the __global__ functions of a kernel, which run one after another. */
typedef struct Part {
    const Launch *launch; /* from the plan */
    const char *remark;   /* what it does; NULL: what the kernel does */
    const char *blocks;   /* blocks of threads */
    const char *body;
    const char *room; /* bytes of dynamic shared memory in a block; NULL: none */
} Part;

/* A kernel function under construction. */
typedef struct Function {
    Page *page;
    const Nest *nest;
    int naxes;
    Axis axis[MAXRANK + 2];
    VEC(Use) uses;
    VEC(Arg) args;
    VEC(Loop *) loops; /* loops whose iteration is a parameter */
    VEC(const char *) loop_names;
    VEC(unsigned) loop_parts; /* as Arg.parts */
    Names names;
    Writer w;
    bool some_rows; /* it has parameters that say which rows: from … to */
    /* CUDA: the index of the block: blockIdx.x, or a parameter in a step of a loop that is one launch */
    const char *block;
    const char *room; /* CUDA: Part.room of the part that is printed */
    VEC(Part) parts;  /* none in C, where the whole text is in w */
} Function;
int add_use(Function *f, View v, bool write); /* v over f's axes */
void fit_args(Function *f);                   /* after the last add_use(): decides on parameters and subscripts */
char *element(Function *f, int use);          /* x[r][c] */
char *block_place(Function *f, int use);      /* x[r][c / LATHE_BLOCK], of what is in blocks */
Expr value_at(Function *f, int use);          /* the same as an expression, with its guard; also an index */
char *index_text(Function *f, Index x);
const char *wished_name(Page *page, const Buffer *b);   /* the name that its parameter should have */
const char *name_before(const char *name, bool before); /* cell_before, or cell */
bool single_number(const Arg *a);                       /* a single element that is only read */

/* The text of a place as the entry writes it: &p->layer[l].w[0][0], h[l + 1]. */
char *place_text(Page *page, const Buffer *b, int nsub, const Index *sub);
char *argument(Page *page, const Arg *a);
char *flat_pointer(Page *page, View v); /* for products: a pointer to its first element */

/* ------------------------------------------------------------------ emit/scope.c: names while an entry is printed */

void take_entry_names(Names *taken); /* the names of an entry's own parameters and locals */
void enter_scope(Page *page, const Program *p);
const char *state_member(Page *page, const char *state); /* of the struct of states */
/* The name of the array in the arena, or of the member of a struct. */
const char *buffer_name(Page *page, const Buffer *b);
void note_place(Page *page, const Buffer *b); /* the text of the entry mentions it */
bool place_noted(Page *page, const Buffer *b);
bool home_noted(Page *page, Home h);
/* What the text of a kernel mentions between begin_notes() and end_notes(). The entry mentions it, too. */
typedef struct Notes {
    VEC(const Buffer *) places;
    VEC(const Loop *) loops;
    bool homes[TABLES + 1];
} Notes;
Notes begin_notes(Page *page);
Notes end_notes(Page *page, const Notes *before);
bool in_kernel(Page *page);                         /* between the two */
const char *loop_letter(Page *page, const Loop *l); /* the name of its iteration in the entry */

/* ------------------------------------------------------------------ emit/table.c: constant arrays */
const char *table_name(Page *page, const Node *constant); /* a constant is printed once */
void say_constants(Page *page, Text *t);

/* ------------------------------------------------------------------ kernels, one file a family */

void emit_rows(Function *f, const Nest *n);    /* emit/rows.c */
void emit_index(Function *f, const Kernel *k); /* emit/index.c */
/* emit/axes.c: the axes of f become those of s; an axis that has a name keeps it. */
void begin_axes(Function *f, const Space *s);

/* emit/walk.c */
typedef struct For {                                   /* for (int c = 0; c < WIDTH; c++) */
    const char *mark, *type, *name, *from, *to, *step; /* NULL: no mark, int, from 0, in steps of one */
} For;
void open_for(Writer *w, For f);
void open_axis(Function *f, int j, const char *mark); /* all of axis j */
void close_down_to(Writer *w, int depth);
int64_t space_size(const Function *f, const int *axes, int n); /* of the space of these axes */
const char *space_text(const Function *f, const int *axes, int n); /* BATCH * SEQ */
const char *in_64_bits(const char *count, int64_t n); /* (int64_t)BATCH * SEQ * VOCAB if n needs more than 32 bits */
/* From the number of an element in the space of these axes: its index along the i-th of them; and, for each index that a
 * use needs, a line such as `const int t = i % SEQ;`. */
char *index_in(const Function *f, const int *axes, int n, int i, const char *number);
void say_indices(Function *f, const int *axes, int n, const char *number);

struct Rows;
struct Columns;
/* How a target spells a kernel. A function is NULL if the target has no text for it. */
typedef struct Spelling {
    void (*begin)(Function *f), (*end)(Function *f); /* C: the block of the function */
    void (*begin_part)(Function *f);                 /* CUDA: a Part, which one launch runs */
    void (*end_part)(Function *f, const char *remark, const char *blocks);
    /* CUDA: computes the indices of axes from the number of the thread, and returns the number of blocks. NULL: axes
     * are loops. */
    const char *(*share)(Function *f, const int *axes, int n);
    /* Reductions over all rows: what is around the rows of a block and makes its partial results; then what adds
     * these up. The first returns the number of a row's team in its block, or NULL; the others return the number of
     * blocks, or NULL. */
    const char *(*begin_block)(struct Rows *r, struct Columns *columns);
    const char *(*end_block)(struct Rows *r, struct Columns *columns, const char *team);
    const char *(*add_blocks)(struct Rows *r, struct Columns *columns);
} Spelling;
extern const Spelling loops_of_c, cuda_threads;
void begin_kernel(Function *f);
void end_kernel(Function *f);
void begin_part(Function *f);
void end_part(Function *f, const char *remark, const char *blocks);

/* emit/threads.c: the parts of a CUDA kernel. The numbers are those of lathe_cuda.cuh. */
enum { WARP = TEAM_OF_WARP, THREADS = TEAM_OF_BLOCK, WARPS = THREADS / WARP };
const Launch *launch_now(const Function *f);          /* the launch of the part that is printed */
const char *ceil_text(const char *n, const char *by); /* CEIL_DIV(BATCH * SEQ, WARPS) */
/* The number of blocks of the launch, as text. There are n things, of which a block takes `each`: THREADS, WARPS,
 * WARP or 1. */
const char *blocks_of(const Function *f, const char *text, int64_t n, int each);
const char *index_type(int64_t n); /* the type of an index up to n, and one block further: int or int64_t */
/* There are n things, `all` as text. Each thread, or each warp, takes one and gets its number; those beyond the end
 * leave. */
void number_threads(Function *f, const char *number, int64_t n, const char *all);
void number_warps(Function *f, const char *number, const char *all);
void leave_one_thread(Function *f);        /* only the first of a block stays */
const char *thread_indices(Function *f, const int *axes, int n); /* emit/index_threads.c: Spelling.share */
bool aligned(const Arg *a, int64_t bytes); /* does the argument always begin at a multiple of `bytes` */

/* emit/ids.c: the text of an id */
const char *id_text(Page *page, const Kernel *k, const char *id, int64_t below, int axis);
const char *id_check_text(Page *page, const Node *n, const Node *ids, int64_t below); /* a Lathe_id_check of n's ids; {0}: in range */
Expr class_id_text(Page *page, const Node *n, const Expr *in);

/* emit/function.c: kernel functions. Kernels with the same text share one. */
void start_functions(Page *page);
const char *name_and_place(const Kernel *k, const char *name); /* "lstm_time: char_rnn.lua:31 lstm" */
const Node *beneath_views(const Node *n); /* the value that n shows, as kernels see through moves */
Expr as_written(const Node *n, Expr e);   /* emit/spelling.c: sigmoid_f32(x) if e, the text of n, spells it with tanh */
/* emit/formula.c: "ln_1 = centred * rstd * ln_1_weight"; all: with mean, centred, rstd */
char *formula_text(Page *page, const Kernel *k, bool all);
typedef struct Call {
    Function *f;
    int *order; /* the order of its arguments; iterations of loops follow */
    const char *name;
    const char *const *part_names; /* CUDA: the names of its parts */
} Call;
Call kernel_call(Page *page, const Kernel *k);           /* the function of a kernel, which is printed if it is new */
const char *new_file_name(Page *page, const char *wish); /* a new name in the file */
Text *function_text(Page *page);                         /* the text of all functions */
bool has_word(const char *text, const char *word);
char *call_text(Page *page, const Kernel *k); /* "bias_gelu(act, pre, p->b1);" */
/* Does part `part` of the function (-1: any) get a parameter that these parts mention? C has no parts: its functions
 * get all. */
bool given(const Function *f, unsigned parts, int part);
void say_functions(Page *page, Text *t);

/* emit/entry.c */
void emit_entry(Page *page, Text *t, const Program *p);
const char *rows_of_panel(const Kernel *k); /* as arguments: from, to */

/* emit/product.c */
char *product_call(Page *page, const Kernel *k);
char *cuda_product_call(Page *page, const Kernel *k);
char *pack_call(Page *page, const Kernel *k);
void say_shapes(Page *page, Text *t); /* descriptions of the products so far */
void say_cuda_products(Page *page, Text *t);

/* In a loop that is one launch: the call of a product, and the type that describes it:
 * " : Step_product<float, float> { … }". */
char *step_product_call(Page *page, const Kernel *k, const char *type, const char *kept);
char *step_product_type(Page *page, const Kernel *k);
const char *remark_of_product(Page *page, const Kernel *k);

/* emit/persistent.c: CUDA: a loop that is one launch */
bool is_one_launch(Page *page, const Kernel *repeat);    /* and does the target have those */
int persistent_loops(Page *page);                        /* the number of those printed */
char *persistent_call(Page *page, const Kernel *repeat); /* the call of its launcher, which is printed if it is new */
char *pointer_declaration(Page *page, const Buffer *b);  /* emit/entry.c: float (*h)[BATCH][WIDTH], of the arena */
const char *home_declaration(Page *page, Home home);     /* const Gpt_params *p */
const char *home_name(Home home);                        /* p */

/* emit/convolution.c */
char *convolution_call(Page *page, const Kernel *k);
void say_convolutions(Page *page, Text *t); /* descriptions of those so far */

/* emit/by_ids.c */
char *by_ids_call(Page *page, const Kernel *k);
void say_by_ids(Page *page, Text *t); /* descriptions of those so far */

/* emit/attention.c */
char *attention_call(Page *page, const Kernel *k);
char *cuda_attention_call(Page *page, const Kernel *k);
void say_attentions(Page *page, Text *t); /* descriptions of those so far */

/* emit/memory.c: the arena of an entry */
typedef VEC(const Buffer *) Buffers;
Buffers buffers_of_arena(const Program *p); /* by their first use */
/* The table of the arena. drawn: with a row for each buffer. */
void say_memory(Page *page, Text *t, const Program *p, const char *margin, bool drawn);
char *buffers_member(Page *page, const Program *p); /* of the table of entries */
void put_buffer_tables(Page *page, const char *dir); /* model.plan.h */

char *entry_name(Page *page, const Program *p);
char *entry_head(Page *page, const Program *p); /* void gpt_train(const Gpt_params *p, …); after emit_entry */
char *entry_arguments(Page *page, bool declared);
double entry_flops(const Program *p);

const char *kernel_called(Page *page, const Kernel *k); /* emit/kernels.c: its name in model.c, plan.txt and profiles */
/* emit/function.c: for all programs: before the first is printed, and after the last. */
void note_functions(Page *page, Kernel *const *kernels, int n);
void name_functions(Page *page, Kernel *const *kernels, int n);

/* emit/plan.c */
typedef struct Categories { /* planned bytes, as the trainer has them */
    VEC(Lathe_bytes) all;
    int host; /* the number of the last ones, which a GPU trainer has on the host */
} Categories;
Categories planned_categories(const Module *m);
void say_plan_table(Text *t, const Categories *c);
int program_kernels(Page *page, const Program *p); /* the body of a loop counts once */

/* emit/page.c: prints all entries and the functions that they call; returns prototypes of the entries. */
const char *say_entries(Page *page, Text *entries);
void name_kernels(Page *page); /* for a plan that is printed without sources */

/* emit/c.c */
void say_head(Page *page, Text *t, const char *file, const char *what);
void make_folder(const char *dir); /* and the folders above it */
/* Writes the file, unless it has this text already. */
void put_file(const char *dir, const char *name, const char *text, size_t bytes);
void put_plan(Page *page, const char *dir); /* plan.txt */

/* build/library.c: the runtime of a library; model: where the model goes */
const char *runtime_text(const char **model);
const char *library_file(const char *name); /* the text of a file of runtime/library */

/* build/bundle.c */
void write_build_file(const char *dir, bool cuda); /* CMakeLists.txt */
void write_runtime(const char *dir, bool cuda);    /* runtime/, for --bundle */

/* build/build.c: what a build takes, for `lathe doctor` */
const char *c_compiler(void);    /* NULL: there is none */
const char *cuda_compiler(void); /* build/cuda.c: nvcc, or NULL */
const char *nvcc_flags(void);
char *program_beside(const char *name); /* build/places.c: "lathe-data": a program that was built with lathe */
const char *misfit_of_runtime(void);    /* what is missing of an installed tree, or of another version; NULL: nothing */
const char *plain_c_flags(void);        /* c_flags() without sanitizers */
const char *runtime_dir(void);
const char *blas_library(void);

/* emit/recipe.c */
void say_recipe(Text *t, const Lathe_recipe *r);              /* a member of the model */
const char *optimizer_id(const Lathe_recipe *r); /* LATHE_ADAMW */
bool says_setting(const Lathe_recipe *r, const Setting *s);    /* whether the program has it, and not zero */
void say_direction(Text *t, const Direction *d, const Flat *flat);
void say_groups(Text *t, const Desc *d);
void say_turns(Text *t, const Desc *d);

/* emit/header.c */
void say_header(Page *page, Text *t, const char *prototypes); /* model.h */
int count_home(const Program *p, Home home);                  /* its buffers there */

/* emit/model.c */
void say_runs(Page *page, Text *t);                           /* declares the entries, which another file has */
void take_table_names(Page *page, void (*take)(Page *page, const char *name));
void say_tables(Page *page, Text *t); /* tables of the types in runtime/interface/lathe_model.h, and main */
char *type_name(Page *page, const char *entry, const char *what); /* Gpt_train_in */

char *braces(int n, const int64_t *x); /* {1, 2} */
const char *dtype_word(DType t);       /* LATHE_F32 */

/* emit/done.c: the gradients that are done after a kernel, a line each */
void say_before_or_after(Page *page, Text *t, int depth, const Kernel *k, bool before);

/* emit/kernels.c: what each LAP of an entry is */
void say_kernel_table(Page *page, Text *t, const Program *p);
char *kernel_count(Page *page, const Program *p); /* the number of rows */
char *kernel_table(Page *page, const Program *p); /* its name */

/* emit/watch.c: --instrument: what each kernel touches */
void say_watch_tables(Page *page, Text *t, const Program *p);
const char *instruments_member(Page *page, const Program *p); /* ", .instruments = …" of its entry */

/* emit/params.c: the struct of parameters; tables of them and of statistics */
void say_param_table(Page *page, Text *t);
void say_statistic_table(Text *t, const Desc *d);
void say_adapter_table(Text *t, const Desc *d);     /* of --lora */
void name_parameters(Page *page);
void say_params(Page *page, Text *t);
int64_t first_of_array(const Page *page, const Param *p); /* the offset where the array begins that p is in */
#define TEACHER_MEMBER "teacher" /* of the struct of parameters: those of a teacher */
char *gradients_type(Page *page);                 /* Gpt_params, if gradients have the same type, or Gpt_gradients */
const char *group_of(Page *page, const Param *p); /* the name of its array of structs, or NULL */
/* p->layer[l].attn_qkv_weight */
char *param_text(Page *page, const Param *p, const char *base, const char *const *sub);

/* emit/plan.c: `lathe plan` and plan.txt */
void print_plan(Page *page, Text *t);
void say_plan_json(Page *page, Text *t); /* members of an object */
/* emit/explain.c: what `name` (or entry:name) means; returns how many things have it.  known: gets all names; NULL: not asked. */
int explain(Page *page, Text *answer, const char *name, Texts *known);

/* The folder of a program. */
void say_model(Page *page, Text *c, Text *h); /* emit/c.c: model.c, model.h */
void take_runtime_names(Page *page, void (*take)(Page *page, const char *name)); /* emit/library.c: and the library's own */
void emit_library(Page *page, const char *dir); /* emit/library.c: NAME.c, NAME.h, plan.txt */
void emit_levels(Page *page, const char *dir);  /* NAME-levels.c, after that */
char *name_of_library(Page *page);
bool is_letter_of_word(char c); /* of a word of C */
void emit_c(Page *page, const char *dir);    /* emit/c.c: model.c, model.h, model.plan.h, plan.txt, CMakeLists.txt */
void emit_cuda(Page *page, const char *dir); /* emit/cuda.c: model.cu, tables.c, model.h, model.plan.h, plan.txt, CMakeLists.txt */

#endif
