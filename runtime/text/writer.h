/* writer.h: a Text_writer inside: shared by write.c, which writes texts for prompts, and converse.c, which writes those
 * that were asked for one by one. */
#ifndef LATHE_TEXT_WRITER_H
#define LATHE_TEXT_WRITER_H

#include "text/beam.h"
#include "text/generate.h"
#include "text/writing.h"
#include "token/tokenizer.h"

typedef struct Line { /* a text that is drawn */
    int32_t *token;   /* [n], the prompt's first */
    float *extra;     /* [made][extras] */
    int64_t n, given, made;
    bool ended, over;
    const char *stop; /* the text of --stop that ended it; NULL: none */
    int64_t cut;      /* bytes of the last token that belong to the stop */
    Sampler sampler;
} Line;

struct Text_writer {
    Writing asked;
    Decoder d;
    const Tokenizer *tokenizer;
    Encoder *encoder;
    int32_t bos, pad; /* -1: none */
    const int32_t *begin;
    int begins;   /* tokens before a prompt */
    Stops *stops; /* NULL: none */
    Beam_how how;
    Beam *beam;           /* NULL: tokens are drawn */
    Ids *prompt;          /* [rows], of a group */
    int64_t *hidden;      /* [rows]: its first tokens that are not shown: of `begin`; all of a chat's or an empty one */
    Line *line;           /* [rows], if tokens are drawn */
    int32_t *next, *from; /* [rows] */
    int64_t cut;
    Go_on *go_on; /* asked before each token; NULL: texts are written to their ends */
};

/* ---- text/write.c */

void settle_tokens(Text_writer *w); /* what begins and ends texts, as it is asked */
int take_begin(const Text_writer *w, Ids *to); /* returns how many it added */
void take_start(Text_writer *w, Ids *to);
int64_t draw_group(Text_writer *w, int64_t first, int64_t n, int64_t fed, int64_t number, int64_t step, See_token *see,
                   void *with);
void hand_drawn(Text_writer *w, int64_t first, int64_t n, int64_t number, Take_written *take, void *with);

#endif
