/* of_program.c: what a folder that `lathe build` wrote is: its trainer says it (`trainer info --json`). */
#include "diff/diff.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the command prints; *code: how it ended. */
static char *printed_by(const char *command, size_t *bytes, int *code)
{
    char part[1 << 14];
    Text t = {0};
    fflush(NULL);
    FILE *f = popen(command, "r");
    if (!f) fail(EXIT_ERROR, NULL, "cannot start a process");
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) say_bytes(&t, part, n);
    int status = pclose(f);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    *bytes = t.n;
    return t.at;
}

static json_t *info_of(const char *folder)
{
    const char *trainer = format("%s/trainer", folder);
    size_t bytes;
    int code;
    if (access(trainer, X_OK) != 0)
        fail(EXIT_DATA, folder, "it has the source of a program, and no trainer; build it, or name its description");
    char *text = printed_by(format("%s info --json", shell_word(trainer)), &bytes, &code);
    json_t *all = text ? json_loadb(text, bytes, 0, NULL) : NULL;
    if (code != 0 || !json_is_object(all))
        fail(EXIT_DATA, trainer, "`trainer info --json` should say what it is, and it ended with %d; build it again",
             code);
    return all;
}

static void put_program_parameters(json_t *facts, const json_t *parameters)
{
    const char *name;
    const json_t *p;
    json_object_foreach((json_t *)parameters, name, p)
    {
        const json_t *shape = json_object_get(p, "shape"), *layer = json_object_get(p, "layer");
        size_t copies = (size_t)json_integer_value(json_object_get(p, "copies_axes"));
        json_t *of_copies = json_array(), *of_one = json_array();
        for (size_t k = 0; k < json_array_size(shape); k++)
            add_json(k < copies ? of_copies : of_one, json_incref(json_array_get(shape, k)));
        const char *called = json_is_string(layer) ? json_string_value(layer) : name; /* the loop needs name as it is */
        put_parameter(facts, called, of_copies, of_one, json_is_true(json_object_get(p, "frozen")));
        if (json_is_string(json_object_get(p, "start")))
            put_json(section_of(facts, "start"), called, json_incref(json_object_get(p, "start")));
        json_decref(of_copies);
        json_decref(of_one);
    }
}

static char *shape_said(const json_t *tensor)
{
    Text t = {0};
    const json_t *extent;
    size_t k;
    say(&t, "[");
    json_array_foreach(json_object_get(tensor, "shape"), k, extent)
        say(&t, "%s%lld", k ? ", " : "", (long long)json_integer_value(extent));
    say(&t, "]");
    return t.at;
}

static void put_entry(json_t *facts, const char *entry, const json_t *about)
{
    json_t *tensors = section_of(facts, "tensors"), *work = section_of(facts, "computation");
    const char *name;
    const json_t *tensor;
    json_object_foreach(json_object_get(about, "inputs"), name, tensor)
    {
        const char *type = json_string_value(json_object_get(tensor, "dtype"));
        put_json(tensors, format("%s: %s", entry, name),
                 word_json(format("%s %s", type ? type : "?", shape_said(tensor))));
    }
    json_object_foreach(json_object_get(about, "outputs"), name, tensor)
        put_json(tensors, format("%s: gives %s", entry, name), word_json(shape_said(tensor)));
    put_json(work, format("%s: flop", entry), whole_json(json_number_value(json_object_get(about, "flops"))));
    put_json(work, format("%s: work memory, bytes", entry),
             whole_json(json_number_value(json_object_get(about, "work_bytes"))));
}

static void put_members(json_t *facts, const json_t *info)
{
    static const char *const words[] = {"model", "config", "precision", "source_hash"};
    json_t *program = section_of(facts, "program"), *memory = section_of(facts, "memory");
    for (int i = 0; i < COUNT_OF(words); i++)
        if (json_object_get(info, words[i])) put_json(program, words[i], json_incref(json_object_get(info, words[i])));
    json_object_update(section_of(facts, "settings"), json_object_get(info, "recipe"));
    json_object_update(section_of(facts, "configuration"), json_object_get(info, "built_with"));
    put_json(memory, "in all", json_incref(json_object_get(info, "planned_bytes")));
    json_object_update(memory, json_object_get(info, "plan"));
}

/* Of a trainer of another version some may be missing; it is not compared. */
void take_program(Compared *s)
{
    json_t *info = info_of(s->what);
    const char *name;
    json_t *value, *kernel;
    size_t k;
    if (!json_object_get(info, "planned_bytes"))
        fail(EXIT_DATA, s->what, "its trainer is of another version and does not say its memory; build it again");
    put_members(s->facts, info);
    put_program_parameters(s->facts, json_object_get(info, "parameters"));
    json_object_foreach(json_object_get(info, "entries"), name, value) put_entry(s->facts, name, value);
    json_object_foreach(json_object_get(info, "kernels"), name, value) json_array_foreach(value, k, kernel)
        put_kernel(s->facts, name, json_incref(kernel));
    const char *model = json_string_value(json_object_get(info, "model")),
               *config = json_string_value(json_object_get(info, "config"));
    s->said = format("program of %s%s%s", model ? model : "?", config ? " " : "", config ? config : "");
    json_decref(info);
}
