/* test_logs.c: what --log makes of lines of metrics.jsonl: the rows of the table, and the event file's records, whose
 * checksums and messages are read here by other ways than they are written. */
#include "harness.h"
#include "trainer/logs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char first_lines[] =
    "{\"step\":1,\"split\":\"train\",\"loss\":2.5,\"turns\":{\"critic\":{\"loss\":-0.75}},\"tokens\":12345678901,"
    "\"time\":1.5}\n"
    "{\"step\":1,\"split\":\"epoch\",\"source\":\"a,\\\"b\\\"\",\"seconds\":{\"data\":0.125},\"time\":2.25}\n";
static const char *const later_lines[] = {
    "{\"step\":2,\"split\":\"val\",\"loss\":null,\"accuracy\":0.333333333}\n",
    "{\"step\":2,\"split\":\"sample\",\"prompt\":\"é\\n\",\"text\":\"x,\\ny\",\"outputs\":[1,2]}\n",
    "{\"step\":300,\"split\":\"train\",\"loss\":1e-30,\"tokens\":7,\"time\":3}\n",
};

/* Of RFC 3720, by division of polynomials, the highest coefficient first. */
static uint32_t remainder_of(const unsigned char *at, size_t n)
{
    uint32_t r = ~0u, turned = 0;
    for (size_t i = 0; i < 8 * n; i++) {
        uint32_t out = r >> 31 ^ (at[i / 8] >> i % 8 & 1);
        r = r << 1 ^ (out ? 0x1edc6f41u : 0);
    }
    for (int i = 0; i < 32; i++) turned |= (~r >> i & 1) << (31 - i);
    return turned;
}

static uint64_t number_at(const unsigned char *at, int bytes)
{
    uint64_t x = 0;
    for (int i = bytes; i-- > 0;) x = x << 8 | at[i];
    return x;
}

static bool is_masked(uint64_t stored, uint32_t sum)
{
    return (uint32_t)stored == (sum >> 15 | sum << 17) + 0xa282ead8u;
}

/* ------------------------------------------------------------------ messages */

static uint64_t take_varint(const unsigned char **at)
{
    uint64_t x = 0;
    for (int shift = 0;; shift += 7) {
        unsigned char c = *(*at)++;
        x |= (uint64_t)(c & 127) << shift;
        if (!(c & 128)) return x;
    }
}

/* path: the fields that lead to the message, such as "5.1." for a value of a summary. */
static void tell_message(Text *t, const char *path, const unsigned char *at, const unsigned char *end)
{
    static const char *const messages[] = {"5.",     "5.1.",     "5.1.9.",     "5.1.9.1.",
                                           "5.1.8.", "5.1.8.2.", "5.1.8.2.2.", "7."};
    while (at < end) {
        uint64_t key = take_varint(&at);
        const char *field = format("%s%d", path, (int)(key >> 3)), *inner = format("%s.", field);
        float single;
        double wide;
        bool message = false;
        for (int i = 0; i < COUNT_OF(messages); i++) message |= same(messages[i], inner);
        switch (key & 7) {
        case 0: say(t, " %s=%llu", field, (unsigned long long)take_varint(&at)); break;
        case 1:
            memcpy(&wide, at, 8);
            say(t, " %s=%s", field, same(field, "1") && wide > 1e9 ? "time" : "?");
            at += 8;
            break;
        case 5:
            memcpy(&single, at, 4);
            say(t, " %s=%.9g", field, (double)single);
            at += 4;
            break;
        default: {
            uint64_t n = take_varint(&at);
            if (message) tell_message(t, inner, at, at + n);
            else say(t, " %s=%.*s", field, (int)n, (const char *)at);
            at += n;
        }
        }
    }
}

