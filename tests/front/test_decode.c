/* test_decode.c: traced entries agree: decode, fed token by token through its states, gives the logits of the whole
 * forward. By the interpreter, so that nothing but the front end is asked. */
#include "harness.h"

#include <math.h>
#include <string.h>

typedef VEC(struct Held {
    const char *name;
    Value value;
}) Room;

static Value *held(Room *room, const char *name)
{
    for (int i = 0; i < room->n; i++)
        if (same(room->at[i].name, name)) return &room->at[i].value;
    return NULL;
}

static Value *hold(Room *room, const char *name, Shape s)
{
    Value *v = held(room, name);
    if (!v) {
        push(room, ((struct Held){name, {s, NEW_ARRAY(double, elements(s))}}));
        v = &room->at[room->n - 1].value;
    }
    return v;
}

static Value feed(void *user, const Node *leaf)
{
    Value *v = held(user, leaf->name);
    if (!v) die("nothing is fed for %s", leaf->name);
    return *v;
}

static Graph *entry(const Desc *d, const char *name)
{
    for (int i = 0; i < d->graphs.n; i++)
        if (same(d->graphs.at[i]->name, name)) return d->graphs.at[i];
    return NULL;
}

static Value *run(const Graph *g, Room *room)
{
    Value *outs = NEW_ARRAY(Value, g->outs.n);
    eval_graph(g, feed, room, outs);
    return outs;
}

static Value output(const Graph *g, const Value *outs, const char *name)
{
    for (int i = 0; i < g->outs.n; i++)
        if (same(g->outs.at[i].name, name)) return outs[i];
    die("no output %s", name);
}

/* One token of sample b at position t; states are overwritten with what comes out. */
static Value step(const Graph *g, Room *room, double token, int64_t t)
{
    hold(room, "tokens", (Shape){.rank = 2, .dim = {1, 1}})->at[0] = token;
    hold(room, "position", (Shape){0})->at[0] = (double)t;
    Value *outs = run(g, room);
    for (int i = 0; i < g->outs.n; i++)
        if (g->outs.at[i].kind == OUT_STATE)
            memcpy(held(room, g->outs.at[i].name)->at, outs[i].at, sizeof(double) * (size_t)elements(outs[i].shape));
    return output(g, outs, "logits");
}

static Room parameters(const Desc *d)
{
    Room room = {0};
    Rng r = rng_of(7);
    for (int i = 0; i < d->params.n; i++) {
        const Param *p = d->params.at[i];
        Value *v = hold(&room, p->name, p->shape);
        for (int64_t k = 0; k < elements(p->shape); k++) v->at[k] = 0.5 * normal(&r) + (p->init == LATHE_ONES);
    }
    return room;
}

static void compare(const char *file, int n, const char *const *sets)
{
    Options o = {.model_file = file, .target = &target_cpu};
    for (int i = 0; i < n; i++) push(&o.sets, sets[i]);
    Desc *d = front(&o);
    const Graph *grad = entry(d, "grad"), *decode = entry(d, "decode");
    if (!expect(decode != NULL, "%s has no entry decode", file)) return;
    Room whole = parameters(d), single = parameters(d);
    Value *tokens = hold(&whole, "tokens", (Shape){.rank = 2, .dim = {d->batch, d->seq}}),
          *targets = hold(&whole, "targets", tokens->shape);
    Rng r = rng_of(3);
    for (int64_t i = 0; i < d->batch * d->seq; i++) {
        tokens->at[i] = (double)below(&r, d->vocab);
        targets->at[i] = (double)below(&r, d->vocab);
    }
    Value want = output(grad, run(grad, &whole), "logits");
    double worst = 0, largest = 0;
    for (int64_t b = 0; b < d->batch; b++) {
        for (int i = 0; i < d->states.n; i++) {
            const Tensor_spec *s = &d->states.at[i];
            memset(hold(&single, s->name, s->shape)->at, 0, sizeof(double) * (size_t)elements(s->shape));
        }
        for (int64_t t = 0; t < d->seq; t++) {
            Value got = step(decode, &single, tokens->at[b * d->seq + t], t);
            for (int64_t k = 0; k < d->vocab; k++) {
                double w = want.at[(b * d->seq + t) * d->vocab + k];
                worst = fmax(worst, fabs(w - got.at[k]));
                largest = fmax(largest, fabs(w));
            }
        }
    }
    expect(largest > 0.1 && worst < 1e-9 * largest, "%s: decode differs from forward by %g (logits up to %g)", file,
           worst, largest);
}

int main(void)
{
    const char *const gpt[] = {"layers=2", "width=12", "heads=3", "seq=6", "batch=2", "vocab=11", "context=9"};
    const char *const tied[] = {"layers=1", "width=8",    "heads=2",   "seq=4",        "batch=1",
                                "vocab=7",  "tied=false", "gelu=tanh", "layout=in_out"};
    const char *const llama[] = {"layers=2", "width=16", "hidden=12", "seq=6", "batch=2", "vocab=11", "sd=0.5"};
    const char *const rnn[] = {"vocab=11", "width=6", "hidden=7", "seq=5", "batch=2"};
    compare("models/gpt.lua", COUNT_OF(gpt), gpt);
    compare("models/gpt.lua", COUNT_OF(tied), tied);
    compare("models/llama.lua", COUNT_OF(llama), llama);
    compare("models/char_rnn.lua", COUNT_OF(rnn), rnn);
    compare("tests/front/step_by_step.lua", 0, NULL);
    return finish();
}
