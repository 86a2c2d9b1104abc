/* run.h: the run folder. */
#ifndef LATHE_MODEL_RUN_H
#define LATHE_MODEL_RUN_H

#include "base/file.h"

/*  RUN/checkpoints/step-N/   a checkpoint (trainer/checkpoint.c); step-N.part is being written, step-N.gone removed
 *                 /latest, best            links to one
 *     /model.safetensors, tokenizer.json, huggingface.json   links into the newest
 *     /config.json, metrics.jsonl, lock
 *     /before-K/                           what an earlier run in this folder has left */
char *checkpoint_path(const char *run, int64_t step);
int64_t newest_checkpoint(const char *run, int64_t below); /* its step, less than below; -1 where there is none */
char *newest_weights(const char *folder); /* of a run: its newest checkpoint's; of another folder: model.safetensors */
bool holds_a_run(const char *folder);
void lock_run(const char *run);  /* makes it; ends the program (3) where another trainer has it */
void keep_lock(
    const char *run); /* before a save: where the folder is another one now, that is locked, or the program ends (3) */
/* Removes what a kill has left half done; puts checkpoints of more than `after` steps (-1: the whole run) into
 * before-K.  False: there was nothing to put there; else its name is in *where. */
bool prepare_run(const char *run, int64_t after, char **where);
void link_checkpoint(const char *run, int64_t step, int64_t best, Fault *f); /* best: -1: as it is */
void prune_run(const char *run, int64_t keep, int64_t best);

#endif
