/* request.c: reads what a client asks for: OpenAI's fields of completions and chats, and which of them are refused.
 *
 * A field that changes nothing in the answer is ignored.  One that would change it and is not understood is refused by
 * name, and so is a field that is not known at all: it may be misspelt. */
#include "serve/request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool refuse_field(Refusal *f, const char *field, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static bool refuse_field(Refusal *f, const char *field, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(f->words, sizeof f->words, fmt, args);
    va_end(args);
    f->field = field;
    return false;
}

static bool is_left_out(const json_t *v) { return !v || json_is_null(v); }

/* ------------------------------------------------------------------ numbers */

static bool take_real(const json_t *all, const char *name, double least, double most, double *to, bool *has, Refusal *f)
{
    const json_t *v = json_object_get(all, name);
    if (is_left_out(v)) return true;
    double x = json_number_value(v);
    if (!json_is_number(v) || !(x >= least && x <= most))
        return refuse_field(f, name, "%s: expected a number, %g to %g", name, least, most);
    *to = x;
    *has = true;
    return true;
}

static bool take_whole_number(const json_t *all, const char *name, int64_t least, int64_t *to, bool *has, Refusal *f)
{
    const json_t *v = json_object_get(all, name);
    if (is_left_out(v)) return true;
    if (!json_is_integer(v) || json_integer_value(v) < least || json_integer_value(v) > INT32_MAX)
        return refuse_field(f, name, "%s: expected a whole number, %lld to %d", name, (long long)least, INT32_MAX);
    *to = json_integer_value(v);
    *has = true;
    return true;
}

/* Seeds of more than 31 bits are folded. */
static bool take_seed(const json_t *all, Request *r, Refusal *f)
{
    const json_t *v = json_object_get(all, "seed");
    if (is_left_out(v)) return true;
    if (!json_is_integer(v)) return refuse_field(f, "seed", "seed: expected a whole number");
    uint64_t seed = (uint64_t)json_integer_value(v);
    r->seed = (int32_t)((seed ^ seed >> 31 ^ seed >> 62) & INT32_MAX);
    r->has_seed = true;
    return true;
}

static bool take_flag(const json_t *all, const char *name, bool *to, Refusal *f)
{
    const json_t *v = json_object_get(all, name);
    if (is_left_out(v)) return true;
    if (!json_is_boolean(v)) return refuse_field(f, name, "%s: expected true or false", name);
    *to = json_is_true(v);
    return true;
}

static bool take_all_numbers(const json_t *all, Request *r, Refusal *f)
{
    bool has;
    if (!take_real(all, "temperature", 0, 100, &r->temperature, &r->has_temperature, f) ||
        !take_real(all, "top_p", 0, 1, &r->top_p, &r->has_top_p, f) ||
        !take_real(all, "min_p", 0, 1, &r->min_p, &r->has_min_p, f) ||
        !take_real(all, "repetition_penalty", 0.01, 100, &r->penalty, &r->has_penalty, f) ||
        !take_whole_number(all, "top_k", 0, &r->top_k, &r->has_top_k, f) ||
        !take_whole_number(all, "max_tokens", 1, &r->most, &has, f) ||
        !take_whole_number(all, "max_completion_tokens", 1, &r->most, &has, f))
        return false;
    if (r->has_top_p && r->top_p == 0) r->top_p = 1e-300; /* the likeliest token; the recipe's 0 means all */
    if (r->has_temperature && r->temperature < 1e-6) r->temperature = 0;
    return take_seed(all, r, f);
}

/* ------------------------------------------------------------------ texts */

static bool add_stop(Request *r, const json_t *v, Refusal *f)
{
    if (!json_is_string(v) || json_string_length(v) == 0 || r->stops == MOST_STOPS)
        return refuse_field(f, "stop", "stop: expected a text, or up to %d, none empty", MOST_STOPS);
    r->stop[r->stops++] = json_string_value(v);
    return true;
}

static bool take_stops(const json_t *all, Request *r, Refusal *f)
{
    const json_t *v = json_object_get(all, "stop"), *one;
    size_t i;
    if (is_left_out(v)) return true;
    if (!json_is_array(v)) return add_stop(r, v, f);
    json_array_foreach(v, i, one) if (!add_stop(r, one, f)) return false;
    return true;
}

static Passage text_in(const json_t *v) { return (Passage){json_string_value(v), (int64_t)json_string_length(v)}; }

