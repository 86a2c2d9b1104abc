/* check.c: what must hold of the kernels of a program after each pass over them: its views lie in their buffers, values
 * are written before they are read (check_order.c), last as long as they are needed (check_lives.c), and are not
 * overwritten, within a kernel or in panels, until they have been read (check_bytes.c). */
#include "desc/passes.h"
#include "desc/target.h"
#include "kernels/check_nests.h"

static void check_products(const Run *r, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        const Kernel *k = kernels[i];
        const char *fault = k->kind == GEMM || k->kind == PACK ? gemm_fault(k) : NULL;
        if (fault) unsound(r, "product %s: %s", k->name, fault);
        check_products(r, (Kernel *const *)k->body.at, k->body.n);
    }
}

static void check_view(const Access *a, const Run *r)
{
    const char *fault = view_fault(a->view);
    if (fault) unsound(r, "in kernel %s %s", a->kernel->name, fault);
}

static void check_nests(const Run *r, Kernel *const *kernels, int n, const Target *t)
{
    bool launched = !t->loops && !comes_before(r->program->after, "launch");
    for (int i = 0; i < n; i++) {
        const char *fault = kernels[i]->nest ? nest_fault(kernels[i], t) : NULL;
        if (!fault && kernels[i]->nest && launched) fault = launch_fault(kernels[i]);
        if (fault) unsound(r, "kernel %s: %s", kernels[i]->name, fault);
        check_nests(r, (Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, t);
    }
}

void check_program(const Program *p, const char *stage, const Desc *d)
{
    Run r = run_of(p, stage);
    for (int i = 0; i < r.all.n; i++) check_view(&r.all.at[i], &r);
    check_products(&r, (Kernel *const *)p->kernels.at, p->kernels.n);
    check_order(&r);
    check_lives(&r);
    check_bytes(&r);
    check_nests(&r, (Kernel *const *)p->kernels.at, p->kernels.n, d->options->target);
    if (!d->options->target->loops && !comes_before(p->after, "waits")) check_waits(&r);
    check_done(&r, d);
    check_needed(&r, d);
}
