/* escape.h: text from outside as each language wants it: a person's terminal, C, JSON, a shell. */
#ifndef ESCAPE_H
#define ESCAPE_H

/* Shown to a person: control characters and bytes that are not UTF-8 are spelled out (../runtime/base/printable.h). */
char *printable(const char *text, const char *keep); /* but for the control characters of keep: "\n\t" */
void say_to(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void say_text_to(FILE *f, const char *text);

char *quoted(const char *text);                     /* a string of C, with its quotation marks; NULL of a null pointer */
char *in_comment(const char *text);                 /* within a comment of C: it cannot end there, nor begin another */
char *json_text(const char *text);                  /* a string of JSON, with its quotation marks */
void say_json_string(struct Text *t, const char *text); /* likewise */
char *shell_quoted(const char *text);                 /* one word for a shell */

#endif
