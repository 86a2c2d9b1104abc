/* shown.h: texts that a model wrote, as they are shown. */
#ifndef LATHE_TRAINER_SHOWN_H
#define LATHE_TRAINER_SHOWN_H

#include "base/words.h"
#include "text/generate.h"
#include "token/tokenizer.h"

typedef struct Text_written {
    char *at; /* from malloc; NULL if it is empty */
    size_t bytes, room;
} Text_written;

Text_written text_written(const Tokenizer *k, const Written *w);
json_t *written_json(const Text_writer *from, const Tokenizer *k, Passage prompt, const Written *w);

typedef struct Streamed { /* the current text, of which a part was shown */
    const Tokenizer *tokenizer;
    const Words *stop;
    Text_written text;
    size_t printed; /* bytes of it; an incomplete character waits, and so does what may begin a stop text */
} Streamed;

size_t extend_shown(Streamed *s, int32_t id); /* returns how many bytes of the text may be shown */
void show_token(Streamed *s, int32_t id);
void show_rest(Streamed *s, const Written *w, bool line); /* what is left of the whole text; line: as one */

#endif
