/* amalgamate.c: a program of the build: joins the runtime's files that a library is made of to one text.
 *
 *     amalgamate OUT RUNTIME ALL PREPROCESSED
 *
 * ALL (runtime/library/all.def) includes the parts, which are C files, in order; PREPROCESSED is what the C
 * preprocessor makes of it.  The text has two halves, with a line in between where the model goes: first all
 * headers, each once, then the parts.  All functions become static.  A name of a part's own that an earlier part
 * has, too, is renamed. */
#include "base/util.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef VEC(const char *) Names_of;
typedef struct Part_of { /* or a header that is included once */
    const char *file;
    Names_of names;   /* of its own, at file scope */
    Names_of renamed; /* those that an earlier part has, or a header that it does not include */
} Part_of;
typedef VEC(Part_of) Parts;

static const char *runtime;
static Parts parts, headers;
static Names_of shared;                  /* of the system, and C's keywords */
static Names_of written, system_headers; /* headers that are in the text already */

static bool is_known(const Names_of *names, const char *word)
{
    for (int i = 0; i < names->n; i++)
        if (same(names->at[i], word)) return true;
    return false;
}

static void learn_name(Names_of *names, const char *word)
{
    if (!is_known(names, word)) push(names, copy_string(word));
}

/* Of a file in the runtime, or anywhere. */
static const char *text_of_file(const char *file)
{
    const char *path = *file == '/' ? file : format("%s/%s", runtime, file), *text = read_file(path, NULL);
    if (!text) die("cannot read %s", path);
    return text;
}

/* Whether a second inclusion adds nothing. */
static bool is_guarded(const char *file)
{
    const char *text = text_of_file(file), *guard = strstr(text, "\n#ifndef LATHE_");
    return guard && strncmp(guard + 9, strstr(guard, "\n#define ") + 9, strcspn(guard + 9, "\n")) == 0;
}

/* ------------------------------------------------------------------ names at file scope */

typedef struct Scan {
    int depth, round;
    bool enumerated, listed; /* an enum's name was read; inside of its braces */
} Scan;

static bool is_word_character(char c) { return isalnum((unsigned char)c) || c == '_'; }

static void scan_line(Scan *s, const char *at, Names_of *to)
{
    for (; *at; at++) {
        if (*at == '"' || *at == '\'') {
            for (const char quote = *at++; *at && *at != quote; at++) at += *at == '\\' && at[1];
            if (!*at) return;
        } else if (isdigit((unsigned char)*at)) {
            while (is_word_character(at[1]) || at[1] == '.') at++;
        } else if (is_word_character(*at)) {
            size_t n = 0;
            while (is_word_character(at[n])) n++;
            const char *word = copy_bytes_as_string(at, n);
            at += n - 1;
            if (same(word, "enum") && !s->depth) s->enumerated = true;
            if ((!s->depth || (s->depth == 1 && s->listed)) && !s->round) learn_name(to, word);
        } else if (*at == '{') {
            if (++s->depth == 1 && !s->round) s->listed = s->enumerated;
            s->enumerated = false;
        } else if (*at == '}') s->depth--, s->listed = false;
        else if (*at == '(') s->round++;
        else if (*at == ')') s->round--;
        else if (*at == ';' && !s->depth) s->enumerated = false;
    }
}

static Part_of *part_called(const Parts *all, const char *file)
{
    for (int i = 0; i < all->n; i++)
        if (same(all->at[i].file, file)) return &all->at[i];
    return NULL;
}

/* Where the names of a file go that the preprocessor has come to. */
static Names_of *owner_of(const char *path, Part_of **part)
{
    const size_t n = strlen(runtime);
    if (strncmp(path, runtime, n) != 0 || path[n] != '/') return &shared;
    const char *file = copy_string(path + n + 1);
    Part_of *own = part_called(&parts, file);
    if (own) *part = own;
    else if (is_guarded(file)) {
        if (!part_called(&headers, file)) push(&headers, ((Part_of){.file = file}));
        return &part_called(&headers, file)->names;
    }
    return *part ? &(*part)->names : &shared;
}

