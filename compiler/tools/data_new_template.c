/* data_new_template.c: `lathe new DIR --from NAME`: a description of models/ to change and train on data of one's own;
 * and what editors need beside any description: annotations of the language, and tasks that run `lathe check`. */
#include "base/file.h"
#include "runtime/base/installed.h"
#include "tools/data_command.h"
#include "tools/data_new.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------ templates */

static const struct Template {
    const char *name, *model, *config; /* models/MODEL.lua; NULL: as it is */
    const char *what, *data;           /* what train is given */
} templates[] = {
    {"char", "gpt", "char", "a GPT over the characters of a text", "FILE.txt"},
    {"llama", "llama", "char", "a Llama over the characters of a text", "FILE.txt"},
    {"rnn", "char_rnn", NULL, "an LSTM over the characters of a text", "FILE.txt"},
    {"tabular", "tabular", NULL, "a class or a number from mixed columns", "FILE.csv --set target=COLUMN"},
    {"numbers", "mlp", NULL, "a class from columns of numbers", "FILE.csv --set target=COLUMN"},
    {"forecast", "forecast", NULL, "series of numbers, and how they go on", "FILE.csv"},
    {"images", "convnet", "pictures", "classes of pictures, by convolutions", "FOLDER"},
    {"patches", "vit", "pictures", "classes of pictures, by attention", "FOLDER"},
    {"maps", "unet", NULL, "a class of each pixel", "FILE.npz"},
    {"speech", "speech", NULL, "the text of recordings", "FILE.csv"},
    {"keywords", "speech", "classes", "classes of recordings", "FOLDER"},
    {"pairs", "seq2seq", NULL, "a text from another one", "FILE.jsonl"},
    {"search", "twotower", NULL, "texts that belong together", "FILE.npz"},
    {"graphs", "gnn", NULL, "a number of each graph", "FILE.npz"},
    {"noise", "gan", NULL, "pictures out of noise", "FILE.npz"},
};
enum { TEMPLATES = sizeof templates / sizeof *templates };

void list_templates(void)
{
    for (int i = 0; i < TEMPLATES; i++)
        show(stdout, "  %-9s %-40s models/%s.lua%s%s\n", templates[i].name, templates[i].what, templates[i].model,
             templates[i].config ? " --config " : "", templates[i].config ? templates[i].config : "");
}

const char *names_of_templates(void)
{
    static char names[16 * TEMPLATES];
    for (size_t i = 0, n = 0; i < TEMPLATES && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", templates[i].name);
    return names;
}

static const struct Template *template_named(const char *name)
{
    for (int i = 0; i < TEMPLATES; i++)
        if (strcmp(templates[i].name, name) == 0) return &templates[i];
    return NULL;
}

bool is_template(const char *from) { return template_named(from) && access(from, F_OK) != 0; }

const char *nearest_template(const char *from)
{
    const char *names[TEMPLATES];
    for (int i = 0; i < TEMPLATES; i++) names[i] = templates[i].name;
    return nearest_word(from, names, TEMPLATES);
}

void begin_from_template(const char *folder, const char *from)
{
    const struct Template *t = template_named(from);
    char *source = text_of("models/%s.lua", t->model), *text = own_text(source),
         *model = text_of("%s/model.lua", folder);
    check_absent(model);
    make_new_folder(folder);
    write_new(model, text);
    write_editor_files(folder);
    show(stdout, "wrote %s: %s, from %s\n  lathe train %s%s%s --data %s\n", model, t->what, source, shell_word(model),
         t->config ? " --config " : "", t->config ? t->config : "", t->data);
}

/* ------------------------------------------------------------------ editors */

static const char luarc[] = "{\n"
                            "  \"runtime.version\": \"Lua 5.4\",\n"
                            "  \"workspace.library\": [\"stubs\"]\n"
                            "}\n";

/* VS Code's: what lathe check says becomes lines that are underlined. */
static const char tasks[] = "{\n"
                            "  \"version\": \"2.0.0\",\n"
                            "  \"tasks\": [\n"
                            "    {\n"
                            "      \"label\": \"lathe check\",\n"
                            "      \"type\": \"process\",\n"
                            "      \"command\": \"lathe\",\n"
                            "      \"args\": [\"check\", \"${file}\"],\n"
                            "      \"group\": { \"kind\": \"build\", \"isDefault\": true },\n"
                            "      \"presentation\": { \"reveal\": \"silent\" },\n"
                            "      \"problemMatcher\": {\n"
                            "        \"owner\": \"lathe\",\n"
                            "        \"fileLocation\": [\"autoDetect\", \"${workspaceFolder}\"],\n"
                            "        \"pattern\": {\n"
                            "          \"regexp\": \"^(.+?):(\\\\d+):(?:(\\\\d+):)? (error|warning): (.*)$\",\n"
                            "          \"file\": 1, \"line\": 2, \"column\": 3, \"severity\": 4, \"message\": 5\n"
                            "        }\n"
                            "      }\n"
                            "    }\n"
                            "  ]\n"
                            "}\n";

static void write_if_absent(const char *path, const char *text)
{
    if (access(path, F_OK) != 0) write_new(path, text);
}

/* `lathe stubs FOLDER`; what it says is its own. */
static bool write_stubs(const char *folder)
{
    char place[LONGEST_PREFIX];
    const bool installed = find_prefix(place);
    if (!installed && !find_own_folder(place)) return false;
    char *lathe = text_of("%s%s/lathe", place, installed ? "/bin" : "");
    int status = 1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        execl(lathe, lathe, "stubs", folder, (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

void write_editor_files(const char *folder)
{
    char *tasks_folder = text_of("%s/.vscode", folder), *stubs = text_of("%s/stubs", folder);
    make_new_folder(tasks_folder);
    write_if_absent(text_of("%s/.luarc.json", folder), luarc);
    write_if_absent(text_of("%s/tasks.json", tasks_folder), tasks);
    if (!write_stubs(stubs))
        note("%s: annotations for editors were not written; `lathe stubs %s` writes them", stubs, stubs);
}
