/* run.h: the run folder. */
#ifndef LATHE_MODEL_RUN_H
#define LATHE_MODEL_RUN_H

#include "base/file.h"

/*  RUN/checkpoints/step-N/   a checkpoint (trainer/checkpoint.c); step-N.part is being written, step-N.gone removed
 *                 /latest, best            links to one
 *     /model.safetensors, tokenizer.json, huggingface.json   links into the newest
 *     /config.json, run.json, metrics.jsonl, lock, report.html; eval.json, by the user (look/past.h)
 *     /metrics.csv, events.out.tfevents.N  of --log (trainer/logs.h)
 *     /before-K/                           contents left by an earlier run in this folder */
#define EVENT_FILES "events.out.tfevents."
char *checkpoint_path(const char *run, int64_t step);
int64_t newest_checkpoint(const char *run, int64_t below); /* the highest step less than below; -1: none */
char *newest_weights(const char *folder); /* of a run: the newest checkpoint's; of another folder: model.safetensors */
bool holds_a_run(const char *folder);
void lock_run(const char *run);  /* makes the folder; ends the program (3) if another trainer has it */
void refuse_running(const char *run); /* ends the program (3) if a trainer writes into it; leaves nothing there */
void keep_lock(
    const char *run); /* before a save: if the folder was replaced, locks the new one, or ends the program (3) */
/* Removes what a killed trainer left half done; moves checkpoints after step `after` (-1: the whole run) into before-K.
 * False: there was nothing to move; otherwise *where is that folder. */
bool prepare_run(const char *run, int64_t after, char **where);
void link_checkpoint(const char *run, int64_t step, int64_t best, Fault *f); /* best: -1: unchanged */
void prune_run(const char *run, int64_t keep, int64_t best);

#endif
