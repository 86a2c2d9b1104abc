/* given.h: the inputs of an entry that come from outside; a trainer or library fills the others. */
#ifndef LATHE_INTERFACE_GIVEN_H
#define LATHE_INTERFACE_GIVEN_H

#include "lathe_model.h"

static inline bool lathe_is_given(Lathe_role role)
{
    return role != LATHE_SEED && role != LATHE_STEP && role != LATHE_POSITION && role != LATHE_FIRST_ROW &&
           role != LATHE_LOSS_SCALE;
}

#endif
