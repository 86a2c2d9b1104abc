/* trainer.h: what the trainer's own files share, in the order in which a run meets them: words, command line, knobs,
 * memory, data, weights, training, reports.  Generated code sees none of it (that is lathe_rt.h). */
#ifndef TRAINER_H
#define TRAINER_H

#include "interface/lathe_model.h"
#include "math/internal.h"
#include "data/stream.h"
#include "step/device.h"

#include "base/json_text.h"

#include <jansson.h>
#include <pthread.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdio.h>

/* ------------------------------------------------------------------ base/words.c: messages, numbers, small text */

enum { EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_DATA = 3, EXIT_DIVERGED = 4 };

typedef struct Words {
    const char **at;
    int n;
} Words;
void add_word(Words *w, const char *word); /* which stays where it is */

typedef struct Passage { /* of text; no 0 at its end */
    const char *at;
    int64_t bytes;
} Passage;

void name_program(const char *name); /* in messages without a place, where it is not the trainer */
/* The user's mistake: prints "PLACE: error: …" (PLACE NULL: "trainer: error: …") and exits with code.  The message says
 * what was expected, what was found and what to do. */
_Noreturn void fail(int code, const char *place, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
_Noreturn void end_program(int code, const char *text); /* what fail() does with its message */
void advise(const char *advice); /* what fail() adds on a line of its own; NULL: nothing any more */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* a remark on stderr */
/* Prints with control characters, and bytes that are not UTF-8, spelled out: \x1b. */
void show(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void vshow(FILE *f, const char *fmt, va_list args);
void show_raw(FILE *f, const char *text, size_t n); /* of a model or a file: so on a terminal alone */
void keep_quiet(void); /* no remarks from here on: another process makes them */

/* Our mistake: says where, and aborts. */
#define bug_if(condition) ((condition) ? bug_at(__FILE__, __LINE__, #condition) : (void)0)
_Noreturn void bug_at(const char *file, int line, const char *what);

void *must_alloc(size_t bytes); /* zeroed, from malloc; ends the program (1) where there is none */
void *must_grow(void *at, size_t bytes); /* realloc, likewise */
char *text_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));   /* from malloc */
char *shell_word(const char *text);                                          /* as a shell takes it for one word */
const char *nearest_word(const char *word, const char *const *words, int n); /* by edit distance, or NULL */
char *bytes_text(int64_t bytes);                                             /* "1.4 GB" */
char *grouped_text(int64_t n);                                               /* "1,115,394" */
void print_padded(FILE *f, const char *s, int width);                        /* width counts characters, not bytes */
void print_json(json_t *all);                   /* one line on stdout; takes the reference */
const char *config_of(const Lathe_model *m);    /* " char", or "" where there is only one configuration */
bool parse_count(const char *s, int64_t *n);    /* decimal, whole string, also 1e6 */
bool parse_real(const char *s, double *x);      /* finite, whole string */
bool parse_size(const char *s, int64_t *bytes); /* 512, 64K, 1.5G: powers of 1024 */
double seconds_now(void);                       /* monotonic */
char *error_text(int number);                   /* strerror, lower case at its start */

/* ------------------------------------------------------------------ base/thread.c: threads beside the trainer's own */

bool start_thread(pthread_t *thread, void *(*run)(void *), void *with); /* which gets no signals */
/* From now on fail() in this thread does not end the program: it hands code and message to take(to, …) and ends the
 * thread. */
void catch_failures(void (*take)(void *to, int code, char *text), void *to);
void hand_failure(int code, char *text); /* returns where the thread does not catch */

/* ------------------------------------------------------------------ math/ids.c */

bool take_bad_id(Bad_id *bad); /* whether kernels met one on this processor */
_Noreturn void refuse_id(const Lathe_entry *e, const Bad_id *bad);

/* ------------------------------------------------------------------ base/hash.c: checksums */

typedef struct Hash { /* XXH64, seed 0 */
    uint64_t lane[4], bytes;
    size_t waiting; /* bytes in rest */
    unsigned char rest[32];
} Hash;

void hash_start(Hash *h);
void hash_add(Hash *h, const void *at, size_t bytes);
uint64_t hash_end(const Hash *h); /* of all that was added; more may follow */
uint64_t hash_of(const void *at, size_t bytes);

/* ------------------------------------------------------------------ base/file.c: files that survive */

typedef struct Fault { /* the first thing that went wrong; path NULL: nothing did */
    char *path, *text; /* "cannot be written: no space left on device" */
    int number;        /* errno */
} Fault;

typedef struct Mark { /* what a file must be again */
    int64_t bytes;
    uint64_t hash;
} Mark;

typedef struct Out { /* a file being written */
    char *path;
    Fault *fault;
    int fd;
    Hash hash;
    size_t waiting; /* bytes in room */
    char room[1 << 16];
} Out;