static bool take_prompt_text(const json_t *all, Request *r, Refusal *f)
{
    const json_t *v = json_object_get(all, "prompt");
    if (json_is_array(v) && json_array_size(v) == 1) v = json_array_get(v, 0);
    if (!json_is_string(v))
        return refuse_field(f, "prompt",
                            json_is_array(v) ? "prompt: one text a request; send several requests"
                                             : "prompt: expected a text");
    r->prompt = text_in(v);
    return true;
}

/* A content in parts is their texts, one after the other. */
static bool join_parts(Request *r, const json_t *parts, Passage *to, Refusal *f)
{
    size_t i, bytes = 0;
    const json_t *part;
    json_array_foreach(parts, i, part)
    {
        const json_t *type = json_object_get(part, "type"), *text = json_object_get(part, "text");
        if (!json_is_string(type) || strcmp(json_string_value(type), "text") != 0 || !json_is_string(text))
            return refuse_field(f, "messages",
                                "messages: a part of a content is not {\"type\": \"text\", \"text\": …}");
        bytes += json_string_length(text);
    }
    char *at = r->joined[r->joins++] = must_alloc(bytes + 1);
    *to = (Passage){at, (int64_t)bytes};
    json_array_foreach(parts, i, part)
    {
        const json_t *text = json_object_get(part, "text");
        memcpy(at, json_string_value(text), json_string_length(text));
        at += json_string_length(text);
    }
    return true;
}

static const char *known_role(const char *name)
{
    static const char *const roles[] = {"system", "user", "assistant"};
    if (name && strcmp(name, "developer") == 0) return roles[0];
    for (size_t i = 0; name && i < sizeof roles / sizeof *roles; i++)
        if (strcmp(name, roles[i]) == 0) return roles[i];
    return NULL;
}

static bool take_message(Request *r, const json_t *m, Said *to, Refusal *f)
{
    const json_t *content = json_object_get(m, "content");
    to->role = known_role(json_string_value(json_object_get(m, "role")));
    if (!json_is_object(m)) return refuse_field(f, "messages", "messages: a message is not an object");
    if (!to->role) return refuse_field(f, "messages", "messages: a role is none of system, user, assistant");
    if (json_object_get(m, "tool_calls")) return refuse_field(f, "messages", "messages: tool_calls are not supported");
    if (json_is_array(content)) return join_parts(r, content, &to->text, f);
    if (!json_is_string(content)) return refuse_field(f, "messages", "messages: a content is not a text");
    to->text = text_in(content);
    return true;
}

static bool take_messages(const json_t *all, Request *r, Refusal *f)
{
    const json_t *list = json_object_get(all, "messages");
    size_t n = json_array_size(list);
    if (n == 0 || n > MOST_MESSAGES)
        return refuse_field(f, "messages", "messages: expected a list of 1 to %d messages", MOST_MESSAGES);
    r->said = must_alloc(n * sizeof *r->said);
    r->joined = must_alloc(n * sizeof *r->joined);
    for (size_t i = 0; i < n; i++)
        if (!take_message(r, json_array_get(list, i), &r->said[i], f)) return false;
    r->messages = (int)n;
    return true;
}

/* ------------------------------------------------------------------ what the answer may be */

/* The schema lies in json_schema as OpenAI has it, or beside json_object as llama.cpp's server has it. */
static bool take_format(const json_t *all, Request *r, Refusal *f)
{
    const json_t *v = json_object_get(all, "response_format"), *own = json_object_get(v, "json_schema");
    const char *type = json_string_value(json_object_get(v, "type"));
    if (is_left_out(v) || (type && strcmp(type, "text") == 0)) return true;
    bool object = type && strcmp(type, "json_object") == 0, schema = type && strcmp(type, "json_schema") == 0;
    r->schema = json_object_get(schema ? own : v, "schema");
    r->any_object = object && !r->schema;
    if (!object && !schema)
        return refuse_field(f, "response_format", "response_format: expected a type text, json_object or json_schema");
    return r->schema || object ||
           refuse_field(f, "response_format", "response_format: expected \"json_schema\": {\"schema\": …}");
}

