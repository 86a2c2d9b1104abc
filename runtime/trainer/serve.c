/* serve.c: `trainer serve`: answers requests that come over HTTP, as many at once as there are slots (text/slots.h), in
 * the order in which they came. */
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
#include "text/slots.h"
#include "trainer/adapters.h"
#include "trainer/checkpoint.h"
#include "trainer/constrain.h"
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
    Slots *slots;
    struct Answer *answer; /* of each slot */
    Adapters adapters;
    Job *waiting; /* for the adapter that it names, until other answers are there; NULL: none */
    Chat_form form;
    Words form_stops;            /* of answers in chats */
    Lathe_recipe plain, of_chat; /* settings that the weights came with may differ in how texts begin */
    int64_t limit;               /* most tokens of an answer */
    int threads;
    int taken; /* the slot whose request is being read; -1: none */
} Worker;

typedef struct Answer { /* to the request that is under way in a slot */
    Worker *of;
    Text_writer *writer;
    Job *job; /* NULL: there is none */
    Asked_text asked;
    Ids ids;
    Grammar *grammar; /* NULL: none */
    Chat_message *message;
    Streamed out;
    const char *stop[MOST_STOPS + 4];
    bool drawing;
} Answer;

/* ------------------------------------------------------------------ what is said */

static Reply reply_of(const Answer *a, const char *reason)
{
    const Job *j = a->job;
    const char *model = j->request.model ? j->request.model : a->of->served.model;
    return (Reply){j->request.chat, model, j->number, j->created, j->read, j->written, reason};
}

static void send_event(Answer *a, const char *json)
{
    char *event = text_of("data: %s\n\n", json);
    job_says(&a->of->jobs, a->job, 200, event, strlen(event));
    free(event);
}

static void send_part(Answer *a, Event part, Passage text, const char *reason)
{
    const Reply r = reply_of(a, reason);
    char *json = part_reply(&r, part, text, a->job->request.usage);
    send_event(a, json);
    free(json);
}

static void send_fault(Answer *a, int status, const char *field, const char *words)
{
    char *json = error_reply(status, field, words);
    if (a->job->request.stream && a->drawing) send_event(a, json);
    else job_says(&a->of->jobs, a->job, status, json, strlen(json));
    free(json);
}

/* ------------------------------------------------------------------ an answer */

static bool still_wanted(void *with)
{
    Answer *a = with;
    return job_wanted(&a->of->jobs, a->job);
}

static void stream_token(void *with, int32_t id)
{
    Answer *a = with;
    size_t whole = extend_shown(&a->out, id);
    if (whole <= a->out.printed) return;
    send_part(a, EVENT_TEXT, (Passage){a->out.text.at + a->out.printed, (int64_t)(whole - a->out.printed)}, NULL);
    a->out.printed = whole;
}

static void finish_stream(Answer *a, const Text_written *text, const char *reason)
{
    size_t sent = a->out.printed;
    if (text->bytes > sent) send_part(a, EVENT_TEXT, (Passage){text->at + sent, (int64_t)(text->bytes - sent)}, NULL);
    send_part(a, EVENT_REASON, (Passage){0}, reason);
    if (a->job->request.usage) send_part(a, EVENT_COUNTS, (Passage){0}, reason);
    send_event(a, "[DONE]");
}

static void end_answer(Answer *a)
{
    job_done(&a->of->jobs, a->job);
    a->job = NULL;
}

static void take_whole(void *with, const Written *written)
{
    Answer *a = with;
    const char *reason = written->ended ? "stop" : "length";
    Text_written text = text_written(a->of->tokenizer, written);
    job_counts(&a->of->jobs, a->job, a->ids.n, written->n - written->from);
    const Reply r = reply_of(a, reason);
    if (written->stuck) {
        send_fault(a, 400, a->job->request.grammar.at ? "grammar" : "response_format", written->stuck);
    } else if (!written->ended && a->job->written < a->asked.recipe.sample_tokens) {
        send_fault(a, 503, NULL, "the server is ending");
    } else if (a->job->request.stream) {
        finish_stream(a, &text, reason);
    } else {
        char *json = whole_reply(&r, (Passage){text.at ? text.at : "", (int64_t)text.bytes});
        job_says(&a->of->jobs, a->job, 200, json, strlen(json));
        free(json);
    }
    free(text.at);
    end_answer(a);
}

/* ------------------------------------------------------------------ a request */

