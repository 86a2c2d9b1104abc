/* classes.c: the names of a run's classes, and which picture or recording has which.  A checkpoint has them in
 * classes.json. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "data/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBER = 1 << 20, SHOWN = 8 };

char *label_of(const Strings *labels, int32_t k)
{
    int64_t n;
    const char *at = string_at(labels, k, &n);
    return text_of("%.*s", (int)n, at);
}

bool is_negative(const char *label) { return *label == '-' && label[1] && !label[1 + strspn(label + 1, "0123456789")]; }

static int by_word(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* The largest label, if all are numbers without a sign or a 0 before them; else -1. */
static int64_t largest_number(const Strings *labels)
{
    int64_t most = -1;
    for (int32_t k = 0; k < labels->n; k++) {
        char *label = label_of(labels, k), *again;
        int64_t x = strspn(label, "0123456789") < 8 ? strtoll(label, NULL, 10) : MOST_NUMBER;
        bool same = strcmp(again = text_of("%lld", (long long)x), label) == 0;
        free(label);
        free(again);
        if (!same || x < 0 || x >= MOST_NUMBER) return -1;
        if (x > most) most = x;
    }
    return most;
}

Words names_of_labels(const Strings *labels, bool words)
{
    Words all = {0};
    int64_t most = words ? -1 : largest_number(labels);
    for (int64_t k = 0; k <= most; k++) add_word(&all, text_of("%lld", (long long)k));
    for (int32_t k = 0; k < labels->n && most < 0; k++) add_word(&all, label_of(labels, k));
    if (most < 0 && all.n) qsort(all.at, (size_t)all.n, sizeof *all.at, by_word);
    return all;
}

/* ------------------------------------------------------------------ ids */

char *shown_words(const Words *all)
{
    char *text = text_of("%s", "");
    for (int i = 0; i < all->n && i < SHOWN; i++) text = text_of("%s%s%s", text, i ? ", " : "", all->at[i]);
    return all->n > SHOWN ? text_of("%s, …", text) : text;
}

static const Data_file *first_of_label(const File_index *s, int32_t label)
{
    const Data_file *p = s->at;
    while (p->class != label) p++;
    return p;
}

void refuse_class(const char *place, const Words *classes, const char *label, const char *what)
{
    fail(EXIT_DATA, place,
         "expected one of the %d classes of training (%s), found \"%.60s\"; leave %s out, or train a new model (from "
         "--init PATH with --init-except LAYER, such as head or classifier)",
         classes->n, shown_words(classes), label, what);
}

static int32_t id_of(const File_index *s, const Strings *names, int32_t label)
{
    int64_t n;
    const char *at = string_at(&s->labels, label, &n);
    int32_t id = find_string(names, at, n);
    if (id >= 0) return id;
    refuse_class(place_of_file(s, first_of_label(s, label)), &s->classes, label_of(&s->labels, label),
                 text_of("its %s", s->kind->many));
}

static void check_label_signs(const File_index *s)
{
    for (int32_t k = 0; k < s->labels.n; k++)
        if (is_negative(label_of(&s->labels, k)))
            fail(EXIT_DATA, place_of_file(s, first_of_label(s, k)),
                 "expected a class, a name or a number from 0 on, found \"%s\"; leave its %s out if they have none",
                 label_of(&s->labels, k), s->kind->many);
}

void settle_classes(File_index *s, const Words *known)
{
    Strings names = {0};
    if (!known && !s->by_folder) check_label_signs(s);
    s->classes = known ? *known : names_of_labels(&s->labels, s->by_folder);
    for (int i = 0; i < s->classes.n; i++)
        add_string(&names, s->classes.at[i], (int64_t)strlen(s->classes.at[i]), true);
    int32_t *id = must_alloc(sizeof *id * (size_t)(s->labels.n + 1));
    for (int32_t k = 0; k < s->labels.n; k++) id[k] = id_of(s, &names, k);
    for (int64_t i = 0; i < s->n; i++)
        if (s->at[i].class >= 0) s->at[i].class = id[s->at[i].class];
    free(id);
    free_strings(&names);
    free_strings(&s->labels);
}

