/* fuzz_state.c: state.json of a checkpoint, with a checksum that fits, so that what is behind it is read: what is taken
 * has the numbers in their ranges. */
#include "fuzz.h"
#include "base/words.h"
#include "step/state.h"

#include <stdlib.h>
#include <string.h>

/* read_state wants the folder: the file is FOLDER/state.json; the bytes are its text without the last member. */
void fuzz_one(const char *path, const char *text, size_t n)
{
    State s;
    char *folder = text_of("%s", path), *slash = strrchr(folder, '/');
    bug_if(!slash);
    *slash = 0;
    char *state = text_of("%s/state.json", folder), *last = state_last_line(text, n);
    FILE *f = fopen(state, "wb");
    bug_if(!f || fwrite(text, 1, n, f) != n || fputs(last, f) < 0 || fclose(f) != 0);
    free(last);
    free(state);
    read_state(&s, folder);
    free(folder);
    bug_if(s.at.step < 0 || s.at.evaluated < -1 || s.at.best_step < -1);
    check_mark(&s, "model.safetensors", "model.safetensors", "", 0);
    close_state(&s);
}
