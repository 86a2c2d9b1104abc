/* script.c: the one way by which data enters a page: as JSON in a script, in which nothing is markup. */
#include "base/json_text.h"
#include "base/words.h"
#include "look/page.h"

#include <stdlib.h>
#include <string.h>

/* In JSON these characters stand in strings alone.  U+2028 and U+2029 end lines of JavaScript. */
static const char *escape_in_script(const char *at, size_t *n)
{
    *n = 1;
    if (*at == '<') return "\\u003c";
    if (*at == '>') return "\\u003e";
    if (*at == '&') return "\\u0026";
    if (strncmp(at, "\xe2\x80\xa8", 3) == 0) return *n = 3, "\\u2028";
    if (strncmp(at, "\xe2\x80\xa9", 3) == 0) return *n = 3, "\\u2029";
    return NULL;
}

static void put_script_json(FILE *f, const char *json)
{
    for (size_t n; *json; json += n) {
        const char *escape = escape_in_script(json, &n);
        if (escape) fputs(escape, f);
        else fwrite(json, 1, n, f);
    }
}

char *script_json(const json_t *all, size_t *bytes)
{
    char *text = NULL, *json = json_written(all, JSON_COMPACT | JSON_REAL_PRECISION(9));
    FILE *f = print_to(&text, bytes);
    put_script_json(f, json);
    end_print(f);
    free(json);
    return text;
}
