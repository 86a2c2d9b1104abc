/* reply.c: answers, parts of answers in a stream and errors, as OpenAI's clients read them. */
#include "serve/reply.h"
#include "base/json_text.h"

#include <stdlib.h>
#include <string.h>

static json_t *said_json(const char *text) { return text ? text_json(text, strlen(text)) : json_null(); }

static char *json_of(json_t *all)
{
    char *text = json_written(all, JSON_COMPACT);
    json_decref(all);
    return text;
}

static const char *type_of_error(int status)
{
    if (status == 401) return "authentication_error";
    return status >= 500 ? "server_error" : "invalid_request_error";
}

char *error_reply(int status, const char *field, const char *words)
{
    json_t *all = json_object(), *error = json_object();
    const char *code = status == 401 ? "invalid_api_key" : status == 404 && field ? "model_not_found" : NULL;
    put_json(error, "message", said_json(words));
    put_json(error, "type", json_string(type_of_error(status)));
    put_json(error, "param", said_json(field));
    put_json(error, "code", code ? json_string(code) : json_null());
    put_json(all, "error", error);
    return json_of(all);
}

static json_t *head_json(const Reply *r, const char *object)
{
    json_t *all = json_object();
    char *id = text_of("%s-%llx%04llx", r->chat ? "chatcmpl" : "cmpl", (long long)r->created, (long long)r->number);
    put_json(all, "id", json_string(id));
    put_json(all, "object", json_string(object));
    put_json(all, "created", json_integer(r->created));
    put_json(all, "model", said_json(r->model));
    free(id);
    return all;
}

static json_t *counts_json(const Reply *r)
{
    return json_pack("{s:I, s:I, s:I}", "prompt_tokens", (json_int_t)r->read, "completion_tokens",
                     (json_int_t)r->written, "total_tokens", (json_int_t)(r->read + r->written));
}

static void put_choice(json_t *all, json_t *choice, const char *reason)
{
    json_t *list = json_array();
    put_json(choice, "index", json_integer(0));
    put_json(choice, "logprobs", json_null());
    put_json(choice, "finish_reason", said_json(reason));
    add_json(list, choice);
    put_json(all, "choices", list);
}

char *whole_reply(const Reply *r, Passage text)
{
    json_t *all = head_json(r, r->chat ? "chat.completion" : "text_completion"), *choice = json_object();
    json_t *said = text_json(text.at, (size_t)text.bytes);
    if (r->chat) {
        json_t *message = json_object();
        put_json(message, "role", json_string("assistant"));
        put_json(message, "content", said);
        put_json(choice, "message", message);
    } else put_json(choice, "text", said);
    put_choice(all, choice, r->reason);
    put_json(all, "usage", counts_json(r));
    return json_of(all);
}

static json_t *delta_json(Event part, json_t *said)
{
    json_t *delta = json_object();
    if (part == EVENT_ROLE) put_json(delta, "role", json_string("assistant"));
    if (part == EVENT_REASON) json_decref(said);
    else put_json(delta, "content", said);
    return delta;
}

char *part_reply(const Reply *r, Event part, Passage text, bool usage)
{
    json_t *all = head_json(r, r->chat ? "chat.completion.chunk" : "text_completion"), *choice = json_object();
    json_t *said = text_json(text.bytes ? text.at : "", (size_t)text.bytes);
    if (part == EVENT_COUNTS) {
        json_decref(said);
        json_decref(choice);
        put_json(all, "choices", json_array());
    } else {
        put_json(choice, r->chat ? "delta" : "text", r->chat ? delta_json(part, said) : said);
        put_choice(all, choice, part == EVENT_REASON ? r->reason : NULL);
    }
    if (usage) put_json(all, "usage", part == EVENT_COUNTS ? counts_json(r) : json_null());
    return json_of(all);
}

char *models_reply(const char *const *name, int n, int64_t created)
{
    json_t *all = json_object(), *list = json_array();
    for (int k = 0; k < n; k++) {
        json_t *model = json_object();
        put_json(model, "id", said_json(name[k]));
        put_json(model, "object", json_string("model"));
        put_json(model, "created", json_integer(created));
        put_json(model, "owned_by", json_string("lathe"));
        add_json(list, model);
    }
    put_json(all, "object", json_string("list"));
    put_json(all, "data", list);
    return json_of(all);
}