bool set_fault(Fault *f, const char *path, const char *doing); /* from errno, unless there is one already; false */
void clear_fault(Fault *f);
const char *room_remedy(int number); /* what to do where a file could not be written for this errno */
/* To be read.  A pipe does not make it wait for somebody who writes: whoever wants a regular file sees what it is. */
int open_to_read(const char *path);
FILE *open_stream_to_read(const char *path);
/* After a fault they do nothing; those that return a bool return false then.  Folders that change are synced. */
Out *open_out(const char *path, Fault *f); /* made or emptied; never NULL */
void put_out(Out *o, const void *at, size_t bytes);
void flush_out(Out *o); /* to the system: nothing that was given is read any more */
Mark close_out(Out *o); /* synced */
Mark write_text(const char *path, const char *text, Fault *f);
bool replace_text(const char *path, const char *text, Fault *f); /* by PATH.part */
bool sync_folder(const char *path, Fault *f);
char *folder_of(const char *path); /* from malloc */
bool make_folders(const char *path, Fault *f);                   /* with all above it */
bool move_file(const char *from, const char *to, Fault *f);      /* or folder; to be synced by the caller */
bool replace_file(const char *from, const char *to, Fault *f);   /* within a folder */
bool add_folder(const char *path, Fault *f); /* its parent is there */
bool replace_link(const char *path, const char *target, Fault *f); /* true also where there are no links */
bool remove_folder(const char *path);                            /* and the plain files in it */

/* ------------------------------------------------------------------ trainer/main.c: the command line */

enum { MAX_SETTINGS = 96 }; /* of a recipe (trainer/knobs.c) */
typedef struct Trainer { /* one run of the program */
    const Lathe_model *model;
    const char *program, *command; /* as it was called; train, eval, … */
    Lathe_recipe recipe; /* the model's with --set applied */
    Words data, val_data;
    struct Prompts *prompts;            /* of generate (text/prompts.c); NULL: none is given */
    Words stop, stop_tokens;            /* what ends texts (text/stop.c) */
    Words ignored_keys;                 /* of config.json (model/hf_config.c) */
    struct Origin *origin;              /* files that came with imported weights (model/origin.c); NULL: none */
    const char *out, *weights, *inputs, *only, *trace, *to; /* NULL where not given */
    const char *tokenizer;              /* file or folder of one; NULL: the recipe says which */
    int64_t steps, epochs, tokens, samples; /* 0 where not given */
    int64_t ids;                        /* export: ids in use; 0 where not given */
    int64_t items;                      /* eval: sources to write texts for; 0: all */
    int64_t memory_limit;               /* bytes; 0: what the machine has */
    int64_t readers;                    /* threads that encode; 0 where not given */
    int32_t seed;
    int threads; /* 0: OpenMP decides */
    bool json, training, overfit, dry_run, tokenizer_given, seed_given, out_given;
    bool generate, stem;  /* eval: ROUGE of what is written; of stems */
    bool ignore_eos;      /* no token ends a text */
    bool given[MAX_SETTINGS]; /* the k-th of the recipe was given */
    const char *resume;   /* NULL: a new run; "": from the run folder's newest checkpoint; else a path */
    struct Saver *saver;  /* NULL where nothing is saved while steps are taken */
    int64_t gpus;         /* 0 where not given */
    int rank;             /* of several GPUs: which one this process has */
    struct Ranks *ranks;  /* trainer/ranks.c; NULL: one GPU, or none */
} Trainer;

const char *run_folder(const Trainer *t); /* --out, or runs/NAME-CONFIG */
const char *default_folder(const Trainer *t); /* for a new run the first that is free, else that of the last run */
char *newest_weights(const char *folder); /* of a run: its newest checkpoint's; of another folder: model.safetensors */
char *run_weights(const char *run, const char *remedy); /* newest_weights() of a run; ends the program (3) where there are none */
char *weights_path(const Trainer *t);     /* --weights, or the run folder's newest */

/* The subcommands: each returns the exit code. */
int train_command(Trainer *t);    /* trainer/loop.c */
int eval_command(Trainer *t);     /* trainer/eval.c */
int generate_command(Trainer *t); /* trainer/generate.c */
int grad_command(Trainer *t);     /* trainer/grad.c */
void take_inputs(const Trainer *t, const Lathe_entry *e, char *in); /* of --inputs */
int init_command(Trainer *t);     /* trainer/grad.c */
int export_command(Trainer *t);   /* trainer/export.c */
int bench_command(Trainer *t);    /* trainer/bench.c */
int profile_command(Trainer *t);  /* trainer/profile.c */
int replay_command(Trainer *t);   /* trainer/replay.c */
int info_command(Trainer *t);     /* trainer/info.c */

/* ------------------------------------------------------------------ trainer/knobs.c: --set k=v */

/* Changes a field of the recipe; unknown names, wrong values and what is fixed in the binary end the program with 2. */
void set_knob(Trainer *t, const char *name, const char *value);
void set_knob_text(Trainer *t, const char *assignment); /* "lr=3e-4" */
json_t *recipe_json(const Lathe_recipe *r);             /* every knob under its name */
void take_recipe(Trainer *t, const json_t *recipe);     /* a checkpoint's: what was not given */
void take_data_settings(Trainer *t, const json_t *recipe, const char *only); /* those about data, without a word; only: NULL: all */
bool is_setting(const char *name);                      /* a name that --set takes in all trainers */
bool was_set(const Trainer *t, const char *name);       /* by an option or --set */
char *data_settings(const Trainer *t);                  /* " --set order=epochs": where the model has another, for a shell */
void print_knobs(FILE *f, const Lathe_recipe *r);       /* name, value, meaning: one a line */

