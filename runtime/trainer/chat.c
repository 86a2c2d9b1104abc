/* chat.c: `trainer chat`: a conversation on the terminal, a line for each thing said; and what --chat asks for. */
#include "base/words.h"
#include "data/chats.h"
#include "model/block.h"
#include "model/origin.h"
#include "model/tables.h"
#include "step/entry.h"
#include "step/statistics.h"
#include "text/generate.h"
#include "trainer/checkpoint.h"
#include "trainer/constrain.h"
#include "trainer/data.h"
#include "trainer/knobs.h"
#include "trainer/memory.h"
#include "trainer/samples.h"
#include "trainer/shown.h"
#include "trainer/state.h"
#include "trainer/trainer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ the form */

/* Where no token ends a message, the person's turn or the end of the chat does, or the grammar. */
void add_chat_stops(Words *to, const Chat_form *f, const Tokenizer *k)
{
    if (special_id(k, f->end) >= 0) return;
    add_word(to, text_of("%s%suser%s", f->end, f->before, f->after));
    add_word(to, text_of("%s\n", f->end));
}

static void check_system(const Trainer *t, const Chat_form *form)
{
    const Chat_message m = {.role = "system", .said = {t->system, (int64_t)strlen(t->system)}};
    const char *fault = joins_system(form, m.role, true) ? NULL : message_fault(form, &m, 0);
    if (fault) fail(EXIT_USAGE, NULL, "--system: %s", fault);
}

Writing chat_of(Trainer *t, const Tokenizer *k)
{
    char *why;
    Chat_form *form = must_alloc(sizeof *form);
    bool generates = strcmp(t->command, "generate") == 0;
    if (generates && !t->chat) fail(EXIT_USAGE, NULL, "--system is what the system says in a chat: give --chat too");
    if (t->model->recipe.pairs)
        fail(EXIT_USAGE, NULL, "%s writes a target for a source, and knows no chats", t->model->name);
    if (generates && !t->prompts)
        fail(EXIT_USAGE, NULL, "--chat answers what a person says: give it with --prompt TEXT");
    if (!find_chat_form(&t->recipe, t->origin, k, form, &why)) fail(EXIT_DATA, weights_path(t), "%s", why);
    if (t->system) check_system(t, form);
    if (!t->grammar) add_chat_stops(&t->stop, form, k);
    if (form->before == plain_chat.before && t->recipe.chat == LATHE_CHAT_FOUND)
        note("the tokenizer has no tokens of chats, so they are plain: ROLE, a colon, a line; answers are good only if "
             "the model learned such chats (--set chat=plain leaves this note out)");
    Writing asked = writing_of(t);
    asked.chat = form;
    if (t->system) asked.system = (Passage){t->system, (int64_t)strlen(t->system)};
    return asked;
}

/* ------------------------------------------------------------------ the conversation */

typedef struct Chat {
    Streamed out;
    Text_writer *writer;
    Passage said;
    bool json;
} Chat;

static void see_answer(void *with, int32_t id) { show_token(&((Chat *)with)->out, id); }

static void take_answer(void *with, int64_t k, const Written *w)
{
    Chat *c = with;
    (void)k;
    if (c->json) {
        print_json(written_json(c->writer, c->out.tokenizer, c->said, w));
        check_constrained(w);
        return;
    }
    show_rest(&c->out, w, false);
    show(stdout, "\n");
    fflush(stdout);
    check_constrained(w);
}

/* The next line that has anything but blanks; false: there is none. */
static bool read_said(Chat *c, char **line, size_t *room, bool terminal)
{
    for (;;) {
        if (terminal) show(stdout, "> ");
        fflush(stdout);
        errno = 0;
        ssize_t n = getline(line, room, stdin);
        if (n < 0 && errno) fail(EXIT_DATA, "standard input", "cannot be read: %s", error_text(errno));
        if (n < 0) return false;
        while (n > 0 && ((*line)[n - 1] == '\n' || (*line)[n - 1] == '\r')) n--;
        c->said = (Passage){*line, n};
        if (trimmed(*line, n).bytes) return true;
    }
}

static void converse(Chat *c)
{
    char *line = NULL;
    size_t room = 0;
    Talk talk = {0};
    bool terminal = isatty(STDIN_FILENO) && !c->json;
    while (read_said(c, &line, &room, terminal))
        write_answer(c->writer, &talk, c->said, take_answer, c->json || !writes_by_rows(c->writer) ? NULL : see_answer,
                     c);
    if (terminal) show(stdout, "\n");
    free_ids(&talk.ids);
    free(line);
}

int chat_command(Trainer *t)
{
    static const Entry entries[] = {ENTRY_decode, ENTRY_prefill, NO_ENTRY};
    Chat c = {.json = t->json};
    Memory memory;
    check_weights_named(t);
    need_entry(t->model, ENTRY_decode);
    if (was_set(t, "beams") && t->recipe.beams)
        fail(EXIT_USAGE, NULL, "chat draws its tokens: leave beams out (generate --chat --beams N searches)");
    char *path = weights_path(t);
    take_own_settings(t, path, "eos");
    take_own_settings(t, path, "bos");
    take_own_settings(t, path, "chat");
    t->origin = read_origin(path);
    t->recipe.beams = 0;
    Tokenizer *k = vocabulary_of(t, path);
    take_grammar(t, k);
    use_threads(t);
    take_memory(&memory, t, false, false, entries);
    const Writing asked = chat_of(t, k);
    c.out = (Streamed){.tokenizer = k, .stop = &t->stop};
    c.writer = open_text_writer(asked, &memory, k, "standard input");
    load_saved_weights(t, path, &memory);
    weights_up(t->model, &memory);
    converse(&c);
    return 0;
}
