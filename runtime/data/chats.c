/* chats.c: which form chats have, and ids of their texts: the same for training and for answers. */
#include "base/words.h"
#include "data/chats.h"
#include "model/origin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the form */

static bool has_form(const Tokenizer *k, const Chat_form *f)
{
    const char *token[] = {f->opening, f->mark, *f->before ? f->end : NULL};
    for (size_t i = 0; i < sizeof token / sizeof *token; i++)
        if (token[i] && special_id(k, token[i]) < 0) return false;
    return true;
}

static const struct Named_form {
    const char *name;
    const Chat_form *form;
} named_forms[] = {
    [LATHE_PLAIN_CHAT] = {"plain", &plain_chat},    [LATHE_CHATML] = {"chatml", &chatml_chat},
    [LATHE_LLAMA3_CHAT] = {"llama3", &llama3_chat}, [LATHE_GEMMA_CHAT] = {"gemma", &gemma_chat},
    [LATHE_PHI3_CHAT] = {"phi3", &phi3_chat},
};

static void check_form(struct Named_form of, const Tokenizer *k)
{
    const char *opening = of.form->opening;
    if (has_form(k, of.form)) return;
    fail(EXIT_USAGE, NULL, "--set chat=%s: the tokenizer (%s) lacks its tokens, %s%s%s and %s; give another form",
         of.name, tokenizer_words(k), opening ? opening : "", opening ? ", " : "", of.form->mark, of.form->end);
}

bool find_chat_form(const Lathe_recipe *r, const Origin *origin, const Tokenizer *k, Chat_form *form, char **why)
{
    const char *template = origin_template(origin);
    *form = has_form(k, &chatml_chat) ? chatml_chat : has_form(k, &gemma_chat) ? gemma_chat : plain_chat;
    if (r->chat != LATHE_CHAT_FOUND) {
        check_form(named_forms[r->chat], k);
        *form = *named_forms[r->chat].form;
    } else if (template && !read_chat_template(template, form)) {
        *why =
            text_of("the chat template that came with the weights is none of the known ones (ChatML, Llama 3, Gemma, "
                    "Phi-3, OLMo 2, Qwen); if the model was trained on a form that is, name it: --set chat=plain, "
                    "chatml, llama3, gemma or phi3");
        return false;
    }
    if (has_form(k, form)) return true;
    *why =
        text_of("the tokenizer lacks the tokens of its chat template, such as %s; name another form: --set chat=plain",
                form->end);
    return false;
}

/* ------------------------------------------------------------------ ids */

int spans_together(const Tokenizer *k, const char *text, const Span *span, int n, int from, bool *plain)
{
    int64_t all = 0, at = 0;
    int end = from, i = from;
    while (end < n && span[end].counts == span[from].counts) all += span[end++].bytes;
    for (*plain = false; i < end; at += span[i++].bytes)
        if (span[i].content && k && has_special(k, text, all, at, at + span[i].bytes)) break;
    *plain = i == from && i < end;
    return *plain ? from + 1 : i;
}

typedef struct Turn { /* a text of a few spans */
    char *text;
    int64_t bytes;
    Span *span;
    int spans, room;
} Turn;

/* answers: pieces may be of an answer, whose spans count and are encoded apart, as in training. */
static void say(Turn *t, const Chat_piece *piece, int n, bool answers)
{
    for (int i = 0; i < n; i++) {
        Passage p = piece[i].text;
        t->text = must_grow(t->text, (size_t)(t->bytes + p.bytes + 1));
        memcpy(t->text + t->bytes, p.at, (size_t)p.bytes);
        t->bytes += p.bytes;
        bool counts = answers && piece[i].counts;
        Span *last = t->spans ? &t->span[t->spans - 1] : NULL;
        if (last && last->counts == counts && !last->content && !piece[i].content) {
            last->bytes += (int32_t)p.bytes;
            continue;
        }
        if (t->spans == t->room) t->span = must_grow(t->span, sizeof *t->span * (size_t)(t->room = 2 * t->room + 8));
        t->span[t->spans++] = (Span){(int32_t)p.bytes, counts, piece[i].content};
    }
}

/* head: no more than what stands before the content. */
static void say_message(Turn *t, const Chat_form *f, const Chat_message *m, bool head)
{
    Chat_piece piece[MESSAGE_PIECES];
    int n = message_pieces(f, m, piece);
    say(t, piece, head ? HEAD_PIECES : n, !head);
}

