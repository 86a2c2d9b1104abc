/* selftest.h: what a trainer finds out about the machine it runs on before it trusts it. */
#ifndef SELFTEST_H
#define SELFTEST_H

#include "trainer.h"

int selftest_command(Trainer *t);

/* Of the device (train_device.h): only where there is one. */
int device_ways(void);
const char *device_way(int i, bool *exact);
void take_second_way(const char *name, bool wanted);
int tested_products(int *wrong);
const char *about_device(void);

/* selftest_file.c: what was found to be wrong on this device by this program, in the folder of caches.  remember: takes
 * the second ways that an earlier test has found, but for the command that tests anew; folder: NULL, there is none. */
void remember_selftest(const char *folder, const Trainer *t);
bool needs_selftest(void); /* nothing is known yet, and it can be remembered */
void keep_wrong_way(const char *name);
bool is_wrong_way(const char *name);
void keep_selftest(void);

/* At the first start of training on a device: compares each way of computing that has a second one (loops in one
 * launch, attention by a library) with that, at the model's own shapes; what differs takes its second way, now and at
 * later starts.  Between parameters and the first step; inputs and gradients are lost, the states are zero afterwards.
 */
void test_first_start(const Trainer *t, const Lathe_entry *train, Memory *m);

#endif
