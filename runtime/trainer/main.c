/* main.c: the trainer's command line: one table says which commands take an option, where its value goes, and what help
 * prints. */
#include "base/help.h"
#include "base/process.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "lathe_rt.h"
#include "math/engine.h"
#include "model/hf.h"
#include "model/import.h"
#include "model/tables.h"
#include "text/generate.h"
#include "trainer/about.h"
#include "trainer/join.h"
#include "trainer/knobs.h"
#include "math/openmp.h"
#include "trainer/selftest.h"
#include "trainer/trainer.h"
#include "trainer/trial.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { /* subcommands, as bits */
       TRAIN = 1,
       EVAL = 2,
       GENERATE = 4,
       GRAD = 8,
       INIT = 16,
       BENCH = 32,
       INFO = 64,
       PROFILE = 128,
       REPLAY = 256,
       EXPORT = 512,
       SELFTEST = 1024,
       PREDICT = 2048,
       CHAT = 4096,
       SERVE = 8192,
       REPORT = 16384,
       VERIFY = 32768,
       ALL = 16383 /* without REPORT, which only reads files of a run, and VERIFY, which takes most of its options */
};

typedef struct Command {
    const char *name;
    int bit;
    int (*run)(Trainer *);
    const char *usage, *help;
} Command;

static const Command commands[] = {
    {"train", TRAIN, train_command, "--data PATH… [options]",
     "Trains; writes config.json, metrics.jsonl and checkpoints into the run folder."},
    {"eval", EVAL, eval_command, "[--data PATH…] [--weights W.safetensors] [options]",
     "Loss and metrics over the part of the data that the run kept for it (all: --val-fraction 1). Without --data: of\n"
     "the run's own."},
    {"predict", PREDICT, predict_command, "--data PATH… [--out FILE] [--weights PATH] [options]",
     "What the model says of each row of the data: .csv (also standard output), .jsonl, .npy or .safetensors."},
    {"generate", GENERATE, generate_command,
     "[--prompt TEXT… | --data PATH…] [--samples N] [--weights W.safetensors] [options]",
     "Continues each prompt. Past the context the window slides: its newer half is read again. Models of pairs write\n"
     "one text per prompt, or per source of the data, one per line. Samples that are arrays are printed as numbers\n"
     "(--json > FILE: with their shapes; --to FILE.npy: as an array)."},
    {"chat", CHAT, chat_command, "[--weights PATH] [--system TEXT] [options]",
     "Answers what is said, line by line on standard input, and remembers the conversation; Ctrl-D ends it."},
    {"serve", SERVE, serve_command, "[--weights PATH] [--host ADDRESS --key KEY] [--port N] [options]",
     "Answers programs over HTTP, as OpenAI's clients expect: /v1/chat/completions, /v1/completions; Ctrl-C ends it."},
    {"grad", GRAD, grad_command, "--weights W.safetensors --inputs I.safetensors --out G.safetensors",
     "Loss, outputs and gradients for given inputs: loss, output.NAME, grad.NAME."},
    {"init", INIT, init_command, "--out W.safetensors [--seed S | --init PATH]",
     "Writes the parameters that training starts from."},
    {"export", EXPORT, export_command, "--to hf|gguf|peft|gguf-adapter|llmc|onnx --out PATH [--weights PATH]",
     "Writes weights, configuration and tokenizer as a Hugging Face folder or a GGUF file; --init reads either. ONNX:\n"
     "`lathe export MODEL.lua --to onnx`, which adds the graph."},
    {"bench", BENCH, bench_command, "[--steps N] [--inputs I.safetensors] [--weights W.safetensors] [--json]",
     "Times training steps on random data, or on one batch. The first two are not timed, but their losses are "
     "printed."},
    {"profile", PROFILE, profile_command, "[--steps N] [--sort time] [--trace FILE] [--json]",
     "Times each kernel of training steps on random data, beside the least time it could take."},
    {"replay", REPLAY, replay_command, "--step N [--checkpoint C | --weights W.safetensors] --data PATH… [options]",
     "Runs a training step again and names the first tensor that is not finite (build with --instrument)."},
    {"verify", VERIFY, verify_command, "--out RUN [--steps A..B] [options]",
     "Computes steps of a run again from its nearest checkpoint: \"same\", or the first step and tensor that differ."},
    {"selftest", SELFTEST, selftest_command, "[--seed S] [--json]",
     "Tests this machine: a training step twice, each way of computing against a second one, gradients against "
     "losses."},
    {"report", REPORT, draw_report, "--out RUN [--to FILE]",
     "Draws a run as a page of HTML, RUN/report.html: losses, settings, samples, layers, memory. Several runs in one:\n"
     "`lathe report RUN…`."},
    {"info", INFO, info_command, "[--json]", "What this trainer was built for: sizes, entries, memory, recipe."},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

typedef enum Kind { FLAG, RESUME, TEXT, TEXTS, PROMPTS, PROMPT_FILES, COUNT, SEED, THREADS, SIZE, KNOB, SET } Kind;

typedef struct Option {
    const char *name;
    int commands;
    Kind kind;
    size_t field;     /* of Trainer */
    const char *knob; /* KNOB: the recipe's name */
    const char *argument, *help;
} Option;

#define AT(f) offsetof(Trainer, f)

static const Option options[] = {
    {"data", TRAIN | EVAL | REPLAY | VERIFY, TEXTS, AT(data), NULL, "PATH…",
     "text files, a CSV, or arrays: .npz, .safetensors, a folder of NAME.npy, INPUT=FILE; pictures: a folder of "
     "folders, "
     ".tar; several are joined"},
    {"data", PREDICT, TEXTS, AT(data), NULL, "PATH…",
     "a CSV, or arrays: .npz, .safetensors, a folder of NAME.npy, INPUT=FILE; pictures; series; targets are not "
     "needed"},
    {"data", GENERATE, TEXTS, AT(data), NULL, "PATH…",
     "sources to write texts for, if the model reads sources; otherwise the training text, if there is no "
     "tokenizer.json beside the weights"},
    {"tokenizer", TRAIN | EVAL | GENERATE | CHAT | SERVE | REPLAY, KNOB, 0, "tokenizer", "NAME|PATH",
     "bytes, chars, or a file or folder of one (lathe tokenize train, tokenizer.json, vocab.json, vocab.txt, *.tiktoken)"},
    {"val-fraction", TRAIN | EVAL | REPLAY, KNOB, 0, "val_fraction", "F",
     "part of the data kept for evaluation: the last, or as the description says"},
    {"fold", TRAIN | EVAL | REPLAY, KNOB, 0, "fold", "K/N",
     "rows in N folds, of which the K-th is kept for evaluation, instead of --val-fraction"},
    {"val-data", TRAIN | EVAL | VERIFY, TEXTS, AT(val_data), NULL, "PATH…",
     "data to evaluate, all of it, instead of a part of --data"},
    {"steps", TRAIN, KNOB, 0, "steps", "N", "optimizer steps"},
    {"steps", BENCH | PROFILE, COUNT, AT(steps), NULL, "N", "steps to time (default 10)"},
    {"steps", VERIFY, TEXT, AT(range), NULL, "A..B", "the steps, as the trainer counts them (default: all)"},
    {"step", REPLAY, COUNT, AT(steps), NULL, "N", "the step to run, as the trainer counts them"},
    {"epochs", TRAIN, COUNT, AT(epochs), NULL, "N", "instead of steps: passes over the training data"},
    {"tokens", TRAIN, COUNT, AT(tokens), NULL, "N", "instead of steps: tokens to train on, padding left out"},
    {"tokens", EVAL | GENERATE | CHAT | SERVE, KNOB, 0, "sample_tokens", "N", "most tokens to write per text"},
    {"beams", EVAL | GENERATE, KNOB, 0, "beams", "N", "beam search with N texts side by side; 0: tokens are drawn"},
    {"min-tokens", EVAL | GENERATE, KNOB, 0, "min_tokens", "N", "fewest tokens of a text before its end"},
    {"length-penalty", EVAL | GENERATE, KNOB, 0, "length_penalty", "P",
     "beam search: a text's score is its log probability / tokens^P"},
    {"no-repeat-ngram", EVAL | GENERATE, KNOB, 0, "no_repeat_ngram", "N",
     "beam search: no N tokens in a row occur twice in a text; 0: any may"},
    {"generate", EVAL, FLAG, AT(generate), NULL, NULL,
     "also write texts for the sources of the data: ROUGE against their targets"},
    {"items", EVAL, COUNT, AT(items), NULL, "N",
     "with --generate: number of sources, drawn by the seed (default: all)"},
    {"stem", EVAL, FLAG, AT(stem), NULL, NULL, "with --generate: ROUGE of stems of words (Porter)"},
    {"set", TRAIN | EVAL | PREDICT | GENERATE | CHAT | SERVE | BENCH | PROFILE | REPLAY | INFO, SET, 0, NULL, "k=v",
     "changes a setting of the recipe"},
    {"seed", TRAIN | EVAL | GENERATE | CHAT | SERVE | GRAD | INIT | BENCH | PROFILE | REPLAY | SELFTEST | VERIFY, SEED, AT(seed), NULL, "S",
     "0 … 2147483647 (default 1)"},
    {"threads", (ALL & ~INFO) | VERIFY, THREADS, AT(threads), NULL, "N", "overrides OMP_NUM_THREADS; results do not depend on it"},
    {"out", TRAIN | EVAL | GENERATE | CHAT | SERVE, TEXT, AT(out), NULL, "RUN", "run folder (default runs/NAME-CONFIG, -2, …)"},
    {"out", REPORT | VERIFY, TEXT, AT(out), NULL, "RUN", "the run's folder (default: the last of runs/NAME-CONFIG, -2, …)"},
    {"to", REPORT, TEXT, AT(to), NULL, "FILE", "the page (default RUN/report.html)"},
    {"no-report", TRAIN, FLAG, AT(no_report), NULL, NULL, "writes no RUN/report.html at the end"},
    {"no-profile", TRAIN, FLAG, AT(no_profile), NULL, NULL, "times no kernels of steps, for RUN/profile.json and the report"},
    {"no-histograms", TRAIN, FLAG, AT(no_histograms), NULL, NULL, "writes no RUN/histograms.jsonl: gradients and updates, parameter by parameter"},
    {"out", PREDICT, TEXT, AT(out), NULL, "FILE", "file to write, or -, a CSV on standard output (default)"},
    {"out", GRAD | INIT, TEXT, AT(out), NULL, "FILE", "safetensors file to write"},
    {"resume", TRAIN, RESUME, AT(resume), NULL, "[=PATH]",
     "continue from the run folder's newest checkpoint, or from PATH (a checkpoint, a run folder); auto: from the newest, or begin where there is none"},
    {"out", EXPORT, TEXT, AT(out), NULL, "DIR", "folder to write"},
    {"to", EXPORT, TEXT, AT(to), NULL, "FORMAT", "hf: a folder for Hugging Face's transformers; gguf: a file for llama.cpp; peft, gguf-adapter: adapters alone, a folder for PEFT or a file for llama.cpp; llmc: a file for llm.c; onnx: a file with the graph, by `lathe export`"},
    {"graph", EXPORT, TEXT, AT(graph), NULL, "FILE", "with --to onnx: the graph, which `lathe export MODEL.lua` writes and passes on"},
    {"type", EXPORT, TEXT, AT(type), NULL, "TYPE", "of matrices in a GGUF: f32, f16, bf16, q8_0, q4_0 (f32), of some: q4_0,PATTERN=q8_0; of a file for llm.c: f32, bf16"},
    {"ids", EXPORT, COUNT, AT(ids), NULL, "N",
     "rows of ids to write; those beyond are left out (default: as many as the imported model had, or all)"},
    {"ignore-config", TRAIN | EVAL | GENERATE | CHAT | SERVE | GRAD | INIT | BENCH | REPLAY | EXPORT, TEXTS, AT(ignored_keys), NULL, "KEY…",
     "keys of an imported config.json to ignore: they change nothing that the model computes"},
    {"init", TRAIN | INIT, TEXT, AT(weights), NULL, "PATH",
     "parameters to start from: a file, or a folder, Hugging Face's too (default: drawn from the seed)"},
    {"adapter", TRAIN | EVAL | PREDICT | GENERATE | CHAT | GRAD | BENCH | REPLAY | EXPORT, TEXT, AT(adapter), NULL, "PATH",
     "adapters to use with the weights, a folder of PEFT's or a GGUF file; the trainer must be built with the same --lora"},
    {"adapter", SERVE, TEXTS, AT(adapters), NULL, "[NAME=]PATH…",
     "the same; of several each has a name, which requests give as their model"},
    {"other-base", TRAIN | EVAL | PREDICT | GENERATE | CHAT | SERVE | GRAD | BENCH | REPLAY | EXPORT, FLAG, AT(other_base), NULL, NULL,
     "takes adapters that say that they were trained over other weights"},
    {"teacher", TRAIN | GRAD | BENCH | REPLAY, TEXT, AT(teacher), NULL, "PATH",
     "of a trainer built with --distill: the teacher's weights, as --init takes them"},
    {"init-except", TRAIN | INIT, TEXT, AT(init_except), NULL, "LAYER,…",
     "layers not taken from --init, but drawn from the seed, such as head; pictures then have the classes of the data"},
    {"weights", EVAL | PREDICT | GENERATE | CHAT | SERVE | GRAD | EXPORT, TEXT, AT(weights), NULL, "PATH",
     "parameters to use, a file or a folder (default of eval, predict, generate, chat, serve, export: the run folder's)"},
    {"weights", REPLAY, TEXT, AT(weights), NULL, "W.safetensors",
     "parameters before the step (default: drawn from the seed, and all steps before it run)"},
    {"checkpoint", REPLAY, TEXT, AT(resume), NULL, "C",
     "start from a checkpoint (step-N, or a run's newest), its settings and data; steps up to N run"},
    {"inputs", GRAD, TEXT, AT(inputs), NULL, "I.safetensors", "inputs under the description's names; ids I32 or I64"},
    {"inputs", BENCH, TEXT, AT(inputs), NULL, "I.safetensors",
     "the batch of every step, as grad takes it (default: random ones)"},
    {"weights", BENCH, TEXT, AT(weights), NULL, "PATH", "parameters to start from (default: drawn from the seed)"},
    {"training", GRAD, FLAG, AT(training), NULL, NULL, "as in a training step: dropout on"},
    {"turn", GRAD | BENCH | PROFILE, TEXT, AT(turn), NULL, "NAME",
     "of a model that trains in turns: the one to run (default: the first)"},
    {"only", GRAD, TEXT, AT(only), NULL, "NAME,…",
     "what to write, such as loss,gradients; logits of large models are larger than all else (default: all)"},
    {"only", PREDICT, TEXT, AT(only), NULL, "NAME,…", "outputs to write (default: all)"},
    {"keep", PREDICT, TEXT, AT(keep), NULL, "NAME,…",
     "columns of the CSV to write before the predictions, as they are (.csv, .jsonl)"},
    {"every-window", PREDICT, FLAG, AT(every_window), NULL, NULL,
     "of series: forecasts from each row that has enough before it, stride apart (default: from the last alone)"},
    {"overfit", TRAIN, FLAG, AT(overfit), NULL, NULL,
     "only tries whether one batch can be learned: its loss must come near zero (a new model's first check)"},
    {"dry-run", TRAIN, FLAG, AT(dry_run), NULL, NULL,
     "only runs a step and an evaluation on the data, and estimates the time of the whole run"},
    {"eval-every", TRAIN, KNOB, 0, "eval_every", "N", "steps between evaluations"},
    {"save-every", TRAIN, KNOB, 0, "save_every", "N", "steps between checkpoints (SIGUSR1 saves one at once)"},
    {"keep-last", TRAIN, KNOB, 0, "keep_last", "N", "checkpoints kept, beside the best; 0: all"},
    {"log-every", TRAIN, KNOB, 0, "log_every", "N", "steps between progress lines (default: by time)"},
    {"on-eval", TRAIN, TEXT, AT(on_eval), NULL, "COMMAND", "runs a shell command after each evaluation; its input: the metrics"},
    {"log", TRAIN, TEXT, AT(log), NULL, "FORM,…", "metrics.jsonl also for other programs: tensorboard (event files), csv"},
    {"log-hashes", TRAIN, RESUME, AT(log_hashes), NULL, "[=N]", "a chain of hashes, RUN/hashes.jsonl, for `verify` and for others: of each step, of parameters every N (default 10)"},
    {"metrics-port", TRAIN, TEXT, AT(metrics_port), NULL, "N", "the newest numbers as OpenMetrics at 127.0.0.1:N/metrics"},
    {"prompt", GENERATE, PROMPTS, AT(prompts), NULL, "TEXT…",
     "texts to continue, each alone; or sources, if the model reads sources"},
    {"prompt-file", GENERATE, PROMPT_FILES, AT(prompts), NULL, "FILE…", "the same, one per file; -: standard input"},
    {"stop", EVAL | GENERATE | CHAT, TEXTS, AT(stop), NULL, "TEXT…",
     "a text ends where one of these begins, which is left out"},
    {"stop-token", EVAL | GENERATE | CHAT | SERVE, TEXTS, AT(stop_tokens), NULL, "TOKEN…",
     "more tokens that end a text, besides the tokenizer's and the model's: each by its text or number"},
    {"ignore-eos", EVAL | GENERATE, FLAG, AT(ignore_eos), NULL, NULL,
     "no token ends a text: those that do are never written"},
    {"grammar", GENERATE | CHAT, TEXT, AT(grammar_file), NULL, "FILE",
     "what is written follows this grammar, in llama.cpp's notation (GBNF)"},
    {"json-schema", GENERATE | CHAT, TEXT, AT(schema_file), NULL, "FILE", "what is written is JSON, valid under this schema"},
    {"to", GENERATE, TEXT, AT(to), NULL, "FILE.npy", "write samples that are arrays into an array [samples, …]"},
    {"only", GENERATE, TEXT, AT(only), NULL, "NAME", "of several outputs of a sample the one to write with --to"},
    {"chat", GENERATE, FLAG, AT(chat), NULL, NULL,
     "each prompt is what a person says, and the text is the answer, in the form of chats that the model learned"},
    {"system", GENERATE | CHAT, TEXT, AT(system), NULL, "TEXT", "of a chat: what the system says first"},
    {"samples", GENERATE, COUNT, AT(samples), NULL, "N", "texts per prompt, or without a prompt (default 1)"},
    {"trace", PROFILE, TEXT, AT(trace), NULL, "FILE", "one step as a Chrome trace (chrome://tracing, Perfetto)"},
    {"trace", TRAIN, TEXT, AT(trace), NULL, "FILE",
     "one of the first ten steps as a Chrome trace; of several ranks: with what is on its way between them"},
    {"sort", PROFILE, TEXT, AT(sort), NULL, "lost|time", "kernels that lose most (default), or take most, first"},
    {"memory-limit", (ALL & ~INFO) | VERIFY, SIZE, AT(memory_limit), NULL, "SIZE",
     "refuse to take more, such as 512M (default: no limit)"},
    {"order", TRAIN | EVAL | REPLAY, KNOB, 0, "order", "NAME",
     "windows (from anywhere) or epochs (documents, shuffled)"},
    {"documents", TRAIN | EVAL | REPLAY, KNOB, 0, "documents", "NAME",
     "plain text: file, blank (lines between), line, whole"},
    {"mix", TRAIN | EVAL | REPLAY, KNOB, 0, "mix", "W,W…",
     "each path of --data is a source of its own with this share of the sequences, such as 7,3; none: all are one"},
    {"gpus", TRAIN, COUNT, AT(gpus), NULL, "N",
     "number of GPUs, each with the description's batch, by NCCL (default 1)"},
    {"ranks", TRAIN, COUNT, AT(processes), NULL, "N",
     "number of processes of this machine, each with the description's batch; under mpirun and srun leave it out"},
    {"readers", TRAIN | EVAL | REPLAY | VERIFY, COUNT, AT(readers), NULL, "N",
     "threads that encode documents or decode pictures (default 1; pictures beside a GPU: up to 8); the order does not "
     "depend on it"},
    {"host", SERVE, TEXT, AT(host), NULL, "ADDRESS",
     "where to listen (default 127.0.0.1, this machine alone); another address needs a key"},
    {"port", SERVE, TEXT, AT(port), NULL, "N", "where to listen (default 8080); 0: any that is free"},
    {"key", SERVE, TEXT, AT(key), NULL, "KEY",
     "what clients must know; others on this machine can read it here, but not in --key-file or LATHE_KEY"},
    {"key-file", SERVE, TEXT, AT(key_file), NULL, "FILE", "the key is the first line of this file"},
    {"json", (ALL & ~SERVE) | VERIFY, FLAG, AT(json), NULL, NULL, "the result as one JSON object on standard output"},
};
enum { OPTIONS = sizeof options / sizeof *options };

/* ------------------------------------------------------------------ help */

static void print_all_help(const Lathe_model *m, FILE *f)
{
    show(f, "usage: trainer COMMAND [options]      (%s)\n\n", m->name);
    for (int i = 0; i < COMMANDS; i++) show(f, "  %-9s %s\n", commands[i].name, commands[i].help);
    show(f, "\n`trainer COMMAND --help` lists the options.\n");
}

/* Settings are the model's own. */
static void print_option_table(const Command *c)
{
    print_table_usage("trainer", c->name, c->usage, c->help);
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].commands & c->bit)
            print_table_row("option", text_of("--%s", options[i].name), options[i].argument, options[i].help);
}

