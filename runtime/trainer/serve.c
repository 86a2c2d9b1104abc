/* serve.c: `trainer serve`: answers requests that come over HTTP, one at a time, in the order in which they came. */
#include "serve/http.h"
#include "base/file.h"
#include "base/thread.h"
#include "data/chats.h"
#include "model/block.h"
#include "model/origin.h"
#include "model/tables.h"
#include "serve/reply.h"
#include "step/entry.h"
#include "step/statistics.h"
#include "text/generate.h"
#include "trainer/checkpoint.h"
#include "trainer/data.h"
#include "trainer/knobs.h"
#include "trainer/memory.h"
#include "trainer/samples.h"
#include "trainer/shown.h"
#include "trainer/state.h"
#include "trainer/trainer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

typedef struct Worker {
    Jobs jobs;
    Served served;
    const Trainer *t;
    const Tokenizer *tokenizer;
    Text_writer *writer;
    Chat_form form;
    Words form_stops;            /* of answers in chats */
    Lathe_recipe plain, of_chat; /* settings that the weights came with may differ in how texts begin */
    int64_t limit;               /* most tokens of an answer */
    int threads;
    /* The request under way. */
    Job *job;
    Asked_text asked;
    Ids ids;
    Chat_message *message;
    Streamed out;
    const char *stop[MOST_STOPS + 4];
    bool drawing;
} Worker;

/* ------------------------------------------------------------------ what is said */

static Reply reply_of(const Worker *w, const char *reason)
{
    const Job *j = w->job;
    const char *model = j->request.model ? j->request.model : w->served.model;
    return (Reply){j->request.chat, model, j->number, j->created, j->read, j->written, reason};
}

static void send_event(Worker *w, const char *json)
{
    char *event = text_of("data: %s\n\n", json);
    job_says(&w->jobs, w->job, 200, event, strlen(event));
    free(event);
}

static void send_part(Worker *w, Event part, Passage text, const char *reason)
{
    const Reply r = reply_of(w, reason);
    char *json = part_reply(&r, part, text, w->job->request.usage);
    send_event(w, json);
    free(json);
}

static void send_fault(Worker *w, int status, const char *field, const char *words)
{
    char *json = error_reply(status, field, words);
    if (w->job->request.stream && w->drawing) send_event(w, json);
    else job_says(&w->jobs, w->job, status, json, strlen(json));
    free(json);
}

/* ------------------------------------------------------------------ an answer */

static bool still_wanted(void *with)
{
    Worker *w = with;
    return job_wanted(&w->jobs, w->job);
}

static void stream_token(void *with, int32_t id)
{
    Worker *w = with;
    size_t whole = extend_shown(&w->out, id);
    if (whole <= w->out.printed) return;
    send_part(w, EVENT_TEXT, (Passage){w->out.text.at + w->out.printed, (int64_t)(whole - w->out.printed)}, NULL);
    w->out.printed = whole;
}

static void finish_stream(Worker *w, const Text_written *text, const char *reason)
{
    size_t sent = w->out.printed;
    if (text->bytes > sent) send_part(w, EVENT_TEXT, (Passage){text->at + sent, (int64_t)(text->bytes - sent)}, NULL);
    send_part(w, EVENT_REASON, (Passage){0}, reason);
    if (w->job->request.usage) send_part(w, EVENT_COUNTS, (Passage){0}, reason);
    send_event(w, "[DONE]");
}

static void take_whole(void *with, int64_t k, const Written *written)
{
    Worker *w = with;
    const char *reason = written->ended ? "stop" : "length";
    Text_written text = text_written(w->tokenizer, written);
    (void)k;
    w->job->written = written->n - written->from;
    const Reply r = reply_of(w, reason);
    if (!written->ended && w->job->written < w->asked.recipe.sample_tokens) {
        send_fault(w, 503, NULL, "the server is ending");
    } else if (w->job->request.stream) {
        finish_stream(w, &text, reason);
    } else {
        char *json = whole_reply(&r, (Passage){text.at ? text.at : "", (int64_t)text.bytes});
        job_says(&w->jobs, w->job, 200, json, strlen(json));
        free(json);
    }
    free(text.at);
}

/* ------------------------------------------------------------------ a request */

