/* test_range.c: the range of a chart in a terminal (range.c) and in the page (page.js) are one: both find it for random
 * curves, the page's own text run by Node. */
#include "base/words.h"
#include "look/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CASES = 3000, CURVES = 7, MOST = 130 };

static uint64_t random_state = 12;
static int64_t draw(int64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)below);
}
static double unit(void) { return (double)draw(1 << 30) / (1 << 30); }

/* A curve that falls, stays or explodes; numbers that are not finite among them. */
static int draw_curve(Point *to)
{
    int n = (int)(draw(4) ? draw(MOST) : draw(12));
    double top = pow(10, 4 * unit() - 2), far = draw(3) ? 1 : pow(10, 6 * unit()), noise = draw(2) ? 0 : 0.1;
    for (int i = 0; i < n; i++) {
        double y = draw(9) ? top / (1 + i * unit()) + noise * unit() : 0;
        if (draw(40) == 0) y *= far;
        if (draw(300) == 0) y = draw(2) ? NAN : -INFINITY;
        to[i] = (Point){.value = draw(5) ? y : -y};
    }
    return n;
}

/* The values of a case, as the page has them: null is no number. */
static void write_case(FILE *f, const Curve *curve, int n)
{
    fprintf(f, "[");
    for (int i = 0; i < n; i++) {
        fprintf(f, "%s{series: {values: [", i ? ", " : "");
        for (int k = 0; k < curve[i].n; k++)
            if (isfinite(curve[i].at[k].value)) fprintf(f, "%.17g,", curve[i].at[k].value);
            else fprintf(f, "null,");
        fprintf(f, "]}}");
    }
    fprintf(f, "]");
}

static void write_function(FILE *f, const char *page, const char *from, const char *end)
{
    const char *at = strstr(page, from), *to = at ? strstr(at, end) : NULL;
    if (!to) fail(EXIT_ERROR, "runtime/look/page.js", "expected %s", from);
    fprintf(f, "%.*s%s", (int)(to - at), at, end);
}

static int write_cases(FILE *f)
{
    static Point point[CURVES][MOST];
    int cut = 0;
    for (int c = 0; c < CASES; c++) {
        Curve curve[CURVES];
        double low, high;
        int n = 1 + (int)draw(CURVES);
        for (int i = 0; i < n; i++) curve[i] = (Curve){.at = point[i], .n = draw_curve(point[i])};
        bool found = usual_range(curve, n, &low, &high);
        cut += found;
        fprintf(f, "check(%d, ", c);
        write_case(f, curve, n);
        if (found) fprintf(f, ", [%.17g, %.17g]);\n", low, high);
        else fprintf(f, ", null);\n");
    }
    return cut;
}

int main(void)
{
    char path[] = "/tmp/lathe-range-XXXXXX";
    static char page[1 << 17]; /* ends with a zero */
    FILE *script = fopen("runtime/look/page.js", "r");
    bug_if(!script || fread(page, 1, sizeof page - 1, script) == sizeof page - 1);
    fclose(script);
    if (system("command -v node >/dev/null 2>&1") != 0) return puts("skipped: Node is missing"), 77;
    FILE *f = fdopen(mkstemp(path), "w");
    write_function(f, page, "const isNumber", ";\n");
    write_function(f, page, "function usualRange(", "\n}\n");
    /* the page leaves room around the range */
    fprintf(
        f, "let failed = 0;\nfunction check(number, lines, wanted) {\n"
           "  const got = usualRange(lines), room = wanted && .04 * (wanted[1] - wanted[0]);\n"
           "  const same = wanted ? got && got[0] === wanted[0] - room && got[1] === wanted[1] + room : got === null;\n"
           "  if (!same && failed++ < 5) console.log('case', number, 'page.js', got, 'range.c', wanted);\n}\n");
    int cut = write_cases(f);
    fprintf(f, "process.exit(failed ? 1 : 0);\n");
    fclose(f);
    int status = system(text_of("node %s", path));
    unlink(path);
    printf("%d charts, of %d something is cut off\n", CASES, cut);
    return status != 0 || cut < CASES / 20 || cut > CASES * 19 / 20;
}