static void print_help(const Trainer *t, const Command *c)
{
    show(stdout, "usage: trainer %s %s\n\n%s\n\n", c->name, c->usage, c->help);
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].commands & c->bit) {
            const char *argument = options[i].argument ? options[i].argument : "";
            char *left = text_of("--%s%s%s", options[i].name, options[i].kind == RESUME ? "" : " ", argument);
            show(stdout, "  ");
            print_padded(stdout, left, 24);
            show(stdout, " %s\n", options[i].help);
        }
    if (c->bit & (TRAIN | INFO)) {
        show(stdout, "\nSettings for --set, with their values now:\n");
        print_knobs(stdout, &t->recipe, t->model->turns);
    }
}

/* ------------------------------------------------------------------ reading it */

static const Command *find_command(const Lathe_model *m, const char *name)
{
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++) {
        names[i] = commands[i].name;
        if (strcmp(name, names[i]) == 0) return &commands[i];
    }
    const char *close = nearest_word(name, names, COMMANDS);
    if (close) fail(EXIT_USAGE, NULL, "there is no command %s; did you mean %s?", name, close);
    show(stderr, "trainer: error: there is no command %s\n", name);
    print_all_help(m, stderr);
    exit(EXIT_USAGE);
}

/* Suggests a command that has the option, or an option with a similar name. */
static _Noreturn void refuse_option(const Command *c, const char *name)
{
    const char *names[OPTIONS + 1] = {"help"};
    int n = 1;
    for (int i = 0; i < OPTIONS; i++) {
        if (options[i].commands & c->bit) names[n++] = options[i].name;
        if (strcmp(options[i].name, name) != 0) continue;
        for (int k = 0; k < COMMANDS; k++)
            if (commands[k].bit & options[i].commands)
                fail(EXIT_USAGE, NULL, "%s has no option --%s; %s has", c->name, name, commands[k].name);
    }
    if (is_setting(name))
        fail(EXIT_USAGE, NULL, "%s has no option --%s; did you mean --set %s=VALUE?", c->name, name, name);
    const char *close = nearest_word(name, names, n);
    if (close) fail(EXIT_USAGE, NULL, "%s has no option --%s; did you mean --%s?", c->name, name, close);
    fail(EXIT_USAGE, NULL, "%s has no option --%s; `trainer %s --help` lists them", c->name, name, c->name);
}

