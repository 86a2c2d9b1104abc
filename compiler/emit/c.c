/* c.c: writes the folder of a generated program: model.c, model.h, model.plan.h, plan.txt, CMakeLists.txt. */
#include "emit/emit.h"
#include "passes/passes.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* what: says what the file contains, in order. */
void say_head(Page *page, Text *t, const char *file, const char *what)
{
    const Module *m = page->module;
    const Desc *d = page->desc;
    const char *config = d->config && *d->config ? format(", configuration %s", in_comment(d->config)) : "";
    say(t, "/* %s: %s, made by lathe from %s%s.\n", file, in_comment(d->model), in_comment(file_name(d->file)), config);
    say(t, " *   Edit that, not this file.  %s%s%s.\n *\n", page->precision.name,
        without(page->desc, PASS_fuse) ? ", not fused" : "",
        without(page->desc, PASS_plan) ? ", memory not shared" : "");
    say(t, " *   %s parameters, %s flop in a call of train, %s bytes in all\n *\n", grouped(m->plan.flat.count),
        grouped((int64_t)m->flops_per_step), grouped(m->plan.total));
    say(t, "%s */\n#include \"model.h\"\n", what);
}

void say_model(Page *page, Text *c, Text *h)
{
    Text entries = {0};
    say_header(page, h, say_entries(page, &entries));
    say_head(page, c, "model.c",
             " *   First the kernels; then a function per entry, which calls them; then tables for the trainer.");
    say(c, "\n");
    say_constants(page, c);
    say_functions(page, c);
    say_shapes(page, c);
    say_attentions(page, c);
    say_convolutions(page, c);
    say_by_ids(page, c);
    say(c, "%s", entries.n ? entries.at : "");
    say_tables(page, c);
}

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

/* plan.txt is read by people, so control characters are escaped. */
void put_plan(Page *page, const char *dir)
{
    Text plan = {0};
    print_plan(page, &plan);
    const char *text = printable(plan.at, "\n");
    put_file(dir, "plan.txt", text, strlen(text));
}

void emit_c(Page *page, const char *dir)
{
    Text c = {0}, h = {0};
    say_model(page, &c, &h);
    make_folder(dir);
    put_file(dir, "model.c", c.at, c.n);
    put_file(dir, "model.h", h.at, h.n);
    put_buffer_tables(page, dir);
    put_plan(page, dir);
    write_build_file(dir, false);
    if (page->desc->options->bundle) write_runtime(dir, false);
}
