/* lathe_model.h: the tables by which a generated program describes itself; the compiler prints them, and the trainer
 * reads them. */
#ifndef LATHE_INTERFACE_LATHE_MODEL_H
#define LATHE_INTERFACE_LATHE_MODEL_H

#include "coded.h"
#include "dtype.h"
#include "instruments.h"
#include "said.h"
#include "scores.h"
#include "shard.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bytes per thread of the rooms for packing matrix products, and the number of threads in the plan; each further thread
 * adds a room. */
enum { LATHE_ROOM_BYTES = 1949696, LATHE_PLANNED_THREADS = 4 };
enum { LATHE_SHUFFLE_TOKENS = 1 << 22, LATHE_EVAL_TOKENS = 1 << 20 };   /* defaults */
enum { LATHE_PACKED = 32, LATHE_MAX_HEAD = 256, LATHE_MATRICES_BY_IDS = 1 << 15 }; /* packed columns; widest head; most matrices */
/* Convolutions of the runtime (math/convolution.h): axes; places of a kernel; bytes of its weights for 16 channels and a
 * vector of results. */
enum { LATHE_CONVOLVED = 3, LATHE_CONVOLVED_PLACES = 4096, LATHE_CONVOLVED_WEIGHTS = 640 << 10 };

/* Initial values of a parameter.  Draws are Philox words of (seed, parameter's name, element). */
typedef enum Lathe_init {
    LATHE_ZEROS, LATHE_ONES,
    LATHE_CONSTANT,             /* a */
    LATHE_NORMAL,               /* standard deviation a, mean b */
    LATHE_UNIFORM               /* a … b */
} Lathe_init;

/* What the trainer writes into an input. */
typedef enum Lathe_role {
    LATHE_TOKENS,               /* i32 [batch][seq] (or [micro][batch][seq]): ids of the text */
    LATHE_TARGETS,              /* the next ids; -1 if there is none (data.text { pack = true }) */
    LATHE_FEATURES,             /* a named input of the data: CSV columns */
    LATHE_SEED, LATHE_STEP,     /* i32 []: of the random ops; optimizer steps done */
    LATHE_POSITION,             /* i32 []: decode: position of the first token; i32 [slots]: in slots */
    LATHE_STATE, LATHE_SLOT_STATE,  /* a tensor kept between decode calls, zero at first; that of slots, with a row for each */
    LATHE_SEGMENTS,             /* i32, shaped like tokens: number of the document in its row, from 1; 0: padding */
    LATHE_POSITIONS,            /* i32, shaped like tokens: of the token in its document */
    LATHE_SOURCE,               /* data.pairs: i32 [batch][source_seq], padded; the decoder then reads tokens */
    LATHE_SOURCE_LENGTHS,       /* i32 [batch]: of the source; next: of tokens and targets */
    LATHE_LENGTHS,
    LATHE_BEGINS,               /* i32 [batch] (or [micro][batch]): whether a row does not continue the last batch's */
    LATHE_CARRIED,              /* a state that train takes from one step to the next */
    LATHE_EVAL_CARRIED,         /* likewise eval, from one batch to the next */
    LATHE_STATISTIC,            /* a state that train changes, other entries read and weights in files have: Lathe_model.statistic */
    LATHE_LOSS_SCALE,           /* f32 []: under fp16: factor of the loss */
    LATHE_TOTAL,                /* score: the output of eval with its name, summed over all batches */
    LATHE_SHARE,                /* f32 []: score: the rows of a batch divided by all rows */
    LATHE_FIRST_ROW,            /* i32 []: train: the number of its first row in the step's batch, which ranks share */
    LATHE_TARGET_MEAN,          /* f32 []: of a table's one target, a number: what it is scaled by; next: its deviation */
    LATHE_TARGET_DEVIATION,
    LATHE_MOMENT,               /* a state that `direction` takes from one update to the next: an optimizer's own */
    LATHE_GRADIENT_SCALE,       /* real []: direction: the factor of gradients */
    LATHE_LEARNING_RATE, LATHE_UPDATE,          /* real []: direction: of this update; its number, from 1 */
    LATHE_OUTPUT_GRADIENT,      /* real, shaped like an output of layer: d_NAME, the gradient of it */
    LATHE_REFERENCE             /* f32 [2 batch]: of preference pairs: what the entry reference gave for each row */
} Lathe_role;

