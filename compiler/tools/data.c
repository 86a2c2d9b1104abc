/* data.c: lathe-data: what `lathe tokenize` and `lathe data` run: a program of its own, since lathe itself does
 * not link the runtime. */
#include "runtime/base/help.h"
#include "runtime/base/process.h"
#include "tools/data_command.h"

#include <string.h>

/* ------------------------------------------------------------------ options */

static _Noreturn void print_help_table(const Command_line *c)
{
    print_table_usage("lathe", c->name, c->usage, c->help);
    for (int i = 0; i < c->flags; i++) {
        print_table_row("option", c->flag[i].name, c->flag[i].kind == FLAG_ON ? "" : c->flag[i].argument,
                        c->flag[i].help);
        if (c->flag[i].kind == FLAG_NAMED)
            print_table_values(c->flag[i].name, ((const Named_text *)c->flag[i].to)->names);
    }
    exit(end_process("lathe", 0));
}

static _Noreturn void print_help(const Command_line *c)
{
    show(stdout, "usage: lathe %s %s\n\n%s\n\n", c->name, c->usage, c->help);
    for (int i = 0; i < c->flags; i++) {
        const Flag *f = &c->flag[i];
        char *left = text_of("%s %s", f->name, f->kind == FLAG_ON ? "" : f->argument);
        show(stdout, "  ");
        print_padded(stdout, left, 24);
        show(stdout, " %s\n", f->help);
    }
    exit(end_process("lathe", 0));
}

static const Flag *find_flag(const Command_line *c, const char *name, size_t n)
{
    const char *names[64];
    for (int i = 0; i < c->flags; i++) {
        names[i] = c->flag[i].name;
        if (strlen(names[i]) == n && strncmp(names[i], name, n) == 0) return &c->flag[i];
    }
    const char *close = nearest_word(name, names, c->flags);
    if (close) fail(EXIT_USAGE, NULL, "%s has no option %s; did you mean %s?", c->name, name, close);
    fail(EXIT_USAGE, NULL, "%s has no option %s; `lathe %s --help` lists them", c->name, name, c->name);
}

static void take_flag(const Flag *f, const char *value)
{
    switch (f->kind) {
    case FLAG_ON: *(bool *)f->to = true; break;
    case FLAG_TEXT: *(const char **)f->to = value; break;
    case FLAG_NAMED: ((Named_text *)f->to)->text = value; break;
    case FLAG_TEXTS: add_word(f->to, value); break;
    case FLAG_COUNT:
        if (!parse_count(value, f->to) || *(int64_t *)f->to < 1)
            fail(EXIT_USAGE, NULL, "%s %s: expected a whole number, 1 or more", f->name, value);
        break;
    }
}

void take_command_line(const Command_line *c, int argc, char **argv, int from, Words *rest)
{
    for (int i = from; i < argc; i++) {
        const char *word = argv[i], *equals = strchr(word, '=');
        if (asks_for_table(word)) print_help_table(c);
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) print_help(c);
        if (strncmp(word, "--", 2) != 0 && strcmp(word, "-o") != 0) {
            add_word(rest, word);
            continue;
        }
        const Flag *f = find_flag(c, word, equals ? (size_t)(equals - word) : strlen(word));
        if (f->kind == FLAG_ON && equals) fail(EXIT_USAGE, NULL, "%s takes no value", f->name);
        if (f->kind != FLAG_ON && !equals && i + 1 == argc)
            fail(EXIT_USAGE, NULL, "%s needs a value: %s %s (%s)", f->name, f->name, f->argument, f->help);
        take_flag(f, f->kind == FLAG_ON ? NULL : equals ? equals + 1 : argv[++i]);
    }
}

const char *need_flag(const Command_line *c, const char *name, const char *value)
{
    if (!value) fail(EXIT_USAGE, NULL, "%s needs %s; `lathe %s --help` says more", c->name, name, c->name);
    return value;
}

/* ------------------------------------------------------------------ commands */

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"data", data_command}, {"tokenize", tokenize_command}, {"sizes", sizes_command},
    {"new", new_command},   {"report", report_command},     {"runs", runs_command},
    {"plot", plot_command}, {"verify", verify_run_command}, {NULL, NULL}, /* the end */
};
enum { COMMANDS = sizeof commands / sizeof *commands - 1 };

int main(int argc, char **argv)
{
    const char *names[COMMANDS + 1];
    start_process("lathe");
    name_program("lathe");
    json_set_alloc_funcs(must_alloc, free); /* jansson silently leaves out values when memory runs out */
    if (argc < 2) fail(EXIT_USAGE, NULL, "lathe-data is run by lathe: `lathe tokenize`, `lathe data`");
    for (int i = 0; i < COMMANDS; i++) {
        names[i] = commands[i].name;
        if (strcmp(argv[1], names[i]) != 0) continue;
        return end_process("lathe", commands[i].run(argc - 1, argv + 1));
    }
    const char *close = nearest_word(argv[1], names, COMMANDS);
    fail(EXIT_USAGE, NULL, "there is no command %s%s%s%s", argv[1], close ? "; did you mean " : "", close ? close : "",
         close ? "?" : "");
}
