/* data_new.c: `lathe new DIR --from PATH`: a description of a published model: one of models/, with the sizes of its
 * config.json. */
#include "model/gguf.h"
#include "tools/data_command.h"

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

/* ------------------------------------------------------------------ what a description calls it */

typedef enum Value { SIZE, REAL, CAP, SWITCH, GELU, ACTIVATION, ROPE, EVERY, LIST } Value;

/* Of several rows for one key of the description, the first that has a value counts. */
typedef struct Size {
    const char *theirs;    /* a key of config.json */
    const char *elsewhere; /* objects that may have it: "rope_parameters rope_scaling"; "=a.b": that key; NULL: none */
    const char *ours;      /* a key of the description's config */
    Value value;
    const char *absent; /* the value of a config.json without it, as Lua; NULL: it must be there; "": that of models/ */
    const char *only;   /* the model_types that have it, "mistral phi3"; NULL: all */
} Size;

static const char rope[] = "rope_parameters.full_attention rope_parameters rope_scaling";
#define GEMMAS "gemma gemma2 gemma3_text"

static const Size of_llama[] = {
    {"num_hidden_layers", NULL, "layers", SIZE, NULL, NULL},
    {"num_attention_heads", NULL, "heads", SIZE, NULL, NULL},
    {"num_key_value_heads", NULL, "kv_heads", SIZE, "model.config.heads", NULL},
    {"head_dim", NULL, "head_width", SIZE, "256", GEMMAS},
    {"head_dim", NULL, "head_width", SIZE, "", NULL},
    {"hidden_size", NULL, "width", SIZE, NULL, NULL},
    {"intermediate_size", NULL, "hidden", SIZE, NULL, NULL},
    {"vocab_size", NULL, "vocab", SIZE, NULL, NULL},
    {"max_position_embeddings", NULL, "context", SIZE, NULL, NULL},
    {"sliding_window", NULL, "window", SIZE, "4096", "gemma2 gemma3_text"},
    {"sliding_window", NULL, "window", SIZE, "", "mistral phi3"},
    {"layer_types", "=sliding_window_pattern", "full_every", EVERY, "2", "gemma2"}, /* older files: by a number */
    {"layer_types", "=sliding_window_pattern", "full_every", EVERY, "6", "gemma3_text"},
    {"query_pre_attn_scalar", NULL, "query_width", SIZE, "256", "gemma2 gemma3_text"},
    {"attn_logit_softcapping", NULL, "score_cap", CAP, "50.0", "gemma2"},
    {"final_logit_softcapping", NULL, "logit_cap", CAP, "30.0", "gemma2"},
    {"final_logit_softcapping", NULL, "logit_cap", CAP, "0.0", "gemma3_text"},
    {"tie_word_embeddings", NULL, "tied", SWITCH, "true", "smollm3 " GEMMAS},
    {"tie_word_embeddings", NULL, "tied", SWITCH, "false", NULL},
    {"rope_theta", rope, "rope_theta", REAL, "1000000.0", "gemma3_text"},
    {"rope_theta", rope, "rope_theta", REAL, "2000000.0", "smollm3"},
    {"rope_theta", rope, "rope_theta", REAL, "10000.0", NULL},
    {"rope_local_base_freq", "=rope_parameters.sliding_attention.rope_theta", "rope_local", REAL, "10000.0",
     "gemma3_text"},
    {"no_rope_layers", "=no_rope_layer_interval", "no_rope_interval", EVERY, "4", "smollm3"},
    {"partial_rotary_factor", rope, "rotary_share", REAL, "", "phi3"},
    {"rope_type", rope, "rope", ROPE, "", NULL}, /* "type" in older files */
    {"factor", rope, "rope_factor", REAL, "", NULL},
    {"low_freq_factor", rope, "rope_low", REAL, "", NULL},
    {"high_freq_factor", rope, "rope_high", REAL, "", NULL},
    {"original_max_position_embeddings", rope, "rope_context", SIZE, "", NULL},
    {"beta_fast", rope, "rope_fast", REAL, "", NULL},
    {"beta_slow", rope, "rope_slow", REAL, "", NULL},
    {"short_factor", rope, "rope_short", LIST, "", NULL},
    {"long_factor", rope, "rope_long", LIST, "", NULL},
    {"attention_factor", rope, "rope_amplitude", REAL, "", NULL},
    {"rms_norm_eps", NULL, "eps", REAL, "1e-5", "olmo2 phi3"},
    {"rms_norm_eps", NULL, "eps", REAL, "1e-6", NULL},
    {NULL, NULL, NULL, SIZE, NULL, NULL},
};

