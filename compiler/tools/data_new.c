/* data_new.c: `lathe new DIR --from PATH`: a description of a published model: one of models/, with the sizes of its
 * config.json. */
#include "model/gguf.h"
#include "runtime/base/installed.h"
#include "tools/data_command.h"
#include "tools/data_new.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ config.json */

/* The folder's, the one beside a file, or that of a GGUF. */
static json_t *config_of(const char *path, char **place)
{
    struct stat about;
    json_error_t error;
    if (stat(path, &about) != 0)
        fail(EXIT_DATA, path, "expected a Hugging Face folder or a GGUF file, but it cannot be read: %s",
             error_text(errno));
    if (is_gguf(path)) {
        Store s;
        read_gguf_model(&s, path);
        *place = text_of("%s", path);
        json_t *config = gguf_config(&s);
        close_store(&s);
        return config;
    }
    char *folder = S_ISDIR(about.st_mode) ? text_of("%s", path) : folder_of(path);
    *place = text_of("%s/config.json", folder);
    free(folder);
    FILE *f = open_stream_to_read(*place);
    int error_number = errno;
    if (!f && S_ISDIR(about.st_mode)) refuse_folder_of_gguf(path);
    if (!f)
        fail(EXIT_DATA, *place, "expected the configuration of a Hugging Face folder, but it cannot be read: %s",
             error_text(error_number));
    json_t *config = json_loadf(f, JSON_REJECT_DUPLICATES, &error);
    fclose(f);
    if (!json_is_object(config))
        fail(EXIT_DATA, *place, "expected a JSON object, found %s", config ? "something else" : error.text);
    return config;
}

/* ------------------------------------------------------------------ the family */

static int family_of(const json_t *config, const char *place)
{
    const char *type = json_string_value(json_object_get(config, "model_type"));
    char *all = text_of("%s", "");
    for (int k = 0; k < family_count; k++) {
        if (type && strcmp(families[k].type, type) == 0) return k;
        all = text_of("%s%s%s", all, !k ? "" : k + 1 < family_count ? ", " : " or ", families[k].type);
    }
    fail(EXIT_DATA, place, "model_type: expected %s, for which models/ has a description, found %.60s", all,
         type ? type : "none");
}

/* ------------------------------------------------------------------ the folder */

/* A file of Lathe's own, such as models/gpt.lua. */
char *own_text(const char *name)
{
    char prefix[LONGEST_PREFIX];
    char *path = find_prefix(prefix) ? text_of("%s/share/lathe/%s", prefix, name) : text_of("%s/%s", LATHE_TREE, name);
    char *text = must_alloc(1 << 20);
    FILE *f = fopen(path, "rb");
    if (!f) fail(EXIT_ERROR, path, "cannot be read: %s; build or install Lathe again", error_text(errno));
    text[fread(text, 1, (1 << 20) - 1, f)] = 0;
    fclose(f);
    free(path);
    return text;
}

void check_absent(const char *path)
{
    if (access(path, F_OK) == 0) fail(EXIT_DATA, path, "is there already; name another folder, or remove it");
}

void write_new(const char *path, const char *text)
{
    Fault fault = {0};
    if (!replace_text(path, text, &fault)) fail(EXIT_DATA, fault.path, "%s", fault.text);
}

void make_new_folder(const char *path)
{
    Fault fault = {0};
    if (!make_folders(path, &fault)) fail(EXIT_DATA, fault.path, "%s", fault.text);
}

/* Settings for some hundred steps on data of one's own. */
static const char settings[] = "\n-- Settings for 100 steps on data of one's own\n"
                               "c.batch, c.seq = 2, math.min(256, c.context)\n"
                               "c.lr, c.final_lr, c.warmup, c.decay = 2e-4, 0.0, 5, 0.0\n"
                               "c.steps, c.eval_every = 100, 50\n"
                               "c.pack, c.shuffle_tokens = true, 1 << 20\n\n"
                               "model.configs = nil\n"
                               "return model\n";

static bool is_of_type(const Size *s, const char *type)
{
    size_t n = strlen(type);
    for (const char *at = s->only; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, type, n) == 0 && (at[n] == ' ' || at[n] == 0)) return true;
    }
    return !s->only;
}

