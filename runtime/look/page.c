/* page.c: puts a report together: the page (page.html, page.css, page.js, page_time.js, page_strips.js, page_run.js),
 * dygraphs, and the data.
 *
 * What comes from runs is in the page once, as JSON in a script that is not executed; page.js puts it into the document
 * as text.  So no name, sample or setting can become markup. */
#include "look/page.h"
#include "base/words.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern const unsigned char page_html[], page_css[], page_js[], page_time_js[], page_strips_js[],
    page_run_js[]; /* embed.cmake */

enum { MOST_BYTES = 1000000, POINTS = 40000 };

/* Code between <script> and </script> must not have "</script" or "<!--"; in JavaScript both stand in strings alone. */
static void put_code(FILE *f, const char *code)
{
    for (; *code; code++) {
        bool ends = strncasecmp(code, "</script", 8) == 0 || strncmp(code, "<!--", 4) == 0;
        fputs(ends ? "<\\" : "", f);
        if (!ends) fputc(*code, f);
    }
}

/* ------------------------------------------------------------------ the page */

/* page.html with each @NAME@ replaced. */
static void put_page(FILE *f, const Charts *charts, const char *data)
{
    const struct {
        const char *name, *text;
        bool code;
    } parts[] = {{"@STYLE@", (const char *)page_css, false},
                 {"@CHARTS_STYLE@", charts->style, false},
                 {"@CHARTS@", charts->code, true},
                 {"@DATA@", data, false},
                 {"@SCRIPT@", (const char *)page_js, true},
                 {"@TIME@", (const char *)page_time_js, true},
                 {"@STRIPS@", (const char *)page_strips_js, true},
                 {"@REST@", (const char *)page_run_js, true}};
    for (const char *at = (const char *)page_html; *at;) {
        const char *mark = strchr(at, '@');
        size_t n = mark ? (size_t)(mark - at) : strlen(at), length = 1;
        fwrite(at, 1, n, f);
        if (!mark) return;
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            if (strncmp(mark, parts[i].name, strlen(parts[i].name)) != 0) continue;
            length = strlen(parts[i].name);
            if (parts[i].code) put_code(f, parts[i].text);
            else fputs(parts[i].text, f);
        }
        if (length == 1) fputc('@', f);
        at = mark + length;
    }
}

static char *page_with(Past_run *const *runs, int n, const Charts *charts, bool watched, int64_t points, size_t *bytes)
{
    char *text = NULL;
    json_t *all = page_json(runs, n, points, watched);
    char *data = script_json(all, bytes);
    FILE *f = print_to(&text, bytes);
    put_page(f, charts, data);
    end_print(f);
    free(data);
    json_decref(all);
    return text;
}

/* Fewer points, until the page is small enough. */
char *page_of_runs(Past_run *const *runs, int n, const Charts *charts, bool watched, size_t *bytes)
{
    char *text = page_with(runs, n, charts, watched, POINTS, bytes);
    for (int64_t points = POINTS / 2; *bytes > MOST_BYTES && points > 1000; points /= 2) {
        free(text);
        text = page_with(runs, n, charts, watched, points, bytes);
    }
    return text;
}
