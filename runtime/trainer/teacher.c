/* teacher.c: the weights of a teacher (`lathe --distill`): a model of its own to whoever reads weights, with its own
 * names and its own array, behind the student's parameters.
 *
 * Checkpoints do not have them, because they do not change.  They have the path, and the hash of the numbers
 * (model/base.c), so that a run is not resumed with another teacher. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "data/files.h"
#include "data/schema.h"
#include "model/base.h"
#include "model/gguf.h"
#include "model/import.h"
#include "model/init.h"
#include "model/origin.h"
#include "model/weights.h"
#include "token/tokenizer.h"
#include "trainer/checkpoint.h"
#include "trainer/teacher.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the checkpoint says of its teacher, from malloc; NULL: nothing. */
static char *said_before(const State *from, const char *key)
{
    const json_t *said = from ? json_object_get(json_object_get(from->all, "teacher"), key) : NULL;
    return json_is_string(said) ? word_of_json(said) : NULL;
}

static void tell_change(const json_t *before, const char *key, double now)
{
    const json_t *was = json_object_get(before, key);
    if (json_is_number(was) && json_number_value(was) != now)
        note("--distill: %s is %g, and was %g in the checkpoint", key, now, json_number_value(was));
}

/* A run that is resumed goes on with its teacher, and never forgets it silently. */
static void compare_lesson(const Trainer *t, const State *from)
{
    const json_t *before = from ? json_object_get(from->all, "teacher") : NULL;
    if (!from) return;
    const char *weights = said_before(from, "weights");
    if (before && !t->model->teacher)
        fail(EXIT_USAGE, NULL,
             "the run has a teacher, %s, and this trainer was built without one: build it with --distill TEACHER.lua, "
             "or start a new run from its weights with --init",
             weights ? weights : "which it does not name");
    if (!before && t->model->teacher) note("the run had no teacher so far; it has one from here on");
    tell_change(before, "alpha", t->model->distill.alpha);
    tell_change(before, "temperature", t->model->distill.temperature);
}

void find_teacher(Trainer *t, const State *from)
{
    const Lathe_model *teacher = t->model->teacher;
    if (!teacher && t->teacher)
        fail(EXIT_USAGE, NULL, "--teacher %s: this trainer has no teacher; build it with --distill TEACHER.lua",
             t->teacher);
    compare_lesson(t, from);
    if (!teacher) return;
    char *before = said_before(from, "weights");
    if (!t->teacher && before && access(before, F_OK) != 0)
        fail(EXIT_DATA, before,
             "cannot be read; the run had its teacher there: say where it is now, with --teacher PATH");
    if (!t->teacher && !before)
        fail(EXIT_USAGE, NULL,
             "this trainer was built with --distill: give the weights of the teacher %s with --teacher PATH, a file or "
             "a folder, Hugging Face's too",
             teacher->name);
    t->teacher = t->teacher ? weights_file(t->teacher) : before;
}

/* ------------------------------------------------------------------ tokens */

static bool same_token(const Tokenizer *a, const Tokenizer *b, int32_t id)
{
    const char *x, *y;
    int64_t n = token_bytes(a, id, &x);
    return token_bytes(b, id, &y) == n && memcmp(x, y, (size_t)n) == 0;
}

/* NULL: they are not known here. */
static Tokenizer *tokenizer_of_teacher(const Trainer *t)
{
    bool unknown = is_gguf(t->teacher) && !gguf_tokenizer_is_known(t->teacher);
    Tokenizer *theirs = unknown ? NULL : tokenizer_beside(t->teacher);
    if (!unknown && !(theirs && unread_tokenizer(theirs))) return theirs; /* NULL: the description says what it reads */
    note("%s: its tokenizer is of a kind that is not read here, so its tokens were not compared with the data's",
         t->teacher);
    if (theirs) free_tokenizer(theirs);
    return NULL;
}

static void compare_tokens(const Trainer *t, const Tokenizer *own)
{
    Tokenizer *theirs = tokenizer_of_teacher(t);
    if (!theirs) return;
    int64_t n = tokenizer_size(theirs), m = tokenizer_size(own);
    for (int32_t id = 0; id < (n < m ? n : m); id++)
        if (!same_token(own, theirs, id))
            fail(
                EXIT_DATA, t->teacher,
                "expected a teacher whose tokens are those of the data, found another token %d in the tokenizer beside "
                "it (%s; the data's: %s): give its tokenizer with --tokenizer PATH, or another teacher",
                (int)id, tokenizer_words(theirs), tokenizer_words(own));
    free_tokenizer(theirs);
}

