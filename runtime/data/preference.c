/* preference.c: a record of preference pairs: {"prompt": …, "chosen": …, "rejected": …}, three strings, or three lists
 * of messages {"role": …, "content": …}, of which an answer is one, the assistant's. */
#include "base/words.h"
#include "data/preferences.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>

static const char *const fields[] = {"prompt", "chosen", "rejected"};
enum { FIELDS = sizeof fields / sizeof *fields, PROMPT = 0 };

static Passage passage_of(const json_t *string)
{
    return (Passage){json_string_value(string), (int64_t)json_string_length(string)};
}

/* "", or "; there are "a", "b"" */
static char *fields_there(const json_t *record)
{
    enum { SOME = 6 };
    char *all = text_of("%s", "");
    const char *key;
    json_t *value;
    int n = 0;
    json_object_foreach((json_t *)record, key, value)
    {
        if (n == SOME) break;
        char *longer = text_of("%s%s\"%.60s\"", all, n++ ? ", " : "; there are ", key);
        free(all);
        all = longer;
    }
    return all;
}

static char *missing_field(const json_t *record, const char *field)
{
    char *there = fields_there(record);
    char *why = text_of("expected \"prompt\", \"chosen\" and \"rejected\", found no \"%s\"%s", field, there);
    free(there);
    return why;
}

static char *check_three(const json_t *record, bool *lists)
{
    if (!json_is_object(record)) return text_of("expected an object with \"prompt\", \"chosen\" and \"rejected\"");
    for (int i = 0; i < FIELDS; i++) {
        const json_t *x = json_object_get(record, fields[i]);
        if (!x) return missing_field(record, fields[i]);
        if (!json_is_string(x) && !json_is_array(x))
            return text_of("expected \"%s\" to be a string or a list of messages", fields[i]);
        if (i == PROMPT) *lists = json_is_array(x);
        if (json_is_array(x) != *lists)
            return text_of("\"prompt\" is a %s and \"%s\" a %s; give all three as strings, or as lists of messages",
                           *lists ? "list" : "string", fields[i], *lists ? "string" : "list");
    }
    return NULL;
}

/* ------------------------------------------------------------------ messages */

static char *take_said(const json_t *x, const char *field, Chat_message *to)
{
    const json_t *role = json_object_get(x, "role"), *content = json_object_get(x, "content");
    if (!json_is_object(x)) return text_of("expected messages in \"%s\", {\"role\": …, \"content\": …}", field);
    if (!json_is_string(role) || !json_is_string(content))
        return text_of("a message of \"%s\" has no %s that is a string", field,
                       json_is_string(role) ? "content" : "role");
    if (!is_chat_role(json_string_value(role), (int64_t)json_string_length(role)))
        return text_of("expected the role system, developer, user, assistant or tool in \"%s\", found \"%.40s\"", field,
                       json_string_value(role));
    *to = (Chat_message){.role = json_string_value(role), .said = passage_of(content)};
    return NULL;
}

static char *take_prompt_messages(const json_t *list, Preference *to)
{
    char *why = NULL;
    to->messages = (int)json_array_size(list);
    if (!to->messages) return text_of("\"prompt\" has no message");
    if (to->messages > to->room)
        to->message = must_grow(to->message, sizeof *to->message * (size_t)(to->room = 2 * to->messages));
    for (int i = 0; i < to->messages && !why; i++)
        why = take_said(json_array_get(list, (size_t)i), fields[PROMPT], &to->message[i]);
    if (why || strcmp(to->message[to->messages - 1].role, "assistant") != 0) return why;
    return text_of("the last message of \"prompt\" is the assistant's; expected what it answers");
}

static char *take_one_answer(const json_t *list, const char *field, Passage *to)
{
    Chat_message m;
    if (json_array_size(list) != 1)
        return text_of("expected one message in \"%s\", the assistant's answer, found %zu", field,
                       json_array_size(list));
    char *why = take_said(json_array_get(list, 0), field, &m);
    if (why) return why;
    if (strcmp(m.role, "assistant") != 0)
        return text_of("expected the answer in \"%s\" to be the assistant's, found the role \"%s\"", field, m.role);
    *to = m.said;
    return NULL;
}

/* ------------------------------------------------------------------ the record */

static char *fault_of(const json_t *record, Preference *to)
{
    bool lists = false;
    char *why = check_three(record, &lists);
    if (why) return why;
    const json_t *prompt = json_object_get(record, fields[PROMPT]);
    to->messages = 0;
    if (lists) why = take_prompt_messages(prompt, to);
    else to->text = passage_of(prompt);
    for (int i = 0; i < ANSWERS && !why; i++) {
        const char *field = fields[1 + i];
        const json_t *x = json_object_get(record, field);
        if (lists) why = take_one_answer(x, field, &to->answer[i]);
        else to->answer[i] = passage_of(x);
        if (!why && trimmed(to->answer[i].at, to->answer[i].bytes).bytes == 0)
            why = text_of("the answer in \"%s\" is empty", field);
    }
    if (why) return why;
    const Passage *a = &to->answer[CHOSEN], *b = &to->answer[REJECTED];
    if (a->bytes == b->bytes && memcmp(a->at, b->at, (size_t)a->bytes) == 0)
        return text_of("\"chosen\" and \"rejected\" are the same answer, from which nothing can be learned");
    return NULL;
}

bool read_preference(const json_t *record, Preference *to, char **why)
{
    *why = fault_of(record, to);
    return !*why;
}