static const Option *find_option(const Command *c, const char *name)
{
    for (int i = 0; i < OPTIONS; i++)
        if ((options[i].commands & c->bit) && strcmp(options[i].name, name) == 0) return &options[i];
    refuse_option(c, name);
}

static int64_t count_option(const Option *o, const char *value, int64_t least, int64_t most)
{
    int64_t n;
    if (!parse_count(value, &n) || n < least || n > most)
        fail(EXIT_USAGE, NULL, "--%s %s: expected a whole number, %lld%s", o->name, value, (long long)least,
             most == INT64_MAX ? " or more" : text_of(" to %lld", (long long)most));
    return n;
}

static void take_prompt(Prompts **all, const char *value, bool file)
{
    if (!*all) *all = must_alloc(sizeof **all);
    if (file) add_prompt_file(*all, value);
    else add_prompt(*all, value);
}

static bool takes_several(const Option *o) { return o->kind == TEXTS || o->kind == PROMPTS || o->kind == PROMPT_FILES; }

static void take_value(Trainer *t, const Option *o, const char *value)
{
    void *field = (char *)t + o->field;
    switch (o->kind) {
    case FLAG: *(bool *)field = true; break;
    case RESUME: *(const char **)field = value ? value : ""; break;
    case TEXT: *(const char **)field = value; break;
    case TEXTS: add_word(field, value); break;
    case PROMPTS:
    case PROMPT_FILES: take_prompt(field, value, o->kind == PROMPT_FILES); break;
    case COUNT: *(int64_t *)field = count_option(o, value, 1, INT64_MAX); break;
    case SEED: *(int32_t *)field = (int32_t)count_option(o, value, 0, INT32_MAX); break;
    case THREADS: *(int *)field = (int)count_option(o, value, 1, 1024); break;
    case SIZE:
        if (!parse_size(value, field))
            fail(EXIT_USAGE, NULL, "--%s %s: expected a size such as 512M or 8G", o->name, value);
        break;
    case KNOB: set_knob(t, o->knob, value); break;
    case SET: set_knob_text(t, value); break;
    }
    if (o->kind == KNOB && strcmp(o->knob, "tokenizer") == 0) t->tokenizer_given = true;
    if (o->kind == SEED) t->seed_given = true;
}

