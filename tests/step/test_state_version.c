/* test_state_version.c: a checkpoint of a newer major format is refused by its number; of a newer minor one, and of one
 * before there were minor ones, it is read. */
#include "harness.h"

#include "base/words.h"
#include "interface/version.h"
#include "step/state.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The exit code of reading it, and what was said. */
static int code_of_reading(const char *folder, json_t *state, char *said, size_t room)
{
    char *text = state_text(state);
    int status = 0, ends[2];
    State s;
    expect(write_file(format("%s/state.json", folder), text, strlen(text)) && pipe(ends) == 0, "writing state.json");
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        read_state(&s, folder);
        _exit(0);
    }
    close(ends[1]);
    const ssize_t n = read(ends[0], said, room - 1);
    said[n > 0 ? n : 0] = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

int main(void)
{
    char said[1024];
    const char *folder = temp_folder();
    json_t *state = json_pack("{s:i, s:i, s:f, s:{s:i, s:i, s:f}, s:{}}", "format", LATHE_CHECKPOINT_MAJOR, "step", 3,
                              "elapsed_s", 1.0, "evaluation", "step", -1, "best_step", -1, "best_value", 0.5, "files");
    expect(code_of_reading(folder, state, said, sizeof said) == 0, "an older one: %s", said);
    json_object_set_new(state, "minor", json_integer(LATHE_CHECKPOINT_MINOR + 1));
    expect(code_of_reading(folder, state, said, sizeof said) == 0, "a newer minor version: %s", said);
    json_object_set_new(state, "format", json_integer(LATHE_CHECKPOINT_MAJOR + 1));
    expect(code_of_reading(folder, state, said, sizeof said) == 3 &&
               strstr(said, "expected format 1 of checkpoints or an older one, found 2"),
           "a newer one: %s", said);
    return finish();
}
