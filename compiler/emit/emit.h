/* emit.h: what the emitter's files share: text of a function, expressions, and how a kernel addresses its buffers. */
#ifndef EMIT_H
#define EMIT_H

#include "emit/page.h"

/* ------------------------------------------------------------------ emit/emit.c: text */

/* Statements with indentation and the braces they need: a block of one statement gets none. */
typedef struct Writer {
    Text text;
    int depth;
    struct {
        size_t at;
        int children;
    } block[24];
} Writer;
void line(Writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));       /* one statement */
void open_block(Writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* for (…), function head */
void close_block(Writer *w);
void close_lambda(Writer *w); /* of C++: };  */
void say_wrapped(Text *t, const char *text); /* every line broken under 100 columns */
void say_within(Text *t, const char *text, int columns);
void say_comment(Text *t, int indent, const char *text); /* one block comment, its words filled into lines */

/* Names already taken in some scope. */
typedef struct Names {
    const char **at;
    int n, cap;
} Names;
bool name_taken(const Names *s, const char *name);
const char *unique_name(Strings *taken, const char *wish);      /* as new_name(), of many */
const char *new_name(Names *s, const char *wish); /* wish, wish_b, …; taken from now on */
const char *new_index(Names *s, const char *letter, const char *word); /* the letter; where it is taken the word */
typedef struct Header_word {
    const char *word;
    bool everywhere; /* no variable has its name; else no function of the file */
} Header_word;
extern const Header_word header_words[]; /* in strcmp()'s order.  build/header_words.awk made them */
extern const int header_word_count;
bool is_size_name(Page *page, const char *word); /* emit/sizes.c: a size of the model, or a macro of the headers */
char *identifier(Page *page, const char *words);            /* "layer.attn.qkv" -> layer_attn_qkv, never a C keyword */
const char *file_name(const char *path);          /* without its folders */
char *upper(const char *word);                    /* Gpt from gpt: first letter only */

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
const char *in_parentheses(const char *text);    /* where it is more than one word */
char *within(Expr e, Binding least);             /* its text, in parentheses where it binds less than that */
Expr literal(double value, DType t, bool brief); /* brief: 2 for 2.0f, where C converts it anyway */
Expr apply(Page *page, const Node *n, const Expr *in);      /* the op's element text over its inputs */
char *store_text(DType t, const char *to, bool add, const char *what); /* what, set or added, without the ; */
char *reduction_step(Page *page, const Node *n, const char *running, Expr value); /* "s += x" or "s = max_f32(s, x)" */
const char *c_type(DType t);                                          /* float */
const char *type_suffix(DType t);                                     /* f32 */
bool in_doubles(Page *page);                                /* --precision fp64 */

const char *number_text(double x); /* the fewest digits that read back as x */

/* ------------------------------------------------------------------ emit/sizes.c: extents with the user's names */
void set_sizes(Page *page);
void say_sizes(Page *page, Text *t);                        /* the enum of those that have been used */
/* BATCH * SEQ; the number where nothing is known of the axis */
const char *extent_text(Page *page, int64_t n, int axis);
const char *factor_text(Page *page, int64_t n, int axis);   /* in parentheses where it needs them */
Expr extent_expression(Page *page, int64_t n, int axis);    /* which gets parentheses where an operator needs them */
const char *as_term(const char *text);                  /* a sum in parentheses */
const char *multiplied(const char *a, const char *b);   /* BATCH * (SEQ + 1); a may be NULL */
const char *divided(const char *a, int64_t by);
const char *extent_in(Page *page, Shape s, int k);          /* of axis k */
const char *product_in(Page *page, Shape s, int from, int to); /* of axes that are merged */
bool is_axis_of(int axis, const char *size);            /* its extent is that size and nothing else */
const char *trip_text(Page *page, const Loop *l);           /* LAYERS */
const char *array_text(Page *page, Shape s, int from);      /* [LAYERS + 1][BATCH][SEQ][WIDTH], from axis `from` on */
const char *subscript_text(Page *page, Shape s, int k, int64_t at); /* a constant subscript of axis k */
/* a number of elements in the array of axes from … to - 1 */
const char *step_text(Page *page, Shape s, int from, int to, int64_t n);
const char *grouped(int64_t n);                         /* 1,234,567 */

/* ------------------------------------------------------------------ emit/view.c: addressing */

/* An index: const + Σ coef · axis of the kernel + Σ coef · iteration of a loop. */
typedef struct Index {
    int64_t constant, axis[MAXRANK + 2];
    int nover;
    struct {
        Loop *loop;
        int64_t coef;
    } over[MAXRANK];
    const Buffer *in; /* what it counts elements of: axes from … to - 1, as one; NULL: it is a value */
    int from, to;
} Index;

/* One parameter of a kernel function: a buffer, or the part of it that `lead` picks, as an array of known size. */
typedef struct Arg {
    Buffer *root, *buffer; /* whose bytes; as which array */
    bool read, written;
    int nlead; /* leading axes of the buffer picked by the caller */
    Index lead[MAXRANK];
    int first[MAXRANK + 1]; /* array dimension k is buffer axes first[k] … first[k + 1] - 1, merged */
    int dims;
    bool flat;     /* no array fits: a plain pointer */
    bool by_value; /* one element, only read, on targets that pass it so */
    unsigned parts; /* those of the function that mention it, bit by bit */
    const char *name;
} Arg;

typedef struct Use {
    View view;
    bool write;
    bool before; /* it reads a carry of which the kernel makes the next value */
    int arg;
    Index sub[MAXRANK];
    Index offset;
} Use;

typedef struct Axis {
    const char *name; /* of its loop variable */
    const char *now;  /* how it is written at the moment: "c", or "c + l" inside lanes, "0" for extent 1 */
    int64_t extent;
    int what;          /* it is; 0: not known */
    const char *count; /* text of the extent */
} Axis;

/* CUDA: one of the __global__ functions that a kernel is made of, run one after another. */
typedef struct Part {
    const Launch *launch; /* the program's */
    const char *remark; /* what it does; NULL: what the kernel does */
    const char *blocks; /* of threads */
    const char *body;
    const char *room;   /* bytes of dynamic shared memory that a block has; NULL: none */
} Part;

/* A kernel function under construction. */
typedef struct Function {
    Page *page;
    const Nest *nest;
    int naxes;
    Axis axis[MAXRANK + 2];
    VEC(Use) uses;
    VEC(Arg) args;
    VEC(Loop *) loops; /* whose iteration is a parameter */
    VEC(const char *) loop_names;
    VEC(unsigned) loop_parts; /* the parts that mention it, as of an Arg */
    Names names;
    Writer w;
    bool some_rows;  /* it is told which: from … to */
    const char *block; /* CUDA: which of its blocks a thread is of: blockIdx.x, or of a step in a loop that is one launch what it is told */
    const char *room; /* CUDA: of the part being printed: Part.room */
    VEC(Part) parts; /* none in C, where the text is all */
} Function;
int add_use(Function *f, View v, bool write); /* v over f's axes */
void fit_args(Function *f);                   /* after all uses: decides on parameters and subscripts */
char *element(Function *f, int use);          /* x[r][c] */
Expr value_at(Function *f, int use);          /* likewise as an expression, with its guard; indices too */
char *index_text(Function *f, Index x);
const char *wished_name(Page *page, const Buffer *b);       /* of the parameter that stands for it */
const char *name_before(const char *name, bool before); /* cell_before, or cell */
bool single_number(const Arg *a);                      /* one element, only read */

/* The text of a place as the entry writes it: &p->layer[l].w[0][0], h[l + 1]. */
char *place_text(Page *page, const Buffer *b, int nsub, const Index *sub);
char *argument(Page *page, const Arg *a);
char *flat_pointer(Page *page, View v);                     /* for GEMM: pointer to its first element */

/* ------------------------------------------------------------------ emit/scope.c: names while an entry is printed */

void take_entry_names(Names *taken); /* what entries call what they are given */
void enter_scope(Page *page, const Program *p);
const char *state_member(Page *page, const char *state);    /* of the struct of states */
const char *buffer_name(Page *page, const Buffer *b);       /* of the array in the arena, or the struct's member */
void note_place(Page *page, const Buffer *b);               /* the text of the entry mentions it */
bool place_noted(Page *page, const Buffer *b);
bool home_noted(Page *page, Home h);
/* What a kernel's own text mentions of the entry's names, between the two; then the entry mentions it too. */
typedef struct Notes {
    VEC(const Buffer *) places;
    VEC(const Loop *) loops;
    bool homes[TABLES + 1];
} Notes;
Notes begin_notes(Page *page);
Notes end_notes(Page *page, const Notes *before);
bool in_kernel(Page *page);                                 /* between them */
const char *loop_letter(Page *page, const Loop *l);         /* of its iteration variable in the entry */

/* ------------------------------------------------------------------ emit/table.c: constant arrays */
const char *table_name(Page *page, const Node *constant);   /* printed once */
void say_constants(Page *page, Text *t);

/* ------------------------------------------------------------------ kernels, one file a family */

void emit_rows(Function *f, const Nest *n);    /* emit/rows.c */
void emit_index(Function *f, const Kernel *k); /* emit/index.c */
void begin_axes(Function *f, const Space *s);   /* emit/axes.c: its axes are those of s; those that have a name keep it */

/* emit/walk.c */
typedef struct For { /* for (int c = 0; c < WIDTH; c++) */
    const char *mark, *type, *name, *from, *to, *step; /* NULL: no mark, int, 0, and one by one */
} For;
void open_for(Writer *w, For f);
void open_axis(Function *f, int j, const char *mark); /* all of axis j */
void close_down_to(Writer *w, int depth);
int64_t space_size(const Function *f, const int *axes, int n); /* of the space that those axes span */
const char *space_text(const Function *f, const int *axes, int n);   /* BATCH * SEQ */
const char *in_64_bits(const char *count, int64_t n); /* (int64_t)BATCH * SEQ * VOCAB where 32 bits do not hold n */
/* The index of the i-th of them, from the element's number in that space; and `const int t = i % SEQ;` for all that a
 * use needs. */
char *index_in(const Function *f, const int *axes, int n, int i, const char *number);
void say_indices(Function *f, const int *axes, int n, const char *number);

struct Rows;
struct Columns;
/* How a target spells a kernel, each NULL where it has no text for that. */
typedef struct Spelling {
    void (*begin)(Function *f), (*end)(Function *f);    /* C: the block of its function */
    void (*begin_part)(Function *f);                    /* CUDA: of what one launch runs; a Part */
    void (*end_part)(Function *f, const char *remark, const char *blocks);
    /* CUDA: the indices of axes, from the number of the thread; returns the blocks.  NULL: there are loops over them. */
    const char *(*share)(Function *f, const int *axes, int n);
    /* Reductions over all rows: what goes around the rows of a block and leaves its partial results, and what adds these up.
     * The first returns the number of a row's team in its block, or NULL; the others the blocks that are launched, or NULL. */
    const char *(*begin_block)(struct Rows *r, struct Columns *columns);
    const char *(*end_block)(struct Rows *r, struct Columns *columns, const char *team);
    const char *(*add_blocks)(struct Rows *r, struct Columns *columns);
} Spelling;
extern const Spelling loops_of_c, cuda_threads;
void begin_kernel(Function *f);
void end_kernel(Function *f);
void begin_part(Function *f);
void end_part(Function *f, const char *remark, const char *blocks);

/* emit/threads.c: the parts of a CUDA kernel.  As in lathe_cuda.cuh. */
enum { WARP = TEAM_OF_WARP, THREADS = TEAM_OF_BLOCK, WARPS = THREADS / WARP };
const Launch *launch_now(const Function *f);          /* of the part that is printed */
const char *ceil_text(const char *n, const char *by);  /* CEIL_DIV(BATCH * SEQ, WARPS) */
/* The blocks of the launch, as text: of n things `each` a block takes one: THREADS, WARPS, WARP, 1. */
const char *blocks_of(const Function *f, const char *text, int64_t n, int each);
const char *index_type(int64_t n);                    /* of what counts to n, and a block further: int, int64_t */
/* Of n things, `all`, each thread takes one, each warp one: its number; those beyond the last leave. */
void number_threads(Function *f, const char *number, int64_t n, const char *all);
void number_warps(Function *f, const char *number, const char *all);
void leave_one_thread(Function *f); /* all but the first of a block leave */
const char *thread_indices(Function *f, const int *axes, int n); /* emit/index_threads.c: Spelling.share */
bool aligned(const Arg *a, int64_t bytes);            /* does what is passed always begin at a multiple of so many */

/* emit/ids.c: of a kernel by ids */
const char *id_text(Page *page, const Kernel *k, const char *id, int64_t below, int axis);
Expr class_id_text(Page *page, const Node *n, const Expr *in);

/* emit/function.c: kernel functions are printed once and shared by what has the same text. */
void start_functions(Page *page);
const char *name_and_place(const Kernel *k, const char *name); /* "lstm_time: char_rnn.lua:31 lstm" */
const Node *beneath_views(const Node *n);   /* the value that n shows, where kernels see through moves */
Expr as_written(const Node *n, Expr e); /* emit/spelling.c: sigmoid_f32(x), where e, the text of n, spells it with tanh */
/* emit/formula.c: "ln_1 = centred * rstd * ln_1_weight"; all: with mean, centred, rstd */
char *formula_text(Page *page, const Kernel *k, bool all);
typedef struct Call {
    Function *f;
    int *order; /* of its arguments; then come the iterations of loops */
    const char *name;
    const char *const *part_names;  /* CUDA: of its parts */
} Call;
Call kernel_call(Page *page, const Kernel *k);              /* the function of a kernel, printed if new */
const char *file_name_of(Page *page, const char *wish);     /* a name of the file's, taken from now on */
Text *function_text(Page *page);                            /* where functions are printed */
bool has_word(const char *text, const char *word);
char *call_text(Page *page, const Kernel *k);               /* "bias_gelu(act, pre, p->b1);" */
/* Is part `part` (-1: any) of the function given what these parts mention?  C has no parts, its functions get all. */
bool given(const Function *f, unsigned parts, int part);
void say_functions(Page *page, Text *t);

/* emit/entry.c */
void emit_entry(Page *page, Text *t, const Program *p);

/* emit/product.c */
char *product_call(Page *page, const Kernel *k);
char *cuda_product_call(Page *page, const Kernel *k);
char *pack_call(Page *page, const Kernel *k);
void say_shapes(Page *page, Text *t);                       /* descriptions of the products met so far */
void say_cuda_products(Page *page, Text *t);

/* in a loop that is one launch */
char *step_product_call(Page *page, const Kernel *k, const char *type, const char *kept);
/* what describes it there: " : Step_product<float, float> { … }" */
char *step_product_type(Page *page, const Kernel *k);
const char *remark_of_product(Page *page, const Kernel *k);

/* emit/persistent.c: CUDA: a loop that is one launch */
bool is_one_launch(Page *page, const Kernel *repeat);       /* and the target is one that can */
int persistent_loops(Page *page);                           /* printed since */
char *persistent_call(Page *page, const Kernel *repeat);    /* the call of what launches it, which is printed if new */
char *pointer_declaration(Page *page, const Buffer *b);     /* emit/entry.c: float (*h)[BATCH][WIDTH], of the arena */
const char *home_declaration(Page *page, Home home);        /* const Gpt_params *p */
const char *home_name(Home home);               /* p */

/* emit/attention.c */
char *attention_call(Page *page, const Kernel *k);
char *cuda_attention_call(Page *page, const Kernel *k);
void say_attentions(Page *page, Text *t);                   /* descriptions of those met so far */

/* the drawn table of the arena */
void say_memory(Page *page, Text *t, const Program *p, const char *margin, bool drawn);
char *entry_name(Page *page, const Program *p);
char *entry_head(Page *page, const Program *p); /* void gpt_train(const Gpt_params *p, …); after emit_entry */
char *entry_arguments(Page *page, bool declared);
double entry_flops(const Program *p);

/* budget.c: how long a step takes */
double estimated_ms(const Module *m);       /* of a training step */
double step_ms(const Module *m, double flops, double bytes);    /* likewise, on a machine that does so many a second */

const char *kernel_called(Page *page, const Kernel *k); /* emit/kernels.c: in model.c, in plan.txt and in profiles */
/* emit/function.c: of all programs, before the first is printed */
void note_functions(Page *page, Kernel *const *kernels, int n);
void name_functions(Page *page, Kernel *const *kernels, int n); /* after the last */
void name_kernels(Page *page);                              /* emit/c.c: before a plan is printed without a model */

/* emit/plan.c */
typedef struct Categories { /* of planned bytes, as the trainer has them */
    VEC(Lathe_bytes) all;
    int host; /* the last ones: a GPU's trainer has these beside it */
} Categories;
Categories planned_categories(const Module *m);
void say_plan_table(Text *t, const Categories *c);
int program_kernels(Page *page, const Program *p);          /* bodies once */

/* emit/c.c */
void say_head(Page *page, Text *t, const char *file, const char *what);
/* of all programs, and the functions they call; returns their prototypes */
const char *say_entries(Page *page, Text *entries);
void make_folder(const char *dir); /* with those above it */
void put_file(const char *dir, const char *name, const char *text, size_t bytes); /* left alone if it says that already */
void put_plan(Page *page, const char *dir);                 /* plan.txt */

/* build/bundle.c */
void write_build_file(const char *dir, bool cuda); /* CMakeLists.txt */
void write_runtime(const char *dir, bool cuda);    /* runtime/, for --bundle */

/* build/build.c: what a build takes, for `lathe doctor` */
const char *c_compiler(void); /* NULL: none */
const char *cuda_compiler(void); /* build/cuda.c: nvcc, or NULL */
const char *nvcc_flags(void);
char *program_beside(const char *name); /* "lathe-data": of those built with lathe */
const char *plain_c_flags(void); /* c_flags() without sanitizers */
const char *runtime_dir(void);
const char *blas_library(void);

/* emit/model.c */
void say_header(Page *page, Text *t, const char *prototypes); /* model.h */
void say_runs(Page *page, Text *t);                         /* what it calls, where that is elsewhere */
void take_table_names(Page *page, void (*take)(Page *page, const char *name));
void say_tables(Page *page, Text *t); /* descriptions of runtime/interface/lathe_model.h, and main */
char *type_name(Page *page, const char *entry, const char *what); /* Gpt_train_in */

char *braces(int n, const int64_t *x);                                 /* {1, 2} */
const char *dtype_word(DType t);                                       /* LATHE_F32 */

/* emit/done.c: which gradients are done behind a kernel: a line each */
void say_done(Page *page, Text *t, int depth, const Kernel *after);

/* emit/kernels.c: what each LAP of an entry stands for */
void say_kernel_table(Page *page, Text *t, const Program *p);
char *kernel_count(Page *page, const Program *p);           /* of the rows */
char *kernel_table(Page *page, const Program *p);           /* its name */

/* emit/watch.c: what each kernel touches, with --instrument */
void say_watch_tables(Page *page, Text *t, const Program *p);
char *watch_table(Page *page, const Program *p);            /* its name */

/* emit/params.c: the struct of parameters */
void name_parameters(Page *page);
void say_params(Page *page, Text *t);
char *gradients_type(Page *page); /* the struct of gradients: Gpt_params, where those have its type */
const char *group_of(Page *page, const Param *p);           /* name of the array of structs, NULL outside any */
/* p->layer[l].attn_qkv_weight */
char *param_text(Page *page, const Param *p, const char *base, const char *const *sub);

/* emit.c, c.c */
void emit_c(Page *page, const char *dir);                  /* model.c, model.h, plan.txt, CMakeLists.txt */
void print_plan(Page *page, Text *t);

/* cuda.c: model.cu, tables.c, model.h, plan.txt */
void emit_cuda(Page *page, const char *dir);

#endif