/* Takes the option at argv[i] and its values; returns the index after them. */
static int take_option(Trainer *t, const Command *c, int argc, char **argv, int i)
{
    const char *name = argv[i] + 2, *equals = strchr(name, '=');
    const Option *o = find_option(c, equals ? text_of("%.*s", (int)(equals - name), name) : name);
    i++;
    if (o->kind == FLAG) {
        if (equals) fail(EXIT_USAGE, NULL, "--%s takes no value", o->name);
        take_value(t, o, NULL);
    } else if (equals) {
        take_value(t, o, equals + 1);
    } else if (o->kind == RESUME) {
        if (i < argc && strncmp(argv[i], "--", 2) != 0)
            fail(EXIT_USAGE, NULL, "--%s takes its %s after an equals sign: --%s=%s", o->name,
                 o->field == AT(resume) ? "path" : "number", o->name, argv[i]);
        take_value(t, o, NULL);
    } else {
        if (i == argc || (strncmp(argv[i], "--", 2) == 0 && o->kind != COUNT))
            fail(EXIT_USAGE, NULL, "--%s needs a value: --%s %s (%s)", o->name, o->name, o->argument, o->help);
        take_value(t, o, argv[i++]);
    }
    while (takes_several(o) && i < argc && strncmp(argv[i], "--", 2) != 0) take_value(t, o, argv[i++]);
    return i;
}