static const char *events_in(const char *path)
{
    Text t = {0};
    size_t n;
    const unsigned char *at = (const unsigned char *)read_file(path, &n), *end = at + n;
    while (at < end) {
        uint64_t bytes = number_at(at, 8);
        expect(is_masked(number_at(at + 8, 4), remainder_of(at, 8)), "the checksum of a length is wrong");
        expect(is_masked(number_at(at + 12 + bytes, 4), remainder_of(at + 12, bytes)),
               "the checksum of an event is wrong");
        tell_message(&t, "", at + 12, at + 12 + bytes);
        say(&t, "\n");
        at += bytes + 16;
    }
    expect(at == end, "the file ends in the middle of a record");
    return t.at;
}

/* ------------------------------------------------------------------ the run's files */

static const char events[] =
    " 1=time 3=brain.Event:2\n"
    " 1=time 7.1=1\n"
    " 1=time 2=1 5.1.1=train/loss 5.1.2=2.5 5.1.1=train/turns.critic.loss 5.1.2=-0.75 5.1.1=train/tokens "
    "5.1.2=1.23456788e+10 5.1.1=train/time 5.1.2=1.5\n"
    " 1=time 2=1 5.1.1=epoch/a,\"b\"/seconds.data 5.1.2=0.125 5.1.1=epoch/a,\"b\"/time 5.1.2=2.25\n"
    " 1=time 2=2 5.1.1=val/accuracy 5.1.2=0.333333343\n"
    " 1=time 2=2 5.1.1=sample/text 5.1.9.1.1=text 5.1.8.1=7 5.1.8.2.2.1=1 5.1.8.8=    é\n    x,\n    y\n"
    " 1=time 2=300 5.1.1=train/loss 5.1.2=1e-30 5.1.1=train/tokens 5.1.2=7 5.1.1=train/time 5.1.2=3\n";
static const char table[] = "step,split,loss,turns.critic.loss,tokens,time,source,seconds.data,accuracy,prompt,text\n"
                            "1,train,2.5,-0.75,12345678901,1.5,,,,,\n"
                            "1,epoch,,,,2.25,\"a,\"\"b\"\"\",0.125,,,\n"
                            "2,val,,,,,,,0.333333333,,\n"
                            "2,sample,,,,,,,,\"é\n\",\"x,\ny\"\n"
                            "300,train,1e-30,,7,3,,,,,\n";

static void put_text(const char *path, const char *text, const char *how)
{
    FILE *f = fopen(path, how);
    must(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void check_text(const char *what, const char *found, const char *expected)
{
    expect(same(found, expected), "%s:\n%s\nexpected:\n%s", what, found, expected);
}

static void check_files(const char *run, int number)
{
    size_t n;
    check_text("metrics.csv", read_file(format("%s/metrics.csv", run), &n), table);
    check_text("events", events_in(format("%s/events.out.tfevents.%06d", run, number)), events);
    for (int i = 0; i < number; i++)
        expect((access(format("%s/events.out.tfevents.%06d", run, i), F_OK) == 0) == (i == number - 1),
               "of the files before another than the last is there");
}

int main(void)
{
    char run[] = "/tmp/lathe-test-logs-XXXXXX";
    must(mkdtemp(run));
    const char *metrics = format("%s/metrics.jsonl", run);
    expect(remainder_of((const unsigned char *)"123456789", 9) == 0xe3069283u,
           "the checksum of the test itself is wrong");
    put_text(metrics, first_lines, "w");
    Logs *l = open_logs(&(Wanted_logs){.names = "csv,tensorboard", .run = run, .elapsed = 5});
    for (int i = 0; i < COUNT_OF(later_lines); i++) {
        put_text(metrics, later_lines[i], "a");
        add_to_logs(l, later_lines[i]);
    }
    close_logs(l);
    check_files(run, 0);
    put_text(metrics, "{\"step\":301,\"spl", "a"); /* of a run that was killed: the trainer cuts it off before */
    put_text(format("%s/metrics.csv", run), "step,split,los", "w");
    close_logs(open_logs(&(Wanted_logs){.run = run, .elapsed = 9})); /* resumed: the logs that are there go on */
    check_files(run, 1);
    close_logs(open_logs(&(Wanted_logs){.run = run, .elapsed = 9}));
    check_files(run, 2);
    return finish();
}
