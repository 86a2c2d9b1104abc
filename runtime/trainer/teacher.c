/* teacher.c: the weights of a teacher (`lathe --distill`): a model of its own to whoever reads weights, with its own
 * names and its own array, behind the student's parameters.
 *
 * Checkpoints do not have them, because they do not change.  They have the path, and the hash of the numbers
 * (model/base.c), so that a run is not resumed with another teacher. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/base.h"
#include "model/import.h"
#include "model/init.h"
#include "model/origin.h"
#include "model/weights.h"
#include "token/tokenizer.h"
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

void find_teacher(Trainer *t, const State *from)
{
    const Lathe_model *teacher = t->model->teacher;
    if (!teacher && t->teacher)
        fail(EXIT_USAGE, NULL, "--teacher %s: this trainer has no teacher; build it with --distill TEACHER.lua",
             t->teacher);
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

void check_teacher_tokens(const Trainer *t, const Data *d)
{
    if (!t->model->teacher || !d->tokenizer) return;
    Tokenizer *theirs = tokenizer_beside(t->teacher);
    if (!theirs) return; /* the description says that it reads the same */
    int64_t n = tokenizer_size(theirs), own = tokenizer_size(d->tokenizer);
    for (int32_t id = 0; id < (n < own ? n : own) && !unread_tokenizer(theirs); id++)
        if (!same_token(d->tokenizer, theirs, id))
            fail(
                EXIT_DATA, t->teacher,
                "expected a teacher whose tokens are those of the data, found another token %d in the tokenizer beside "
                "it (%s; the data's: %s): give its tokenizer with --tokenizer PATH, or another teacher",
                (int)id, tokenizer_words(theirs), tokenizer_words(d->tokenizer));
    free_tokenizer(theirs);
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
    load_weights(teacher, t->teacher, m->teacher, NULL, NULL);
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
    free(path);
    return all;
}
