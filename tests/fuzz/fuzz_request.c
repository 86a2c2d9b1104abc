/* fuzz_request.c: what a client asks a server for, of a text and of a chat; what is taken is within its limits. */
#include "base/words.h"
#include "fuzz.h"
#include "serve/request.h"

#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
    if (!holds) abort();
}

static void check_limits(const Request *r)
{
    check(r->seed >= 0 && r->most >= 0 && r->top_k >= 0 && r->stops <= MOST_STOPS);
    check(!r->has_temperature || (r->temperature >= 0 && r->temperature <= 100));
    check(!r->has_top_p || (r->top_p > 0 && r->top_p <= 1));
    check(r->chat ? r->messages > 0 && r->messages <= MOST_MESSAGES : r->prompt.at != NULL);
    for (int i = 0; i < r->stops; i++) check(*r->stop[i] != 0);
    for (int i = 0; i < r->messages; i++)
        check(r->said[i].role && r->said[i].text.at && (int64_t)strlen(r->said[i].text.at) == r->said[i].text.bytes);
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    (void)path;
    for (int chat = 0; chat < 2; chat++) {
        Request r;
        Refusal f = {0};
        if (read_request(text, n, chat, &r, &f)) check_limits(&r);
        else check(f.words[0] && memchr(f.words, 0, sizeof f.words));
        free_request(&r);
    }
}