typedef struct Lathe_tensor {   /* an input, an output or a state of an entry */
    const char *name;
    Lathe_role role;
    Lathe_dtype dtype;
    int rank;
    int64_t dim[LATHE_MAXRANK];
    int64_t offset;             /* bytes, into the entry's struct of them */
    int64_t least, below;       /* of an input of ids: they are least … below - 1; below 0: the description does not say */
    /* of a state: */
    int rows_axis, places_axis; /* the axis of samples decoded together: row k is Π dim[< axis] pieces of Π dim[> axis] elements; -1: the
                                 * same for all.  Where there are slots, that of positions, of which each token writes one; 0: none */
    bool fixed;                 /* only encode writes it, and decode reads it */
    bool meets;                 /* of an output: its rows depend on the other rows of the batch */
    uint64_t reads;             /* of an output of predict: bit i: it depends on input i; 63: on that or a later one */
} Lathe_tensor;

typedef struct Lathe_param {
    const char *name;           /* layer path: "layer.attn.qkv.weight" */
    const char *export_name;    /* of checkpoints; one %d for each leading loop axis */
    const char *where;          /* "models/gpt.lua:31" */
    int rank, loops;            /* the first `loops` axes count copies */
    int64_t dim[LATHE_MAXRANK], stride[LATHE_MAXRANK];      /* strides and offset in elements of the flat arrays */
    int64_t offset;
    Lathe_init init;
    double init_a, init_b;
    bool decay;                 /* weight decay applies, unless a group says otherwise */
    int64_t zero_row;           /* 1 + the row of each copy that is always zero; 0: none */
    int64_t height;             /* layers above its first copy, for layer_decay; built without it: 0 */
    bool directed;              /* the entry direction says what is subtracted; it has no moments and lies behind those that do */
} Lathe_param;

/* All memory that an entry uses; the trainer owns it (with CUDA, all of it is on the device). */
typedef struct Lathe_call {
    const void *params;         /* flat arrays, laid out by the parameter table */
    void *grads;
    const void *in;             /* the entry's struct of inputs */
    void *out;                  /* … of outputs */
    void *state;                /* the model's struct of states */
    char *work;                 /* the arena */
    void *stream;               /* CUDA's; NULL on a CPU */
} Lathe_call;

typedef struct Lathe_kernel {   /* a kernel of an entry, which its LAP identifies */
    int lap;                    /* the number in LAP(…) */
    const char *name, *formula; /* of the function called; "ln_1_mul: sum, sub, mul, rsqrt" */
    const char *path, *where;   /* layer, "gpt.lua:18" */
    double flops, bytes;        /* per call: 2 · multiply-adds of its contractions; least bytes moved */
    bool backward;              /* computes values that only gradients need */
} Lathe_kernel;

/* A range of bytes of an entry's arena; buffers that are made in place of others share one. */
typedef struct Lathe_buffer {
    const char *name, *shape, *where;   /* "attn.scores", "[BATCH][SEQ]", "gpt.lua:18" */
    int64_t bytes, offset;      /* offset: into the arena */
    int first, last;            /* laps between which it must be kept, inclusive */
} Lathe_buffer;

/* The output of train that has the mean of |gradient|² over its parts, each as if its rows were the batch (noise_scale);
 * an output of a description cannot have this name. */
#define LATHE_PART_SQUARES "part.squares"

typedef struct Lathe_entry {
    const char *name;           /* train, grad, eval, score, encode, decode, prefill */
    void (*run)(const Lathe_call *);
    int64_t work_bytes, in_bytes, out_bytes;
    int64_t rows;               /* of the batch in a call, micro-batches included; in decode, texts side by side */
    int inputs, outputs;
    const Lathe_tensor *input, *output;     /* eval's outputs are means over its batch, except those that score sums */
    int kernels;                /* 0 except in train */
    const Lathe_kernel *kernel; /* in the order of its text */
    int buffers;                /* of the arena; 0 except in train */
    const Lathe_buffer *buffer; /* in the order of their first use */
    double flops;               /* per call: 2 · multiply-adds of its contractions */
    const Lathe_instruments *instruments;   /* NULL except in train, in a build with --instrument */
    const char *turn;           /* of train and grad: whose it is; NULL: the description has no turns */
    int64_t parts;              /* equal parts that the rows are computed in, one after another; 0: all at once */
    int sayings;
    const Lathe_said *said;     /* with --shard-parameters: in order, each loop over copies run through */
} Lathe_entry;