/* ------------------------------------------------------------------ model/memory.c: the one block */

typedef struct Memory {
    char *base;
    int64_t bytes;
    void *params, *grads, *moments, *state; /* NULL where the command has no use for them; moments: the GPU's part */
    char *carried;                          /* room for a copy of what train carries (step/carry.c); likewise */
    void *step;                             /* of a device: what a step needs beside the arrays (cuda/optim.h); else NULL */
    char *call;                             /* inputs, outputs, work of the entry called; shared by all entries */
    char *generation;                       /* beside the states, for those who write texts (text/decode.c, …) */
    int64_t call_bytes, generation_bytes;
} Memory;

/* Ends the program (1) where the whole plan is larger than the memory there is; to be asked before anything is taken.
 */
void check_memory(const Trainer *t);
void check_data_memory(const Trainer *t, int64_t bytes); /* the same, the data taking so many bytes */
/* Takes the block: for train and bench exactly what was planned, for the others the part they use; touches
 * the pages of gradients and of the arena, for 0.15 s at most each; parameters and moments are left to who fills them.
 * entries: names, NULL at the end.  A block larger than the memory there is ends the program (1) before any is taken.
 */
void take_memory(Memory *m, const Trainer *t, bool grads, bool optimizer, const char *const *entries);
void clear_memory(void *at, int64_t bytes); /* to zero, by all threads */
int64_t weight_bytes(const Lathe_model *m); /* of parameters */
int64_t flat_bytes(const Lathe_model *m);   /* of gradients, and of each moment */
int64_t shard_bytes(const Trainer *t);      /* of one moment, as far as this process' GPU has it: flat_bytes() for one GPU */
int64_t ahead_bytes(const Lathe_model *m);  /* of a device, beside the block: where inputs of steps arrive */
int64_t bytes_of_run(const Trainer *t);     /* the plan's: of a device each, where there are several */
int64_t planned(const Lathe_model *m, const char *category); /* bytes; 0 where the plan has no such line */

const Lathe_entry *find_entry(const Lathe_model *m, const char *name); /* NULL where there is none */
const Lathe_entry *need_entry(const Lathe_model *m, const char *name); /* ends the program instead */
Lathe_call call_of(const Memory *m, const Lathe_entry *e); /* in and out lie where later calls of entries put theirs */
void set_scalars(const Lathe_entry *e, char *in, int32_t seed, int64_t step, int64_t position);

int64_t tensor_size(const Lathe_tensor *t);    /* elements */
char *dims_text(int rank, const int64_t *dim); /* "[12, 64]" */
int dtype_size(Lathe_dtype t);                 /* bytes */
double read_element(Lathe_dtype t, const void *at, int64_t i);
void write_real(Lathe_dtype t, void *at, int64_t i, double x); /* of F32, F64, BF16: the nearest one */
const Lathe_tensor *tensor_with_role(const Lathe_entry *e, Lathe_role role); /* first such input, or NULL */
const Lathe_tensor *output_named(const Lathe_entry *e, const char *name);    /* or NULL */
double output_scalar(const Lathe_entry *e, const char *out, const char *name);
int64_t class_count(const Lathe_model *m); /* ids are below this; 0 where it is not known */

/* ------------------------------------------------------------------ base/utf8.c: UTF-8; tokens: token/tokenizer.h */

enum { CODE_POINTS = 0x110000 };

/* One UTF-8 character of at most n bytes: its length, 0 where it is malformed. */
int decode_utf8(const unsigned char *at, int64_t n, uint32_t *code);
int encode_utf8(uint32_t code, char *out); /* at most 4 bytes, returns how many */
char *character_text(uint32_t code);       /* "'é' (U+00E9)" */
/* Bytes that no text has: what is not UTF-8, control characters but white space and escape; *first of them, -1: none. */
int64_t bytes_of_no_text(const unsigned char *at, int64_t n, int64_t *first);
/* Ends the program (3) where more than a tenth of these bytes of the file are such; where `bytes`, all are as good as text, and
 * it is said.  all: whether fewer of them are said, too. */
void check_is_text(const char *path, const unsigned char *at, int64_t n, bool bytes, bool all);
int64_t unfinished_utf8(const char *text, int64_t n); /* bytes at the end that begin a character and do not end it */

/* ------------------------------------------------------------------ token/chars.c: as Hugging Face has them */

char *hf_tokenizer(const Tokenizer *t); /* text of tokenizer.json, from malloc */
char *hf_tokenizer_config(const Tokenizer *t, int64_t context); /* of tokenizer_config.json */

/* ------------------------------------------------------------------ data/special.c: tokens by their usual names */

typedef struct Usual_tokens { /* -1: the tokenizer has none */
    int32_t bos, eos, pad;
} Usual_tokens;
Usual_tokens usual_tokens(const Tokenizer *k);

#include "source/source.h" /* documents from files */
#include "data/pack.h"   /* documents to rows */
#include "data/data.h"   /* documents, tables, arrays to batches */

