/* chats.h: the form of chats, as the settings, the weights and the tokenizer say, and ids of their texts. */
#ifndef LATHE_DATA_CHATS_H
#define LATHE_DATA_CHATS_H

#include "data/reading.h"
#include "source/source.h"
#include "token/tokenizer.h"

struct Origin;

/* The setting `chat`; else that of the chat template beside the weights; else ChatML if the tokenizer has its tokens,
 * else plain.  origin may be NULL.  false: there is a template that is not known; *why then says so.  Ends the program
 * (2) if the setting names a form whose tokens the tokenizer has not. */
bool find_chat_form(const Lathe_recipe *r, const struct Origin *origin, const Tokenizer *k, Chat_form *form, char **why);

/* The end of the spans that are encoded as one text with the span at `from`: those that count alike, up to a span that
 * reads as a special token, which is a text of its own (*plain: it is encoded as such).  text: of that span. */
int spans_together(const Tokenizer *k, const char *text, const Span *span, int n, int from, bool *plain);

/* Appends the ids of what a person says, up to where the model answers, as training reads it.  first: at the beginning
 * of a chat, where `system` (at NULL: as the form has it) speaks before; otherwise after an answer and its end. */
void encode_said(Encoder *e, const Tokenizer *k, const Chat_form *f, bool first, Passage system, Passage said, Ids *to);
void encode_thought(Encoder *e, const Chat_form *f, Ids *to); /* of the answer that comes next; it is not kept */
/* Why the form has no such chat, and which of the n messages it is, from 1 on; NULL: it has. */
const char *chat_fault(const Chat_form *f, const Chat_message *m, int n, int *number);
/* The same of a whole chat, which the model answers next, with the thought; ends the program if the form has none such. */
void encode_messages(Encoder *e, const Tokenizer *k, const Chat_form *f, const Chat_message *m, int n, Ids *to);
/* The answer to them, as training reads it: with what ends the message. */
void encode_answered(Encoder *e, const Tokenizer *k, const Chat_form *f, Passage answer, Ids *to);
void encode_end(Encoder *e, const Chat_form *f, Ids *to); /* of an answer */

#endif