/* The words of a setting (recipe.def), one enum per setting: LATHE_SGD, LATHE_ADAMW, … of Lathe_optimizer. */
#define IS(id, said)                        id,
#define WORD(name, type, start, words, ...) typedef enum type { words } type;
#include "recipe.def"

/* How to train: the description's train, generate and data; the trainer's --set changes them under these names.  It has
 * a member for each row of recipe.def, which explains it. */
typedef struct Lathe_recipe {
#define REAL(name, ...)                  double name;
#define COUNT(name, ...)                 int64_t name;
#define FLAG(name, ...)                  int64_t name;
#define WORD(name, type, ...)            type name;
#define TEXT(name, ...)                  const char *name;
#define LIST(name, ...)                  const char *name;
#define BOOL(name, ...)                  bool name;
#define INNER(type, kind, name, meaning) type name;
#include "recipe.def"
} Lathe_recipe;

/* Whether `momentum` is a setting of the optimizer. */
static inline bool lathe_has_velocity(const Lathe_recipe *r)
{
    return r->optimizer == LATHE_SGD || r->optimizer == LATHE_RMSPROP;
}

/* Moments that the optimizer keeps of each element. */
enum { LATHE_MOMENTS = 3 };        /* most of one */
static inline int lathe_moments(const Lathe_recipe *r)
{
    if (r->optimizer == LATHE_SGD) return r->momentum != 0;
    if (r->optimizer == LATHE_RMSPROP) return 1 + (r->momentum != 0) + (r->centered != 0);
    return r->optimizer == LATHE_LION ? 1 : 2;
}

/* Whether there is a mean of the weights beside them (step/average.h). */
static inline bool lathe_averages(const Lathe_recipe *r) { return r->optimizer == LATHE_SCHEDULE_FREE || r->ema > 0; }

/* Elements that each of several GPUs keeps: of the moments of `moments` elements, and of a mean of these and `directed` others. */
static inline int64_t lathe_sharded_elements(const Lathe_recipe *r, int64_t moments, int64_t directed, int gpus)
{
    const int64_t own = lathe_shard_elements(moments, gpus), others = lathe_shard_elements(directed, gpus);
    return lathe_moments(r) * own + (lathe_averages(r) ? own + others : 0);
}

/* Settings that each turn of a description has for itself: its optimizer, schedule and clipping. */
static inline bool lathe_is_of_turn(const char *table, const char *name)
{
    static const char *const own[] = {"optimizer", "schedule", "clip", "clip_value", "clip_weights"};
    for (int i = 0; i < 5; i++)
        if (strcmp(own[i], name) == 0) return true;
    return table && (strcmp(table, own[0]) == 0 || strcmp(table, own[1]) == 0);
}

/* An optimizer written in Lua: optim.muon; weight decay of what it updates; the others' lr in relation to lr. */
typedef struct Lathe_direction {
    const char *name;           /* NULL: there is none */
    double decay, others;
} Lathe_direction;

/* A line of the description's train.turns.  Each step takes the turns in order; a turn computes the gradients of its
 * loss with respect to the parameters of its scopes, and updates them. */
enum { LATHE_MAX_SCORES = 256 };    /* most losses and metrics */
enum { LATHE_TURNS = 8 };          /* most of a description */
enum { LATHE_LOSSES = 8 };         /* most that a step reports by their names */
typedef struct Lathe_turn {
    const char *name, *loss;
    const char *of;             /* its scopes, or parameters: "generator", "encoder, decoder" */
    int64_t every;              /* it is taken in each step whose number, from 1, is a multiple of this */
    Lathe_direction direction;  /* of its optimizer */
    Lathe_recipe recipe;        /* only what lathe_is_of_turn() */
} Lathe_turn;

/* Whether a parameter, by its path, lies in one of the scopes "encoder, decoder", or is one of them. */
static inline bool lathe_in_scopes(const char *scopes, const char *param)
{
    while (*scopes) {
        size_t n = strcspn(scopes, ",");
        if (strncmp(scopes, param, n) == 0 && (param[n] == '.' || !param[n])) return true;
        scopes += n + strspn(scopes + n, ", ");
    }
    return false;
}