/* ------------------------------------------------------------------ model/safetensors.c: the file format */

typedef struct Stored { /* a tensor in a file */
    const char *name;
    const char *dtype; /* F32, F64, I32, I64, … */
    int rank;
    int64_t dim[LATHE_MAXRANK];
    const char *at; /* its bytes; may be unaligned */
    int64_t bytes;
} Stored;

typedef struct Store { /* a file that was read, by name */
    const char *path;
    int n;
    Stored *tensor; /* sorted by name */
    void *map;
    size_t map_bytes;
    json_t *header;
} Store;

/* Reads and checks the whole header; whatever is wrong ends the program (3). */
void read_store(Store *s, const char *path);
void close_store(Store *s);
const Stored *find_stored(const Store *s, const char *name); /* NULL where there is none */
double stored_element(const Stored *s, int64_t i);           /* F32, F64, F16, BF16, I32, I64 */
bool stored_is(const Stored *s, const char *dtypes);         /* "F32 F64" */

typedef struct Store_writer Store_writer;
/* Tensors are declared first, then given in the same order. */
void declare_tensor(Store_writer *w, const char *name, Lathe_dtype dtype, int rank, const int64_t *dim);
void put_elements(Store_writer *w, const void *at, int64_t n, Lathe_dtype dtype); /* the next n of the data */
/* Writes PATH aside; finish_store syncs and renames it.  A failure (disk full, no permission) removes what was written
 * aside, leaves an old PATH alone and ends the program (3). */
Store_writer *start_store(const char *path);
void finish_store(Store_writer *w);
/* Writes PATH itself; what goes wrong is left in f. */
Store_writer *start_store_at(const char *path, Fault *f);
void flush_store(Store_writer *w); /* nothing that was given is read any more */
Mark end_store(Store_writer *w);   /* synced */

/* ------------------------------------------------------------------ model/weights.c: parameters in such files */

/* What does not fit is gathered, so that one message names it all. */
typedef struct Misfits {
    int n;
    char *text;
} Misfits;
void add_misfit(Misfits *m, char *line);   /* takes the line */
const char *more_misfits(const Misfits *m); /* "and 3 more", or "" */

void load_weights(const Lathe_model *m, const char *path, void *flat); /* every parameter, under its export name */
void save_weights(const Lathe_model *m, const char *path, const void *flat);
/* Arrays of the parameters' layout, every tensor in the model's own type; flat NULL: only whether they fit. */
void load_arrays(const Lathe_model *m, const Store *s, int arrays, const char *const *prefix, void *const *flat,
                 Lathe_dtype type);
/* The same tensors under prefix + export name, for grad. */
void declare_parameters(Store_writer *w, const Lathe_model *m, const char *prefix, Lathe_dtype type);
void put_parameters(Store_writer *w, const Lathe_model *m, const void *flat, Lathe_dtype type); /* flat: of that type */

/* ------------------------------------------------------------------ model/hf.c: how Hugging Face knows the model */

typedef struct Hf_tensor {  /* a tensor of its files */
    char *name, *own;       /* "transformer.h.0.ln_1.weight", "h.0.ln_1.weight" */
    const Lathe_param *param;
    int64_t copy;
    bool zero;              /* not a parameter here: zeros there */
    bool transposed, ids;   /* a matrix the other way round; a row for each id */
    int rank;
    int64_t dim[LATHE_MAXRANK];     /* there, with as many rows of ids as here */
} Hf_tensor;

typedef struct Hf {
    json_t *all;            /* the description's hf */
    int n;
    Hf_tensor *tensor;
} Hf;

Hf open_hf(const Lathe_model *m);                           /* ends the program (1) where the description has none */
int64_t hf_place(const Hf_tensor *t, int64_t element);      /* of an element of theirs, in the flat arrays */
char *hf_name(const Hf *hf, const char *name);              /* their name of one of ours, from malloc */
bool hf_is_of(const Hf *hf, const char *template, const char *name); /* "h.%d.attn.bias", ours or theirs */

/* ------------------------------------------------------------------ model/hf_config.c: config.json */

typedef struct Origin Origin;
void ignore_config(const Words *keys); /* what check_hf_config passes over */
void check_hf_config(const Hf *hf, const Lathe_model *m, const json_t *theirs, Misfits *bad);
int64_t hf_ids(const Hf *hf, const json_t *theirs); /* rows of their tables of ids; 0: not said */
/* Text of the one to write, from malloc; o: what the weights came with, or NULL; k: their tokenizer, or NULL. */
char *hf_config(const Hf *hf, const Origin *o, const Tokenizer *k, Lathe_dtype weights, int64_t ids);

/* ------------------------------------------------------------------ model/import.c: weights that others wrote */

char *weights_file(const char *path);        /* of a folder model.safetensors or its index; from malloc */
bool is_exchange(const char *weights);       /* a file beside Hugging Face's config.json, or an index of shards */
void load_exchange(const Lathe_model *m, const char *path, void *flat);     /* load_weights() of such */

/* ------------------------------------------------------------------ text/rouge.c, text/stem.c: ROUGE */

