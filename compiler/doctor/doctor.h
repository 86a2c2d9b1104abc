/* doctor.h: what `lathe doctor` finds: a line each, with what to do about it. */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "desc/passes.h"
#include "kernels/kernel.h"
#include "timing/timing.h"

/* Each with its word on the page and in --json. BAD: something will not work. */
#define HEALTH_LIST(X) X(FINE, "ok", "ok") X(ODD, "odd", "odd") X(BAD, "BAD", "bad")
typedef enum Health { HEALTH_LIST(LIST_MEMBER) } Health;

typedef struct Finding {
    Health health;
    const char *topic, *found, *remedy; /* remedy: NULL where there is nothing to do */
} Finding;

typedef struct Doctor {
    VEC(Finding) findings;
    int64_t memory;                   /* bytes that can be had; 0: not known */
    Rates rates;                      /* measured; engine NULL: they could not be */
    const char *out, *description;    /* where a run would go; NULL: none given */
    VEC(const char *) data;
} Doctor;

void finding(Doctor *d, Health h, const char *topic, char *found, const char *remedy);
void examine_machine(Doctor *d);                   /* doctor/doctor.c */
void examine_description(Doctor *d, const Module *m); /* doctor/model.c */
int tell_findings(const Doctor *d, bool json);     /* exit code: 1 where something is BAD */

#endif
