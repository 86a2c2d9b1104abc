/* escape.c: the one writer for each language that text from outside is printed in: names, paths, lines of files. */
#include "base/util.h"

#include "runtime/base/printable.h"

#include <string.h>

/* ------------------------------------------------------------------ a person's terminal */

char *printable(const char *text, const char *keep)
{
    size_t n = strlen(text);
    char *to = alloc(printable_room(n));
    make_printable(to, text, n, keep);
    return to;
}

void say_text_to(FILE *f, const char *text) { fputs(printable(text, "\n\t"), f); }

void say_to(FILE *f, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say_text_to(f, vformat(fmt, args));
    va_end(args);
}

/* ------------------------------------------------------------------ C */

static void say_octal(Text *t, const char *bytes, int n)
{
    for (int i = 0; i < n; i++) say(t, "\\%03o", (unsigned char)bytes[i]);
}

/* Octal digits end by themselves, unlike hexadecimal ones; ?? could begin a trigraph. */
char *quoted(const char *text)
{
    if (!text) return "NULL";
    Text t = {0};
    uint32_t code;
    say(&t, "\"");
    for (size_t left = strlen(text); left;) {
        int n = utf8_character((const unsigned char *)text, (int64_t)left, &code);
        if (n == 0) say_octal(&t, text, n = 1);
        else if (code == '\n') say(&t, "\\n");
        else if (code == '"' || code == '\\') say(&t, "\\%c", (int)code);
        else if (code == '?' && t.at[t.n - 1] == '?') say(&t, "\\?");
        else if (is_control(code)) say_octal(&t, text, n);
        else say_bytes(&t, text, (size_t)n);
        text += n, left -= (size_t)n;
    }
    say(&t, "\"");
    return t.at;
}

/* A blank between stars and strokes; a stroke at the end that joins lines is none either. */
char *in_comment(const char *text)
{
    Text t = {0};
    for (const char *s = printable(text, ""); *s; s++) {
        bool mark = t.n && ((*s == '/' && t.at[t.n - 1] == '*') || (*s == '*' && t.at[t.n - 1] == '/'));
        say(&t, "%s%c", mark ? " " : "", *s);
    }
    return t.n ? t.at : "";
}

/* ------------------------------------------------------------------ JSON */

/* JSON is UTF-8; a text with other bytes is written as escape_bytes() has it. */
void say_json_string(Text *t, const char *text)
{
    char *utf8 = alloc(printable_room(strlen(text)));
    if (is_utf8(text)) strcpy(utf8, text);
    else escape_bytes(utf8, text);
    say(t, "\"");
    for (const char *s = utf8; *s; s++)
        if (*s == '"' || *s == '\\') say(t, "\\%c", *s);
        else if ((unsigned char)*s < 32 || *s == 127) say(t, "\\u%04x", (unsigned)*s);
        else say_bytes(t, s, 1);
    say(t, "\"");
}

char *json_text(const char *text)
{
    Text t = {0};
    say_json_string(&t, text);
    return t.at;
}

/* ------------------------------------------------------------------ a shell */

char *shell_quoted(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,%";
    Text t = {0};
    if (*text && !text[strspn(text, plain)]) return copy_string(text);
    say(&t, "'");
    for (const char *s = text; *s; s++) {
        if (*s == '\'') say(&t, "'\\''");
        else say_bytes(&t, s, 1);
    }
    say(&t, "'");
    return t.at;
}