typedef struct Rouge {
    double precision, recall, f1;
} Rouge;

enum { ROUGE_1, ROUGE_2, ROUGE_L, ROUGES };
extern const char *const rouge_names[ROUGES]; /* rouge1, rouge2, rougeL: as metrics */
/* Of each kind that against the reference, of n, with the best f1; the first of several.  stem: words are stemmed. */
void best_rouge(const Passage *reference, int64_t n, Passage text, bool stem, Rouge *to);
int64_t stem_word(char *word, int64_t n); /* in place, of a-z and 0-9; its length then */

/* ------------------------------------------------------------------ model/origin.c: what came with imported weights */

/* The files of a Hugging Face folder that are no tensors and no tokenizer.json: kept as they are in checkpoints
 * (huggingface.json), given out again by export. */
Origin *read_origin(const char *weights);   /* beside weights: of such a folder, or of a checkpoint; NULL: there are none */
char *origin_text(const Origin *o);         /* of huggingface.json, from malloc */
int origin_files(const Origin *o);          /* 0 where o is NULL */
const char *origin_name(const Origin *o, int k);
const char *origin_file(const Origin *o, const char *name); /* its text, or NULL */
const json_t *origin_object(const Origin *o, const char *name); /* an object, or NULL */
/* Of a run, what the weights that it starts from came with.  Where its tokenizer k is another than theirs, what speaks of
 * tokens goes. */
void settle_origin(Trainer *t, const Tokenizer *k);

#include "text/generate.h" /* what writes texts */

/* ------------------------------------------------------------------ trainer/eval.c: the validation part */

enum { MAX_SCORES = 16 };
typedef struct Scores { /* every output of rank 0, averaged over the validation items; behind them f1 of ROUGE */
    int n, rouge;       /* rouge: the first of those; n where there are none */
    const char *name[MAX_SCORES + ROUGES]; /* name[0] is "loss" */
    double value[MAX_SCORES + ROUGES];
    int64_t items;
    bool complete; /* false: interrupted */
} Scores;

Scores no_scores(const Trainer *t); /* their names alone */
/* Over so many items, spread evenly; most 0: over all. */
Scores evaluate(const Data *d, const Memory *m, const Trainer *t, int64_t most);
char *scores_text(const Scores *s, const Data *d); /* "loss 1.9012 | accuracy 0.4310 | perplexity 6.69" */
json_t *scores_json(const Scores *s, const Data *d);

/* ------------------------------------------------------------------ trainer/eval_texts.c: of what a model writes */

typedef struct Text_eval Text_eval;
/* Of so many of the sources kept for evaluation, drawn by the seed; most 0: of all. */
Text_eval *open_text_eval(const Trainer *t, Text_writer *w, const Tokenizer *k, int64_t most, bool stem);
bool evaluate_texts(Text_eval *e, int64_t step, Rouge *to); /* means over them, [ROUGES]; false: interrupted */
void add_rouge(Scores *s, Text_eval *e, int64_t step); /* e NULL: nothing to add; an interruption makes s incomplete */
char *rouge_text(const Text_eval *e, const Rouge *r);
json_t *rouge_json(const Text_eval *e, const Rouge *r);

typedef struct Progress Progress;

/* ------------------------------------------------------------------ trainer/best.c: which evaluation is the best */

const char *metric_name(const Lathe_recipe *r);
void check_metric(const Trainer *t, const Data *d); /* ends the program (2) where there is none of that name */
double metric_value(const Lathe_recipe *r, const Scores *s);
/* Takes an evaluation in: true where it is the best so far.  A value that is no number never is. */
bool note_evaluation(Progress *p, const Lathe_recipe *r, const Scores *s);
bool out_of_patience(const Progress *p, const Lathe_recipe *r);

/* ------------------------------------------------------------------ text/draw.c: samples by the entry `sample` */

typedef struct Drawing Drawing;
Drawing *open_drawing(const Trainer *t, const Memory *m); /* ends the program where there is no such entry */
bool draws_text(const Drawing *d);                        /* then it needs a tokenizer, */
void set_drawing_tokens(Drawing *d, Tokenizer *k, const char *place); /* place: of prompts, for messages */
int64_t drawing_batch(const Drawing *d);                  /* samples of a call */
void check_prompt(const Drawing *d, Passage prompt);      /* ends the program (2) where it cannot be begun with */
/* Makes batch number `number` of so many samples: the first n (at most a batch) begin with these prompts. */
void draw_batch(const Drawing *d, const Passage *prompt, int64_t n, int64_t number, int64_t step);
json_t *drawn_json(const Drawing *d, int64_t row, Passage prompt); /* {prompt, text, tokens, outputs} */
int draw_command(Trainer *t); /* trainer generate */

/* ------------------------------------------------------------------ trainer/generate.c: texts and what is said of them */

typedef struct Text_written {
    char *at; /* from malloc; NULL where it is empty */
    size_t bytes, room;
} Text_written;

int generated(const Trainer *t);          /* number of samples that the command line asks for, over all prompts */
Prompt prompt_number(const Trainer *t, int k); /* of the k-th; empty without */
/* As saved beside the weights; else the given text's characters; bytes need neither. */
Tokenizer *vocabulary_of(Trainer *t, const char *weights);
json_t *text_json(const char *text, size_t bytes); /* what is not UTF-8 becomes U+FFFD */