/* A line of the description's train.groups: settings of parameters by their names; negative: not set.  If several match
 * a name, the last one that sets a member counts. */
typedef struct Lathe_group {
    const char *match;          /* pattern of export names of copies: "h.*.bias" */
    double lr_scale;            /* factor of the learning rate */
    double decay;               /* instead of the recipe's */
    int decays, frozen;         /* 1: yes; 0: no */
} Lathe_group;

/* Bytes of a stream of rows (data/stream.h), for the plan, and for the trainer, which must not allocate more: of a
 * block of tokens; of the parcels between readers; of a recipe's two blocks, its block for evaluation and its parcels.
 * Tables of tokenizers are as large as their files and are not counted. */
enum { LATHE_PART_BYTES = 1 << 17, LATHE_PARCEL_BYTES = 6 << 17, LATHE_READER_BYTES = 1 << 22, LATHE_ENCODER_BYTES = 1 << 23,
       LATHE_KEPT_BYTES = 1 << 21 };
enum { LATHE_SHORTEST = 16, LATHE_PIECE_BYTES = 60, LATHE_PLANNED_READERS = 1 };
enum { LATHE_AROUND = 3, LATHE_PAIR_BYTES = 20, LATHE_BUCKETS = 100, LATHE_PAIR_ROWS = 4 }; /* AROUND: ids around a document: bos, sep, eos */

/* Whether an item of the data is a row of a table or of arrays, not text. */
static inline bool lathe_reads_rows(const Lathe_recipe *r) { return r->csv_target || r->arrays; }

/* Whether losses leave out targets of -1. */
static inline bool lathe_ignores(const Lathe_recipe *r) { return r->pack || r->pairs || r->prefers || r->loss_on == LATHE_LOSS_TARGET; }

static inline int64_t lathe_block_rows(int64_t tokens, int64_t stride, bool pack)
{
    return (tokens + LATHE_PART_BYTES + LATHE_AROUND) / stride + 1 + (pack ? tokens / LATHE_SHORTEST + 2 : 0);
}

static inline int64_t lathe_block_bytes(int64_t tokens, int64_t seq, int64_t stride, bool pack)
{
    int64_t rows = lathe_block_rows(tokens, stride, pack), bytes = 4 * (tokens + LATHE_PART_BYTES + LATHE_AROUND) + 4 * rows;
    return pack ? bytes + LATHE_PIECE_BYTES * rows + 4 * (tokens / LATHE_SHORTEST + 2) + 8 * (seq + 4) : bytes;
}

static inline int64_t lathe_pair_rows(int64_t tokens) { return tokens / LATHE_SHORTEST + 2; }

static inline int64_t lathe_pair_bytes(int64_t tokens, int64_t seq, int64_t source_seq)
{
    int64_t longest = source_seq > seq ? source_seq : seq;
    return 4 * (tokens + LATHE_PART_BYTES + LATHE_AROUND) + LATHE_PAIR_BYTES * lathe_pair_rows(tokens) + 4 * (longest + 2);
}

static inline int64_t lathe_parcels(int64_t readers) { return 4 + 2 * readers; }

enum { LATHE_SOURCES = 64 };       /* most sources of a mixture */

/* The weights of a mixture's sources, such as "7,3", in millionths; returns their number; 0: no mixture, -1: not a list
 * of weights. */
static inline int lathe_mix(const char *text, int64_t *weight)
{
    int n = 0;
    if (!text || strcmp(text, "none") == 0) return 0;
    for (char *end;; text = end + 1) {
        double w = strtod(text, &end);
        if (end == text || (*end && *end != ',') || !(w >= 1e-6 && w <= 1e6) || n == LATHE_SOURCES) return -1;
        weight[n++] = (int64_t)(w * 1e6 + 0.5);
        if (!*end) return n;
    }
}

/* A source's share of tokens by its weight, so that all sources are shuffled over about the same time.  It is at least
 * 32 sequences, because a block loses its last ids, less than a sequence. */
static inline int64_t lathe_share(int64_t tokens, int64_t weight, int64_t all, int64_t seq)
{
    int64_t least = 32 * seq < tokens ? 32 * seq : tokens;
    int64_t share = weight == all ? tokens : (int64_t)((double)tokens * ((double)weight / (double)all));
    return share > least ? share : least;
}