static bool take_limits_of_text(const json_t *all, Request *r, Refusal *f)
{
    const json_t *v = json_object_get(all, "grammar");
    if (!take_format(all, r, f)) return false;
    if (is_left_out(v)) return true;
    if (!json_is_string(v)) return refuse_field(f, "grammar", "grammar: expected a text in llama.cpp's notation, GBNF");
    if (r->schema || r->any_object)
        return refuse_field(f, "grammar", "grammar and response_format both say what the answer may be; leave one out");
    if (json_string_length(v)) r->grammar = text_in(v);
    return true;
}

/* ------------------------------------------------------------------ what is refused */

typedef enum Harmless { ANY, ZERO, ONE, EMPTY } Harmless; /* values of a field that change nothing */

static const struct Field {
    const char *name;
    Harmless value;
} others[] = {
    {"n", ONE},
    {"best_of", ONE},
    {"presence_penalty", ZERO},
    {"frequency_penalty", ZERO},
    {"logprobs", EMPTY},
    {"top_logprobs", ZERO},
    {"logit_bias", EMPTY},
    {"tools", EMPTY},
    {"functions", EMPTY},
    {"tool_choice", EMPTY},
    {"function_call", EMPTY},
    {"echo", EMPTY},
    {"suffix", EMPTY},
    {"user", ANY},
    {"store", ANY},
    {"metadata", ANY},
    {"service_tier", ANY},
    {"parallel_tool_calls", ANY},
    {"safety_identifier", ANY},
    {"prompt_cache_key", ANY},
    {"model", ANY},
    {"stream", ANY},
    {"stream_options", ANY},
    {"temperature", ANY},
    {"top_p", ANY},
    {"top_k", ANY},
    {"min_p", ANY},
    {"grammar", ANY},
    {"response_format", ANY},
    {"repetition_penalty", ANY},
    {"seed", ANY},
    {"stop", ANY},
    {"max_tokens", ANY},
    {"max_completion_tokens", ANY},
};

static bool changes_nothing(Harmless h, const json_t *v)
{
    const char *text = json_string_value(v);
    if (h == ANY || is_left_out(v)) return true;
    if (h == ZERO) return json_is_number(v) && json_number_value(v) == 0;
    if (h == ONE) return json_is_integer(v) && json_integer_value(v) == 1;
    if (text) return !*text || strcmp(text, "none") == 0;
    return json_is_false(v) || (json_is_array(v) && !json_array_size(v)) || (json_is_object(v) && !json_object_size(v));
}

static bool check_field(const Request *r, const char *name, const json_t *v, Refusal *f)
{
    if (strcmp(name, r->chat ? "messages" : "prompt") == 0) return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i].name) == 0)
            return changes_nothing(others[i].value, v) ||
                   refuse_field(f, others[i].name, "%s is not supported with this value", name);
    return refuse_field(f, "request", "the field \"%.40s\" is not known here; leave it out", name);
}

static bool check_fields(Request *r, Refusal *f)
{
    const char *name;
    json_t *v;
    json_object_foreach(r->json, name, v) if (!check_field(r, name, v, f)) return false;
    return true;
}

/* ------------------------------------------------------------------ all of it */

static bool take_kind(Request *r, Refusal *f)
{
    const json_t *model = json_object_get(r->json, "model"), *how = json_object_get(r->json, "stream_options");
    if (!is_left_out(model) && !json_is_string(model)) return refuse_field(f, "model", "model: expected a name");
    r->model = json_string_value(model);
    if (!is_left_out(how) && !json_is_object(how))
        return refuse_field(f, "stream_options", "stream_options: expected an object");
    return take_flag(r->json, "stream", &r->stream, f) && take_flag(how, "include_usage", &r->usage, f);
}

bool read_request(const char *bytes, size_t n, bool chat, Request *r, Refusal *f)
{
    json_error_t wrong;
    *r = (Request){.chat = chat};
    r->json = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &wrong);
    if (!r->json) return refuse_field(f, NULL, "the body is not JSON: line %d: %s", wrong.line, wrong.text);
    if (!json_is_object(r->json)) return refuse_field(f, NULL, "the body is not a JSON object");
    return check_fields(r, f) && take_kind(r, f) && take_all_numbers(r->json, r, f) && take_stops(r->json, r, f) &&
           take_limits_of_text(r->json, r, f) &&
           (chat ? take_messages(r->json, r, f) : take_prompt_text(r->json, r, f));
}

void free_request(Request *r)
{
    for (int i = 0; i < r->joins; i++) free(r->joined[i]);
    free(r->joined);
    free(r->said);
    json_decref(r->json);
    *r = (Request){0};
}