Text_written text_written(const Tokenizer *k, const Written *w);
json_t *written_json(const Text_writer *from, const Tokenizer *k, Passage prompt, const Written *w);

/* ------------------------------------------------------------------ trainer/samples.c: samples of a run */

typedef struct Samples Samples;
/* For the recipe's samples: the prompts are read and encoded, so that what is wrong with them is told before training.
 * NULL where there are none.  w: NULL where the model draws them itself. */
Samples *open_samples(const Trainer *t, const Memory *m, Tokenizer *tokenizer, Text_writer *w);
bool wants_samples(const Trainer *t);
int sample_count(const Samples *s);
int sample_calls(const Samples *s); /* draw_sample()s that take time: others are of a batch that was drawn */
/* What is written for the k-th prompt after so many steps, as JSON; changes nothing that training uses but what an
 * evaluation does. */
json_t *draw_sample(Samples *s, int k, int64_t step);

/* ------------------------------------------------------------------ trainer/replay.c */

/* Words for a shell: the replay of a step from the weights at `path`, with what decides on the step's data. */
char *replay_words(const Trainer *t, const Data *d, const char *path, int64_t number);

/* ------------------------------------------------------------------ trainer/run.c: the run folder */

/*  RUN/checkpoints/step-N/   a checkpoint (trainer/checkpoint.c); step-N.part is being written, step-N.gone removed
 *                 /latest, best            links to one
 *     /model.safetensors, tokenizer.json, huggingface.json   links into the newest
 *     /config.json, metrics.jsonl, lock
 *     /before-K/                           what an earlier run in this folder has left */
char *checkpoint_path(const char *run, int64_t step);
int64_t newest_checkpoint(const char *run, int64_t below); /* its step, less than below; -1 where there is none */
bool holds_a_run(const char *folder);
void lock_run(const char *run);  /* makes it; ends the program (3) where another trainer has it */
void keep_lock(
    const char *run); /* before a save: where the folder is another one now, that is locked, or the program ends (3) */
/* Removes what a kill has left half done; puts checkpoints of more than `after` steps (-1: the whole run) into
 * before-K.  False: there was nothing to put there; else its name is in *where. */
bool prepare_run(const char *run, int64_t after, char **where);
void link_checkpoint(const char *run, int64_t step, int64_t best, Fault *f); /* best: -1: as it is */
void prune_run(const char *run, int64_t keep, int64_t best);

/* ------------------------------------------------------------------ trainer/state.c: state.json */

struct Progress { /* of a run, beside its arrays */
    int64_t step;         /* steps done */
    int64_t evaluated;    /* steps done at the last evaluation; -1: none */
    int64_t best_step;    /* that with the best of the recipe's metric; -1: none */
    double best_value, elapsed; /* elapsed: s */
    int64_t stale;        /* evaluations since the best */
    int64_t epoch_steps;       /* since the epoch began, of data in epochs */
    double epoch_loss;         /* their sum */
    int64_t epochs;            /* that have ended */
    Loss_scale loss_scale;
};

typedef struct State { /* a state.json that was read */
    char *path;
    Progress at;
    json_t *all;
} State;

json_t *state_json(const Trainer *t, Data *d, const Progress *p, int64_t items_per_step);
void renew_evaluation(State *s, const Progress *p, const Lathe_recipe *r, Fault *f); /* in its file too: all else stays */
void resume_settings(Trainer *t, const State *s); /* recipe, seed, data: those that were not given */
/* Where the best was by another metric than it is now, it is no longer the best. */
void take_evaluations(Progress *p, const Trainer *t, const State *s);
void take_own_data(Trainer *t, const char *weights); /* where none is given: that of the checkpoint the weights lie in */
/* What it says about data, whatever is given to read; only: one setting, NULL: all. */
void take_own_settings(Trainer *t, const char *weights, const char *only);
void compare_origin(const Trainer *t, Data *d, const State *s); /* says where resuming is not bit-exact */

/* ------------------------------------------------------------------ trainer/state_text.c */

json_t *hash_json(uint64_t hash);
void add_mark(json_t *state, const char *file, Mark m);
char *state_text(const json_t *state);                 /* with its own checksum, from malloc */
char *state_last_line(const char *body, size_t bytes); /* what state_text adds */
void read_state(State *s, const char *checkpoint);     /* ends the program (3) where it is damaged */
int64_t whole_member(const State *s, const json_t *from, const char *name, int64_t least); /* or ends the program (3) */
void close_state(State *s);
/* data/place.c: the threads; from NULL: at the beginning */
Mixture *open_rows_of(const Epochs *e, const State *from);
void start_epochs(Epochs *e, const State *from);
/* Ends the program (3) where the bytes are not those that the checkpoint was saved with. */
void check_mark(const State *s, const char *file, const char *path, const void *at, size_t bytes);

/* ------------------------------------------------------------------ step/carry.c: states from step to step */

