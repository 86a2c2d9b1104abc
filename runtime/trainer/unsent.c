/* unsent.c: gradients that ranks on processors send as bf16 (send_gradients): what rounding has left out so far, in
 * memory and in checkpoints.
 *
 * Each rank has an error for each element of its gradients, its own part among them, so all ranks are treated alike.
 * Each rank saves its own, or rank 0 those of all, after local steps (trainer/local_steps.c). */
#include "trainer/unsent.h"
#include "base/words.h"
#include "interface/dealt.h"
#include "model/block.h"
#include "model/tables.h"
#include "trainer/narrow.h"
#include "trainer/rank_file.h"
#include "trainer/ranks.h"
#include "trainer/shared.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct Unsent {
    Lathe_dtype real;
    int64_t element;   /* bytes of a gradient */
    bf16 *error, *all; /* [n]; [ranks][n], of rank 0 between two saves, or NULL */
    void *room;
} unsent;

bool sends_narrow(const Trainer *t)
{
    return t->recipe.send_gradients == LATHE_SEND_BF16 && gpus_of(t) > 1 && !t->model->device;
}

int64_t sent_size(const Trainer *t) { return sends_narrow(t) ? (int64_t)sizeof(bf16) : dtype_size(t->model->real); }

void check_sending(const Trainer *t)
{
    if (t->recipe.send_gradients != LATHE_SEND_BF16 || gpus_of(t) == 1) return;
    if (t->model->device)
        fail(EXIT_USAGE, NULL,
             "send_gradients=bf16 is of ranks on processors: GPUs of one machine send whole gradients; leave it out");
    if (strcmp(t->model->precision, "fp16") == 0)
        fail(EXIT_USAGE, NULL,
             "send_gradients=bf16: gradients of fp16 have a scale that changes, and errors of another scale would be "
             "added to them; build with --precision bf16, or leave it out");
    if (t->model->exact_rows)
        fail(EXIT_USAGE, NULL,
             "send_gradients=bf16: what is rounded depends on the number of ranks, and this trainer was built with "
             "--exact-sums; leave one of them out");
}

void open_unsent(const Trainer *t, char *memory)
{
    if (!sends_narrow(t)) return;
    unsent.real = t->model->real;
    unsent.element = dtype_size(unsent.real);
    unsent.room = memory;
    unsent.error = (bf16 *)(void *)(memory + LATHE_NARROW_ROOM * unsent.element);
}

void round_part(void *grads, const Lathe_part *p, bool packed)
{
    narrow_reals(unsent.real, (char *)grads + p->first * unsent.element, unsent.error + p->first, p->count, packed);
}

void *narrow_room(void) { return unsent.room; }

/* ------------------------------------------------------------------ between rank 0 and the others */

int64_t unsent_bytes(const Trainer *t) { return lathe_trained_elements(t->model) * (int64_t)sizeof(bf16); }

const void *own_unsent(void) { return unsent.error; }

void gather_unsent(const Trainer *t)
{
    if (!sends_narrow(t)) return;
    if (!unsent.all && !is_follower(t)) unsent.all = (bf16 *)(void *)whole_array(t, gpus_of(t) * unsent_bytes(t));
    gather_bytes(unsent.error, (char *)unsent.all, unsent_bytes(t));
}

/* ------------------------------------------------------------------ checkpoints */

void declare_unsent(const Trainer *t, Store_writer *w)
{
    declare_tensor(w, "unsent", LATHE_BF16, 2, (const int64_t[]){gpus_of(t), lathe_trained_elements(t->model)});
}

void put_unsent(const Trainer *t, Store_writer *w)
{
    put_elements(w, unsent.all, gpus_of(t) * lathe_trained_elements(t->model), LATHE_BF16);
}

void lay_unsent(const Trainer *t, Store_writer *w)
{
    declare_unsent(t, w);
    put_elements(w, NULL, gpus_of(t) * lathe_trained_elements(t->model), LATHE_BF16);
}

/* Of another number of ranks: each takes the mean of theirs, which leaves as much to be sent to the mean gradient. */
static void take_mean(const Stored *s)
{
    const int64_t n = s->dim[1];
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < s->dim[0]; k++) sum += stored_element(s, k * n + i);
        unsent.error[i] = to_bf16_f64(sum / (double)s->dim[0]);
    }
}

static void load_row(const Trainer *t, const Store *from)
{
    const int64_t n = lathe_trained_elements(t->model);
    const Stored *s = find_stored(from, "unsent");
    if (!s) return; /* the run sent whole gradients */
    if (s->rank != 2 || s->dim[0] < 1 || s->dim[1] != n || !stored_is(s, "BF16"))
        fail(EXIT_DATA, from->path,
             "expected a tensor `unsent` of bf16, [ranks][%lld]; the file is of another model, or damaged",
             (long long)n);
    if (s->dim[0] != gpus_of(t)) take_mean(s);
    else memcpy(unsent.error, s->at + t->rank * unsent_bytes(t), (size_t)unsent_bytes(t));
}

void load_unsent(const Trainer *t, const char *checkpoint)
{
    Store s;
    char *path = text_of("%s/" RANK_FILE, checkpoint);
    if (sends_narrow(t) && access(path, F_OK) == 0) {
        read_store(&s, path);
        load_row(t, &s);
        close_store(&s);
    }
    free(path);
}