static void take_names(const char *preprocessed)
{
    Scan s = {0};
    Part_of *part = NULL;
    Names_of *to = &shared;
    for (const char *at = preprocessed; *at;) {
        const size_t n = strcspn(at, "\n");
        char *line = copy_bytes_as_string(at, n), *path = line[0] == '#' ? strchr(line, '"') : NULL;
        if (path) *strchr(path + 1, '"') = 0, to = owner_of(path + 1, &part);
        else if (line[0] != '#') scan_line(&s, line, to);
        at += n + (at[n] == '\n');
    }
}

static void take_keywords(void)
{
    static const char *const words[] = {
        "static",   "const",         "void",     "int",      "char",           "float",      "double",        "long",
        "unsigned", "short",         "struct",   "enum",     "union",          "typedef",    "inline",        "extern",
        "_Bool",    "signed",        "register", "volatile", "__attribute__",  "_Noreturn",  "_Thread_local", "sizeof",
        "_Alignas", "__extension__", "asm",      "__asm__",  "_Static_assert", "__inline__", "restrict"};
    for (int i = 0; i < COUNT_OF(words); i++) learn_name(&shared, words[i]);
}

/* ------------------------------------------------------------------ the text */

typedef struct Brackets { /* where a line begins */
    int depth;
    bool comment, continued; /* in a comment; in a line of the preprocessor */
} Brackets;

static void count_brackets(Brackets *b, const char *line, size_t n)
{
    const bool directive = b->continued || line[strspn(line, " ")] == '#';
    for (size_t i = 0; i < n; i++) {
        if (b->comment) {
            if (line[i] == '*' && line[i + 1] == '/') b->comment = false, i++;
        } else if (line[i] == '/' && line[i + 1] == '*') b->comment = true, i++;
        else if (line[i] == '"' || line[i] == '\'') {
            for (const char quote = line[i++]; i < n && line[i] != quote; i++) i += line[i] == '\\';
        } else if (!directive) b->depth += (line[i] == '{') - (line[i] == '}');
    }
    b->continued = directive && n && line[n - 1] == '\\';
}

/* Whether a declaration of a function begins here, at file scope: it has a type, a name and brackets. */
static bool is_prototype(const char *line, size_t n)
{
    static const char *const others[] = {"typedef", "static", "extern",      "enum",           "struct",       "union",
                                         "MATH",    "KERNEL", "LATHE_LOCAL", "_Static_assert", "static_assert"};
    size_t word = 0;
    if (!isalpha((unsigned char)*line) && *line != '_') return false;
    while (is_word_character(line[word])) word++;
    for (int i = 0; i < COUNT_OF(others); i++)
        if (strlen(others[i]) == word && strncmp(line, others[i], word) == 0) return false;
    return line[word] != '(' && memchr(line, '(', n) != NULL;
}

/* The file of `#include "file"`, which may lie beside `in`; NULL: the line is no such. */
static const char *included(const char *in, const char *line)
{
    const char *word = "#include \"", *last = strrchr(in, '/');
    if (strncmp(line, word, strlen(word)) != 0) return NULL;
    const char *file = copy_bytes_as_string(line + strlen(word), strcspn(line + strlen(word), "\""));
    const char *beside = format("%.*s%s", last ? (int)(last + 1 - in) : 0, in, file);
    return access(format("%s/%s", runtime, beside), R_OK) == 0 ? beside : file;
}

static bool line_begins(const char *line, const char *word) { return strncmp(line, word, strlen(word)) == 0; }