void check_class_count(const File_index *s, const Lathe_tensor *t, const Reading *reading)
{
    int n = s->classes.n;
    if (t && t->below && n > t->below)
        fail(EXIT_DATA, reading->paths.at[0],
             "expected at most %lld classes, as input %s of the model has, found %d: %s; leave some out, or build the "
             "model for %d (--set classes=%d, if its description calls them that)",
             (long long)t->below, t->name, n, shown_words(&s->classes), n, n);
    if (t && t->below > n && reading->training)
        note("the data has %d class%s, and the model has %lld (input %s is below that), so the last %lld never occur; "
             "build "
             "it with --set classes=%d, if its description calls them that",
             n, n == 1 ? "" : "es", (long long)t->below, t->name, (long long)t->below - n, n);
}

char *class_counts(const File_index *s)
{
    const int n = s->classes.n;
    int64_t *count = must_alloc(sizeof *count * (size_t)(n + 1));
    int least = 0, most = 0;
    for (int64_t i = 0; i < s->n; i++) count[s->at[i].class]++;
    char *text = text_of("%d class%s:", n, n == 1 ? "" : "es");
    for (int k = 0; k < n; k++) {
        if (n <= SHOWN) text = text_of("%s%s %s %s", text, k ? "," : "", s->classes.at[k], grouped_text(count[k]));
        if (count[k] < count[least]) least = k;
        if (count[k] > count[most]) most = k;
    }
    if (n > SHOWN)
        text =
            text_of("%s %s; the fewest, %s, of %s, the most, %s, of %s", text, shown_words(&s->classes),
                    grouped_text(count[least]), s->classes.at[least], grouped_text(count[most]), s->classes.at[most]);
    free(count);
    return text;
}

/* ------------------------------------------------------------------ classes.json */

json_t *classes_json(const Words *classes)
{
    json_t *names = json_array();
    for (int i = 0; i < classes->n; i++) add_json(names, word_json(classes->at[i]));
    return json_pack("{s:i, s:o}", "format", 1, "classes", names);
}

Words *read_classes(const char *path)
{
    json_error_t error;
    FILE *f = open_stream_to_read(path);
    if (!f) fail(EXIT_DATA, path, "cannot be read: %s", error_text(errno));
    json_t *all = json_loadf(f, JSON_REJECT_DUPLICATES, &error), *names = json_object_get(all, "classes"), *name;
    fclose(f);
    size_t i;
    Words *classes = must_alloc(sizeof *classes);
    json_array_foreach(names, i, name)
    {
        char *word = word_of_json(name);
        if (!word) break;
        add_word(classes, word);
    }
    if (!json_is_array(names) || (size_t)classes->n != json_array_size(names))
        fail(EXIT_DATA, path, "expected a list of classes, found %s; the file is damaged",
             all ? "something else" : error.text);
    json_decref(all);
    return classes;
}

/* Whether it is the name that transformers gives a class without one. */
static bool is_nameless(const char *name, int k)
{
    char *plain = text_of("LABEL_%d", k);
    bool is = strcmp(name, plain) == 0;
    free(plain);
    return is;
}

Words *classes_named_by(const char *path, json_t *config, bool nameless)
{
    json_t *names = json_object_get(config, "id2label");
    Words *classes = must_alloc(sizeof *classes);
    bool plain = true;
    for (int k = 0; k < (int)json_object_size(names); k++) {
        char *key = text_of("%d", k), *word = word_of_json(json_object_get(names, key));
        free(key);
        if (!word)
            fail(EXIT_DATA, path, "id2label: expected a name for each class, from \"0\" on, found none for %d", k);
        plain = plain && is_nameless(word, k);
        add_word(classes, word);
    }
    json_decref(config);
    return classes->n && (nameless || !plain) ? classes : NULL;
}

Words *classes_of_config(const char *path, bool nameless)
{
    json_error_t error;
    FILE *f = fopen(path, "rb");
    json_t *all = f ? json_loadf(f, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (f) fclose(f);
    return classes_named_by(path, all, nameless);
}
