/* trainer.h: one run of the program, and its commands. */
#ifndef LATHE_TRAINER_TRAINER_H
#define LATHE_TRAINER_TRAINER_H

#include "base/words.h"
#include "interface/lathe_model.h"
#include "interface/names.h"

enum { MAX_SETTINGS = 160 }; /* of a recipe (trainer/knobs.c) */
typedef struct Trainer { /* one run of the program */
    const Lathe_model *model;
    const char *program, *command; /* argv[0]; train, eval, … */
    Lathe_recipe recipe; /* the model's with --set applied */
    Words data, val_data;
    struct Prompts *prompts;            /* of generate (text/prompts.c); NULL: none given */
    Words stop, stop_tokens;            /* what ends texts (text/stop.c) */
    Words ignored_keys;                 /* of config.json (model/hf_config.c) */
    struct Origin *origin;              /* files that came with imported weights (model/origin.c); NULL: none */
    const char *out, *weights, *inputs, *only, *keep, *trace, *sort, *to; /* NULL where not given */
    const char *adapter;                /* a folder of PEFT's over the weights; NULL where not given */
    Words adapters;                     /* of serve: NAME=PATH */
    const char *base;                   /* of adapters that are trained (model/base.h); NULL: not known */
    const char *teacher, *teacher_hash; /* its weights, where given; of the numbers in them, once read (trainer/teacher.c) */
    bool other_base;                    /* adapters of another base are taken, too */
    const char *log, *metrics_port;     /* forms of logs, a port for gauges (trainer/logs.h); NULL where not given */
    const char *on_eval;                /* a command (trainer/on_eval.h); NULL where not given */
    bool no_report;                     /* at the end of a run (trainer/about.h) */
    bool no_profile, no_histograms;     /* of a run (trainer/run_profile.h, trainer/histograms.h) */
    const char *log_hashes;             /* "" or a number of steps (trainer/hashes.h); NULL: not given */
    struct Hashes *hashes;              /* of a run; NULL: none */
    const char *range;                  /* of verify: steps "400..500"; NULL where not given */
    const struct Verify *verify;        /* what verify computes again, without a run folder of its own; else NULL */
    struct Histograms *histograms;      /* of gradients and updates; NULL: none */
    const char *init_except;            /* layers that --init leaves as they are drawn; NULL where not given */
    const char *turn;                   /* of grad, bench, profile; NULL: the first */
    const char *tokenizer;              /* file or folder of one; NULL: the recipe says which */
    int64_t steps, epochs, tokens, samples; /* 0 where not given */
    const char *type;                   /* export: of matrices in a GGUF */
    const char *graph;                  /* export to ONNX: what `lathe export` hands over; NULL where not given */
    int64_t ids;                        /* export: ids in use; 0 where not given */
    int64_t items;                      /* eval: sources to write texts for; 0: all */
    int64_t memory_limit;               /* bytes; 0: what the machine has */
    int64_t readers;                    /* threads that encode; 0 where not given */
    int32_t seed;
    int threads; /* 0: OpenMP decides */
    bool json, training, overfit, dry_run, tokenizer_given, seed_given, out_given;
    bool generate, stem;  /* eval: ROUGE of what is written; of stems */
    bool every_window;    /* predict: forecasts from each row of series */
    bool ignore_eos;      /* no token ends a text */
    bool chat;            /* generate: prompts are what a person says in a chat */
    const char *system;   /* what the system says before; NULL: as the form of chats has it */
    bool given[MAX_SETTINGS]; /* the k-th of the recipe was given */
    const char *grammar_file, *schema_file; /* what texts may be; NULL where not given */
    const struct Grammar *grammar;          /* of these; NULL: anything */
    struct Vocabulary *vocabulary;          /* for grammars; NULL: there are none */
    int64_t beside;                         /* bytes of memory beside the plan: for grammars */
    const char *host, *port, *key, *key_file; /* of serve; NULL where not given */
    const char *resume;   /* NULL: a new run; "": from the run folder's newest checkpoint; else a path */
    struct Saver *saver;  /* NULL unless the command saves while it trains */
    int64_t gpus;         /* ranks of the run; 0: one */
    int64_t processes;    /* --ranks; 0 where not given */
    int rank;             /* of this process, if there are several */
    struct Ranks *ranks;  /* trainer/ranks.c; NULL: one */
} Trainer;

const char *run_folder(const Trainer *t); /* --out, or runs/NAME-CONFIG */
const char *default_folder(const Trainer *t); /* for a new run the first unused, otherwise the last run's */
void settle_resume(Trainer *t); /* --resume=auto becomes --resume, or none */
char *run_weights(const char *run, const char *remedy); /* newest_weights() of a run; ends the program (3) without */
char *weights_path(const Trainer *t);     /* --weights, or the run folder's newest */

/* The subcommands: each returns the exit code. */
int train_command(Trainer *t);    /* trainer/loop.c */
int eval_command(Trainer *t);     /* trainer/eval.c */
int predict_command(Trainer *t);  /* trainer/predict.c */
int generate_command(Trainer *t); /* trainer/generate.c */
int chat_command(Trainer *t);     /* trainer/chat.c */
int serve_command(Trainer *t);    /* trainer/serve.c */
int grad_command(Trainer *t);     /* trainer/grad.c */
void take_inputs(const Trainer *t, const Lathe_entry *e, char *in); /* of --inputs */
int init_command(Trainer *t);     /* trainer/grad.c */
int draw_command(Trainer *t);     /* trainer/draw.c */
int export_command(Trainer *t);   /* trainer/export.c */
int export_onnx(Trainer *t);      /* trainer/export_onnx.c */
void write_card(const Trainer *t, const char *library); /* trainer/card.c: a model card in the exported folder */
char *weights_before(const char *weights); /* likewise: the --init of the run that they are of, from malloc; NULL: none */
int bench_command(Trainer *t);    /* trainer/bench.c */
int profile_command(Trainer *t);  /* trainer/profile.c */
int replay_command(Trainer *t);   /* trainer/replay.c */
int verify_command(Trainer *t);   /* trainer/verify.c */
int info_command(Trainer *t);     /* trainer/info.c */

void take_command_words(Trainer *t, const Words *words); /* trainer/main.c: a command line of train, as run.json has it */
void use_threads(const Trainer *t); /* sets the number of threads; called before memory is allocated */
/* ---- trainer/replay.c, trainer/bench.c */

const Lathe_entry *wanted_entry(const Trainer *t, Entry entry); /* trainer/turns.c: of --turn */
struct Data;
/* A shell command that replays a step from the weights at `path`, with the options that decide its data. */
char *replay_words(const Trainer *t, const struct Data *d, const char *path, int64_t number);
/* Random inputs for a step: ids below the vocabulary or the number of classes, reals in -1 … 1. */
void random_inputs(const Trainer *t, const Lathe_entry *e, char *in, int64_t step);

#endif