bool entry_carries(const Lathe_entry *e);
bool model_carries(const Lathe_model *m); /* its entry train */
void set_begins(const Lathe_entry *e, char *in, bool begins); /* all rows; where the entry asks for it */
int64_t carried_bytes(const Lathe_model *m); /* 0 where nothing is carried */
void copy_carried(const Lathe_model *m, char *to, const char *state);
void place_carried(const Lathe_model *m, const char *copy, char *state);
/* Writes such copies, of several GPUs one after the other, which the tensors have as a first axis. */
Store_writer *start_carried(const Lathe_model *m, const char *copy, int gpus, const char *path, Fault *f);
void load_carried(const Lathe_model *m, const Store *from, int gpus, char *copy); /* ends the program (3) where it does not fit */

/* ------------------------------------------------------------------ trainer/checkpoint.c */

typedef struct Saver Saver;
enum { NOT_SAVED = -1 };
Saver *open_saver(const Trainer *t, const Memory *m, const Optimizer *o, const Data *d, int metrics, int64_t saved);
/* Starts saving in the background; takes the reference to state.  One that is under way is waited for first. */
void begin_save(Saver *s, const Progress *p, json_t *state);
/* Until the arrays may be changed; nothing where no save is under way.  s may be NULL. */
void wait_until_copied(Saver *s);
/* Whether a save has ended since the last call, or, with wait, ends now. */
bool end_save(Saver *s, bool wait);
int64_t saved_step(const Saver *s);        /* of the last that was saved; NOT_SAVED: none */
int64_t tried_step(const Saver *s);        /* of the last that was begun */
const Fault *save_fault(const Saver *s);   /* of the last save; NULL: none */
const Fault *link_fault(const Saver *s);   /* of its links; NULL: none */
const char *save_remedy(const Saver *s);
/* The checkpoint that --resume means; also settles t->out. */
char *find_checkpoint(Trainer *t);
/* Reads and checks state.json and tokenizer.json; if anything of it is damaged, the message names the one before. */
void open_checkpoint(State *s, const char *checkpoint);
void check_model(const Trainer *t, const char *checkpoint); /* whether its parameters are this model's, by name and shape */
void load_checkpoint(const Trainer *t, const State *s, const char *checkpoint, const Memory *m, const Optimizer *o);
/* Parameters alone, checked where they lie in a checkpoint. */
void load_saved_weights(const Trainer *t, const char *path, void *flat);

/* ------------------------------------------------------------------ step/device.c: where entries run */

void use_threads(const Trainer *t);                    /* as many as it says; to be called before memory is taken */
void open_device(const Memory *m, const Trainer *t);   /* does nothing where the model runs on this processor */
bool on_device(void);                                  /* what follows does nothing, or what its comment says, where not */
void device_up(const void *at, int64_t bytes);         /* of the block: the host has changed it */
void device_down(void *at, int64_t bytes);             /* the host wants to read it */
/* Where the entries see it: to zero; n pieces, on both sides `apart` from each other. */
void clear_there(void *at, int64_t bytes);
void copy_there(void *to, const void *from, int64_t piece, int64_t n, int64_t apart);
/* Reads what the host has put at call->in, and has its results at call->out when it returns; states, parameters and
 * gradients stay there.  Ends the program where an id was out of range. */
void run_entry(const Lathe_entry *e, const Lathe_call *call);
void compute_entry(const Lathe_entry *e, const Lathe_call *call); /* of a device: outputs stay there */

typedef struct Step { /* what one optimizer step has shown */
    double loss, norm, rate;
    /* seconds: waiting for its inputs; the entry; norm of the gradients, clipping and update, a save that must copy first */
    double data, forward, backward, update;
    double there; /* on a device, by its clock: all three, which are 0 without time_parts() */
    int64_t number; /* steps before it */
    bool skipped; /* gradients beyond fp16: the parameters are as they were, the next loss scale is smaller */
    Loss_scale loss_scale; /* behind it */
} Step;

void ready_optimizer(const Optimizer *o, const Memory *m); /* before the first step */
/* A step on the inputs that lie at call->in: gradients, norm, clipping, update.  Where loss or norm is not finite it and all
 * that follow leave the parameters as they were.  begin_step has used the inputs when it returns; end_step gives what
 * became of the oldest that was begun, and must come where step_is_due. */
void begin_step(const Trainer *t, const Lathe_entry *e, const Lathe_call *call, Optimizer *o, void *params,
                int64_t number, double data);
Step end_step(void);
int steps_begun(void); /* and not ended */
bool step_is_due(void);
Step take_step(const Trainer *t, const Lathe_entry *e, const Lathe_call *call, Optimizer *o, void *params,
               int64_t number); /* both */
bool has_diverged(const Step *s);
/* A device's clock: lap(kernel, seconds) for each kernel of the steps from now on, told by end_step; NULL: no more. */
void watch_laps(void (*lap)(int kernel, double seconds));
/* Of a device: whether steps tell their parts, in graphs that are made anew.  Each is to be ended before the next begins. */
void time_parts(bool wanted);
void device_rates(double *copy, double *product); /* of a device with nothing in its memory yet: see step/device.h */