static void add_stops(Answer *a)
{
    const Request *r = &a->job->request;
    Words *to = &a->asked.stop;
    to->at = a->stop;
    for (int i = 0; r->chat && !a->grammar && i < a->of->form_stops.n; i++) to->at[to->n++] = a->of->form_stops.at[i];
    for (int i = 0; i < r->stops; i++) to->at[to->n++] = r->stop[i];
}

static int32_t any_seed(void)
{
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) seed = (uint32_t)(seconds_now() * 1e6);
    return (int32_t)(seed & INT32_MAX);
}

static void take_settings(Answer *a)
{
    const Request *r = &a->job->request;
    Lathe_recipe *to = &a->asked.recipe;
    *to = r->chat ? a->of->of_chat : a->of->plain;
    if (r->has_temperature) to->temperature = r->temperature;
    if (r->has_top_p) to->top_p = r->top_p;
    if (r->has_min_p) to->min_p = r->min_p;
    if (r->has_top_k) to->top_k = r->top_k;
    if (r->has_penalty) to->repetition_penalty = r->penalty;
    if (r->most) to->sample_tokens = r->most;
    a->asked.seed = r->has_seed ? r->seed : a->of->t->seed_given ? a->of->t->seed : any_seed();
}

static void take_texts(Answer *a)
{
    const Request *r = &a->job->request;
    a->asked.text = r->prompt;
    if (!r->chat) return;
    a->message = must_grow(a->message, sizeof *a->message * (size_t)r->messages);
    for (int i = 0; i < r->messages; i++)
        a->message[i] = (Chat_message){.role = r->said[i].role, .said = r->said[i].text};
    a->asked.form = &a->of->form;
    a->asked.message = a->message;
    a->asked.messages = r->messages;
}

static bool take_asked_grammar(Answer *a)
{
    Refusal f;
    free_grammar(a->grammar);
    bool good = grammar_of_request(&a->job->request, &a->grammar, &f);
    a->asked.grammar = a->grammar;
    if (!good) send_fault(a, 400, f.field, f.words);
    return good;
}

/* Whether the model knows all characters; others are told without a failure. */
static bool text_is_known(Answer *a, Passage text, const char *field)
{
    uint32_t code;
    char words[REFUSAL_BYTES];
    int64_t at = unknown_character(a->of->tokenizer, text.at, text.bytes, &code);
    if (at < 0) return true;
    snprintf(words, sizeof words, "%s: the model does not know the character U+%04X, at byte %lld; leave it out", field,
             (unsigned)code, (long long)at);
    return send_fault(a, 400, field, words), false;
}

static bool all_known(Answer *a)
{
    const Request *r = &a->job->request;
    for (int i = 0; i < r->messages; i++)
        if (!text_is_known(a, r->said[i].text, "messages")) return false;
    return r->chat || text_is_known(a, r->prompt, "prompt");
}

static bool has_room(Answer *a)
{
    const Request *r = &a->job->request;
    int64_t context = writer_context(a->writer);
    char words[REFUSAL_BYTES];
    if (context && a->ids.n > context) {
        snprintf(words, sizeof words, "the prompt has %lld tokens, and the model looks back %lld; shorten it",
                 (long long)a->ids.n, (long long)context);
        return send_fault(a, 400, r->chat ? "messages" : "prompt", words), false;
    }
    if (r->most <= a->of->limit) return true;
    snprintf(words, sizeof words, "max_tokens: an answer has at most %lld tokens here, and %lld were asked for",
             (long long)a->of->limit, (long long)r->most);
    return send_fault(a, 400, "max_tokens", words), false;
}

/* The adapter that the request names as its model; without adapters any name will do. */
static bool takes_model(Answer *a)
{
    char words[REFUSAL_BYTES];
    const char *model = a->job->request.model;
    if (use_adapter(&a->of->adapters, model)) return true;
    snprintf(words, sizeof words, "model: there is no %.100s here; /v1/models lists what there is", model);
    return send_fault(a, 404, "model", words), false;
}

/* false: it is refused. */
static bool read_asked(Answer *a)
{
    a->asked = (Asked_text){0};
    a->out.text.bytes = a->out.printed = 0;
    a->ids.n = 0;
    if (!takes_model(a)) return false;
    take_settings(a);
    if (!take_asked_grammar(a)) return false;
    take_texts(a);
    add_stops(a);
    a->out.stop = &a->asked.stop;
    if (!all_known(a) || !has_room(a)) return false;
    take_asked(a->writer, &a->asked, &a->ids);
    job_counts(&a->of->jobs, a->job, a->ids.n, 0);
    return has_room(a);
}