static void add_stops(Worker *w)
{
    const Request *r = &w->job->request;
    Words *to = &w->asked.stop;
    to->at = w->stop;
    for (int i = 0; r->chat && i < w->form_stops.n; i++) to->at[to->n++] = w->form_stops.at[i];
    for (int i = 0; i < r->stops; i++) to->at[to->n++] = r->stop[i];
}

static int32_t any_seed(void)
{
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) seed = (uint32_t)(seconds_now() * 1e6);
    return (int32_t)(seed & INT32_MAX);
}

static void take_settings(Worker *w)
{
    const Request *r = &w->job->request;
    Lathe_recipe *to = &w->asked.recipe;
    *to = r->chat ? w->of_chat : w->plain;
    if (r->has_temperature) to->temperature = r->temperature;
    if (r->has_top_p) to->top_p = r->top_p;
    if (r->has_top_k) to->top_k = r->top_k;
    if (r->has_penalty) to->repetition_penalty = r->penalty;
    if (r->most) to->sample_tokens = r->most;
    w->asked.seed = r->has_seed ? r->seed : w->t->seed_given ? w->t->seed : any_seed();
}

static void take_texts(Worker *w)
{
    const Request *r = &w->job->request;
    w->asked.text = r->prompt;
    if (!r->chat) return;
    w->message = must_grow(w->message, sizeof *w->message * (size_t)r->messages);
    for (int i = 0; i < r->messages; i++)
        w->message[i] = (Chat_message){.role = r->said[i].role, .said = r->said[i].text};
    w->asked.form = &w->form;
    w->asked.message = w->message;
    w->asked.messages = r->messages;
}

/* Whether the model knows all characters; others are told without a failure. */
static bool text_is_known(Worker *w, Passage text, const char *field)
{
    uint32_t code;
    char words[REFUSAL_BYTES];
    int64_t at = unknown_character(w->tokenizer, text.at, text.bytes, &code);
    if (at < 0) return true;
    snprintf(words, sizeof words, "%s: the model does not know the character U+%04X, at byte %lld; leave it out", field,
             (unsigned)code, (long long)at);
    return send_fault(w, 400, field, words), false;
}

static bool all_known(Worker *w)
{
    const Request *r = &w->job->request;
    for (int i = 0; i < r->messages; i++)
        if (!text_is_known(w, r->said[i].text, "messages")) return false;
    return r->chat || text_is_known(w, r->prompt, "prompt");
}

static bool has_room(Worker *w)
{
    const Request *r = &w->job->request;
    int64_t context = writer_context(w->writer);
    char words[REFUSAL_BYTES];
    if (context && w->ids.n > context) {
        snprintf(words, sizeof words, "the prompt has %lld tokens, and the model looks back %lld; shorten it",
                 (long long)w->ids.n, (long long)context);
        return send_fault(w, 400, r->chat ? "messages" : "prompt", words), false;
    }
    if (r->most <= w->limit) return true;
    snprintf(words, sizeof words, "max_tokens: an answer has at most %lld tokens here, and %lld were asked for",
             (long long)w->limit, (long long)r->most);
    return send_fault(w, 400, "max_tokens", words), false;
}

static void answer_job(Worker *w)
{
    Job *j = w->job;
    w->asked = (Asked_text){.go_on = still_wanted};
    w->out.text.bytes = w->out.printed = 0;
    take_settings(w);
    take_texts(w);
    add_stops(w);
    w->out.stop = &w->asked.stop;
    if (!all_known(w)) return;
    if (!has_room(w)) return;
    take_asked(w->writer, &w->asked, &w->ids);
    j->read = w->ids.n;
    if (!has_room(w)) return;
    w->drawing = true;
    if (j->request.stream && j->request.chat) send_part(w, EVENT_ROLE, (Passage){0}, NULL);
    write_asked(w->writer, &w->asked, &w->ids, take_whole, j->request.stream ? stream_token : NULL, w);
}

/* ------------------------------------------------------------------ the thread */

static void start_worker(void *with);

/* A failure ends the thread, but not the server: another goes on. */
static void tell_failure(void *with, int code, char *text)
{
    Worker *w = with;
    (void)code;
    show(stderr, "%s\n", text);
    if (!w->job) end_program(code, text);
    send_fault(w, w->drawing ? 500 : 400, NULL, text);
    job_done(&w->jobs, w->job);
    w->job = NULL;
    free(text);
    start_worker(w);
}

