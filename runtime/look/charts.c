/* charts.c: finds dygraphs (Debian: libjs-dygraphs), which draws the charts of a report. */
#include "base/file.h"
#include "base/words.h"
#include "look/page.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_CHARTS = 2 << 20 }; /* bytes of a file of it */

static char *small_file(const char *folder, const char *name)
{
    struct stat about;
    char *path = text_of("%s/%s", folder, name), *text = NULL;
    FILE *f = open_stream_to_read(path);
    if (f && fstat(fileno(f), &about) == 0 && S_ISREG(about.st_mode) && about.st_size < MOST_CHARTS) {
        text = must_alloc((size_t)about.st_size + 1);
        text[fread(text, 1, (size_t)about.st_size, f)] = 0;
    }
    if (f) fclose(f);
    free(path);
    return text;
}

/* The last line names a map of the code for debuggers, which a browser would fetch. */
static void cut_map(char *code)
{
    char *map = code ? strstr(code, "# sourceMappingURL=") : NULL;
    if (map) memset(map, ' ', strcspn(map, "\r\n*"));
}

bool find_charts(Charts *to)
{
    const char *own = getenv("LATHE_DYGRAPHS"), *folder = own && *own ? own : "/usr/share/javascript/dygraphs";
    to->code = small_file(folder, "dygraph.min.js");
    to->style = small_file(folder, "dygraph.min.css");
    cut_map(to->code);
    cut_map(to->style);
    if (to->code && to->style) return true;
    free_charts(to);
    return false;
}

const char *charts_remedy(void)
{
    return "reports are drawn by dygraphs, which is not installed; Debian, Ubuntu: apt install libjs-dygraphs (or name "
           "the folder of dygraph.min.js and dygraph.min.css in LATHE_DYGRAPHS)";
}

void free_charts(Charts *c)
{
    free(c->code);
    free(c->style);
    *c = (Charts){NULL, NULL};
}
