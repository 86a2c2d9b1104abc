/* log_events.c: --log tensorboard: an event file in the run's folder, as TensorBoard reads it: records of a length, a
 * checksum of it, a message and its checksum (TFRecord; CRC-32C, RFC 3720 section 12.1, rotated by 15 bits and
 * shifted); the messages are Event of TensorFlow's event.proto and summary.proto.
 *
 * A number NAME of the split SPLIT is the scalar SPLIT/NAME; a sample is a text; histograms are of logarithms.  Each
 * start of the program writes all into a file of a later name, whose first message takes back what the files before
 * say.  A TensorBoard that runs has the last of these open, so it is left; earlier ones are removed. */
#include "base/protobuf.h"
#include "base/words.h"
#include "model/run.h"
#include "trainer/logs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ messages */

enum { WIRE_64 = 1, WIRE_32 = 5 }; /* numbers of 8 and 4 bytes */
enum { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5, EVENT_SESSION = 7 };
enum { SESSION_STATUS = 1, SESSION_START = 1 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_NUMBER = 2, VALUE_HISTOGRAM = 5, VALUE_TENSOR = 8, VALUE_METADATA = 9 };
enum { METADATA_PLUGIN = 1, PLUGIN_NAME = 1, TEXTS_TYPE = 1, TEXTS_SHAPE = 2, TEXTS_STRING = 8, TYPE_STRING = 7 };
enum { SHAPE_AXIS = 2, AXIS_SIZE = 1 };
enum {
    HISTOGRAM_MIN = 1,
    HISTOGRAM_MAX,
    HISTOGRAM_NUMBER,
    HISTOGRAM_SUM,
    HISTOGRAM_SQUARES,
    HISTOGRAM_LIMITS,
    HISTOGRAM_BARS
};

typedef struct Message {
    FILE *f;
    char *at;
    size_t n;
} Message;

static void begin_message(Message *m)
{
    *m = (Message){0};
    m->f = print_to(&m->at, &m->n);
}

static void put_field(Message *m, int field, int wire)
{
    char room[PROTO_LONGEST];
    fwrite(room, 1, proto_key(room, field, wire), m->f);
}

static void put_varint(Message *m, uint64_t x)
{
    char room[PROTO_LONGEST];
    fwrite(room, 1, proto_varint(room, x), m->f);
}

static void put_message_number(Message *m, int field, uint64_t x)
{
    put_field(m, field, PROTO_VARINT);
    put_varint(m, x);
}

static void put_message_bytes(Message *m, int field, const char *at, size_t n)
{
    put_field(m, field, PROTO_BYTES);
    put_varint(m, n);
    fwrite(at, 1, n, m->f);
}

static void put_string(Message *m, int field, const char *text) { put_message_bytes(m, field, text, strlen(text)); }

/* Closed, with all of its bytes at m->at. */
static void end_message(Message *m) { end_print(m->f); }

static void put_message(Message *m, int field, Message *inner)
{
    end_message(inner);
    put_message_bytes(m, field, inner->at, inner->n);
    free(inner->at);
}

/* ------------------------------------------------------------------ records */

static uint32_t checksum(const char *at, size_t n)
{
    uint32_t sum = ~0u;
    for (size_t i = 0; i < n; i++) {
        sum ^= (unsigned char)at[i];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0x82f63b78u : 0);
    }
    sum = ~sum;
    return (sum >> 15 | sum << 17) + 0xa282ead8u;
}

/* The lowest byte first. */
static void put_fixed(FILE *f, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) fputc((int)(x >> 8 * i & 255), f);
}

static void put_record(Log *l, Message *event)
{
    Message record;
    begin_message(&record);
    end_message(event);
    char length[8];
    for (int i = 0; i < 8; i++) length[i] = (char)(event->n >> 8 * i & 255);
    fwrite(length, 1, sizeof length, record.f);
    put_fixed(record.f, checksum(length, sizeof length), 4);
    fwrite(event->at, 1, event->n, record.f);
    put_fixed(record.f, checksum(event->at, event->n), 4);
    end_message(&record);
    append_whole(l->fd, record.at, record.n, l->path, &l->fault);
    free(event->at);
    free(record.at);
}

static void begin_event(Message *m, double time)
{
    uint64_t bits;
    memcpy(&bits, &time, sizeof bits);
    begin_message(m);
    put_field(m, EVENT_TIME, WIRE_64);
    put_fixed(m->f, bits, 8);
}

