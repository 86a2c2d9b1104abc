/* chat.c: chats: the messages of a JSON record as one text, with the assistant's parts marked.
 *
 * "messages": [{"role": "user", "content": "…"}, …]; other fields of a message are ignored. */
#include "base/words.h"
#include "source/reader.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>

static const char *const roles[] = {"system", "developer", "user", "assistant", "tool"};
enum { ROLES = sizeof roles / sizeof *roles, SYSTEM = 0, ASSISTANT = 3, ROLE_BYTES = 16 };

static bool add_span(Reader *r, const char *at, int64_t n, bool counts, bool content)
{
    if (r->text.n + n > r->text.limit)
        return stop_record(r, "the messages have more than %lld bytes", (long long)r->part), false;
    add_draft(&r->text, at, n);
    Span *last = r->spans ? &r->span[r->spans - 1] : NULL;
    if (last && last->counts == counts && !last->content && !content) {
        last->bytes += (int32_t)n;
        return true;
    }
    if (r->spans == r->span_room) {
        r->span_room = 2 * r->span_room + 16;
        r->span = must_grow(r->span, sizeof *r->span * (size_t)r->span_room);
    }
    r->span[r->spans++] = (Span){(int32_t)n, counts, content};
    return true;
}

static bool add_message(Reader *r, const Chat_form *f, const Chat_message *m)
{
    Chat_piece piece[MESSAGE_PIECES];
    int n = message_pieces(f, m, piece);
    for (int i = 0; i < n; i++)
        if (!add_span(r, piece[i].text.at, piece[i].text.bytes, piece[i].counts, piece[i].content)) return false;
    return true;
}

/* What a chat begins with, whose first message is of this role. */
static bool add_beginning(Reader *r, const Chat_form *f, int role)
{
    if (f->opening && !add_span(r, f->opening, (int64_t)strlen(f->opening), false, false)) return false;
    if (!f->standing || role == SYSTEM) return true;
    const Passage said = {f->standing, (int64_t)strlen(f->standing)};
    return add_message(r, f, &(Chat_message){.role = roles[SYSTEM], .said = said});
}

static bool take_message_text(Reader *r, const char *key, Draft *to)
{
    if (json_blanks(&r->feed) != '"') return stop_record(r, "the %s of a message is not a string", key), false;
    r->feed.begin++;
    to->n = 0;
    Got got = take_json_string(r, to);
    if (got == GOT_PART || (got == GOT_END && draft_space(to) <= 0))
        return stop_record(r, "the %s of a message has more than %lld bytes", key, (long long)to->limit), false;
    return got == GOT_END;
}

static int role_of(const char *at, int64_t n)
{
    int role = 0;
    while (role < ROLES && !(n == (int64_t)strlen(roles[role]) && memcmp(at, roles[role], (size_t)n) == 0)) role++;
    return role;
}

bool is_chat_role(const char *at, int64_t n) { return role_of(at, n) < ROLES; }

static bool take_role(Reader *r, int *role)
{
    char room[ROLE_BYTES + 8];
    Draft d = {.at = room, .limit = ROLE_BYTES, .room = sizeof room};
    if (!take_message_text(r, "role", &d)) return false;
    *role = role_of(room, d.n);
    if (*role < ROLES) return true;
    stop_record(r, "expected the role system, developer, user, assistant or tool, found \"%.*s\"", (int)d.n, room);
    return false;
}

static bool take_field(Reader *r, int *role, bool *content)
{
    char key[KEY_BYTES + 8];
    if (!take_json_key(r, key)) return false;
    if (strcmp(key, "role") == 0) return take_role(r, role);
    if (strcmp(key, "content") != 0) return skip_json(r);
    *content = true;
    return take_message_text(r, key, &r->target);
}

/* After a value: skips a comma; *more: there was one. */
static bool go_on(Reader *r, int closing, const char *expected, bool *more)
{
    *more = json_blanks(&r->feed) == ',';
    return take_json(r, *more ? ',' : closing, expected);
}

static bool read_message(Reader *r, int *role)
{
    bool content = false, more = true;
    *role = ROLES;
    if (!take_json(r, '{', "'{' of a message")) return false;
    while (more)
        if (!take_field(r, role, &content) || !go_on(r, '}', "',' or '}'", &more)) return false;
    if (*role == ROLES || !content)
        return stop_record(r, "a message has no %s", *role == ROLES ? "role" : "content"), false;
    return true;
}

typedef struct Told {        /* of a chat, so far */
    int64_t messages, turns; /* turns: without a system that is joined */
    char *system;            /* what it says, until it is joined; from malloc */
    int64_t system_bytes;
    bool answered;
} Told;

static bool add_told(Reader *r, Told *so_far, int role)
{
    const Chat_form *f = r->s->options.chat ? r->s->options.chat : &plain_chat;
    bool first = so_far->messages++ == 0;
    Chat_message m = {.role = roles[role],
                      .said = {r->target.at, r->target.n},
                      .system = {so_far->system, so_far->system_bytes},
                      .last = json_blanks(&r->feed) == ']'};
    if (first && !add_beginning(r, f, role)) return false;
    if (joins_system(f, m.role, first)) {
        so_far->system = must_alloc((size_t)m.said.bytes + 1);
        memcpy(so_far->system, m.said.at, (size_t)m.said.bytes);
        so_far->system_bytes = m.said.bytes;
        return true;
    }
    const char *fault = message_fault(f, &m, so_far->turns++);
    if (fault) return stop_record(r, "message %d (%s): %s", (int)so_far->messages, m.role, fault), false;
    so_far->answered |= role == ASSISTANT;
    bool added = skips_message(f, &m) || add_message(r, f, &m);
    free(so_far->system);
    so_far->system = NULL;
    return added;
}

bool read_messages(Reader *r)
{
    Told so_far = {0};
    int role;
    bool more = true, read = take_json(r, '[', "'[', a list of messages");
    while (read && more)
        read = read_message(r, &role) && add_told(r, &so_far, role) && go_on(r, ']', "',' or ']'", &more);
    free(so_far.system);
    if (!read) return false;
    r->target.n = 0;
    return so_far.answered ? true : (stop_record(r, "no message is the assistant's"), false);
}