static void *work(void *with)
{
    Worker *w = with;
    omp_set_num_threads(w->threads);
    catch_failures(tell_failure, w);
    while ((w->job = next_job(&w->jobs))) {
        w->drawing = false;
        w->ids.n = 0;
        answer_job(w);
        job_done(&w->jobs, w->job);
    }
    return NULL;
}

static void start_worker(void *with)
{
    pthread_t thread;
    if (!start_thread(&thread, work, with)) end_program(EXIT_ERROR, "trainer: error: no thread can be started");
    pthread_detach(thread);
}

/* ------------------------------------------------------------------ the command */

static const char *key_asked(const Trainer *t)
{
    const char *key = t->key ? t->key : getenv("LATHE_KEY");
    if (t->key && t->key_file) fail(EXIT_USAGE, NULL, "--key and --key-file both give a key; leave one out");
    if (t->key_file) {
        char *line = NULL;
        size_t room = 0;
        FILE *f = fopen(t->key_file, "r");
        ssize_t n = f ? getline(&line, &room, f) : -1;
        if (n < 0) fail(EXIT_DATA, t->key_file, "expected a line with a key, found none");
        line[strcspn(line, "\r\n")] = 0;
        fclose(f);
        key = line;
    }
    if (key && !*key) fail(EXIT_USAGE, NULL, "the key is empty: give one, or none at all");
    return key;
}

static Served served_of(const Trainer *t)
{
    Served s = {.host = t->host ? t->host : "127.0.0.1", .port = 8080, .key = key_asked(t), .model = t->model->name};
    int64_t port = 8080;
    if (t->port && (!parse_count(t->port, &port) || port < 0 || port > 65535))
        fail(EXIT_USAGE, NULL, "--port %s: expected a number, 0 to 65535", t->port);
    s.port = (int)port;
    if (!is_this_machine(s.host) && !s.key)
        fail(EXIT_USAGE, NULL,
             "--host %s: other machines could ask this one; give a key that clients must know: --key-file FILE, --key "
             "KEY or LATHE_KEY",
             s.host);
    return s;
}

static void check_serves(Trainer *t)
{
    check_weights_named(t);
    need_entry(t->model, ENTRY_decode);
    if (t->model->recipe.pairs)
        fail(EXIT_USAGE, NULL, "serve lets texts go on, and %s writes a target for a source", t->model->name);
    if (was_set(t, "beams") && t->recipe.beams) fail(EXIT_USAGE, NULL, "serve draws its tokens: leave beams out");
    t->recipe.beams = 0;
}

/* The settings that weights came with are those of generate, without --chat and with it. */
static void take_model_settings(Worker *w, Trainer *t, char *path)
{
    int64_t room = lathe_room(t->model->seq, t->model->context);
    int64_t usual = lathe_written_tokens(&t->recipe, t->model->seq);
    w->limit = usual > room ? usual : room;
    take_own_settings(t, path, "eos");
    w->plain = t->recipe;
    take_own_settings(t, path, "bos");
    take_own_settings(t, path, "chat");
    w->of_chat = t->recipe;
    w->plain.sample_tokens = w->of_chat.sample_tokens = usual;
    t->recipe.sample_tokens = w->limit; /* memory is taken for it */
    t->origin = read_origin(path);
}

int serve_command(Trainer *t)
{
    static const Entry entries[] = {ENTRY_decode, ENTRY_prefill, NO_ENTRY};
    static Worker w;
    Memory memory;
    char *why = NULL;
    open_http();
    w.t = t;
    w.served = served_of(t);
    check_serves(t);
    char *path = weights_path(t);
    take_model_settings(&w, t, path);
    w.tokenizer = w.out.tokenizer = vocabulary_of(t, path);
    use_threads(t);
    w.threads = omp_get_max_threads();
    take_memory(&memory, t, false, false, entries);
    w.served.chats = find_chat_form(&w.of_chat, t->origin, w.tokenizer, &w.form, &why);
    w.served.no_chats = why;
    if (w.served.chats) add_chat_stops(&w.form_stops, &w.form, w.tokenizer);
    w.writer = open_text_writer(writing_of(t), &memory, w.tokenizer, "prompt");
    load_saved_weights(t, path, &memory);
    weights_up(t->model, &memory);
    omp_pause_resource_all(omp_pause_soft); /* this thread's team: with two, more threads than cores would wait asleep */
    serve_jobs(&w.served, &w.jobs, start_worker, &w);
    return 0;
}
