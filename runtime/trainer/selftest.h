/* selftest.h: tests of the machine that a trainer runs on. */
#ifndef LATHE_TRAINER_SELFTEST_H
#define LATHE_TRAINER_SELFTEST_H

#include "interface/lathe_model.h"
#include "model/block.h"
#include "trainer/trainer.h"

int selftest_command(Trainer *t);

/* selftest_file.c: the ways of computing that failed on this device with this program, in the cache folder.
 * remember_selftest() uses the second ways that an earlier test chose, except in the command selftest; folder: NULL if
 * there is none. */
void remember_selftest(const char *folder, const Trainer *t);
bool needs_selftest(void); /* no result is known yet, and one can be saved */
void keep_wrong_way(const char *name);
bool is_wrong_way(const char *name);
void keep_selftest(void);

/* At the first start of training on a device: compares each way of computing that has a second one (loops in one
 * launch, kernels that address by ids, attention by a library) with its second way, with the model's own shapes.  A way
 * that differs is replaced, now and at later starts.  Called between loading parameters and the first step; inputs and
 * gradients are overwritten, and states are zero afterwards. */
void test_first_start(const Trainer *t, const Lathe_entry *train, Memory *m);

/* product_check.c: products of this processor.  From now on each product of an entry is compared, with the result in
 * `report`; report NULL: stops. */
typedef struct Product_off {
    const Lathe_kernel *kernel;
    double off, is, plain; /* off: in units of the possible rounding error; an element, and the same by a plain loop */
} Product_off;
typedef struct Product_report {
    int products, n;
    Product_off off[64]; /* one per kernel */
} Product_report;
void watch_products(const Lathe_entry *entry, Product_report *report);

#endif
