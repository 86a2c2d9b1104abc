/* rooms.h: arrays of a GPU whose pages share rooms (interface/pages.h), mapped once by CUDA's virtual memory. */
#ifndef LATHE_CUDA_ROOMS_H
#define LATHE_CUDA_ROOMS_H

#include "step/device_parts.h"

/* Whether the GPU can do it, with pages of so many bytes: NULL, or a message. */
const char *rooms_check(int gpu, int64_t page);
/* Takes the array's rooms and maps its pages to them; its address, or NULL: rooms_refusal(). */
void *rooms_map(int gpu, const Device_array *a, int64_t page);
const char *rooms_refusal(void);
void rooms_close(void);                 /* gives all back */

#endif
