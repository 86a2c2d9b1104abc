/* gpu_parts.c: --shard-parameters on GPUs: the tables of pages and rooms (interface/pages.h) that the device maps
 * (cuda/parts.cu). */
#include "trainer/gpu_parts.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/tables.h"
#include "trainer/board.h"
#include "trainer/ranks.h"

#include <stdlib.h>

static Device_parts parts;
static bool opened;

/* LATHE_GPU_PAGE: bytes, for tests. */
static int64_t page_bytes(void)
{
    const char *wish = getenv("LATHE_GPU_PAGE");
    return wish && atoll(wish) > 0 ? atoll(wish) : LATHE_PAGE_BYTES;
}

static Lathe_set *buckets_apart(const Lathe_model *m, const Lathe_shards *s, bool gradients)
{
    Lathe_set *apart = must_alloc((size_t)s->buckets * sizeof *apart);
    lathe_begin_apart(s, apart);
    for (const Lathe_entry *e = m->entry; e < m->entry + m->entries; e++) {
        Lathe_said *room = must_alloc((size_t)(e->sayings + 1) * sizeof *room);
        lathe_set_apart(s, e->said, e->sayings, gradients, room, apart);
        free(room);
    }
    return apart;
}

static Device_array array_in_pages(const Trainer *t, bool gradients)
{
    const Lathe_model *m = t->model;
    const Lathe_shards *s = &parts.shards;
    Device_array a = {.element = dtype_size(gradients ? m->real : lathe_weights(m)),
                      .bytes = gradients ? flat_bytes(m) : weight_bytes(m),
                      .apart = buckets_apart(m, s, gradients)};
    a.pages = lathe_pages_of(s, a.element, parts.page);
    bug_if(a.bytes > a.pages * parts.page); /* frozen parameters, which have none, are refused */
    int *room_of = must_alloc((size_t)a.pages * sizeof *room_of);
    Lathe_set *in_room = must_alloc((size_t)a.pages * sizeof *in_room);
    a.rooms = lathe_give_rooms(s, a.apart, a.element, parts.page, room_of, in_room);
    a.room_of = room_of;
    free(in_room);
    return a;
}

/* Once: the number of GPUs does not change. */
static const Device_parts *pages_of_run(const Trainer *t)
{
    if (parts.page) return &parts;
    parts.shards = gpu_shards(t);
    parts.page = page_bytes();
    parts.parameters = array_in_pages(t, false);
    parts.gradients = array_in_pages(t, true);
    return &parts;
}

int64_t bytes_kept_on_gpu(const Trainer *t, bool gradients)
{
    const Device_parts *p = pages_of_run(t);
    return lathe_kept_bytes(&p->shards, gradients ? p->gradients.element : p->parameters.element);
}

int64_t bytes_of_gpu_rooms(const Trainer *t)
{
    const Device_parts *p = pages_of_run(t);
    return p->page * (p->parameters.rooms + p->gradients.rooms);
}

void open_gpu_parts(const Trainer *t, Memory *m)
{
    (void)pages_of_run(t);
    Device_array *p = &parts.parameters, *g = &parts.gradients;
    p->own = m->params, g->own = m->grads;
    m->params = p->whole = whole_array(t, p->bytes);
    m->grads = g->whole = whole_array(t, g->bytes);
    opened = true;
}

const Device_parts *gpu_parts(void) { return opened ? &parts : NULL; }
