/* trainer.cc: what a trainer in the simulator says at its end, for tests: what the simulator has to complain of (exit code 99), and
 * with SIM_TAKEN in the environment the most bytes of the device that were taken.  SIM_DEVICE changes the device: "count 0",
 * "major 7", "driver 12040", "memory 100000", "image 0", "failing 12": a launch from the start on, "stuck 3": an event's so manieth record; then there is nothing to
 * complain of.  SIM_GPUS: so many devices.  SIM_EARLY: streams get ahead of each other as far as they may (sim_order).  It is the last object that is linked, so that it ends before the simulator does. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct Told {
    Told()
    {
        const char *wish = getenv("SIM_DEVICE"), *gpus = getenv("SIM_GPUS");
        if (gpus) sim_device.count = atoi(gpus);
        if (getenv("SIM_EARLY")) sim_order(SIM_BACKWARD, 0);
        setenv("LATHE_CUDNN", "none", 0); /* the real one knows nothing of this device */
        char what[20];
        long n;
        if (!wish || sscanf(wish, "%19s %ld", what, &n) != 2) return;
        if (strcmp(what, "count") == 0) sim_device.count = (int)n;
        if (strcmp(what, "major") == 0) sim_device.major = (int)n;
        if (strcmp(what, "driver") == 0) sim_device.driver = (int)n;
        if (strcmp(what, "memory") == 0) sim_device.memory = (size_t)n;
        if (strcmp(what, "failing") == 0) sim_device.failing_launch = (int)n;
        if (strcmp(what, "stuck") == 0) sim_device.stuck_after = (int)n;
        if (strcmp(what, "image") == 0) sim_device.no_image = n == 0;
    }
    ~Told()
    {
        const char *report = sim_report();
        if (getenv("SIM_TAKEN")) fprintf(stderr, "sim: %zu bytes are taken\n", sim_most_allocated());
        if (!*report || getenv("SIM_DEVICE")) return;
        fprintf(stderr, "sim: %s\n", report);
        fflush(NULL);
        _exit(99);
    }
} told;
