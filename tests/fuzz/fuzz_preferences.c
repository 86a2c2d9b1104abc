/* fuzz_preferences.c: records of preference pairs: what is taken has a prompt and two different answers. */
#include "base/words.h"
#include "data/preferences.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
    if (!holds) abort();
}

static void check_record(const Preference *p)
{
    const Passage *a = p->answer;
    for (int i = 0; i < ANSWERS; i++) check(a[i].at && a[i].bytes > 0 && strlen(a[i].at) <= (size_t)a[i].bytes);
    check(a[CHOSEN].bytes != a[REJECTED].bytes || memcmp(a[CHOSEN].at, a[REJECTED].at, (size_t)a[CHOSEN].bytes) != 0);
    check(p->messages ? p->messages <= p->room : p->text.at != NULL);
    for (int i = 0; i < p->messages; i++) check(p->message[i].role && p->message[i].said.at);
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    (void)path;
    Preference p = {0};
    for (const char *end; n; n -= (size_t)(end - text), text = end) {
        char *why = NULL;
        end = memchr(text, '\n', n);
        end = end ? end + 1 : text + n;
        json_t *record = json_loadb(text, (size_t)(end - text), JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        if (record && read_preference(record, &p, &why)) check_record(&p);
        else check(!record || (why && *why));
        free(why);
        json_decref(record);
    }
    free(p.message);
}