static inline int64_t lathe_rows_bytes(const Lathe_recipe *r, int64_t tokens, int64_t seq, int64_t source_seq)
{
    return r->pairs ? lathe_pair_bytes(tokens, seq, source_seq) : lathe_block_bytes(tokens, seq, r->stride ? r->stride : seq, r->pack);
}

/* Of one stream, beside the rows: parcels, the reader, tables of encoders, cached ids.  Bytes and characters need no
 * tables and are not cached; pairs are not cached either. */
static inline int64_t lathe_reading_bytes(bool plain, bool pairs, int64_t readers)
{
    int64_t tables = plain ? 0 : (readers + 1) * LATHE_ENCODER_BYTES, kept = plain || pairs ? 0 : LATHE_KEPT_BYTES;
    return lathe_parcels(readers) * LATHE_PARCEL_BYTES + LATHE_READER_BYTES + tables + kept;
}

/* Each source of a mixture has blocks and parcels of its own. */
static inline int64_t lathe_stream_bytes(const Lathe_recipe *r, int64_t seq, int64_t source_seq, int64_t readers)
{
    int64_t weight[LATHE_SOURCES] = {1}, all = 0, bytes = 0;
    int n = lathe_mix(r->mix, weight);
    for (int i = 0; i < n || i == 0; i++) all += weight[i];
    for (int i = 0; i < n || i == 0; i++) {
        int64_t own = lathe_share(r->shuffle_tokens, weight[i], all, seq), held = lathe_share(r->eval_tokens, weight[i], all, seq);
        bytes += 2 * lathe_rows_bytes(r, own, seq, source_seq) +
                 (r->val_fraction > 0 ? lathe_rows_bytes(r, held, seq, source_seq) : 0) +
                 lathe_reading_bytes(r->tokenizer == LATHE_BYTES || r->tokenizer == LATHE_CHARS, r->pairs, readers);
    }
    return bytes;
}

enum { LATHE_EXTRAS = 8, LATHE_MOST_SLOTS = 256 }; /* most outputs of decode beside logits with one number per token; texts at once */

/* Tokens of a written text: at most seq for a decoder of pairs. */
static inline int64_t lathe_written_tokens(const Lathe_recipe *r, int64_t seq)
{
    int64_t tokens = r->sample_tokens > 0 ? r->sample_tokens : 256;
    return r->pairs && tokens > seq ? seq : tokens;
}

/* Does a run write texts, which takes the states of decode?  draws: the description's function sample makes the samples. */
static inline bool lathe_writes_texts(const Lathe_recipe *r, bool draws)
{
    return r->eval_generate || (r->samples && *r->samples && !draws);
}

/* Positions that decode has room for. */
static inline int64_t lathe_room(int64_t seq, int64_t context) { return context ? context : seq; }

static inline int64_t lathe_history_bytes(int64_t rows, int64_t context) { return (4 * rows * (context + 1) + 63) / 64 * 64; }

/* If several rows are decoded together: room for reordering their states, and for encoded sources that wait for a row;
 * encode writes `fixed` bytes of the states. */
static inline int64_t lathe_rows_room(int64_t rows, int64_t states, int64_t fixed) { return rows > 1 ? states + fixed : 0; }

/* Bytes for writing texts, beside the states of decode: that room, the tokens in the states, and the texts of a beam
 * search, two per row and a result (text/beam.c), or the lists for drawing tokens (text/write.c). */
static inline int64_t lathe_generation_bytes(const Lathe_recipe *r, int64_t rows, int64_t seq, int64_t context, int64_t vocab,
                                             int64_t extras, int64_t states, int64_t fixed)
{
    int64_t tokens = lathe_written_tokens(r, seq), beams = 3 * rows * (tokens * 4 * (1 + extras) + 64) + 4 * tokens + 4096;
    int64_t drawn = rows * (vocab + tokens * 4 * extras + 64) + 16 * vocab;
    return lathe_history_bytes(rows, lathe_room(seq, context)) + lathe_rows_room(rows, states, fixed) + ((beams > drawn ? beams : drawn) + 63) / 64 * 64;
}

/* A run is a range of contiguous elements of a parameter; the number of runs in all its copies. */
static inline int64_t lathe_runs(int rank, int loops, const int64_t *dim, const int64_t *stride)
{
    int64_t run = 1, runs = 1;
    int k = rank - 1;
    for (; k >= loops && stride[k] == run; k--) run *= dim[k];
    for (; k >= 0; k--) runs *= dim[k];
    return runs;
}

