/* bad_id.c: what is said of an id out of range. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "step/entry.h"

#include <string.h>

/* Clamping would turn a class into another one: a wrong label. */
static char *id_remedy(const Bad_id *id)
{
    int last = id->below - 1;
    if (strncmp(id->what, "class ids", 9) != 0)
        return text_of("use a larger table, or keep ids in range: nn.clamp(ids, 0, %d)", last);
    if (id->id < 0) return text_of("correct the data, or leave such rows out with the loss's `ignore`");
    return text_of("give the layer that scores the classes more outputs (out = %lld or more), or correct the data",
                   (long long)id->id + 1);
}

void refuse_id(const Lathe_entry *e, const Bad_id *id)
{
    fail(id->data ? EXIT_DATA : EXIT_ERROR, *id->place ? id->place : NULL,
         "%s (entry %s): expected ids 0 to %d, found %d, which %s; %s", id->what, e->name, id->below - 1, id->id,
         id->data ? "depends on the data alone" : "the model computed", id_remedy(id));
}
