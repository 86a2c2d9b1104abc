/* selftest.h: what a trainer finds out about the machine it runs on before it trusts it. */
#ifndef LATHE_TRAINER_SELFTEST_H
#define LATHE_TRAINER_SELFTEST_H

#include "interface/lathe_model.h"
#include "model/block.h"
#include "trainer/trainer.h"

int selftest_command(Trainer *t);

/* selftest_file.c: what was found to be wrong on this device by this program, in the folder of caches.  remember: takes
 * the second ways that an earlier test has found, but for the command that tests anew; folder: NULL, there is none. */
void remember_selftest(const char *folder, const Trainer *t);
bool needs_selftest(void); /* nothing is known yet, and it can be remembered */
void keep_wrong_way(const char *name);
bool is_wrong_way(const char *name);
void keep_selftest(void);

/* At the first start of training on a device: compares each way of computing that has a second one (loops in one
 * launch, kernels that address by ids, attention by a library) with that, at the model's own shapes; what differs takes
 * its second way, now and at later starts.  Between parameters and the first step; inputs and gradients are lost, the
 * states are zero afterwards. */
void test_first_start(const Trainer *t, const Lathe_entry *train, Memory *m);

/* product_check.c: of this processor's products.  From now on whatever an entry multiplies is compared, with what is
 * found in `report`; report NULL: no more. */
typedef struct Product_off {
    const Lathe_kernel *kernel;
    double off, is, plain; /* off: in units of what rounding may do; an element, and what a plain loop says of it */
} Product_off;
typedef struct Product_report {
    int products, n;
    Product_off off[64]; /* a kernel each */
} Product_report;
void watch_products(const Lathe_entry *entry, Product_report *report);

#endif
