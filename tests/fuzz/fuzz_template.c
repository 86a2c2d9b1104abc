/* fuzz_template.c: chat templates, texts of Jinja: the form of one that is known says every message in so many pieces.
 */
#include "base/words.h"
#include "fuzz.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>

static void say(const Chat_form *f, const char *role, bool last, const char *text, size_t n)
{
    const Chat_message m = {.role = role, .said = {text, (int64_t)n}, .last = last};
    Chat_piece piece[MESSAGE_PIECES];
    if (message_fault(f, &m, last)) return;
    int pieces = message_pieces(f, &m, piece);
    bug_if(pieces < HEAD_PIECES || pieces > MESSAGE_PIECES);
    for (int i = 0; i < pieces; i++) bug_if(piece[i].text.bytes < 0 || !piece[i].text.at);
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    static const char *const roles[] = {"system", "user", "assistant", "tool"};
    Chat_form f;
    (void)path;
    char *own = must_alloc(n + 1);
    memcpy(own, text, n);
    if (read_chat_template(own, &f)) {
        (void)form_template(&f);
        for (int k = 0; k < 4; k++) say(&f, roles[k], n % 2, text, n), say(&f, roles[k], true, "", 0);
    }
    free(own);
}
