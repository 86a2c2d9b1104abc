/* writer.h: a Text_writer inside: shared by write.c, which writes texts for prompts, and converse.c, which writes those
 * that were asked for one by one. */
#ifndef LATHE_TEXT_WRITER_H
#define LATHE_TEXT_WRITER_H

#include "grammar/grammar.h"
#include "text/beam.h"
#include "text/generate.h"
#include "text/writing.h"
#include "token/tokenizer.h"

typedef struct Line { /* a text that is drawn */
    int32_t *token;   /* [n], the prompt's first */
    float *extra;     /* [made][extras] */
    int64_t n, given, made;
    bool ended, over;
    Constraint *constraint; /* by a grammar; NULL: there are none */
    const char *stuck;      /* why no token may come, though the grammar does not end; NULL: one may */
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
};

/* ---- text/write.c */

void settle_tokens(Text_writer *w); /* what begins and ends texts, as it is asked */
int take_begin(const Text_writer *w, Ids *to); /* returns how many it added */
void take_start(Text_writer *w, Ids *to);
void *take_rest(Text_writer *w, int64_t bytes); /* of the memory for generation */
void take_prompts(Text_writer *w, const Passage *prompt, int64_t n);
void begin_line(Text_writer *w, Line *l, Id_list start, int64_t number, int64_t step);
void note_token(Line *l, int64_t at); /* the text has it */
/* Draws the token after token `fed`, if that was the prompt's last or a drawn one. */
void draw_next(Text_writer *w, Line *l, int64_t row, int64_t fed, const char *logits);
Written written_line(const Text_writer *w, const Line *l, int64_t hidden); /* of a language model */
int64_t draw_group(Text_writer *w, int64_t first, int64_t n, int64_t fed, int64_t number, int64_t step, See_token *see,
                   void *with);
void hand_drawn(Text_writer *w, int64_t first, int64_t n, int64_t number, Take_written *take, void *with);

#endif
