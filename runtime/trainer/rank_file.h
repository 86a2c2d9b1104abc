/* rank_file.h: what each rank keeps by itself, in checkpoints. */
#ifndef LATHE_TRAINER_RANK_FILE_H
#define LATHE_TRAINER_RANK_FILE_H

#include "base/file.h"
#include "model/safetensors.h"
#include "trainer/trainer.h"

#define RANK_FILE "ranks.safetensors"

bool keeps_rank_file(const Trainer *t);
Store_writer *start_rank_file(const Trainer *t, const char *folder, Fault *f); /* NULL: ranks keep nothing */
void load_rank_file(const Trainer *t, const Store *from);

#endif
