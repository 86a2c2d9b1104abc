/* generate.h: what writes text: rows of the decode entry, sampling and beams over them, prompts and sources in, texts
 * out. */
#ifndef LATHE_TEXT_GENERATE_H
#define LATHE_TEXT_GENERATE_H

#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "text/beam.h"
#include "text/writing.h"
#include "token/tokenizer.h"

/* ------------------------------------------------------------------ text/decode.c: the entries encode and decode */

typedef struct Id_list { /* of a source or a prompt */
    const int32_t *at;
    int64_t n;
} Id_list;

typedef struct Decoder {
    const Lathe_model *model;
    const Lathe_entry *entry, *encode; /* encode NULL: there is no source */
    Lathe_call call, encode_call;
    const Lathe_tensor *token, *logits, *extra[LATHE_EXTRAS];
    int extras;        /* outputs with a number for each token, beside logits */
    int64_t rows;      /* side by side */
    int64_t vocab;     /* logits: [rows][vocab] */
    int64_t context;   /* positions the model knows; 0: any number */
    int64_t position;  /* tokens in the states */
    int32_t *history;  /* [context + 1][rows]: those; the last line is for reorder_rows */
    int32_t seed;
    char *state, *room, *kept, *rest; /* kept: what encode has written */
    int64_t rest_bytes;               /* of the memory for generation, that others may use */
} Decoder;

int64_t generation_bytes(const Lathe_model *m, const Lathe_recipe *r); /* of Memory.generation, as the recipe is; 0 where nothing is written */
void open_decoder(Decoder *d, const Lathe_model *model, int32_t seed, const Memory *m);
void forget_rows(Decoder *d); /* all rows begin anew; sources stay */
/* Each row goes on by its token; returns logits.  Past the context the newer half of what was fed is fed again. */
const void *feed_rows(Decoder *d, const int32_t *id);
void read_extras(const Decoder *d, int64_t row, float *to); /* [extras], of the token that comes next */
void reorder_rows(Decoder *d, const int32_t *from);         /* row k becomes what row from[k] is; sources stay */
/* Up to `rows` sources, none longer than the model's; pad behind them.  Row k then has the k-th; rows beyond, the first. */
void encode_rows(Decoder *d, const Id_list *source, int64_t n, int32_t pad);
void take_encoded(Decoder *d, const int32_t *from); /* row k has the from[k]-th of them */

/* ------------------------------------------------------------------ text/sample.c: the next token */

typedef struct Candidate {
    double weight;
    int32_t id;
} Candidate;

typedef struct Sampler {
    int64_t n, top_k;
    int64_t ids; /* only ids below, and ends, are drawn; n is beyond both */
    const Ends *ends;
    bool may_end;
    double temperature, top_p, penalty;
    int32_t seed, number; /* number: of the sample among several */
    int64_t step;         /* of a run that samples while it trains; 0 */
    Candidate *list;      /* [n], the caller's; several samplers may share it */
    unsigned char *seen;  /* [n], the caller's: not 0 for tokens that are in the text already */
} Sampler;

/* As the recipe says; n is set, and list and seen are there. */
void sampler_init(Sampler *s, const Lathe_recipe *r, int32_t seed, int number);
/* temperature 0: the likeliest.  position: of the token that is drawn, from the start of the text. */
int32_t sample_token(Sampler *s, Lathe_dtype type, const void *logits, int64_t position);

/* ------------------------------------------------------------------ text/stop.c: where a text ends */

void add_end(Ends *e, int64_t id, int64_t vocab); /* unless it is there, or no token of the model */
/* What ends texts: `settled` (-1: none) and --stop-token; of language models, not of `pairs`, also what the files of an
 * imported model call so, and the tokenizer's special tokens of that meaning. */
Ends ends_of_texts(const Writing *asked, const Tokenizer *k, bool pairs, int32_t settled);

typedef struct Stops Stops;                              /* the texts of --stop */
Stops *open_stops(const Writing *asked, const Tokenizer *k); /* NULL: there are none */
void close_stops(Stops *s);
/* Bytes of a text from where a stop begins that ends within its last token; 0: there is none.  Asked for each token. */
int64_t bytes_to_stop(Stops *s, const int32_t *token, int64_t n, const char **which);
int64_t unfinished_stop(const Words *stop, const char *text, int64_t bytes); /* bytes at the end that may begin one */

/* ------------------------------------------------------------------ text/prompts.c: what to write for */

typedef struct Prompt {
    Passage text;
    const char *place; /* for messages: "prompt", or its file */
} Prompt;

typedef struct Prompts {
    Prompt *at;
    int n;
} Prompts;

void add_prompt(Prompts *p, const char *text);
void add_prompt_file(Prompts *p, const char *path); /* "-": standard input */

/* ------------------------------------------------------------------ text/write.c: texts for prompts */

typedef struct Written {
    const int32_t *token; /* [n], without an end; of a text that was stopped up to the token in which the stop begins */
    int64_t n, from;      /* token[from] is the first that was written; those before are the prompt's, of language models */
    int64_t shown;        /* text begins with this one: `from` where the prompt is empty */
    const float *extra;   /* [n - from][extras] */
    double score;         /* of beam search, where scored */
    bool scored, ended;
    const char *stop; /* the text of --stop that ended it, or NULL: */
    int64_t cut;      /* then bytes of the last token that belong to it, and are not shown */
} Written;

typedef struct Text_writer Text_writer;
/* Takes what was written for the k-th prompt, in their order; the Written lasts until it returns. */
typedef void Take_written(void *with, int64_t k, const Written *w);
/* Sees each token as it comes, the prompt's first; where one row is sampled. */
typedef void See_token(void *with, int32_t id);

/* One at a time over the same memory.  place: of prompts, in messages.  What does not go together in the recipe ends the program (2). */
Text_writer *open_text_writer(Writing asked, const Memory *m, const Tokenizer *k, const char *place);
void close_text_writer(Text_writer *w);
bool reads_sources(const Text_writer *w);
bool writes_by_rows(const Text_writer *w);   /* one row, no beams: tokens can be seen as they come */
int writer_extras(const Text_writer *w);
const char *extra_name(const Text_writer *w, int k);
/* A source that does not fit ends the program (2); others are cut.  place: of the prompt, for messages. */
void check_start(Text_writer *w, Passage prompt, const char *place);
/* number: of the first prompt among all; step: of the run; what is drawn depends on both.  see may be NULL. */
void write_texts(Text_writer *w, const Passage *prompt, int64_t n, int64_t number, int64_t step, Take_written *take,
                 See_token *see, void *with);
int64_t sources_cut(const Text_writer *w); /* so far, being too long */

#endif
