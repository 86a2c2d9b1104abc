/* words.c: the trainer's messages and text functions: failures, nearest names, reading and writing numbers. */
#include "base/printable.h"
#include "base/thread.h"
#include "base/words.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------ memory */

/* Does not allocate. */
static _Noreturn void out_of_memory(size_t bytes)
{
    fprintf(stderr,
            "trainer: error: out of memory: %zu more bytes are needed; end other programs, or rebuild with a smaller "
            "batch\n",
            bytes);
    exit(EXIT_ERROR);
}

void *must_alloc(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p) out_of_memory(bytes);
    return p;
}

void *must_grow(void *at, size_t bytes)
{
    void *p = realloc(at, bytes ? bytes : 1);
    if (!p) out_of_memory(bytes);
    return p;
}

/* ------------------------------------------------------------------ messages */

static char *vtext(const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *s = n < 0 ? NULL : malloc((size_t)n + 1);
    if (!s) out_of_memory(n < 0 ? 0 : (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, args);
    return s;
}

FILE *print_to(char **text, size_t *bytes)
{
    FILE *f = open_memstream(text, bytes);
    if (!f) fail(EXIT_ERROR, NULL, "out of memory: a text");
    return f;
}

void end_print(FILE *f)
{
    if (fclose(f) != 0) fail(EXIT_ERROR, NULL, "out of memory: a text");
}

char *text_of(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *s = vtext(fmt, args);
    va_end(args);
    return s;
}

/* All output for people goes through here: control characters and bytes that are not UTF-8 are escaped. */
void vshow(FILE *f, const char *fmt, va_list args)
{
    char *text = vtext(fmt, args), *plain = must_alloc(printable_room(strlen(text)));
    fwrite(plain, 1, make_printable(plain, text, strlen(text), "\n\t"), f);
    free(text);
    free(plain);
}

void show(FILE *f, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vshow(f, fmt, args);
    va_end(args);
}

/* Text of a model or a file: control characters are escaped only on a terminal. */
void show_raw(FILE *f, const char *text, size_t n)
{
    if (isatty(fileno(f))) show(f, "%.*s", (int)n, text);
    else fwrite(text, 1, n, f);
}

static const char *advice, *program = "trainer";
static bool quiet;
static const char *notes; /* a file for remarks of a quiet program; NULL: none */
static bool (*tell_first)(int code, const char *text);

void name_program(const char *name) { program = name; }

void advise(const char *words) { advice = words; }

void fail(int code, const char *place, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = text_of("%s: error: %s", place ? place : program, vtext(fmt, args));
    hand_failure(code, text);
    end_program(code, text);
}

void before_failing(bool (*tell)(int code, const char *text)) { tell_first = tell; }

void end_program(int code, const char *text)
{
    fflush(stdout);
    if (tell_first && tell_first(code, text)) exit(code);
    show(stderr, "%s\n", text);
    if (advice && code == EXIT_DATA) show(stderr, "note: %s\n", advice);
    exit(code);
}

void keep_quiet(void) { quiet = true; }

void note_into(const char *path) { notes = path; }

/* Opened anew for each: remarks are few.  Without the file they are lost. */
static void note_aside(const char *words)
{
    FILE *f = fopen(notes, "a");
    if (!f) return;
    show(f, "%s\n", words);
    fclose(f);
}

void note(const char *fmt, ...)
{
    va_list args;
    if (quiet && !notes) return;
    va_start(args, fmt);
    char *s = vtext(fmt, args);
    va_end(args);
    if (quiet) note_aside(s);
    else show(stderr, "note: %s\n", s);
    free(s);
}

void bug_at(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: mistake in the trainer: %s\n", file, line, what);
    abort();
}

void add_word(Words *w, const char *word)
{
    w->at = must_grow(w->at, sizeof *w->at * (size_t)(w->n + 1));
    w->at[w->n++] = word;
}

/* ------------------------------------------------------------------ nearest name */

/* Levenshtein distance; '-' and '_' are the same letter.  Words are short. */
static int distance(const char *a, const char *b)
{
    size_t n = strlen(b);
    int row[64];
    if (n >= 64) return 1000;
    for (size_t j = 0; j <= n; j++) row[j] = (int)j;
    for (size_t i = 0; a[i]; i++) {
        int diagonal = row[0];
        char letter = a[i] == '_' ? '-' : a[i];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < n; j++) {
            int change = diagonal + (letter != (b[j] == '_' ? '-' : b[j]));
            int gap = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = gap < change ? gap : change;
        }
    }
    return row[n];
}

