/* chat_form.c: forms of chats, and published chat templates (Jinja) by which a form is recognised.
 *
 * A template is not run.  It is compared with those below, after white space, quotes and escapes that change nothing
 * have been made alike; in place of HERE it may have any text, which is what the system says unless a chat begins with
 * another message of the system's.  tests/reference/chats.py compares each form with what Jinja makes of its template.
 */
#include "base/utf8.h"
#include "base/words.h"
#include "source/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const Chat_form plain_chat = {.before = "", .after = ":\n", .end = "\n\n", .behind = ""};
const Chat_form chatml_chat = {.before = "<|im_start|>", .after = "\n", .end = "<|im_end|>", .behind = "\n"};
const Chat_form llama3_chat = {.before = "<|start_header_id|>",
                               .after = "<|end_header_id|>\n\n",
                               .end = "<|eot_id|>",
                               .behind = "",
                               .opening = "<|begin_of_text|>",
                               .trims = true};

static bool is_white(uint32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

Passage trimmed(const char *text, int64_t bytes)
{
    Passage in = {text, bytes};
    uint32_t c;
    int n;
    while (in.bytes && (n = decode_utf8((const unsigned char *)in.at, in.bytes, &c)) > 0 && is_white(c))
        in.at += n, in.bytes -= n;
    while (in.bytes) {
        int64_t at = in.bytes - 1;
        while (at > 0 && (in.at[at] & 0xc0) == 0x80) at--;
        n = decode_utf8((const unsigned char *)in.at + at, in.bytes - at, &c);
        if (n != in.bytes - at || !is_white(c)) break;
        in.bytes = at;
    }
    return in;
}

static Chat_piece piece(const char *text, bool counts)
{
    return (Chat_piece){{text, (int64_t)strlen(text)}, counts, false};
}

void message_pieces(const Chat_form *f, const char *role, Passage said, Chat_piece *to)
{
    bool counts = strcmp(role, "assistant") == 0;
    to[0] = piece(f->before, false);
    to[1] = piece(role, false);
    to[2] = piece(f->after, false);
    to[3] = (Chat_piece){f->trims ? trimmed(said.at, said.bytes) : said, counts, true};
    to[4] = piece(f->end, counts);
    to[5] = piece(f->behind, false);
}

/* ------------------------------------------------------------------ templates */

#define HERE "\1"

static const struct Template {
    const Chat_form *form;
    const char *text;
} templates[] = {
    {&chatml_chat, "{% for message in messages %}"
                   "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
                   "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"},
    {&chatml_chat, "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
                   "{{ '<|im_start|>system\n" HERE "<|im_end|>\n' }}{% endif %}"
                   "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
                   "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"},
    {&llama3_chat,
     "{% set loop_messages = messages %}{% for message in loop_messages %}"
     "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'"
     "+ message['content'] | trim + '<|eot_id|>' %}"
     "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"},
};

/* ------------------------------------------------------------------ alike */

typedef struct Scan { /* of a template */
    const char *from;
    char *to;    /* the end of what was written */
    bool in_tag; /* between {% or {{ and its end */
} Scan;

static bool begins(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

static void copy_scanned(Scan *s, int n)
{
    memcpy(s->to, s->from, (size_t)n);
    s->to += n;
    s->from += n;
}

/* A quoted text, with its escapes as what they mean. */
static void take_quoted(Scan *s)
{
    const char quote = *s->from++;
    *s->to++ = '\'';
    while (*s->from && *s->from != quote) {
        bool escape = s->from[0] == '\\' && s->from[1];
        if (escape) s->from++;
        *s->to++ = escape && *s->from == 'n' ? '\n' : escape && *s->from == 't' ? '\t' : *s->from;
        s->from++;
    }
    if (*s->from) s->from++;
    *s->to++ = '\'';
}

/* The end of a tag.  "-" takes all white space behind it away; after a block {% … %} one line's end goes, as
 * transformers sets Jinja. */
static void end_tag(Scan *s)
{
    bool strips = *s->from == '-', block = s->from[strips] == '%';
    s->from += strips;
    copy_scanned(s, 2);
    s->in_tag = false;
    while (strips && isspace((unsigned char)*s->from)) s->from++;
    if (!strips && block && *s->from == '\n') s->from++;
}

static void begin_tag(Scan *s, const char *out)
{
    bool strips = s->from[2] == '-', block = s->from[1] == '%';
    while (strips && s->to > out && isspace((unsigned char)s->to[-1])) s->to--;
    if (!strips && block) { /* blanks between a line's beginning and a block go */
        char *to = s->to;
        while (to > out && (to[-1] == ' ' || to[-1] == '\t')) to--;
        if (to == out || to[-1] == '\n') s->to = to;
    }
    copy_scanned(s, 2);
    s->from += strips;
    s->in_tag = true;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* White space of a tag: a blank is left between two words, and within what would else be a tag's end. */
static void skip_white(Scan *s)
{
    char last = s->to[-1];
    while (isspace((unsigned char)*s->from)) s->from++;
    bool end = strchr("-%}", last) && *s->from && strchr("%}", *s->from);
    if (end || (is_word(last) && is_word(*s->from))) *s->to++ = ' ';
}

/* The template without what changes nothing, such as a last line's end; from malloc.  Comments {# … #} are kept: a
 * template with any is not known. */
static char *made_alike(const char *template)
{
    char *out = must_alloc(2 * strlen(template) + 1);
    Scan s = {template, out, false};
    while (*s.from) {
        bool ends = begins(s.from, "%}") || begins(s.from, "}}") || begins(s.from, "-%}") || begins(s.from, "-}}");
        if (!s.in_tag && (begins(s.from, "{%") || begins(s.from, "{{"))) begin_tag(&s, out);
        else if (!s.in_tag) copy_scanned(&s, 1);
        else if (ends) end_tag(&s);
        else if (*s.from == '\'' || *s.from == '"') take_quoted(&s);
        else if (isspace((unsigned char)*s.from)) skip_white(&s);
        else copy_scanned(&s, 1);
    }
    if (!s.in_tag && s.to > out && s.to[-1] == '\n') s.to--;
    *s.to = 0;
    return out;
}

/* ------------------------------------------------------------------ which */

/* Whether `own` is `known`; *standing: what it has in place of HERE, from malloc. */
static bool is_template(const char *own, const char *known, char **standing)
{
    const char *here = strchr(known, HERE[0]);
    if (!here) return strcmp(own, known) == 0;
    size_t before = (size_t)(here - known), behind = strlen(here + 1), all = strlen(own);
    if (all < before + behind || strncmp(own, known, before) != 0 || strcmp(own + all - behind, here + 1) != 0)
        return false;
    *standing = text_of("%.*s", (int)(all - before - behind), own + before);
    if (!strchr(*standing, '\'') && !strstr(*standing, "<|")) return true;
    free(*standing);
    *standing = NULL;
    return false;
}

bool read_chat_template(const char *template, Chat_form *form)
{
    char *own = made_alike(template), *standing = NULL;
    bool found = false;
    for (size_t k = 0; k < sizeof templates / sizeof *templates && !found; k++) {
        char *known = made_alike(templates[k].text);
        found = is_template(own, known, &standing);
        if (found) *form = *templates[k].form;
        free(known);
    }
    if (standing) form->standing = standing; /* kept for the run */
    free(own);
    return found;
}
