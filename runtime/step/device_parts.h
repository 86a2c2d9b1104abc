/* device_parts.h: parameters and gradients of which each of several devices keeps its own elements, and where it has the
 * others while an entry needs them (interface/pages.h).  For C and C++. */
#ifndef LATHE_STEP_DEVICE_PARTS_H
#define LATHE_STEP_DEVICE_PARTS_H

#include "interface/pages.h"

typedef struct Device_array {
    char *whole, *own;                  /* on the host: addresses for all elements; in the block: its own */
    int64_t element, bytes;             /* bytes: of all elements */
    int pages, rooms;
    const int *room_of;                 /* [pages] */
    const Lathe_set *apart;             /* [buckets] */
} Device_array;

typedef struct Device_parts {
    Lathe_shards shards;
    int64_t page;                       /* bytes */
    Device_array parameters, gradients;
} Device_parts;

#endif
