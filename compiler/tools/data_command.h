/* data_command.h: what the commands of lathe-data share: their options. */
#ifndef DATA_COMMAND_H
#define DATA_COMMAND_H

#include "base/file.h"
#include "base/words.h"
#include "data/stream.h"
#include "source/source.h"
#include "token/tokenizer.h"

typedef struct Named_text { /* names: for completions, "a, b"; it may be another text */
    const char *text, *names;
} Named_text;

/* bool, const char *, Words, int64_t, Named_text */
typedef enum Flag_kind { FLAG_ON, FLAG_TEXT, FLAG_TEXTS, FLAG_COUNT, FLAG_NAMED } Flag_kind;

typedef struct Flag {
    const char *name; /* "--out" */
    Flag_kind kind;
    void *to;
    const char *argument, *help;
} Flag;

/* Takes the options of argv[from …]; what is none goes to rest.  What is wrong ends the program (2); --help prints usage,
 * text and options, and ends it. */
typedef struct Command_line {
    const char *name, *usage, *help; /* "tokenize train" */
    const Flag *flag;
    int flags;
} Command_line;
void take_command_line(const Command_line *c, int argc, char **argv, int from, Words *rest);
const char *need_flag(const Command_line *c, const char *name, const char *value); /* value, or ends the program (2) */

/* ------------------------------------------------------------------ tools/data_sources.c: how files are read */

typedef struct Source_words { const char *format, *split, *text, *target, *bad_utf8, *bad_records; } Source_words;
#define SOURCE_FLAGS(w, bad)                                                                                          \
    {"--format", FLAG_TEXT, &(w).format, "NAME", "text, jsonl, csv, tsv, shard (each file's own)"},                   \
    {"--split", FLAG_TEXT, &(w).split, "HOW",                                                                         \
     "a document of plain text: file, blank (between empty lines), line, whole (file)"},                              \
    {"--text", FLAG_TEXT, &(w).text, "NAME", "field or column of the text, or of a pair's source (text, source)"},    \
    {"--target", FLAG_TEXT, &(w).target, "NAME", "field or column of a pair's target (target)"},                      \
    {"--bad-utf8", FLAG_TEXT, &(w).bad_utf8, "HOW", "what is not UTF-8: replace, stop, keep (" bad ")"},              \
    {"--bad-records", FLAG_TEXT, &(w).bad_records, "N", "malformed records that are skipped; one more ends it"}

Source_options source_options(const Source_words *w, Bad_utf8 bad_utf8, int64_t bad_records); /* those: without words */
int choice_of(const char *option, const char *word, const char *const *words, int n);         /* the first without one */
int64_t whole_number(const char *option, const char *word, int64_t below, int64_t otherwise); /* from 0 on */

/* ------------------------------------------------------------------ tools/data_info_pairs.c: what training makes of pairs */

typedef struct Pairs_asked { int64_t seq, source_seq, batch, buckets, shuffle_tokens, seed; bool skip_long; } Pairs_asked;
Order pairs_order(const Pairs_asked *a);
Pair_sum count_pairs(const Words *paths, Source_options how, const Tokenizer *t, const Order *o); /* of an epoch */
json_t *pairs_json(const Pair_sum *s, const Order *o);

/* ------------------------------------------------------------------ tools/data_info_pictures.c */

bool are_pictures(const Words *paths); /* .jpg, .jpeg, .png, .tar, folders with some */
void tell_pictures(const Words *paths, bool json); /* prints what is in them */

/* ------------------------------------------------------------------ tools/data_info_recordings.c */

bool are_recordings(const Words *paths); /* .wav, .flac and the like, folders with some, a CSV of paths */
void tell_recordings(const Words *paths, bool json);

/* ------------------------------------------------------------------ tools/data_info_arrays.c */

bool are_arrays_of_rows(const Words *paths); /* .npy, .npz, .h5, .safetensors, .idx, folders with some; NAME=FILE */
void tell_arrays(const Words *paths, bool json);

/* ------------------------------------------------------------------ tools/data_info_tables.c */

bool are_tables(const Words *paths); /* .csv, .tsv without columns of texts by their usual names */
void tell_tables(const Words *paths, bool json);

/* ------------------------------------------------------------------ commands */

/* The commands themselves: each returns the exit code; argv[0] is its name. */
int data_command(int argc, char **argv); /* tools/data_info.c */
int sizes_command(int argc, char **argv); /* tools/data_sizes.c */
int new_command(int argc, char **argv);   /* tools/data_new.c */
int tokenize_command(int argc, char **argv); /* tools/data_tokenize.c */
int encode_command(int argc, char **argv); /* tools/data_encode.c */
int report_command(int argc, char **argv); /* tools/data_report.c */
int runs_command(int argc, char **argv);   /* tools/data_runs.c */
int plot_command(int argc, char **argv);   /* tools/data_plot.c */
int verify_run_command(int argc, char **argv); /* tools/data_verify.c */
int columns_there(int otherwise); /* tools/data_plot.c: of the terminal, or as $COLUMNS says */
void need_text(const Source_file *f); /* anything else ends the program (3) */
void need_inputs(const Command_line *c, const Words *inputs);
_Noreturn void refuse_fault(const Fault *f);

/* ------------------------------------------------------------------ tools/data_new_encoder.c */

bool is_encoder(const char *type); /* a model_type */
const char *encoder_head(const char *given, const char *from, const json_t *config); /* given: --head, or NULL; from: the folder */
char *encoder_text(const char *head, const char *from);   /* the end of the description; from malloc */

#endif
