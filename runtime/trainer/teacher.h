/* teacher.h: the weights of a teacher (`lathe --distill`); nothing for models without (trainer/teacher.c). */
#ifndef LATHE_TRAINER_TEACHER_H
#define LATHE_TRAINER_TEACHER_H

#include "data/data.h"
#include "model/block.h"
#include "step/state.h"
#include "trainer/trainer.h"

void find_teacher(Trainer *t, const State *from);        /* from: the checkpoint of a resumed run; NULL: a new one */
void check_teacher_data(const Trainer *t, const Data *d); /* tokens, classes, columns mean the same to it */
void fill_teacher(Trainer *t, const Memory *m, const State *from); /* drawn from the seed where no weights are given */
json_t *teacher_json(const Trainer *t);                  /* for state.json; NULL: there is none */

#endif