/* ------------------------------------------------------------------ lines */

typedef struct Summary {
    Message values;
    const char *split, *source; /* source: of a mixture's epoch; else NULL */
} Summary;

static void begin_log_value(const Summary *s, Message *value, const char *name)
{
    char *tag = s->source ? text_of("%s/%s/%s", s->split, s->source, name) : text_of("%s/%s", s->split, name);
    begin_message(value);
    put_string(value, VALUE_TAG, tag);
    free(tag);
}

static void put_scalar(void *summary, const char *name, const json_t *value)
{
    Summary *s = summary;
    Message m;
    if (!json_is_number(value)) return;
    float x = (float)json_number_value(value);
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    begin_log_value(s, &m, name);
    put_field(&m, VALUE_NUMBER, WIRE_32);
    put_fixed(m.f, bits, 4);
    put_message(&s->values, SUMMARY_VALUE, &m);
}

static void put_indented(FILE *f, const char *text)
{
    for (; *text; text++) {
        fputc(*text, f);
        if (*text == '\n') fputs("    ", f);
    }
}

/* Markdown, in which lines that begin with four blanks stand as they are. */
static char *as_markdown(const char *prompt, const char *text)
{
    char *all = NULL;
    size_t n;
    FILE *f = print_to(&all, &n);
    fputs("    ", f);
    put_indented(f, prompt);
    put_indented(f, text);
    end_print(f);
    return all;
}

static void put_sample(Summary *s, const json_t *line)
{
    const char *prompt = json_string_value(json_object_get(line, "prompt")),
               *text = json_string_value(json_object_get(line, "text"));
    Message value, metadata, plugin, tensor, shape, axis;
    if (!text) return;
    char *shown = as_markdown(prompt ? prompt : "", text);
    begin_log_value(s, &value, "text");
    begin_message(&metadata), begin_message(&plugin);
    put_string(&plugin, PLUGIN_NAME, "text");
    put_message(&metadata, METADATA_PLUGIN, &plugin);
    put_message(&value, VALUE_METADATA, &metadata);
    begin_message(&tensor), begin_message(&shape), begin_message(&axis);
    put_message_number(&tensor, TEXTS_TYPE, TYPE_STRING);
    put_message_number(&axis, AXIS_SIZE, 1);
    put_message(&shape, SHAPE_AXIS, &axis);
    put_message(&tensor, TEXTS_SHAPE, &shape);
    put_string(&tensor, TEXTS_STRING, shown);
    put_message(&value, VALUE_TENSOR, &tensor);
    put_message(&s->values, SUMMARY_VALUE, &value);
    free(shown);
}

static void add_event(void *log, const json_t *line)
{
    Log *l = log;
    double *time = l->own;
    const json_t *now = json_object_get(line, "time");
    Message event;
    Summary s = {.split = json_string_value(json_object_get(line, "split")),
                 .source = json_string_value(json_object_get(line, "source"))};
    if (!s.split) return;
    if (now) *time = l->began + json_number_value(now); /* an evaluation has none: it has the last step's */
    begin_message(&s.values);
    each_value(line, put_scalar, &s);
    put_sample(&s, line);
    begin_event(&event, *time);
    put_message_number(&event, EVENT_STEP, (uint64_t)json_integer_value(json_object_get(line, "step")));
    put_message(&event, EVENT_SUMMARY, &s.values);
    put_record(l, &event);
}

/* ------------------------------------------------------------------ histograms */

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void put_double(Message *m, int field, double x)
{
    put_field(m, field, WIRE_64);
    put_fixed(m->f, bits_of(x), 8);
}

/* Counts by powers of two as a histogram of log2: TensorBoard's axis is linear.  Sums are of the middles of its bars.
 */