static bool is_said(const char *text, const char *key)
{
    char *line = text_of("\nc.%s = ", key);
    bool is = strstr(text, line);
    free(line);
    return is;
}

static char *sizes_text(const char *place, int family, const json_t *config, const char *more_settings)
{
    char *text =
        text_of("-- %s with the sizes of a published model, as `lathe new` found them; --init reads its weights\n\n"
                "local model = require \"%s\"\nlocal c = model.config\n\n",
                families[family].description, families[family].description);
    if (families[family].kind) text = text_of("%sc.kind = \"%s\"\n", text, families[family].type);
    for (const Size *s = families[family].size; s->theirs; s++) {
        if (!is_of_type(s, families[family].type) || is_said(text, s->ours)) continue;
        char *value = value_text(place, s, config);
        if (!*value) continue;
        char *more = text_of("%sc.%s = %s\n", text, s->ours, value);
        show(stdout, "  %-12s %-9s %s\n", s->ours, value, s->theirs);
        free(value);
        free(text);
        text = more;
    }
    char *all = text_of("%s%s", text, more_settings);
    free(text);
    return all;
}

static void begin_from_published(const char *folder, const char *from, const char *given)
{
    char *place;
    json_t *config = config_of(from, &place);
    int family = family_of(config, place);
    const char *name = families[family].description;
    show(stdout, "%s: %s, as models/%s.lua describes it\n", from, families[family].type, name);
    bool encoder = is_encoder(families[family].type);
    const char *head = encoder ? encoder_head(given, from, config) : NULL;
    if (given && !head) fail(EXIT_USAGE, NULL, "--head is of encoders, and %s is a decoder", families[family].type);
    char *text = sizes_text(place, family, config, head ? encoder_text(head, from) : settings),
         *base = text_of("%s/%s.lua", folder, name), *model = text_of("%s/model.lua", folder),
         *library = own_text(text_of("models/%s.lua", name));
    check_absent(model);
    check_absent(base);
    make_new_folder(folder);
    write_new(model, text);
    write_new(base, library);
    write_editor_files(folder);
    if (head) show(stdout, "  %-12s %-9s of classes, tokens, masked, embedding: --head\n", "head", head);
    show(stdout,
         "wrote %s and %s; all keys of %s are checked when weights are read:\n  lathe train %s --init %s --data FILE\n",
         model, base, place, shell_word(model), shell_word(from));
}

int new_command(int argc, char **argv)
{
    const char *given = NULL;
    Named_text begin = {NULL, names_of_templates()};
    bool list = false;
    Words rest = {0};
    const Flag flags[] = {
        {"--from", FLAG_NAMED, &begin, "NAME|PATH",
         "a description to begin with (--list), or a Hugging Face folder or a GGUF file"},
        {"--list", FLAG_ON, &list, NULL, "prints the descriptions to begin with"},
        {"--head", FLAG_TEXT, &given, "NAME", "of a published encoder: classes, tokens, masked or embedding"}};
    const Command_line c = {
        "new", "DIR --from NAME|PATH",
        "Writes DIR/model.lua, a description to begin with or one with the sizes of a published model, and "
        "what editors need beside it.",
        flags, sizeof flags / sizeof *flags};
    take_command_line(&c, argc, argv, 1, &rest);
    if (list) return list_templates(), 0;
    const char *const from = begin.text;
    need_flag(&c, "--from PATH, or --from NAME of `lathe new --list`", from);
    if (rest.n != 1 || !*rest.at[0]) fail(EXIT_USAGE, NULL, "new takes one folder: lathe new DIR --from NAME");
    const bool begins = is_template(from);
    if (begins && given) fail(EXIT_USAGE, NULL, "--head is of published encoders, and %s is none", from);
    if (!begins && access(from, F_OK) != 0 && nearest_template(from))
        fail(EXIT_USAGE, NULL, "--from %s: there is no such file and no such description; did you mean %s?", from,
             nearest_template(from));
    if (begins) begin_from_template(rest.at[0], from);
    else begin_from_published(rest.at[0], from, given);
    return 0;
}
