/* fuzz_folder.c: a folder as Hugging Face has it: config.json, the index of its shards, one of them.  What is taken has
 * a finite number for every weight, and the files that came with it can be asked for their words. */
#define _GNU_SOURCE
#include "fuzz.h"
#include "model/import.h"
#include "model/origin.h"
#include "parts.h"
#include "small_model.h"

#include <math.h>

static const char *const names[] = {"config.json", "model.safetensors.index.json", "model-1.safetensors"};

static void ask_origin(const char *weights)
{
    Origin *o = read_origin(weights);
    (void)origin_template(o);
    for (int k = 0; k < origin_files(o); k++) bug_if(!origin_file(o, origin_name(o, k)));
    if (!o) return;
    free(origin_text(o));
    forget_tokens(o);
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    Lathe_model whole = small_model;
    float flat[ELEMENTS];
    char *folder = folder_of(path);
    whole.adapters = 0;
    whole.params = WEIGHTS;
    for (int i = 0; i < ELEMENTS; i++) flat[i] = 1;
    write_parts(path, text, n, 3, names);
    char *weights = weights_file(folder);
    ask_origin(weights);
    load_exchange(n % 2 ? &whole : &small_model, weights, flat, n % 3 ? NULL : "");
    for (int i = 0; i < ELEMENTS; i++) bug_if(!isfinite(flat[i]));
}