static const Size of_gpt[] = {
    {"n_layer", NULL, "layers", SIZE, NULL, NULL},
    {"n_head", NULL, "heads", SIZE, NULL, NULL},
    {"n_embd", NULL, "width", SIZE, NULL, NULL},
    {"vocab_size", NULL, "vocab", SIZE, NULL, NULL},
    {"n_positions", NULL, "context", SIZE, NULL, NULL},
    {"tie_word_embeddings", NULL, "tied", SWITCH, "true", NULL},
    {"activation_function", NULL, "gelu", GELU, "\"tanh\"", NULL},
    {NULL, NULL, NULL, SIZE, NULL, NULL},
};

/* Older files have keys of their own for rotary positions. */
static const Size of_neox[] = {
    {"num_hidden_layers", NULL, "layers", SIZE, NULL, NULL},
    {"num_attention_heads", NULL, "heads", SIZE, NULL, NULL},
    {"hidden_size", NULL, "width", SIZE, NULL, NULL},
    {"intermediate_size", NULL, "hidden", SIZE, NULL, NULL},
    {"vocab_size", NULL, "vocab", SIZE, NULL, NULL},
    {"max_position_embeddings", NULL, "context", SIZE, NULL, NULL},
    {"tie_word_embeddings", NULL, "tied", SWITCH, "false", NULL},
    {"use_parallel_residual", NULL, "parallel", SWITCH, "true", NULL},
    {"attention_bias", NULL, "attention_bias", SWITCH, "true", NULL},
    {"hidden_act", NULL, "activation", ACTIVATION, "", NULL},
    {"rope_theta", "rope_parameters", "rope_theta", REAL, "", NULL},
    {"rotary_emb_base", NULL, "rope_theta", REAL, "", NULL},
    {"partial_rotary_factor", "rope_parameters", "rotary_share", REAL, "", NULL},
    {"rotary_pct", NULL, "rotary_share", REAL, "", NULL},
    {"layer_norm_eps", NULL, "eps", REAL, "1e-5", NULL},
    {NULL, NULL, NULL, SIZE, NULL, NULL},
};

static const struct {
    const char *type, *description; /* model_type, models/NAME.lua */
    const Size *size;
    bool kind; /* the description has the type as its kind */
} families[] = {
    {"llama", "llama", of_llama, true},       {"mistral", "llama", of_llama, true}, {"qwen2", "llama", of_llama, true},
    {"qwen3", "llama", of_llama, true},       {"gemma", "llama", of_llama, true},   {"gemma2", "llama", of_llama, true},
    {"gemma3_text", "llama", of_llama, true}, {"olmo2", "llama", of_llama, true},   {"phi3", "llama", of_llama, true},
    {"smollm3", "llama", of_llama, true},     {"gpt_neox", "neox", of_neox, false}, {"gpt2", "gpt", of_gpt, false},
};
enum { FAMILIES = sizeof families / sizeof *families };

static _Noreturn void unfit(const char *place, const Size *s, const json_t *found, const char *expected)
{
    char *text = found ? json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT) : text_of("none");
    fail(EXIT_DATA, place, "%s: expected %s, found %.60s", s->theirs, expected, text);
}