/* Of a GPU's trainer: the library's workspace, including alignment; pinned memory (cuda/device.cu): slots for inputs,
 * for a few numbers, rooms for results; tables of a step on the device (cuda/optim.cu): a head, and entries per run of
 * elements and per chunk of the flat arrays. */
enum { LATHE_GPU_ALIGN = 256, LATHE_GPU_WORKSPACE = (32 << 20) + LATHE_GPU_ALIGN };
enum { LATHE_GPU_SLOTS = 2, LATHE_GPU_SMALL_SLOTS = 4, LATHE_GPU_SMALL = 4096, LATHE_GPU_ROOMS = 2, LATHE_GPU_SENT = 512 };
enum { LATHE_STEP_HEAD = 256, LATHE_SEGMENT_BYTES = 40, LATHE_UPDATE_BYTES = 112, LATHE_STEP_CHUNK = 16384 };

/* All copies go through pinned slots, in pieces of at least this size. */
enum { LATHE_GPU_PIECE = 1 << 20 };
static inline int64_t lathe_staged_bytes(int64_t inputs)
{
    const int64_t least = LATHE_GPU_PIECE;
    return inputs > least ? inputs : least;
}

static inline int64_t lathe_slot_bytes(int64_t inputs) { return (inputs + LATHE_GPU_ALIGN - 1) / LATHE_GPU_ALIGN * LATHE_GPU_ALIGN; }

enum { LATHE_GPU_BESIDE = LATHE_GPU_SMALL_SLOTS * LATHE_GPU_SMALL + LATHE_GPU_ROOMS * LATHE_GPU_SENT };

static inline int64_t lathe_pinned_bytes(int64_t inputs) { return LATHE_GPU_SLOTS * lathe_slot_bytes(inputs) + LATHE_GPU_BESIDE; }

/* The place where a step's settings and the inputs of train arrive while the step before it runs. */
static inline int64_t lathe_ahead_bytes(int64_t inputs) { return LATHE_STEP_HEAD + (inputs + 63) / 64 * 64; }

static inline int64_t lathe_step_chunks(int64_t elements) { return (elements + LATHE_STEP_CHUNK - 1) / LATHE_STEP_CHUNK; }

/* Chunks of a GPU's own parts of a cut. */
static inline int64_t lathe_part_chunks(int64_t elements, int gpus)
{
    return elements ? lathe_step_chunks(lathe_shard_elements(elements, gpus)) + LATHE_MOST_BUCKETS + 1 : 0;
}

/* Each of several GPUs also has the sums of all ranks, and sums of the chunks of its own parts only.  directed: the last
 * of the elements. */
static inline int64_t lathe_step_bytes(int64_t elements, int64_t directed, int64_t runs, int gpus)
{
    int64_t chunks = lathe_step_chunks(elements), beside = 0;
    if (gpus > 1) {
        chunks = lathe_part_chunks(elements - directed, gpus) + lathe_part_chunks(directed, gpus);
        beside = gpus * LATHE_RANK_SUM_BYTES;
    }
    return (LATHE_STEP_HEAD + runs * (LATHE_SEGMENT_BYTES + LATHE_UPDATE_BYTES) + beside + chunks * 8 + 63) / 64 * 64;
}

typedef struct Lathe_bytes { const char *category; int64_t bytes; } Lathe_bytes;

/* cuDNN's workspace for a deterministic derivative of attention (math/attention.h) of `samples` samples: a square of
 * weights per head, gradients of shared keys per head, one number per query.  The plan has the bytes for a batch, up to
 * this limit; with less, a batch is divided into parts. */
enum { LATHE_ATTENTION_WORKSPACE = 256 << 20 };
static inline int64_t lathe_attention_bytes(int64_t samples, int64_t H, int64_t G, int64_t T, int64_t S, int64_t D, int64_t E)
{
    int64_t square = (T + 127) / 128 * 128 * ((S + 127) / 128 * 128), each = H > G ? S * (D + E) : 0;
    return (samples * H * T * 4 + 255) / 256 * 256 + 2 * samples * H * (square + each) + 1024;
}

struct Lathe_device;            /* step/device.h */

