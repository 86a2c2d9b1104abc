/* digest.h: what a run goes on with, tensor by tensor: parameters, moments, means, states; and hashes of them. */
#ifndef LATHE_TRAINER_DIGEST_H
#define LATHE_TRAINER_DIGEST_H

#include "base/sha256.h"
#include "base/sums.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "step/optim.h"
#include "trainer/trainer.h"

typedef struct Kept_tensor {
    char *name;        /* as in the files of a checkpoint: "h.0.bias", "exp_avg.h.0.bias" */
    const char *where; /* "gpt.lua:18"; "" for none */
    const char *file;  /* of a checkpoint that has it */
    const Lathe_param *param; /* NULL: of a state, or of moments in 8 bits */
    int64_t copy;
    const void *flat;  /* the array that it lies in, or its first number */
    Lathe_dtype type;
    int64_t elements;  /* bytes where these are in 8 bits, or in blocks */
    bool fixed, known; /* it never changes; its digest is known */
    Digest digest;     /* of its numbers in the order of files, little-endian */
    Sums sums;         /* of their bits, as whole numbers */
} Kept_tensor;

typedef struct Kept_tensors {
    const Lathe_model *model;
    int n, parameters; /* these come first */
    Kept_tensor *at;
} Kept_tensors;

Kept_tensors tensors_of_run(const Trainer *t, const Memory *m, const Optimizer *o); /* at from malloc */
void free_tensors(Kept_tensors *all);
void hash_tensors(Kept_tensors *all, int from, int to, bool sums);
Digest digest_of_tensors(const Kept_tensors *all, int from, int to); /* of lines "DIGEST  NAME", as sha256sum prints them */
int64_t bytes_of_tensor(const Kept_tensor *k);
int size_of_number(const Kept_tensor *k); /* bytes */
typedef void Take_run(void *with, void *at, int64_t bytes);
void each_run(const Kept_tensors *all, const Kept_tensor *k, Take_run *take, void *with);
double number_of_tensor(const Kept_tensor *k, const void *number); /* at `number` */

#endif
