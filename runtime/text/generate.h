/* generate.h: writing texts: rows of the entry decode, sampling and beam search over them, prompts and sources,
 * texts. */
#ifndef LATHE_TEXT_GENERATE_H
#define LATHE_TEXT_GENERATE_H

#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "step/sample.h"
#include "text/beam.h"
#include "text/writing.h"
#include "token/tokenizer.h"

/* ------------------------------------------------------------------ text/decode.c: the entries encode, decode, prefill */

typedef struct Id_list { /* of a source or a prompt */
    const int32_t *at;
    int64_t n;
} Id_list;

typedef struct Decoder {
    const Lathe_model *model;
    const Lathe_entry *entry, *encode, *prefill; /* encode NULL: there is no source; prefill NULL: token by token */
    Lathe_call call, encode_call, prefill_call;
    const Lathe_tensor *token, *logits, *extra[LATHE_EXTRAS];
    const Lathe_tensor *prompt; /* of prefill: [rows][chunk]; NULL: it reads none */
    int extras;        /* outputs with one number per token, beside logits */
    int64_t rows;      /* decoded at once */
    int64_t vocab;     /* logits: [rows][vocab] */
    int64_t context;   /* positions that the model has; 0: any number */
    int64_t places;    /* positions in the states */
    int64_t chunk;     /* tokens that prefill reads */
    int64_t position;  /* tokens in the states */
    int32_t *history;  /* [context + 1][rows]: these tokens; the last line is for reorder_rows */
    int32_t seed;
    const Lathe_entry *giver; /* decode, or slots: which gave the outputs at `given` */
    const char *given;
    char *state, *room, *kept, *rest; /* kept: states that encode has written */
    int64_t rest_bytes;               /* bytes of the memory for generation that others may use */
} Decoder;

/* Of Memory.generation, for so many texts in slots; 0 without decode. */
int64_t generation_bytes(const Lathe_model *m, const Lathe_recipe *r, int64_t slots);
/* imported: the weights came from elsewhere, so they know all positions that there is room for; else those of a step. */
void open_decoder(Decoder *d, const Lathe_model *model, int32_t seed, const Memory *m, bool imported);
void forget_rows(Decoder *d); /* restarts all rows; sources stay */
/* Feeds each row its token; returns logits.  Past the context, the newer half of the tokens is fed again. */
const void *feed_rows(Decoder *d, const int32_t *id);
/* Feeds each row n tokens, whose logits nobody asks for: id[i * rows + r] is the i-th of row r. */
void feed_prompt(Decoder *d, const int32_t *id, int64_t n);
/* For texts in slots (text/slots.c), of one row: how many of n tokens at a position a chunk would read, 0 where it takes
 * longer than one by one; reading them; feeding one token, which gives logits. */
int64_t chunk_that_pays(const Decoder *d, int64_t position, int64_t n);
void feed_chunk(Decoder *d, int64_t position, const int32_t *id, int64_t n);
const void *feed_token(Decoder *d, int64_t position, int32_t id);
void read_extras(const Decoder *d, int64_t row, float *to); /* [extras], about the next token */
void reorder_rows(Decoder *d, const int32_t *from);         /* row k becomes row from[k]; sources stay */
/* Encodes up to `rows` sources, which must fit, and pads them.  Row k then has the k-th; further rows have the
 * first. */
void encode_rows(Decoder *d, const Id_list *source, int64_t n, int32_t pad);
void take_encoded(Decoder *d, const int32_t *from); /* row k gets the from[k]-th of them */

/* ------------------------------------------------------------------ text/stop.c: the end of a text */

void add_end(Ends *e, int64_t id, int64_t vocab); /* unless it is there already, or is not a token of the model */
/* The tokens that end texts: `settled` (-1: none) and --stop-token; for language models, not for `pairs`, also those
 * named by the files of an imported model, and the tokenizer's special tokens with that meaning. */
Ends ends_of_texts(const Writing *asked, const Tokenizer *k, bool pairs, int32_t settled);

