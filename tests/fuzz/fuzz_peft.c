/* fuzz_peft.c: a folder of PEFT's: adapter_config.json and adapter_model.safetensors.  What is taken has finite
 * numbers, and changes no weight beside the adapters. */
#define _GNU_SOURCE
#include "fuzz.h"
#include "model/base.h"
#include "model/peft.h"
#include "parts.h"
#include "small_model.h"

#include <math.h>

static const char *const names[] = {"adapter_config.json", "adapter_model.safetensors"};

void fuzz_one(const char *path, const char *text, size_t n)
{
    float flat[ELEMENTS];
    char *folder = folder_of(path);
    for (int i = 0; i < ELEMENTS; i++) flat[i] = 7;
    write_parts(path, text, n, 2, names);
    free(base_of_adapter(folder));
    read_peft(&small_model, folder, flat);
    for (int i = 0; i < ELEMENTS; i++) bug_if(!isfinite(flat[i]) || ((i < AT_A || i >= AT_LAYER) && flat[i] != 7));
}
