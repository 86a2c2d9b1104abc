/* builds.c: the programs of a sweep: one for each shape, made by `lathe build` in a folder aside that is renamed when
 * it is whole.  What has its name needs no building when the sweep goes on. */
#include "desc/target.h"
#include "emit/emit.h"
#include "runtime/base/words.h"
#include "sweep/sweep.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `trainer info --json` says what its plan takes. */
static void read_plan(const Sweep *s, Sweep_build *b)
{
    FILE *f = popen(format("%s info --json 2>&1", shell_quoted(format("%s/trainer", b->folder))), "r");
    json_t *all = f ? json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    const json_t *bytes = json_object_get(all, "planned_bytes");
    b->ready = json_is_integer(bytes);
    b->bytes =
        s->options->target->device ? 0 : json_integer_value(bytes); /* a device's memory is not shared out here */
    const json_t *train = json_object_get(json_object_get(all, "entries"), "train"),
                 *recipe = json_object_get(all, "recipe");
    b->parameters = json_integer_value(json_object_get(all, "parameter_count"));
    const char *grows = json_string_value(json_object_get(recipe, "accumulate_at"));
    b->steps = (Lathe_recipe){.accumulate = max64(1, json_integer_value(json_object_get(recipe, "accumulate"))),
                              .accumulate_at = grows ? copy_string(grows) : NULL};
    b->flop = json_number_value(json_object_get(train, "flops")) / (double)b->steps.accumulate;
    if (!b->ready) b->fault = format("%s/trainer does not say what it plans; remove this folder", b->folder);
    json_decref(all);
    if (f) pclose(f);
}

/* Where it is made: another sweep's compiler, which outlived it, may still write into a folder of its own. */
static const char *folder_aside(const Sweep_build *b) { return format("%s.%d", b->folder, (int)getpid()); }

void start_build(Sweep *s, Sweep_build *b)
{
    if (access(format("%s/trainer", b->folder), X_OK) == 0) {
        read_plan(s, b);
        return;
    }
    const Options *o = s->options;
    const char *memory = o->memory ? format(" --memory %s", shell_quoted(o->memory)) : "";
    const char *command =
        format("exec %s build %s%s%s%s -o %s", shell_quoted(program_beside("lathe")), shell_quoted(s->model),
               options_text(o, OTHER_PROGRAM), memory, b->sets, shell_quoted(folder_aside(b)));
    unlink(format("%s.log", b->folder));
    Child *c = start_child(s, command, format("%s.log", b->folder));
    c->build = b;
    b->running = true;
}

void end_build(const Sweep *s, const Child *c, int code)
{
    Sweep_build *b = c->build;
    b->running = false;
    if (code != 0 && sweep_signal) return;
    if (code == 0 && rename(folder_aside(b), b->folder) == 0) {
        read_plan(s, b);
        return;
    }
    b->fault =
        code == 0 ? format("%s cannot be renamed: %s", folder_aside(b), strerror(errno)) : first_error(c->log, c->from);
    if (!b->fault) b->fault = format("the build ended with exit code %d", code);
}