static void begin_answer(Worker *w, int k)
{
    Answer *a = &w->answer[k];
    const Request *r = &a->job->request;
    a->drawing = false;
    if (!read_asked(a)) return end_answer(a);
    a->drawing = true;
    if (r->stream && r->chat) send_part(a, EVENT_ROLE, (Passage){0}, NULL);
    begin_slot(w->slots, k,
               &(Slot_text){.prompt = {a->ids.at, a->ids.n},
                            .hidden = a->ids.n,
                            .go_on = still_wanted,
                            .see = r->stream ? stream_token : NULL,
                            .over = take_whole,
                            .with = a});
}

/* ------------------------------------------------------------------ the thread */

static void start_worker(void *with);

/* A failure ends the thread, but not the server: another goes on, and with the other answers, if it is that of one. */
static void tell_failure(void *with, int code, char *text)
{
    Worker *w = with;
    int told = 0, one = w->taken >= 0 ? w->taken : slot_at_work(w->slots);
    (void)code;
    show(stderr, "%s\n", text);
    for (int k = 0; k < slots_count(w->slots); k++) {
        Answer *a = &w->answer[k];
        if (!a->job || (one >= 0 && k != one)) continue;
        send_fault(a, a->drawing ? 500 : 400, NULL, text);
        drop_slot(w->slots, k);
        end_answer(a);
        told++;
    }
    if (!told) end_program(code, text);
    free(text);
    start_worker(w);
}

/* Requests take the free slots; false: the server ends, and all are answered.  All slots answer by one adapter: a
 * request that names another waits, and those behind it, until the slots are free. */
static bool take_jobs(Worker *w)
{
    for (int k; (k = idle_slot(w->slots)) >= 0;) {
        bool idle = slots_busy(w->slots) == 0;
        Job *j = w->waiting ? w->waiting : next_job(&w->jobs, idle);
        if (!j) return !idle;
        w->waiting = !idle && !is_in_use(&w->adapters, j->request.model) ? j : NULL;
        if (w->waiting) return true;
        w->answer[k].job = j;
        w->taken = k;
        begin_answer(w, k);
        w->taken = -1;
    }
    return true;
}

static void *work(void *with)
{
    Worker *w = with;
    omp_set_num_threads(w->threads);
    catch_failures(tell_failure, w);
    w->taken = -1;
    while (take_jobs(w)) step_slots(w->slots);
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

static void open_answers(Worker *w, Text_writer *writer, const Memory *memory)
{
    w->slots = open_slots(writer, memory, find_entry(w->t->model, ENTRY_slots));
    w->answer = must_alloc(sizeof *w->answer * (size_t)slots_count(w->slots));
    for (int k = 0; k < slots_count(w->slots); k++)
        w->answer[k] = (Answer){.of = w, .writer = writer_of_slot(w->slots, k), .out.tokenizer = w->tokenizer};
}

int serve_command(Trainer *t)
{
    static const Entry entries[] = {ENTRY_decode, ENTRY_prefill, ENTRY_slots, NO_ENTRY};
    static Worker w;
    Memory memory;
    char *why = NULL;
    open_http();
    w.t = t;
    w.served = served_of(t);
    check_serves(t);
    char *path = weights_path(t);
    take_model_settings(&w, t, path);
    w.tokenizer = vocabulary_of(t, path);
    use_threads(t);
    w.threads = omp_get_max_threads();
    allow_grammars(t, w.tokenizer);
    take_memory(&memory, t, false, false, entries);
    w.served.chats = find_chat_form(&w.of_chat, t->origin, w.tokenizer, &w.form, &why);
    w.served.no_chats = why;
    if (w.served.chats) add_chat_stops(&w.form_stops, &w.form, w.tokenizer);
    open_answers(&w, open_text_writer(writing_of(t), &memory, w.tokenizer, "prompt"), &memory);
    load_saved_weights(t, path, &memory);
    open_adapters(&w.adapters, t, path, &memory);
    w.served.models = w.adapters.n ? w.adapters.n : 1;
    w.served.all = w.adapters.n ? w.adapters.name : &w.served.model;
    weights_up(t->model, &memory);
    omp_pause_resource_all(
        omp_pause_soft); /* this thread's team: with two, more threads than cores would wait asleep */
    serve_jobs(&w.served, &w.jobs, start_worker, &w);
    return 0;
}
