/* cfunc_text.c: the text of a C function: its place in the Lua file, and what must not reach libclang.
 *
 * A description is untrusted and must not read files, so the only directive allowed is #define of a constant.  The
 * bytes are checked here, by rules that leave only one way to read a text: no backslashes (they join lines before
 * comments are found), no quotes (they hide what follows), # only at the beginning of a line.  A #define may use only
 * those above it, and its expansion is limited. */
#include "front/cfunc.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST_TEXT = 16384, LONGEST_CONSTANT = 100, MOST_NESTED = 1000, MOST_BRACES = 50 };

/* ------------------------------------------------------------------ messages */

void c_error(C_text *t, C_place at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *message = vformat(fmt, args);
    va_end(args);
    c_close(t);
    if (t->call.line > 0 && t->call.line != t->where.line)
        message = format("%s\n  in the call at %s:%d", message, t->call.file, t->call.line);
    Where w = t->where;
    if (t->line > 0) {
        w.line = t->line + at.line - 1;
        err_at(w, at.line == 1 ? t->column + at.column - 1 : at.column, "%s", message);
    }
    const char *line = t->text;
    for (int i = 1; i < at.line && strchr(line, '\n'); i++) line = strchr(line, '\n') + 1;
    err(w, "%s\n  at line %d, column %d of the C text: %.*s", message, at.line, at.column, (int)strcspn(line, "\n"),
        line);
}

static C_place place_of_offset(const C_text *t, const char *p)
{
    C_place at = {1, 1};
    for (const char *q = t->plain; q < p; q++)
        at = *q == '\n' ? (C_place){at.line + 1, 1} : (C_place){at.line, at.column + 1};
    return at;
}

/* ------------------------------------------------------------------ the place in the Lua file */

static void find_in(C_text *t, const char *source, const char *from)
{
    const char *at = strstr(from, t->text);
    if (!at) return;
    t->line = t->column = 1;
    for (const char *p = source; p < at; p++) {
        t->line += *p == '\n';
        t->column = *p == '\n' ? 1 : t->column + 1;
    }
}

/* Looks for the text from the line of the call on, then anywhere (it may come from a local). */
static void find_text(lua_State *L, C_text *t)
{
    const char *source = t->where.file ? source_text(trace_of(L), t->where.file) : NULL, *from = source;
    if (!source || !*t->text) return;
    for (int line = 1; line < t->where.line && strchr(from, '\n'); line++) from = strchr(from, '\n') + 1;
    find_in(t, source, from);
    if (!t->line) find_in(t, source, source);
}

/* ------------------------------------------------------------------ bytes and comments */

static bool is_quote(char c) { return c == '"' || c == '\''; }

/* Quotes are allowed in comments: don't. */
static void check_byte(C_text *t, const char *p, bool comment)
{
    if (*p == '\\') c_error(t, place_of_offset(t, p), "backslashes are not allowed in a C text, not even in comments");
    if (*p != '\n' && *p != '\t' && (unsigned char)*p < ' ')
        c_error(t, place_of_offset(t, p), "control characters are not allowed in a C text");
    if (is_quote(*p) && !comment)
        c_error(t, place_of_offset(t, p), "quotes (strings, characters, file names, asm) are not allowed in a C text");
}

static char *end_of_comment(char *p)
{
    if (p[1] == '/') return p + strcspn(p, "\n");
    char *end = strstr(p + 2, "*/");
    return end ? end + 2 : p + strlen(p);
}

static void blank_comments(C_text *t)
{
    char *plain = copy_string(t->text);
    t->plain = t->text; /* for places in messages until then */
    for (char *p = plain; *p;) {
        char *end = p[0] == '/' && (p[1] == '/' || p[1] == '*') ? end_of_comment(p) : p;
        if (p == end) check_byte(t, t->text + (p++ - plain), false);
        for (; p < end; p++) {
            check_byte(t, t->text + (p - plain), true);
            if (*p != '\n') *p = ' ';
        }
    }
    t->plain = plain;
}

/* ------------------------------------------------------------------ directives */

typedef struct Macro {
    const char *name;
    int weight; /* number of words of its expansion, at most */
} Macro;

typedef struct Macros {
    C_text *t;
    VEC(Macro) known;
    VEC(const char *) mentioned; /* words in replacements that were not macros */
} Macros;

static const char *word_at(const char **p)
{
    const char *start = *p;
    while (isalnum((unsigned char)**p) || **p == '_') (*p)++;
    return copy_bytes_as_string(start, (size_t)(*p - start));
}

static int weight_of(Macros *m, const char *word)
{
    for (int i = 0; i < m->known.n; i++)
        if (same(m->known.at[i].name, word)) return m->known.at[i].weight;
    push(&m->mentioned, word);
    return 1;
}