static const char *after_line(const char *at) { return at + strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n'); }

/* Behind the #endif of the condition that the line begins. */
static const char *behind_condition(const char *at)
{
    int open = 0;
    do {
        open += line_begins(at, "#if") - line_begins(at, "#endif");
        at = after_line(at);
    } while (open && *at);
    return at;
}

static void add_header(Text *t, const char *file);

/* head: the text is of headers, which are written where they are first included, and whose functions become static. */
static void add_text(Text *t, const char *file, bool head)
{
    Brackets b = {0};
    for (const char *at = text_of_file(file); *at; at = after_line(at)) {
        while (!b.comment && line_begins(at, "#ifdef __cplusplus")) at = behind_condition(at);
        const size_t n = strcspn(at, "\n");
        const char *other = b.comment ? NULL : included(file, at);
        if (other && is_guarded(other)) {
            if (head) add_header(t, other);
        } else if (other) add_text(t, other, head);
        else if (!b.comment && line_begins(at, "#include <") && is_known(&system_headers, copy_bytes_as_string(at, n)))
            ; /* is among the first lines */
        else {
            if (head && !b.depth && !b.comment && !b.continued && is_prototype(at, n)) say(t, "static ");
            say(t, "%.*s\n", (int)n, at);
            count_brackets(&b, at, n);
        }
        if (!*at) break;
    }
}

static void add_header(Text *t, const char *file)
{
    if (is_known(&written, file)) return;
    learn_name(&written, file);
    add_text(t, file, true);
    say(t, "\n");
}

/* Headers that parts include, in their order. */
static void add_headers_of(Text *t, const char *file)
{
    for (const char *at = text_of_file(file); *at; at = after_line(at)) {
        const char *other = included(file, at);
        if (other && is_guarded(other)) add_header(t, other);
        else if (other) add_headers_of(t, other);
    }
}

/* Macros that a file defines, or one that it includes for itself. */
static void add_macros_of(Names_of *all, const char *file)
{
    for (const char *at = text_of_file(file); *at; at = after_line(at)) {
        const char *other = included(file, at);
        if (other && !is_guarded(other)) add_macros_of(all, other);
        if (!line_begins(at, "#define ")) continue;
        size_t n = 0;
        while (is_word_character(at[8 + n])) n++;
        learn_name(all, copy_bytes_as_string(at + 8, n));
    }
}

/* Whether a file includes a header, itself or by others. */
static bool includes(const char *file, const char *header)
{
    for (const char *at = text_of_file(file); *at; at = after_line(at)) {
        const char *other = included(file, at);
        if (other && (same(other, header) || includes(other, header))) return true;
    }
    return false;
}

static void find_renamed_of(int k)
{
    Part_of *p = &parts.at[k];
    Names_of seen = {0}, others = {0};
    for (int i = 0; i < headers.n; i++) {
        Names_of *to = includes(p->file, headers.at[i].file) ? &seen : &others;
        for (int e = 0; e < headers.at[i].names.n; e++) push(to, headers.at[i].names.at[e]);
    }
    for (int i = 0; i < k; i++)
        for (int e = 0; e < parts.at[i].names.n; e++) push(&others, parts.at[i].names.at[e]);
    for (int i = 0; i < p->names.n; i++) {
        const char *name = p->names.at[i];
        if (is_known(&others, name) && !is_known(&seen, name) && !is_known(&shared, name)) push(&p->renamed, name);
    }
}

static const char *stem_of(const char *file)
{
    const char *name = strrchr(file, '/') + 1;
    return copy_bytes_as_string(name, strcspn(name, "."));
}

static void join_part(Text *t, const Part_of *p)
{
    Names_of macros = {0};
    say(t, "/* ==== %s */\n", p->file);
    for (int i = 0; i < p->renamed.n; i++)
        say(t, "#define %s %s_of_%s\n", p->renamed.at[i], p->renamed.at[i], stem_of(p->file));
    add_text(t, p->file, false);
    add_macros_of(&macros, p->file);
    for (int i = 0; i < macros.n; i++) say(t, "#undef %s\n", macros.at[i]);
    for (int i = 0; i < p->renamed.n; i++) say(t, "#undef %s\n", p->renamed.at[i]);
    say(t, "\n");
}

/* The list: comments and #include <…> are copied. */
static void take_list(Text *t, const char *file)
{
    for (const char *at = text_of_file(file); *at; at = after_line(at)) {
        const size_t n = strcspn(at, "\n");
        const char *part = included(file, at);
        if (part && !is_guarded(part)) push(&parts, ((Part_of){.file = part}));
        else if (!part) {
            say(t, "%.*s\n", (int)n, at);
            if (line_begins(at, "#include <")) learn_name(&system_headers, copy_bytes_as_string(at, n));
        }
    }
}

extern const char lathe_stamp[];

int main(int argc, char **argv)
{
    Text t = {0};
    say(&t, "/* %s */\n", lathe_stamp);
    if (argc != 5) die("amalgamate OUT RUNTIME ALL PREPROCESSED");
    runtime = argv[2];
    take_list(&t, argv[3]);
    take_keywords();
    take_names(text_of_file(argv[4]));
    for (int k = 0; k < parts.n; k++) find_renamed_of(k);
    add_headers_of(&t, argv[3]);
    say(&t, "/* ==== the model */\n");
    for (int k = 0; k < parts.n; k++) join_part(&t, &parts.at[k]);
    return write_file(argv[1], t.at, t.n) ? 0 : 1;
}