/* `lathe --lora`: x · weightᵀ + scale · (x · aᵀ) · bᵀ; decomposed: times magnitude / ‖weight + scale · b · a‖ (PEFT: the rest). */
typedef struct Lathe_lora { int64_t rank; double scale, alpha, dropout; bool rank_stabilised, decomposed; } Lathe_lora;
/* Numbers of parameters: [out, in], or [in, out] if in_out; [rank, in]; [out, rank]; [out], -1: not decomposed; behind copies. */
typedef struct Lathe_adapter { int weight, a, b, magnitude; bool in_out; } Lathe_adapter;

typedef struct Lathe_model {
    const char *name, *config, *precision, *source_hash;
    const char *needs;          /* instruction sets of its target (interface/needs.h); may be NULL */
    const char *rebuild;        /* arguments for `lathe build`: "models/gpt.lua --config char"; may be NULL */
    Lathe_dtype real;           /* of gradients and optimizer, and of parameters */
    Lathe_dtype weights;        /* of parameters, if different: LATHE_BF16; else 0 */
    int64_t batch, seq, source_seq, vocab;  /* 0: none */
    int64_t context;            /* positions that decode has room for; 0: seq, or any number without positions */
    int params, entries, states, statistics, knobs, categories;
    const Lathe_param *param;
    const Lathe_param *statistic;   /* in the order of their states; offset and stride: in an array of all, of `real` */
    const Lathe_entry *entry;
    const Lathe_tensor *state;
    int64_t state_bytes;
    int64_t parameter_count, flat_elements;         /* without and with padding; padding stays zero */
    int64_t frozen_elements;    /* the last of these, which no update changes: gradients and moments do not have them */
    int64_t directed_elements;  /* the last of the others, which the entry direction updates: they have no moments */
    Lathe_direction direction;  /* without turns */
    int64_t in_blocks[LATHE_DTYPES];    /* how many of the last of these are stored in blocks of each type, in the order of types
                                         * (model/place.h): multiples of LATHE_BLOCK */
    int adapters;
    const Lathe_adapter *adapter;
    Lathe_lora lora;            /* of all of them */
    Lathe_recipe recipe;
    int groups;
    const Lathe_group *group;   /* of parameters, in the description's order */
    int losses;                 /* by name: the outputs of train behind their sum; 0: one loss, or turns */
    int turns;                  /* 0: one loss, one optimizer */
    const Lathe_turn *turn;     /* in the order of a step; recipe then has the optimizer of the one with most moments */
    const char *hf;             /* the description's hf as JSON (model/hf.c); NULL: none */
    const char *const (*knob)[2];                   /* configuration: name and value, fixed when built */
    const Lathe_bytes *plan;                        /* bytes by category, the whole of the program's memory */
    int64_t planned_bytes, lower_bound_bytes;       /* of the device, if there is one */
    const struct Lathe_device *device;              /* on which its entries run; NULL: the processor */
    const char *one_rank;       /* why several ranks cannot share a batch: "gpt.lua:12: …"; NULL: they can */
    int64_t exact_rows;         /* --exact-sums: the rows of a group; sums of groups, and of ranks, are of pairs; 0: in any order */
    int host_categories;                            /* the last ones, which are host memory beside the device's */
    const struct Lathe_model *teacher;  /* --distill: of it name, sizes, param and hf; its array is behind this one's; NULL: none */
    struct { double alpha, temperature; } distill;
} Lathe_model;

static inline int64_t lathe_trained_elements(const Lathe_model *m) { return m->flat_elements - m->frozen_elements; }
static inline int64_t lathe_moment_elements(const Lathe_model *m) { return lathe_trained_elements(m) - m->directed_elements; }

/* That of the optimizer of a parameter. */
static inline const Lathe_direction *lathe_direction_of(const Lathe_model *m, const Lathe_param *p)
{
    for (int k = 0; k < m->turns; k++)
        if (lathe_in_scopes(m->turn[k].of, p->name)) return &m->turn[k].direction;
    return &m->direction;
}

/* Whether a parameter has a gradient. */
static inline bool lathe_is_trained(const Lathe_model *m, const Lathe_param *p) { return p->offset < lathe_trained_elements(m); }

static inline Lathe_dtype lathe_weights(const Lathe_model *m) { return m->weights ? m->weights : m->real; }
#ifdef LATHE_LIBRARY
static const Lathe_model lathe_model;               /* defined by model.c */
#else
extern const Lathe_model lathe_model;
#endif

#endif
