/* chat_form.c: forms of chats, and published chat templates (Jinja) by which a form is recognised.
 *
 * A template is not run.  It is compared with those below, after white space, quotes and escapes that change nothing
 * have been made alike; in place of HERE it may have any text, which is what the system says unless a chat begins with
 * another message of the system's.  tests/reference/chats.py compares each form with what Jinja makes of its template.
 */
#include "base/hash.h"
#include "base/utf8.h"
#include "base/words.h"
#include "source/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define USUAL "system user assistant"

const Chat_form plain_chat = {.before = "", .after = ":\n", .end = "\n\n", .behind = ""};
const Chat_form chatml_chat = {
    .before = "<|im_start|>", .after = "\n", .end = "<|im_end|>", .behind = "\n", .mark = "<|im_start|>"};
const Chat_form llama3_chat = {.before = "<|start_header_id|>",
                               .after = "<|end_header_id|>\n\n",
                               .end = "<|eot_id|>",
                               .behind = "",
                               .mark = "<|start_header_id|>",
                               .opening = "<|begin_of_text|>",
                               .trims = true};
const Chat_form gemma_chat = {.before = "<start_of_turn>",
                              .after = "\n",
                              .end = "<end_of_turn>",
                              .behind = "\n",
                              .mark = "<start_of_turn>",
                              .opening = "<bos>",
                              .answerer = "model",
                              .joint = "\n\n",
                              .roles = USUAL,
                              .trims = true,
                              .alternates = true};
static const Chat_form gemma2_chat = {.before = "<start_of_turn>",
                                      .after = "\n",
                                      .end = "<end_of_turn>",
                                      .behind = "\n",
                                      .mark = "<start_of_turn>",
                                      .opening = "<bos>",
                                      .answerer = "model",
                                      .roles = "user assistant",
                                      .trims = true,
                                      .alternates = true};
const Chat_form phi3_chat = {
    .before = "<|", .after = "|>\n", .end = "<|end|>", .behind = "\n", .mark = "<|assistant|>", .roles = USUAL};
static const Chat_form phi35_chat = {.before = "<|",
                                     .after = "|>\n",
                                     .end = "<|end|>",
                                     .behind = "\n",
                                     .mark = "<|assistant|>",
                                     .roles = USUAL,
                                     .skips_silence = true};
static const Chat_form olmo2_chat = {.before = "<|",
                                     .after = "|>\n",
                                     .end = "<|endoftext|>",
                                     .behind = "\n",
                                     .opening = "<|endoftext|>",
                                     .other_end = "\n",
                                     .roles = USUAL,
                                     .bare_end = true};
static const Chat_form qwen25_chat = {.before = "<|im_start|>",
                                      .after = "\n",
                                      .end = "<|im_end|>",
                                      .behind = "\n",
                                      .mark = "<|im_start|>",
                                      .standing =
                                          "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
                                      .roles = USUAL};
static const Chat_form qwen_chat = {.before = "<|im_start|>",
                                    .after = "\n",
                                    .end = "<|im_end|>",
                                    .behind = "\n",
                                    .mark = "<|im_start|>",
                                    .roles = USUAL};
static const Chat_form qwen3_chat = {.before = "<|im_start|>",
                                     .after = "\n",
                                     .end = "<|im_end|>",
                                     .behind = "\n",
                                     .mark = "<|im_start|>",
                                     .thought = "<think>\n\n</think>\n\n",
                                     .roles = USUAL};

/* ------------------------------------------------------------------ a message */

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

bool joins_system(const Chat_form *f, const char *role, bool first)
{
    return first && f->joint && strcmp(role, "system") == 0;
}

bool skips_message(const Chat_form *f, const Chat_message *m)
{
    return f->skips_silence && m->said.bytes == 0 && strcmp(m->role, "system") == 0;
}

static bool has_thought(Passage said)
{
    static const char end[] = "</think>";
    for (int64_t i = 0; i + (int64_t)strlen(end) <= said.bytes; i++)
        if (memcmp(said.at + i, end, strlen(end)) == 0) return true;
    return false;
}

const char *message_fault(const Chat_form *f, const Chat_message *m, int64_t turn)
{
    bool user = strcmp(m->role, "user") == 0, answer = strcmp(m->role, "assistant") == 0;
    if (f->roles && !strstr(f->roles, m->role)) return "this form of chats has no message of that role here";
    if (f->alternates && user != (turn % 2 == 0))
        return "in this form of chats a person begins, and the assistant answers each time";
    if (f->thought && answer && has_thought(m->said))
        return "this form of chats is without thoughts: leave what ends with </think> out";
    return NULL;
}

typedef struct Pieces {
    Chat_piece *at;
    int n;
} Pieces;

static void add_piece(Pieces *to, const char *text, bool counts)
{
    if (text && (*text || to->n < HEAD_PIECES))
        to->at[to->n++] = (Chat_piece){{text, (int64_t)strlen(text)}, counts, false};
}

