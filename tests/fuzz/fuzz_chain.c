/* fuzz_chain.c: hashes.jsonl of a run.  Its lines as they are; then with hashes that fit, so that what is behind them is
 * read: what is taken has steps in order, and with any of its bytes changed it is refused. */
#include "base/chain.h"
#include "base/sums.h"
#include "base/words.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
    if (!holds) abort();
}

/* Whether it is taken. */
static bool take(const char *text, size_t n)
{
    Chain c;
    Sums s;
    char *why = NULL, *copy = must_alloc(n + 1);
    memcpy(copy, text, n);
    bool taken = parse_chain(&c, copy, n, &why);
    check(taken || why);
    for (int64_t i = 0; i < c.n; i++) {
        const Link *l = &c.link[i];
        check(l->step >= 0 && (i == 0 || c.link[i - 1].step <= l->step) && l->at >= copy && l->at + l->bytes <= copy + n);
        json_t *all = link_json(l);
        const char *sums = json_string_value(json_object_get(all, "sums"));
        check(json_integer_value(json_object_get(all, "step")) == l->step);
        if (sums && strlen(sums) >= SUMS_DIGITS) (void)parse_sums(sums, &s);
        json_decref(all);
    }
    free(why);
    close_chain(&c);
    return taken;
}

/* The same records, one a line, with hashes that fit. */
static char *sealed(const char *text, size_t n, size_t *bytes)
{
    char last[SHA256_DIGITS + 1] = "", *all;
    FILE *f = print_to(&all, bytes);
    for (const char *at = text, *end = text + n; at < end;) {
        const char *line = memchr(at, '\n', (size_t)(end - at)), *next = line ? line + 1 : end;
        json_t *record = json_loadb(at, (size_t)(next - at), 0, NULL);
        if (json_is_object(record)) {
            json_object_del(record, "previous");
            json_object_del(record, "hash");
            char *whole = chained_line(record, last);
            fputs(whole, f);
            free(whole);
        }
        json_decref(record);
        at = next;
    }
    end_print(f);
    return all;
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    size_t bytes;
    (void)path;
    take(text, n);
    char *all = sealed(text, n, &bytes);
    if (take(all, bytes) && bytes > 1) {
        const size_t place = (n * 2654435761u) % (bytes - 1); /* without the last end of line: half a line is left out */
        all[place] ^= 1 << n % 7;
        check(!take(all, bytes));
    }
    free(all);
}
