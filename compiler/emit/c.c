/* c.c: writes the folder of a generated program: model.c, model.h, plan.txt, CMakeLists.txt. */
#include "emit/emit.h"
#include "passes/passes.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* what: the kinds of things in it, in order. */
void say_head(Text *t, const Module *m, const char *file, const char *what)
{
    const Desc *d = m->desc;
    const char *config = d->config && *d->config ? format(", configuration %s", in_comment(d->config)) : "";
    say(t, "/* %s: %s, made by lathe from %s%s.\n", file, in_comment(d->model), in_comment(file_name(d->file)), config);
    say(t, " *   Edit that, not this file.  %s%s%s.\n *\n", precision_in_scope().name,
        without(m->desc, PASS_fuse) ? ", not fused" : "", without(m->desc, PASS_plan) ? ", memory not shared" : "");
    say(t, " *   %s parameters, %s flop in a call of train, %s bytes in all\n *\n", grouped(m->plan.parameter_count),
        grouped((int64_t)m->flops_per_step), grouped(m->plan.total));
    say(t, "%s */\n#include \"model.h\"\n", what);
}

/* Entries come before the functions they call are printed, but after them in the file.  Returns their prototypes. */
const char *say_entries(Text *entries, const Module *m)
{
    Text heads = {0};
    set_sizes(m->desc);
    name_parameters(m->desc);
    forget_constants();
    start_functions(m);
    for (int i = 0; i < m->programs.n; i++) {
        enter_scope(m, m->programs.at[i]);
        note_functions(m->programs.at[i]->kernels.at, m->programs.at[i]->kernels.n);
    }
    for (int i = 0; i < m->programs.n; i++) {
        enter_scope(m, m->programs.at[i]);
        emit_entry(entries, m, m->programs.at[i]);
        say_wrapped(&heads, format("%s;\n", entry_head(m, m->programs.at[i])));
    }
    for (int i = 0; i < m->programs.n; i++) name_functions(m->programs.at[i]->kernels.at, m->programs.at[i]->kernels.n);
    return heads.n ? heads.at : "";
}

/* As in what would be written. */
void name_kernels(const Module *m)
{
    Text none = {0};
    say_entries(&none, m);
}

static void say_model(Text *c, Text *h, const Module *m)
{
    Text entries = {0};
    say_header(h, m, say_entries(&entries, m));
    say_head(c, m, "model.c",
             " *   First the kernels; then one function an entry, which calls them in order;\n"
             " *   then what the trainer knows of the model.");
    say(c, "\n");
    say_constants(c);
    say_functions(c);
    say_shapes(c);
    say_attentions(c);
    say(c, "%s", entries.n ? entries.at : "");
    say_tables(c, m);
}

/* mkdir -p */
void make_folder(const char *dir)
{
    for (const char *s = strchr(dir + 1, '/');; s = strchr(s + 1, '/')) {
        char *part = s ? copy_bytes_as_string(dir, (size_t)(s - dir)) : copy_string(dir);
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            err((Where){0}, "cannot make the folder %s: %s\n  give another one with -o DIR", part, strerror(errno));
        if (!s || !s[1]) return;
    }
}

void put_file(const char *dir, const char *name, const char *text, size_t bytes)
{
    char *path = format("%s/%s", dir, name);
    size_t old_bytes;
    char *old = read_file(path, &old_bytes);
    if (old && old_bytes == bytes && memcmp(old, text, bytes) == 0) return;
    if (!write_file(path, text, bytes))
        err((Where){0}, "cannot write %s: %s\n  is the disk full, the folder writable?", path, strerror(errno));
}

/* For people. */
void put_plan(const char *dir, const Module *m)
{
    Text plan = {0};
    print_plan(&plan, m);
    const char *text = printable(plan.at, "\n");
    put_file(dir, "plan.txt", text, strlen(text));
}

void emit_c(const Module *m, const char *dir)
{
    Text c = {0}, h = {0};
    say_model(&c, &h, m);
    make_folder(dir);
    put_file(dir, "model.c", c.at, c.n);
    put_file(dir, "model.h", h.at, h.n);
    put_plan(dir, m);
    write_build_file(dir, false);
    if (m->desc->options->bundle) write_runtime(dir, false);
}