/* As short as it can be, and no integer in Lua: 1e-05, 500000.0. */
static char *real_text(double x)
{
    char text[40];
    bool plain = x >= 1e-3 && x < 1e15;
    for (int digits = 1; plain && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*f", digits, x);
        if (strtod(text, NULL) == x) return text_of("%s", text);
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x) break;
    }
    return text_of("%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

/* By the n bytes of a path: "a.b" */
static const json_t *found_by(const json_t *config, const char *path, size_t n)
{
    for (const char *end = path + n; config && path < end; path += strspn(path, ".")) {
        size_t part = strcspn(path, ". ");
        char *key = text_of("%.*s", (int)part, path);
        config = json_object_get(config, key);
        free(key);
        path += part;
    }
    return config;
}

/* NULL where it is absent or null. */
static const json_t *found_in(const json_t *config, const Size *s, const char *key)
{
    const json_t *found = json_object_get(config, key);
    for (const char *at = s->elsewhere; at && *at && (!found || json_is_null(found)); at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        found = *at == '=' ? found_by(config, at + 1, n - 1) : json_object_get(found_by(config, at, n), key);
        at += n;
    }
    return json_is_null(found) ? NULL : found;
}

static bool is_gelu(const char *name)
{
    static const char *const names[] = {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"};
    for (size_t k = 0; name && k < sizeof names / sizeof *names; k++)
        if (strcmp(names[k], name) == 0) return true;
    return false;
}

/* Layers that see all, and those without rotary positions */
static bool is_other_layer(const json_t *layer)
{
    const char *type = json_string_value(layer);
    return type ? strcmp(type, "full_attention") == 0 : json_is_integer(layer) && json_integer_value(layer) == 0;
}

/* Every which layer is such a one; none is: one more than there are.  0: they do not repeat. */
static json_int_t interval_of(const json_t *layers)
{
    size_t n = json_array_size(layers), every = n + 1;
    for (size_t i = n; i-- > 0;)
        if (is_other_layer(json_array_get(layers, i))) every = i + 1;
    for (size_t i = 0; i < n; i++)
        if (is_other_layer(json_array_get(layers, i)) != ((i + 1) % every == 0)) return 0;
    return (json_int_t)every;
}

static char *rope_text(const char *place, const Size *s, const json_t *found)
{
    static const char *const ways[] = {"linear", "llama3", "yarn", "dynamic", "longrope"};
    const char *said = json_string_value(found);
    if (said && strcmp(said, "default") == 0) return text_of("%s", "");
    if (said && strcmp(said, "su") == 0) said = "longrope"; /* as older files have it */
    for (size_t k = 0; said && k < sizeof ways / sizeof *ways; k++)
        if (strcmp(said, ways[k]) == 0) return text_of("\"%s\"", said);
    unfit(place, s, found, "\"default\", \"linear\", \"llama3\", \"yarn\", \"dynamic\" or \"longrope\"");
}

/* A text of numbers between blanks */
static char *list_text(const char *place, const Size *s, const json_t *found)
{
    enum { MOST = 4096 };
    size_t i, n = json_array_size(found);
    json_t *one;
    char *all = text_of("%s", "");
    if (n < 1 || n > MOST) unfit(place, s, found, "a list of numbers above 0");
    json_array_foreach(found, i, one)
    {
        if (!json_is_number(one) || json_number_value(one) <= 0) unfit(place, s, found, "a list of numbers above 0");
        char *next = text_of("%s%s%s", all, i ? " " : "", real_text(json_number_value(one)));
        free(all);
        all = next;
    }
    return text_of("\"%s\"", all);
}

/* The value in Lua, from malloc; "": the description's own. */
static char *value_text(const char *place, const Size *s, const json_t *config)
{
    enum { LARGEST = 1 << 30 };
    const json_t *found = found_in(config, s, s->theirs);
    if (!found && s->value == ROPE) found = found_in(config, s, "type");
    if (!found && s->value == CAP && json_is_null(json_object_get(config, s->theirs))) return text_of("0.0");
    if (!found && s->absent) return text_of("%s", s->absent);
    json_int_t n = json_integer_value(found);
    switch (s->value) {
    case SIZE:
        if (!json_is_integer(found) || n < 1 || n > LARGEST) unfit(place, s, found, "a whole number, 1 or more");
        return text_of("%lld", (long long)n);
    case EVERY:
        if (json_is_array(found)) n = interval_of(found);
        if (n < 1 || n > LARGEST) unfit(place, s, found, "a list in which every so many-th layer is unlike the others");
        return text_of("%lld", (long long)n);
    case CAP:
    case REAL:
        if (!json_is_number(found) || json_number_value(found) <= 0) unfit(place, s, found, "a number above 0");
        return real_text(json_number_value(found));
    case SWITCH:
        if (!json_is_boolean(found)) unfit(place, s, found, "true or false");
        return text_of("%s", json_is_true(found) ? "true" : "false");
    case GELU:
        if (json_is_string(found) && strcmp(json_string_value(found), "gelu_new") == 0) return text_of("\"tanh\"");
        if (json_is_string(found) && strcmp(json_string_value(found), "gelu") == 0) return text_of("\"erf\"");
        unfit(place, s, found, "\"gelu_new\" or \"gelu\"");
    case ACTIVATION:
        if (!is_gelu(json_string_value(found)))
            unfit(place, s, found, "\"gelu\", \"gelu_new\", \"gelu_fast\" or \"gelu_pytorch_tanh\"");
        return text_of("\"%s\"", json_string_value(found));
    case ROPE: return rope_text(place, s, found);
    case LIST: return list_text(place, s, found);
    }
    bug_at(__FILE__, __LINE__, "a kind of value");
}

static int family_of(const json_t *config, const char *place)
{
    const char *type = json_string_value(json_object_get(config, "model_type"));
    char *all = text_of("%s", "");
    for (int k = 0; k < FAMILIES; k++) {
        if (type && strcmp(families[k].type, type) == 0) return k;
        all = text_of("%s%s%s", all, !k ? "" : k + 1 < FAMILIES ? ", " : " or ", families[k].type);
    }
    fail(EXIT_DATA, place, "model_type: expected %s, for which models/ has a description, found %.60s", all,
         type ? type : "none");
}

/* ------------------------------------------------------------------ the folder */

static char *copied_model(const char *name)
{
    char *path = text_of("%s/%s.lua", LATHE_MODELS_DIR, name), *text = must_alloc(1 << 20);
    FILE *f = fopen(path, "rb");
    if (!f) fail(EXIT_ERROR, path, "cannot be read: %s; build Lathe again", error_text(errno));
    text[fread(text, 1, (1 << 20) - 1, f)] = 0;
    fclose(f);
    free(path);
    return text;
}

static void check_absent(const char *path)
{
    if (access(path, F_OK) == 0) fail(EXIT_DATA, path, "is there already; name another folder, or remove it");
}

static void write_new(const char *path, const char *text)
{
    Fault fault = {0};
    if (!replace_text(path, text, &fault)) fail(EXIT_DATA, fault.path, "%s", fault.text);
}

/* Settings for some hundred steps on data of one's own. */
static const char settings[] = "\n-- Settings for 100 steps on data of one's own\n"
                               "c.batch, c.seq = 2, math.min(256, c.context)\n"
                               "c.lr, c.final_lr, c.warmup, c.decay = 2e-4, 0.0, 5, 0.0\n"
                               "c.steps, c.eval_every = 100, 50\n"
                               "c.pack = true\n\n"
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

static char *sizes_text(const char *place, int family, const json_t *config)
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
    char *all = text_of("%s%s", text, settings);
    free(text);
    return all;
}

int new_command(int argc, char **argv)
{
    const char *from = NULL;
    Words rest = {0};
    const Flag flags[] = {{"--from", FLAG_TEXT, &from, "PATH", "a Hugging Face folder, or a GGUF file"}};
    const Command_line c = {"new", "DIR --from PATH",
                            "Writes DIR/model.lua, a description with the sizes of a published model, and the "
                            "description of models/ that it uses.",
                            flags, sizeof flags / sizeof *flags};
    take_command_line(&c, argc, argv, 1, &rest);
    need_flag(&c, "--from PATH", from);
    if (rest.n != 1 || !*rest.at[0]) fail(EXIT_USAGE, NULL, "new takes one folder: lathe new DIR --from PATH");
    char *place;
    json_t *config = config_of(from, &place);
    int family = family_of(config, place);
    const char *name = families[family].description;
    show(stdout, "%s: %s, as models/%s.lua describes it\n", from, families[family].type, name);
    char *text = sizes_text(place, family, config), *base = text_of("%s/%s.lua", rest.at[0], name),
         *model = text_of("%s/model.lua", rest.at[0]), *library = copied_model(name);
    Fault fault = {0};
    check_absent(model);
    check_absent(base);
    if (!make_folders(rest.at[0], &fault)) fail(EXIT_DATA, fault.path, "%s", fault.text);
    write_new(model, text);
    write_new(base, library);
    show(stdout,
         "wrote %s and %s; all keys of %s are checked when weights are read:\n  lathe train %s --init %s --data FILE\n",
         model, base, place, shell_word(model), shell_word(from));
    return 0;
}