/* ------------------------------------------------------------------ classes and columns */

/* Its path, if there is such a file beside the teacher; else NULL. */
static char *beside_teacher(const Trainer *t, const char *file)
{
    char *folder = folder_of(t->teacher), *path = text_of("%s/%s", folder, file);
    free(folder);
    if (access(path, F_OK) == 0) return path;
    free(path);
    return NULL;
}

/* The data may lack the last ones. */
static bool begin_alike(const Words *own, const Words *theirs)
{
    bool alike = own->n <= theirs->n;
    for (int i = 0; i < own->n && alike; i++) alike = strcmp(own->at[i], theirs->at[i]) == 0;
    return alike;
}

static void compare_classes(const Trainer *t, const Words *own)
{
    char *saved = beside_teacher(t, "classes.json"), *config = saved ? NULL : beside_teacher(t, "config.json");
    const Words *theirs = saved ? read_classes(saved) : config ? classes_of_config(config, false) : NULL;
    if (theirs && !begin_alike(own, theirs))
        fail(EXIT_DATA, saved ? saved : config,
             "expected a teacher whose classes are those of the data, in their order (%s), found %s; name the data's "
             "so, start from weights with these classes (--init), or give another teacher",
             shown_words(own), shown_words(theirs));
    free(saved);
    free(config);
}

/* The first column that differs; NULL: none does. */
static char *other_column(const Schema *own, const Schema *theirs)
{
    json_t *a = schema_json(own), *b = schema_json(theirs);
    const json_t *mine = json_object_get(a, "columns"), *its = json_object_get(b, "columns");
    size_t i = 0, n = json_array_size(mine), m = json_array_size(its);
    while (i < n && i < m && json_equal(json_array_get(mine, i), json_array_get(its, i))) i++;
    const json_t *column = json_array_get(i < n ? mine : its, i);
    char *name = column ? word_of_json(json_object_get(column, "name")) : NULL;
    json_decref(a);
    json_decref(b);
    return name;
}

static void compare_columns(const Trainer *t, const Schema *own)
{
    char *path = beside_teacher(t, "table.json"), *name = path ? other_column(own, read_schema(path)) : NULL;
    if (name)
        fail(EXIT_DATA, path,
             "expected the teacher's columns to be those of the data, with the same scales and values, found another "
             "\"%s\"; train both on the same data with the same split and --seed, or start from weights with these "
             "columns (--init)",
             name);
    free(path);
}

void check_teacher_data(const Trainer *t, const Data *d)
{
    if (!t->model->teacher || !t->teacher) return;
    if (d->tokenizer) compare_tokens(t, d->tokenizer);
    if (classes_of(d)) compare_classes(t, classes_of(d));
    if (columns_of(d)) compare_columns(t, columns_of(d));
}

/* ------------------------------------------------------------------ numbers */

static void compare_hash(const Trainer *t, const State *from)
{
    char *before = said_before(from, "hash");
    if (before && strcmp(before, t->teacher_hash) != 0)
        fail(EXIT_DATA, t->teacher,
             "expected the teacher that the run began with, found other weights (hash %s, the checkpoint's %s): give "
             "its teacher with --teacher PATH, or start a new run from its weights with --init",
             t->teacher_hash, before);
    free(before);
}

void fill_teacher(Trainer *t, const Memory *m, const State *from)
{
    const Lathe_model *teacher = t->model->teacher;
    if (!teacher) return;
    if (!t->teacher) {
        init_parameters(teacher, (uint64_t)t->seed, m->teacher);
        return;
    }
    check_saved_weights(t->teacher);
    load_weights(teacher, t->teacher, m->teacher, NULL, NULL);
    advise(NULL);
    t->teacher_hash = base_of_weights(teacher, t->teacher, m->teacher);
    compare_hash(t, from);
}

json_t *teacher_json(const Trainer *t)
{
    if (!t->teacher_hash) return NULL;
    char *path = realpath(t->teacher, NULL);
    json_t *all = json_object();
    put_json(all, "weights", word_json(path ? path : t->teacher));
    put_json(all, "hash", word_json(t->teacher_hash));
    put_json(all, "alpha", json_real(t->model->distill.alpha));
    put_json(all, "temperature", json_real(t->model->distill.temperature));
    free(path);
    return all;
}