typedef struct Stops Stops;                              /* the texts of --stop */
Stops *open_stops(const Writing *asked, const Tokenizer *k); /* NULL: none */
void close_stops(Stops *s);
/* If a stop ends within the text's last token, the bytes from its beginning to the end of the text; otherwise 0.
 * Called for each token. */
int64_t bytes_to_stop(Stops *s, const int32_t *token, int64_t n, const char **which);
int64_t unfinished_stop(const Words *stop, const char *text, int64_t bytes); /* bytes at the end that may begin one */

/* ------------------------------------------------------------------ text/prompts.c: prompts */

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
    const int32_t *token; /* [n], without an end token; a stopped text ends with the token in which the stop begins */
    int64_t n, from;      /* token[from] is the first written; for language models, those before it are the prompt */
    int64_t shown;        /* the text begins with token[shown]; it is `from` if the prompt is empty, or said in a chat */
    const float *extra;   /* [n - from][extras] */
    double score;         /* of beam search, where scored */
    bool scored, ended;
    const char *stuck; /* why a grammar lets the text not go on, though it is not whole; NULL: it does */
    bool unfinished;   /* the text ended, but its grammar does not end there */
    const char *stop; /* the text of --stop that ended it, or NULL: */
    int64_t cut;      /* then the bytes of the last token that belong to it and are not shown */
} Written;

typedef struct Text_writer Text_writer;
/* Called with the text for the k-th prompt, in order; the Written is valid during the call. */
typedef void Take_written(void *with, int64_t k, const Written *w);
/* Called with each token that is shown, the prompt's first, if one row is sampled. */
typedef void See_token(void *with, int32_t id);

/* Only one may be open in the same memory.  place: of prompts, in messages.  Settings that exclude each other end the
 * program (2). */
Text_writer *open_text_writer(Writing asked, const Memory *m, const Tokenizer *k, const char *place);
bool reads_sources(const Text_writer *w);
int64_t sources_at_once(const Text_writer *w); /* texts for so many are written together */
bool writes_by_rows(const Text_writer *w);   /* one row and no beams: See_token is called */
int writer_extras(const Text_writer *w);
const char *extra_name(const Text_writer *w, int k);
/* Ends the program (2) if the prompt, as a source, is too long.  place: of the prompt, for messages. */
void check_start(Text_writer *w, Passage prompt, const char *place);
/* number: of the first prompt among all; step: of the run; draws depend on both.  see may be NULL. */
void write_texts(Text_writer *w, const Passage *prompt, int64_t n, int64_t number, int64_t step, Take_written *take,
                 See_token *see, void *with);

/* Answers what a person says, in a conversation that begins as zeros, of one that asked for a chat without beams; the
 * states keep what was said.  draws depend on the number of the turn. */
typedef struct Talk {
    Ids ids;
    int64_t fed, turns; /* fed: ids that the states have */
} Talk;
void write_answer(Text_writer *w, Talk *talk, Passage said, Take_written *take, See_token *see, void *with);

/* A text that a server is asked for, of a writer without beams and sources; it is written in a slot (text/slots.h) as the
 * first text of `generate` with the same seed.  It must outlive that. */
typedef bool Go_on(void *with); /* false: nobody wants the rest of the text */
typedef struct Asked_text {
    Lathe_recipe recipe; /* its sample_tokens: of this text, at most those of the writer */
    int32_t seed;
    Words stop;
    const struct Grammar *grammar;          /* what the text may be; NULL: anything */
    const struct Chat_form *form;       /* NULL: the text goes on; else the messages are answered */
    const struct Chat_message *message; /* data/chats.h */
    int messages;
    Passage text;
} Asked_text;
int64_t writer_context(const Text_writer *w); /* tokens that it looks back; 0: all */
void take_asked(Text_writer *w, const Asked_text *a, Ids *to); /* the ids that the answer follows */
int64_t sources_cut(const Text_writer *w); /* number so far that were too long */

#endif