static void put_powers(Message *m, int64_t from, const json_t *counts)
{
    Message limits, bars;
    double n = 0, sum = 0, squares = 0;
    size_t size = json_array_size(counts);
    begin_message(&limits), begin_message(&bars);
    for (size_t i = 0; i < size; i++) {
        double count = json_number_value(json_array_get(counts, i)), middle = (double)(from + (int64_t)i) + 0.5;
        n += count, sum += count * middle, squares += count * middle * middle;
        put_fixed(limits.f, bits_of(middle + 0.5), 8);
        put_fixed(bars.f, bits_of(count), 8);
    }
    put_double(m, HISTOGRAM_MIN, (double)from);
    put_double(m, HISTOGRAM_MAX, (double)(from + (int64_t)size));
    put_double(m, HISTOGRAM_NUMBER, n);
    put_double(m, HISTOGRAM_SUM, sum);
    put_double(m, HISTOGRAM_SQUARES, squares);
    put_message(m, HISTOGRAM_LIMITS, &limits);
    put_message(m, HISTOGRAM_BARS, &bars);
}

static void put_histogram(Message *values, const char *of, const json_t *parameter, const char *member)
{
    const char *name = json_string_value(json_object_get(parameter, "name"));
    const json_t *spread = json_object_get(parameter, member), *counts = json_object_get(spread, "counts");
    Message value, histogram;
    if (!name || !json_is_array(counts)) return;
    char *tag = text_of("%s/%s", of, name);
    begin_message(&value), begin_message(&histogram);
    put_string(&value, VALUE_TAG, tag);
    put_powers(&histogram, json_integer_value(json_object_get(spread, "from")), counts);
    put_message(&value, VALUE_HISTOGRAM, &histogram);
    put_message(values, SUMMARY_VALUE, &value);
    free(tag);
}

static void add_histogram_event(void *log, const json_t *line)
{
    Log *l = log;
    const json_t *parameter;
    size_t i;
    Message event, values;
    begin_message(&values);
    json_array_foreach(json_object_get(line, "parameters"), i, parameter)
    {
        put_histogram(&values, "log2 gradient", parameter, "gradient");
        put_histogram(&values, "log2 update per weight", parameter, "ratio");
    }
    begin_event(&event, *(double *)l->own);
    put_message_number(&event, EVENT_STEP, (uint64_t)json_integer_value(json_object_get(line, "step")));
    put_message(&event, EVENT_SUMMARY, &values);
    put_record(l, &event);
}

static void replay_histograms(Log *l, const char *run)
{
    char *path = text_of("%s/histograms.jsonl", run);
    if (access(path, F_OK) == 0) each_line(path, &l->fault, add_histogram_event, l);
    free(path);
}

/* ------------------------------------------------------------------ the file */

static void put_start(Log *l)
{
    Message event, session;
    begin_event(&event, l->began);
    put_string(&event, EVENT_VERSION, "brain.Event:2");
    put_record(l, &event);
    begin_event(&event, l->began);
    begin_message(&session);
    put_message_number(&session, SESSION_STATUS, SESSION_START);
    put_message(&event, EVENT_SESSION, &session);
    put_record(l, &event);
}

/* The number behind EVENT_FILES of a name; -1: it is another file. */
static int64_t number_of_file(const char *name)
{
    size_t n = strlen(EVENT_FILES);
    int64_t number;
    return strncmp(name, EVENT_FILES, n) == 0 && parse_count(name + n, &number) ? number : -1;
}

/* The largest number of the run's event files; removes those below `before`. */
static int64_t last_number(const char *run, int64_t before)
{
    DIR *d = opendir(run);
    int64_t last = -1;
    for (const struct dirent *e; d && (e = readdir(d));) {
        int64_t number = number_of_file(e->d_name);
        if (number > last) last = number;
        if (number < 0 || number >= before) continue;
        char *path = text_of("%s/%s", run, e->d_name);
        unlink(path);
        free(path);
    }
    if (d) closedir(d);
    return last;
}

static bool has_events(const char *run) { return last_number(run, 0) >= 0; }

static void open_event_log(Log *l, const char *run)
{
    int64_t number = last_number(run, 0) + 1;
    l->path = text_of("%s/" EVENT_FILES "%06lld", run, (long long)number);
    l->own = must_alloc(sizeof(double));
    *(double *)l->own = l->began;
    l->fd = open(l->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (l->fd < 0) {
        set_fault(&l->fault, l->path, "written");
        return;
    }
    put_start(l);
    each_line(l->metrics, &l->fault, add_event, l);
    replay_histograms(l, run);
    if (!l->fault.path) last_number(run, number - 1);
}

static void free_time(Log *l) { free(l->own); }

const Log_form event_form = {"tensorboard", has_events, open_event_log, add_event, add_histogram_event, free_time};