static void say_form(Turn *t, const char *words)
{
    if (words) say(t, &(Chat_piece){{words, (int64_t)strlen(words)}, false, false}, 1, false);
}

static void say_beginning(Turn *t, const Chat_form *f, bool system_speaks)
{
    say_form(t, f->opening);
    if (system_speaks || !f->standing) return;
    const Passage said = {f->standing, (int64_t)strlen(f->standing)};
    say_message(t, f, &(Chat_message){.role = "system", .said = said}, false);
}

static void encode_turn(const Turn *t, Encoder *e, const Tokenizer *k, Ids *to)
{
    const char *at = t->text;
    bool plain;
    for (int from = 0, end; from < t->spans; from = end) {
        int64_t bytes = 0;
        end = spans_together(k, at, t->span, t->spans, from, &plain);
        for (int i = from; i < end; i++) bytes += t->span[i].bytes;
        (plain ? encode_plain : encode_bytes)(e, at, bytes, to);
        at += bytes;
    }
}

void encode_said(Encoder *e, const Tokenizer *k, const Chat_form *f, bool first, Passage system, Passage said, Ids *to)
{
    Turn t = {0};
    const Chat_message from_system = {.role = "system", .said = system};
    Chat_message m = {.role = "user", .said = said};
    if (first) say_beginning(&t, f, system.at);
    if (first && joins_system(f, "system", system.at)) m.system = system;
    else if (first && system.at && !skips_message(f, &from_system)) say_message(&t, f, &from_system, false);
    if (!first) say_form(&t, f->behind);
    say_message(&t, f, &m, false);
    say_message(&t, f, &(Chat_message){.role = "assistant"}, true);
    encode_turn(&t, e, k, to);
    free(t.span);
    free(t.text);
}

void encode_thought(Encoder *e, const Chat_form *f, Ids *to)
{
    if (f->thought) encode_bytes(e, f->thought, (int64_t)strlen(f->thought), to);
}

static void forget_turn(void *with)
{
    Turn *t = with;
    free(t->span);
    free(t->text);
}

const char *chat_fault(const Chat_form *f, const Chat_message *m, int n, int *number)
{
    int joined = joins_system(f, m[0].role, true);
    *number = 1;
    if (joined && n == 1) return "in this form of chats what the system says stands before what a person says";
    for (int i = joined; i < n; i++) {
        const char *fault = message_fault(f, &m[i], i - joined);
        *number = i + 1;
        if (fault) return fault;
    }
    return NULL;
}

static void check_messages(const Chat_form *f, const Chat_message *m, int n)
{
    int number;
    const char *fault = chat_fault(f, m, n, &number);
    if (fault) fail(EXIT_DATA, NULL, "messages: message %d (%s): %s", number, m[number - 1].role, fault);
}

void encode_messages(Encoder *e, const Tokenizer *k, const Chat_form *f, const Chat_message *m, int n, Ids *to)
{
    Turn t = {0};
    Passage system = {0};
    pthread_cleanup_push(forget_turn, &t); /* a failure may end only the thread */
    check_messages(f, m, n);
    say_beginning(&t, f, strcmp(m[0].role, "system") == 0);
    int joined = joins_system(f, m[0].role, true);
    if (joined) system = m[0].said;
    for (int i = joined; i < n; i++) {
        Chat_message one = m[i];
        if (i == joined) one.system = system;
        if (!skips_message(f, &one)) say_message(&t, f, &one, false);
    }
    say_message(&t, f, &(Chat_message){.role = "assistant"}, true);
    encode_turn(&t, e, k, to);
    encode_thought(e, f, to);
    pthread_cleanup_pop(1);
}

void encode_answered(Encoder *e, const Tokenizer *k, const Chat_form *f, Passage answer, Ids *to)
{
    Chat_piece piece[MESSAGE_PIECES];
    Turn t = {0};
    const Chat_message m = {.role = "assistant", .said = answer, .last = true};
    int n = message_pieces(f, &m, piece), from = HEAD_PIECES + (f->thought != NULL); /* which the messages end with */
    say(&t, piece + from, n - from, true);
    encode_turn(&t, e, k, to);
    forget_turn(&t);
}

void encode_end(Encoder *e, const Chat_form *f, Ids *to) { encode_bytes(e, f->end, (int64_t)strlen(f->end), to); }