/* The replacement: numbers, words, operators, balanced parentheses. */
static int weight_of_body(Macros *m, const char *p, const char *end)
{
    int weight = 0, depth = 0;
    while (p < end) {
        const char *start = p;
        if (isalpha((unsigned char)*p) || *p == '_') weight += weight_of(m, word_at(&p));
        else p++, weight += *start != ' ' && *start != '\t';
        depth += (*start == '(') - (*start == ')');
        if (strchr("{};#", *start) || depth < 0 || (p == end && depth))
            c_error(m->t, place_of_offset(m->t, start), "a #define can only name a constant; write a function instead");
        if (weight > LONGEST_CONSTANT)
            c_error(m->t, place_of_offset(m->t, start), "this #define expands to more than %d words", LONGEST_CONSTANT);
    }
    return weight;
}

static void check_define(Macros *m, const char *p, const char *end)
{
    const char *start = p, *name = word_at(&p);
    C_place at = place_of_offset(m->t, start);
    if (!*name || isdigit((unsigned char)*name)) c_error(m->t, at, "#define NAME constant: the name is missing");
    if (*p == '(')
        c_error(m->t, at, "a #define cannot have parameters; write a function, `float %s(float x) { return …; }`",
                name);
    for (int i = 0; i < m->known.n; i++)
        if (same(m->known.at[i].name, name)) c_error(m->t, at, "'%s' is already defined", name);
    int before = m->mentioned.n, weight = weight_of_body(m, p, end);
    for (int i = 0; i < m->mentioned.n; i++)
        if (same(m->mentioned.at[i], name))
            c_error(m->t, at,
                    i < before ? "'%s' is used by a #define above this one" : "'%s' is defined in terms of itself",
                    name);
    push(&m->known, ((Macro){name, weight}));
}

static const char *skip_blanks(const char *p) { return p + strspn(p, " \t"); }

/* Checks the directive of a line that begins with #. */
static void check_directive(Macros *m, const char *line)
{
    const char *p = skip_blanks(line + (line[0] == '#' ? 1 : 2)), *start = p, *word = word_at(&p);
    if (line[0] == '#' && same(word, "define") && (*p == ' ' || *p == '\t')) {
        check_define(m, skip_blanks(p), p + strcspn(p, "\n"));
        return;
    }
    c_error(m->t, place_of_offset(m->t, line),
            "#%.*s is not allowed; the only directive in a C text is #define NAME constant",
            (int)strcspn(start, " \t\n"), start);
}

/* A bound for the parser's depth: words since the last end of a statement, words before each open brace, and `else`s,
 * since an `else` continues a statement that seemed to end. */
typedef struct Depth {
    int run, around, elses, parens, braces;
    struct {
        int around, parens;
    } open[MOST_BRACES];
} Depth;

static void note_operator(Depth *d, char c)
{
    d->run++;
    d->parens += (c == '(') - (c == ')');
    if (c == ';' && d->parens <= (d->braces ? d->open[d->braces - 1].parens : 0)) d->run = 0;
    if (c == '{' && d->braces < MOST_BRACES) {
        d->open[d->braces].around = d->around;
        d->open[d->braces++].parens = d->parens;
        d->around += d->run;
        d->run = 0;
    }
    if (c == '}' && d->braces > 0) {
        d->around = d->open[--d->braces].around;
        d->parens = d->open[d->braces].parens;
        d->run = 0;
    }
}

static void check_depth(Macros *m, Depth *d, const char *p)
{
    while (*p && *p != '\n') {
        const char *start = p;
        if (isalnum((unsigned char)*p) || *p == '_') {
            const char *word = word_at(&p);
            d->run += weight_of(m, word);
            d->elses += same(word, "else") ? 3 : 0;
        } else if (*p++ > ' ') note_operator(d, *start);
        if (d->run + d->around + d->elses > MOST_NESTED || d->braces == MOST_BRACES)
            c_error(m->t, place_of_offset(m->t, start),
                    "this is too long or too deeply nested; move parts into variables or functions");
    }
}

static const char *next_text_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : NULL;
}

static void check_directives(C_text *t)
{
    Macros m = {.t = t};
    Depth d = {0};
    for (const char *line = t->plain; line; line = next_text_line(line)) {
        const char *p = skip_blanks(line), *end = line + strcspn(line, "\n"), *hash = line;
        bool digraph = p[0] == '%' && p[1] == ':';
        if (*p == '#' || digraph) {
            check_directive(&m, p);
            hash = end;
        } else check_depth(&m, &d, line);
        for (; hash < end; hash++)
            if (*hash == '#' || (hash[0] == '%' && hash[1] == ':'))
                c_error(t, place_of_offset(t, hash),
                        "# must be at the beginning of a line, as in #define NAME constant");
    }
}

C_text *c_text(lua_State *L, const char *text, size_t bytes)
{
    C_text *t = NEW(C_text);
    *t = (C_text){.text = copy_bytes_as_string(text, bytes), .where = lua_place(L)};
    if (strlen(t->text) != bytes) err(t->where, "nn.cfunc: the C text contains a zero byte");
    if (bytes > LONGEST_TEXT) err(t->where, "nn.cfunc: the C text has %zu bytes; the limit is %d", bytes, LONGEST_TEXT);
    find_text(L, t);
    blank_comments(t);
    check_directives(t);
    return t;
}