const char *nearest_word(const char *word, const char *const *words, int n)
{
    const char *best = NULL;
    int least = (int)strlen(word) / 3 + 2; /* a name farther away is not suggested */
    for (int i = 0; i < n; i++) {
        int d = distance(word, words[i]);
        if (d < least) least = d, best = words[i];
    }
    return best;
}

/* ------------------------------------------------------------------ numbers */

char *bytes_text(int64_t bytes)
{
    static const char *const unit[] = {"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
    double x = (double)bytes;
    int u = 0;
    for (; x >= 1000 && u < 6; u++) x /= 1000;
    return u == 0 ? text_of("%lld bytes", (long long)bytes)
                  : text_of("%.*f %s",
                            x < 9.995   ? 2
                            : x < 99.95 ? 1
                                        : 0,
                            x, unit[u]);
}

/* 'text', or $'text' if it has control characters. */
char *shell_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,%";
    size_t n = strlen(text), shown = 0;
    if (*text && !text[strspn(text, plain)]) return text_of("%s", text);
    char *word = must_alloc(printable_room(n)), *whole = must_alloc(4 * n + 4), *at = whole;
    shown = make_printable(word, text, n, "");
    bool spelled = shown != n;
    free(word);
    if (spelled) *at++ = '$';
    *at++ = '\'';
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (spelled && (c < 32 || c > 126)) at += sprintf(at, "\\x%02x", c);
        else if (spelled && (c == '\'' || c == '\\')) at += sprintf(at, "\\%c", c);
        else at += c == '\'' ? sprintf(at, "'\\''") : (*at = *text, 1);
    }
    *at = '\'';
    return whole;
}

char *grouped_text(int64_t n)
{
    char *digits = text_of("%lld", (long long)n), *out = must_alloc(40), *to = out;
    size_t length = strlen(digits);
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && digits[i - 1] != '-' && (length - i) % 3 == 0) *to++ = ',';
        *to++ = digits[i];
    }
    free(digits);
    return out;
}

void print_padded(FILE *f, const char *s, int width)
{
    for (const char *at = s; *at; at++) width -= (*at & 0xc0) != 0x80;
    show(f, "%s%*s", s, width > 0 ? width : 0, "");
}

/* 15 digits: 0.05 stays 0.05. */
void print_json(json_t *all)
{
    size_t plain =
        isatty(STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0; /* other characters of a name could act on a terminal */
    bug_if(!all);
    json_dumpf(all, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15) | plain);
    putchar('\n');
    json_decref(all);
}

bool parse_real(const char *s, double *x)
{
    char *end;
    if (!*s || isspace((unsigned char)*s)) return false;
    *x = strtod(s, &end);
    return *end == 0 && isfinite(*x);
}

double number_of_variable(const char *variable, double usual, const char *unit)
{
    const char *text = getenv(variable);
    double x = usual;
    if (text && *text && (!parse_real(text, &x) || x <= 0))
        fail(EXIT_USAGE, NULL, "%s=%s: expected a number of %s above 0", variable, text, unit);
    return x;
}

bool parse_count(const char *s, int64_t *n)
{
    char *end;
    if (!*s || isspace((unsigned char)*s)) return false;
    errno = 0;
    *n = strtoll(s, &end, 10);
    if (*end == 0) return errno == 0;
    double x;
    if (!parse_real(s, &x) || x != floor(x) || fabs(x) > 0x1p53) return false;
    *n = (int64_t)x;
    return true;
}

bool parse_size(const char *s, int64_t *bytes)
{
    static const char units[] = "KMGT";
    char *end;
    double x = strtod(s, &end);
    if (end == s || !(x >= 0)) return false;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        x *= (double)(INT64_C(1) << (10 * (unit - units + 1)));
        end++;
        if (*end == 'i') end++;
    }
    if (*end == 'B' || *end == 'b') end++;
    *bytes = x < 9e18 ? (int64_t)x : INT64_MAX;
    return *end == 0;
}

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

char *error_text(int number)
{
    char *s = text_of("%s", strerror(number));
    *s = (char)tolower((unsigned char)*s);
    return s;
}

bool has_end(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n >= k && strcmp(name + n - k, end) == 0;
}

double without_sign(double x) { return isnan(x) ? (double)NAN : x; }
