/* test_chats.c: chats as published chat templates make them: for each template of tests/reference/chats.json what
 * training reads, and what comes before an answer, are what Jinja makes of it; a template with a change is only known
 * if Jinja still makes our text of it. */
#include "data/chats.h"
#include "model/origin.h"
#include "sources.h"

static json_t *all;

static const char none[] = "no document";

static const char *text_at(const json_t *list, size_t i) { return json_string_value(json_array_get(list, i)); }

/* What a reader makes of the chat [[role, content], …]. */
static char *read_text(const json_t *chat, const Chat_form *form)
{
    json_t *messages = json_array(), *one;
    size_t i;
    json_array_foreach(chat, i, one)
        json_array_append_new(messages, json_pack("{s:s, s:s}", "role", text_at(one, 0), "content", text_at(one, 1)));
    json_t *record = json_pack("{s:o}", "messages", messages);
    char *line = json_dumps(record, JSON_COMPACT), path[64];
    snprintf(path, sizeof path, "/tmp/test_chats_%d.jsonl", (int)getpid());
    FILE *f = fopen(path, "w");
    bug_if(!f);
    fprintf(f, "%s\n", line);
    fclose(f);
    Words paths = {0};
    add_word(&paths, path);
    Sources *s = open_sources(&paths, &(Source_options){.chat = form, .bad_records = 1});
    Reader *r = open_reader(s, 4096, NULL, NULL);
    Document d = {0};
    reader_file(r, 0, NULL);
    char *text = next_document(r, &d) ? text_of("%.*s", (int)d.bytes, d.text) : text_of("%s", none);
    int64_t sum = 0;
    for (int k = 0; k < d.spans; k++) sum += d.span[k].bytes;
    expect(sum == d.bytes, "the spans are not the text");
    close_reader(r);
    close_sources(s);
    unlink(path);
    free(line);
    json_decref(record);
    return text;
}

/* Roles that a template leaves out, or writes as a message of another, have no message in a form of ours. */
static bool has_other_roles(const json_t *chat)
{
    json_t *one;
    size_t i;
    json_array_foreach(chat, i, one) if (!strstr("system user assistant", text_at(one, 0))) return true;
    return false;
}

static void check_texts(size_t k, const Chat_form *form)
{
    const json_t *chats = json_object_get(all, "chats"), *texts = json_array_get(json_object_get(all, "texts"), k);
    for (size_t c = 0; c < json_array_size(chats); c++) {
        const json_t *chat = json_array_get(chats, c);
        const char *wanted = form->roles && has_other_roles(chat) ? none : text_at(texts, c) ? text_at(texts, c) : none;
        char *own = read_text(chat, form);
        expect(strcmp(own, wanted) == 0, "template %d, chat %d: \"%s\"\nnot \"%s\"", (int)k, (int)c, own, wanted);
        free(own);
    }
}

static Passage passage(const char *text) { return (Passage){text, (int64_t)strlen(text)}; }

/* The ids of bytes are the text: a conversation of a system, a person and answers, in turns. */
static void check_answers(size_t k, const Chat_form *form)
{
    const json_t *chats = json_object_get(all, "chats"), *answers = json_array_get(json_object_get(all, "answers"), k);
    Tokenizer *bytes = open_tokenizer(TOKEN_BYTES);
    limit_bytes(bytes, 256);
    Encoder *e = open_encoder(bytes);
    for (size_t c = 0; c < json_array_size(chats); c++) {
        const json_t *chat = json_array_get(chats, c);
        Passage system = {0};
        Ids ids = {0};
        size_t turn = 0, answer = 0;
        for (size_t i = 0; i < json_array_size(chat); i++) {
            const char *role = text_at(json_array_get(chat, i), 0), *said = text_at(json_array_get(chat, i), 1);
            Passage p = form->trims ? trimmed(said, (int64_t)strlen(said)) : passage(said);
            bool user = strcmp(role, "user") == 0, answers_now = strcmp(role, "assistant") == 0;
            if (i == 0 && strcmp(role, "system") == 0) system = passage(said);
            else if (user && turn == 2 * answer) encode_said(e, bytes, form, turn++ == 0, system, passage(said), &ids);
            else if (!answers_now || turn != 2 * answer + 1) break;
            if (!answers_now) continue;
            const char *wanted = text_at(json_array_get(answers, c), answer++);
            const int64_t head = ids.n;
            if (!wanted) break;
            encode_thought(e, form, &ids);
            char *own = must_alloc((size_t)ids.n + 1);
            for (int64_t j = 0; j < ids.n; j++) own[j] = (char)ids.at[j];
            expect(strcmp(own, wanted) == 0, "template %d, chat %d, answer %d: \"%s\"\nnot \"%s\"", (int)k, (int)c,
                   (int)answer, own, wanted);
            free(own);
            ids.n = head; /* the thought is not kept */
            encode_bytes(e, p.at, p.bytes, &ids);
            encode_end(e, form, &ids);
            turn++;
        }
        free_ids(&ids);
    }
    close_encoder(e);
}

static void check_changes(void)
{
    const json_t *changes = json_object_get(all, "changes"), *one,
                 *chat = json_array_get(json_object_get(all, "chats"), 0);
    size_t i;
    int known = 0, same = 0;
    json_array_foreach(changes, i, one)
    {
        size_t k = (size_t)json_integer_value(json_array_get(one, 0)),
               at = (size_t)json_integer_value(json_array_get(one, 1)),
               gone = (size_t)json_integer_value(json_array_get(one, 2));
        const char *own = text_at(json_array_get(json_object_get(all, "templates"), k), 1), *wanted = text_at(one, 4);
        char *other = text_of("%.*s%s%s", (int)at, own, text_at(one, 3), own + at + gone);
        const char *first = text_at(json_array_get(json_object_get(all, "texts"), k), 0);
        Chat_form form = {0};
        same += wanted && strcmp(wanted, first) == 0;
        if (read_chat_template(other, &form)) {
            char *text = read_text(chat, &form);
            known++;
            expect(wanted && strcmp(text, wanted) == 0, "change %d is known: %s\nmakes \"%s\"\nnot \"%s\"", (int)i,
                   other, text, wanted ? wanted : "(an error)");
            free(text);
        }
        free(other);
    }
    printf("of %d templates with a change %d are known; Jinja makes the same of %d\n", (int)json_array_size(changes),
           known, same);
    expect(known > 20, "only %d are known", known);
}

int main(void)
{
    all = json_load_file("tests/reference/chats.json", 0, NULL);
    bug_if(!all);
    for (size_t k = 0; k < json_array_size(json_object_get(all, "templates")); k++) {
        Chat_form form = {0};
        const char *template = text_at(json_array_get(json_object_get(all, "templates"), k), 1);
        if (!expect(read_chat_template(template, &form), "template %d is not known", (int)k)) continue;
        check_texts(k, &form);
        check_answers(k, &form);
    }
    check_changes();
    Chat_form form;
    expect(!read_chat_template("", &form) && !read_chat_template("{{ messages }}", &form), "what is none is known");
    expect(!read_chat_template("{%", &form) && !read_chat_template("{{'a\\", &form), "what is cut off is known");
    return finish();
}