static bool wants_help(const char *s)
{
    return strcmp(s, "--help") == 0 || strcmp(s, "-h") == 0 || strcmp(s, "help") == 0;
}

static _Noreturn void refuse_word(const Command *c, const char *word)
{
    if (access(word, F_OK) == 0 && (c->bit & (TRAIN | EVAL | PREDICT | REPLAY)))
        fail(EXIT_USAGE, NULL, "%s: expected an option, found %s; did you mean --data %s?", c->name, word, word);
    fail(EXIT_USAGE, NULL, "%s: expected an option, found %s; `trainer %s --help` lists them", c->name, word, c->name);
}

static void take_options(Trainer *t, const Command *c, int argc, char **argv)
{
    for (int i = 2; i < argc;) {
        if (wants_help(argv[i]) || asks_for_table(argv[i])) {
            if (asks_for_table(argv[i])) print_option_table(c);
            else print_help(t, c);
            exit(end_process("trainer", 0));
        }
        if (strncmp(argv[i], "--", 2) != 0) refuse_word(c, argv[i]);
        i = take_option(t, c, argc, argv, i);
    }
}

static bool wants_run_folder(const char *command)
{
    return strcmp(command, "train") == 0 || strcmp(command, "eval") == 0 || strcmp(command, "generate") == 0 ||
           strcmp(command, "chat") == 0 || strcmp(command, "serve") == 0 || strcmp(command, "report") == 0 ||
           strcmp(command, "verify") == 0;
}