static void add_content(Pieces *to, Passage text, bool counts) { to->at[to->n++] = (Chat_piece){text, counts, true}; }

int message_pieces(const Chat_form *f, const Chat_message *m, Chat_piece *to)
{
    Pieces p = {to, 0};
    bool answer = strcmp(m->role, "assistant") == 0, thinks = f->thought && m->last && answer;
    Passage said = f->trims ? trimmed(m->said.at, m->said.bytes) : m->said;
    while (thinks && said.bytes && *said.at == '\n') said.at++, said.bytes--;
    add_piece(&p, f->before, false);
    add_piece(&p, answer && f->answerer ? f->answerer : m->role, false);
    add_piece(&p, f->after, false);
    if (thinks) add_piece(&p, f->thought, false);
    if (m->system.at) add_content(&p, m->system, false), add_piece(&p, f->joint, false);
    add_content(&p, said, answer);
    add_piece(&p, answer || !f->other_end ? f->end : f->other_end, answer);
    if ((answer || !f->other_end) && !(f->bare_end && m->last)) add_piece(&p, f->behind, false);
    return p.n;
}

/* ------------------------------------------------------------------ templates */

#define HERE "\1"

#define ALTERNATES "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
#define PHI3                                                                                                           \
    "{{'<|system|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'user' %}"                        \
    "{{'<|user|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'assistant' %}"                     \
    "{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}"                                  \
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}"

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
    {&gemma_chat, "{{ bos_token }}{%- if messages[0]['role'] == 'system' -%}{%- if messages[0]['content'] is string -%}"
                  "{%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}{%- else -%}"
                  "{%- set first_user_prefix = messages[0]['content'][0]['text'] + '\n\n' -%}{%- endif -%}"
                  "{%- set loop_messages = messages[1:] -%}{%- else -%}{%- set first_user_prefix = '' -%}"
                  "{%- set loop_messages = messages -%}{%- endif -%}{%- for message in loop_messages -%}"
                  "{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}" ALTERNATES "{%- endif -%}"
                  "{%- if (message['role'] == 'assistant') -%}{%- set role = 'model' -%}{%- else -%}"
                  "{%- set role = message['role'] -%}{%- endif -%}"
                  "{{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else '') }}"
                  "{%- if message['content'] is string -%}{{ message['content'] | trim }}"
                  "{%- elif message['content'] is iterable -%}{%- for item in message['content'] -%}"
                  "{%- if item['type'] == 'image' -%}{{ '<start_of_image>' }}{%- elif item['type'] == 'text' -%}"
                  "{{ item['text'] | trim }}{%- endif -%}{%- endfor -%}{%- else -%}"
                  "{{ raise_exception('Invalid content type') }}{%- endif -%}{{ '<end_of_turn>\n' }}{%- endfor -%}"
                  "{%- if add_generation_prompt -%}{{'<start_of_turn>model\n'}}{%- endif -%}"},
    {&gemma2_chat, "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
                   "{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}"
                   "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}" ALTERNATES
                   "{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}"
                   "{% set role = message['role'] %}{% endif %}"
                   "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
                   "{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}"},
    {&phi3_chat, "{% for message in messages %}{% if message['role'] == 'system' %}" PHI3},
    {&phi35_chat, "{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}" PHI3},
    {&olmo2_chat,
     "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}"
     "{{ '<|system|>\n' + message['content'] + '\n' }}{% elif message['role'] == 'user' %}"
     "{{ '<|user|>\n' + message['content'] + '\n' }}{% elif message['role'] == 'assistant' %}{% if not loop.last %}"
     "{{ '<|assistant|>\n' + message['content'] + eos_token + '\n' }}{% else %}"
     "{{ '<|assistant|>\n' + message['content'] + eos_token }}{% endif %}{% endif %}"
     "{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}{% endfor %}"},
};

/* Longer ones, by the XXH64 of what made_alike() makes of them. */
static const struct Long_template {
    const Chat_form *form;
    uint64_t hash;
} long_templates[] = {
    {&qwen25_chat, 0xec0bfd883746c1f7}, /* Qwen 2.5 */
    {&qwen3_chat, 0x621cc402db6280f1},  /* Qwen 3 */
    {&qwen_chat, 0x363940d739c44d57},   /* Qwen 3 Instruct 2507 */
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
    uint64_t hash = hash_of(own, strlen(own));
    for (size_t k = 0; k < sizeof long_templates / sizeof *long_templates && !found; k++) {
        found = long_templates[k].hash == hash;
        if (found) *form = *long_templates[k].form;
    }
    free(own);
    return found;
}

const char *form_template(const Chat_form *f)
{
    for (size_t k = 0; k < sizeof templates / sizeof *templates; k++)
        if (strcmp(templates[k].form->before, f->before) == 0) return templates[k].text;
    return NULL;
}