/* Several devices, a process each (trainer/ranks.c). */
void name_devices(char *id);                           /* by the first; the others join by it */
void join_devices(const char *id, const Lathe_shards *shards);
void share_there(void *at, int64_t bytes);             /* the first one's to all */
void close_device(void);

/* ------------------------------------------------------------------ trainer/loop.c */

/* Set by SIGINT, SIGTERM, SIGHUP and SIGXCPU while train runs; 0 before. */
extern volatile int interrupted;

typedef struct Trial { /* a run that is ready to begin */
    Trainer *t;
    Data *data;
    Memory *memory;
    Optimizer *optimizer;
    const Lathe_entry *entry;
    Samples *samples;    /* NULL: none */
    Text_eval *texts;    /* NULL: none are written for evaluation */
    int64_t items;       /* of a step */
    bool evaluates;
} Trial;
/* trainer/check.c: what is tried before a run; they return the exit code and write nothing. */
int overfit(const Trial *c);
int dry_run(const Trial *c);

/* ------------------------------------------------------------------ trainer/ranks.c: several GPUs */

typedef struct Ranks Ranks;
int gpus_of(const Trainer *t);           /* at least 1 */
bool is_follower(const Trainer *t);      /* it does what the first orders, and says nothing */
void check_gpus(const Trainer *t);       /* ends the program (2) where it cannot have so many */
/* Forks a process for each of several: returns in those alone, in followers once the first has called join_ranks.  No thread
 * may run, and CUDA must not have been started. */
void start_ranks(Trainer *t);
void join_ranks(const Trainer *t, Optimizer *o, const Memory *m); /* the first one's parameters and loss scale are all's */
/* Shared by all, for checkpoints: the whole moments; what each carries, one after the other.  Of one GPU, or none: memory's. */
void *whole_moments(const Trainer *t, const Memory *m);
char *all_carried(const Trainer *t, const Memory *m);
void take_parts(const Trainer *t, const Memory *m); /* its own out of those */
/* By the first: */
void order_step(const Trainer *t);                    /* where there are followers: the next one */
void gather_ranks(const Trainer *t, const Memory *m); /* every rank's parts are in the wholes */
void end_ranks(const Trainer *t);
/* By the others: until the first says so; step: those that were taken.  Returns the exit code. */
int follow(const Trial *c, int64_t step);

/* ------------------------------------------------------------------ trainer/bench.c, math/measure.c: timing */

/* Ids below the vocabulary or the number of classes, reals in -1 … 1: the inputs of a step to be timed. */
void random_inputs(const Trainer *t, const Lathe_entry *e, char *in, int64_t step);
double median_of(double *x, int64_t n); /* sorts x */

/* At its best on this machine, with all the program's threads: bytes read and written a second by a copy that takes so
 * many bytes of memory, 256 MB at most; flop a second of one large product through gemm_f32 or gemm_f64, in
 * memory that may be overwritten, where there is enough of it, so that a bench needs no more than a run. */
double copy_rate(int64_t bytes);
double product_rate(Lathe_dtype real, void *room, int64_t bytes);

/* ------------------------------------------------------------------ trainer/report.c: progress and the run folder */

enum { SPIKE = 6 }; /* standard deviations that are worth a warning */
typedef struct Spike { /* what is known of the losses so far */
    double mean, variance;
    int64_t n;
} Spike;
double spike_score(Spike *s, double loss); /* and takes the loss in */

typedef struct Spent { /* seconds of a run, or of an epoch */
    double data, forward, backward, update, there, evaluation, saving;
} Spent;

typedef struct Epoch_start { /* or the program's, in the midst of an epoch */
    double started;
    int64_t step, units;
    Spent spent;
} Epoch_start;

typedef struct Report {
    const Trainer *t;
    const Data *data;
    Spent spent;
    Epoch_start epoch;
    int64_t units; /* rows, or targets that count, so far */
    double smooth_data, smooth_units, next_data_warning;
    int metrics; /* RUN/metrics.jsonl */
    Fault metrics_fault;
    char *metrics_path;
    bool tty, line_open; /* a line without its end stands on the terminal */
    double started, last_line, last_step, smooth_ms;
    int64_t steps, items_per_step, every; /* every: of the metrics' lines */
    Spike spike;
    int64_t next_warning; /* of a spike: not before this step */
    int64_t first;                        /* steps done when the program started */
} Report;

/* Writes config.json and starts metrics.jsonl, or cuts the file `metrics` back to what a resumed run had behind it. */
void open_report(Report *r, const Trainer *t, const Data *d, int64_t items_per_step, const Progress *at,
                 const char *metrics);
void print_banner(const Report *r); /* model, memory, data, and where the run goes, if somewhere */
char *duration_text(double seconds); /* "1:02:03" */
void report_step(Report *r, int64_t done, Step s);
void report_scores(Report *r, int64_t done, const Scores *s);
void report_sample(Report *r, int64_t done, const json_t *sample);
bool report_epoch(Report *r, const Progress *p, int source, const Stream_sum *sum); /* its end, where the data comes in epochs */
void start_next_epoch(Report *r, int64_t done);
void report_text(Report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* a line of its own */
void end_line(Report *r); /* before anything else is said on stderr */
void close_report(Report *r);

#endif