/* Data and weights are read from mapped files; the system sends SIGBUS when such a file shrinks. */
static void on_bus_error(int number)
{
    static const char words[] = "\ntrainer: error: a file shrank while being read, or its disk failed; do not modify "
                                "files that a run reads, and start again\n";
    (void)number;
    (void)!write(2, words, sizeof words - 1);
    _exit(EXIT_DATA);
}

extern const char *const rt_needs; /* math/cpu.c reads it before main runs */
const char *const rt_needs = lathe_needs;

static void read_line(Trainer *t, const Command *c, int argc, char **argv)
{
    take_options(t, c, argc, argv);
    t->out_given = t->out != NULL;
    settle_group(t);
    ignore_config(&t->ignored_keys);
    if (t->init_except && !t->weights)
        fail(EXIT_USAGE, NULL, "--init-except %s needs --init PATH, whose other layers are taken", t->init_except);
    if (t->weights) t->weights = weights_file(t->weights);
}

void take_command_words(Trainer *t, const Words *words)
{
    *t = (Trainer){.model = t->model, .program = t->program, .command = "train", .recipe = recipe_of_model(t->model), .seed = 1};
    read_line(t, find_command(t->model, "train"), words->n, (char **)words->at);
}

int lathe_main(const Lathe_model *model, int argc, char **argv)
{
    start_process("trainer");
    rt_check_processor();
    check_entries(model);
    set_up_openmp(argv);
    signal(SIGBUS, on_bus_error);
    json_set_alloc_funcs(must_alloc, free); /* jansson silently leaves out values when memory runs out */
    for (int i = 0; i < COMMANDS && argc > 1 && asks_for_table(argv[1]); i++)
        print_table_row("command", commands[i].name, commands[i].usage, commands[i].help);
    if (argc > 1 && asks_for_table(argv[1])) return end_process("trainer", 0);
    if (argc < 2 || wants_help(argv[1])) {
        print_all_help(model, argc < 2 ? stderr : stdout);
        return end_process("trainer", argc < 2 ? EXIT_USAGE : 0);
    }
    const Command *c = find_command(model, argv[1]);
    Trainer t = {.model = model, .program = argv[0], .command = c->name, .recipe = recipe_of_model(model), .seed = 1};
    expect_ranks(&t);
    read_line(&t, c, argc, argv);
    if (!t.out && wants_run_folder(t.command)) t.out = default_folder(&t);
    settle_resume(&t);
    return end_process("trainer", c->run(&t));
}
