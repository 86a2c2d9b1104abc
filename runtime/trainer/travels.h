/* travels.h: when pieces of a step were on their way between ranks, and when this rank waited for others. */
#ifndef LATHE_TRAINER_TRAVELS_H
#define LATHE_TRAINER_TRAVELS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum Travel_kind { TRAVEL_GRADIENTS, TRAVEL_PARAMETERS, TRAVEL_WAIT } Travel_kind;

typedef struct Travel {
    Travel_kind kind;
    int64_t bytes;     /* that this rank sends */
    double begin, end; /* seconds_now() */
} Travel;

void keep_travels(bool kept); /* from now on, for add_travels(); waiting counts in any case */
void begin_travels(void);     /* of a step */
Travel *begin_travel(Travel_kind kind, int64_t bytes); /* NULL: it is not kept */
void end_travel(void *travel); /* also by the courier's thread, before an exchange counts as ended */
void note_wait(double begin); /* from then until now */
double waited_for_ranks(void); /* seconds of the step, until now */
enum { TRACE_KERNELS = 1, TRACE_RANKS }; /* rows of a Chrome trace */
bool any_travels(void); /* in this step */
void add_travels(json_t *events, double begin); /* to a Chrome trace that begins then; none with one rank */

#endif
