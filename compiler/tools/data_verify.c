/* data_verify.c: `lathe verify`: starts the trainer that computes steps of a run again. */
#include "base/json_text.h"
#include "base/known.h"
#include "base/words.h"
#include "tools/data_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct Asked {
    const char *trainer, *steps, *seed, *threads, *readers, *memory;
    Words data, val_data;
    bool json;
} asked;

static const Flag flags[] = {
    {"--steps", FLAG_TEXT, &asked.steps, "A..B", "the steps, as the trainer counts them (all)"},
    {"--trainer", FLAG_TEXT, &asked.trainer, "PATH",
     "the trainer that computes them (the run's, if you trained with it)"},
    {"--data", FLAG_TEXTS, &asked.data, "PATH", "where the data is now; several: the option again"},
    {"--val-data", FLAG_TEXTS, &asked.val_data, "PATH", "likewise that to evaluate"},
    {"--seed", FLAG_TEXT, &asked.seed, "S", "another seed than the run says"},
    {"--threads", FLAG_TEXT, &asked.threads, "N", "threads; the result does not depend on them"},
    {"--readers", FLAG_TEXT, &asked.readers, "N", "threads that encode documents or decode pictures"},
    {"--memory-limit", FLAG_TEXT, &asked.memory, "SIZE", "refuse to take more, such as 512M"},
    {"--json", FLAG_ON, &asked.json, "", "the result as JSON: an object for each part of the run"},
};

static const Command_line line = {
    "verify", "RUN [--steps A..B] [options]",
    "Computes steps of a run again, from its nearest checkpoint, and says \"same\" (exit code 0), or the first step\n"
    "and tensor that differ (exit code 5). Runs trained with --log-hashes are compared to the bit.",
    flags, sizeof flags / sizeof *flags};

/* The trainer of the run's last start, as run.json has it; a relative path is one from the folder of that time. */
static char *trainer_of_run(const char *run)
{
    char *path = text_of("%s/run.json", run), *found = NULL;
    json_t *about = json_load_file(path, 0, NULL), *starts = json_object_get(about, "starts");
    const json_t *start = json_array_get(starts, json_array_size(starts) - 1);
    char *word = word_of_json(json_object_get(start, "program"));
    if (!word) word = word_of_json(json_array_get(json_object_get(start, "words"), 0)); /* of an older version */
    char *folder = word_of_json(json_object_get(start, "folder"));
    if (word)
        found = *word != '/' && strchr(word, '/') && folder ? text_of("%s/%s", folder, word) : text_of("%s", word);
    free(path), free(word), free(folder);
    json_decref(about);
    return found;
}

/* The folder may be a stranger's, and name any program: none is run that this user has not trained with, or named. */
static const char *find_trainer(const char *run)
{
    if (access(run, F_OK) != 0) fail(EXIT_DATA, run, "expected a run's folder, found nothing there");
    if (asked.trainer) return asked.trainer;
    const char *own = trainer_of_run(run), *known = own ? known_program(own) : NULL;
    if (known) return known;
    if (own && access(own, X_OK) == 0)
        fail(
            EXIT_USAGE, run,
            "its run.json names the program %s, and no note says that you have trained with what is there now and with "
            "--log-hashes, so verify does not run it: say --trainer %s if you trust it; for the run of somebody else "
            "build its description, and give that trainer",
            own, own);
    fail(EXIT_USAGE, run, "which trainer is it of? %s%s; build its description, and give it: --trainer PATH",
         own ? "That of its run.json is not there any more: " : "Its run.json does not say it", own ? own : "");
}

static void add_option(Words *w, const char *name, const char *value)
{
    if (!value) return;
    add_word(w, name);
    add_word(w, value);
}

static void add_list(Words *w, const char *name, const Words *values)
{
    if (values->n) add_word(w, name);
    for (int i = 0; i < values->n; i++) add_word(w, values->at[i]);
}

int verify_run_command(int argc, char **argv)
{
    Words runs = {0}, w = {0};
    take_command_line(&line, argc, argv, 1, &runs);
    if (runs.n != 1) fail(EXIT_USAGE, NULL, "verify needs one run's folder: lathe verify RUN; `lathe runs` lists runs");
    const char *trainer = find_trainer(runs.at[0]);
    add_word(&w, trainer);
    add_word(&w, "verify");
    add_option(&w, "--out", runs.at[0]);
    add_option(&w, "--steps", asked.steps);
    add_option(&w, "--seed", asked.seed);
    add_option(&w, "--threads", asked.threads);
    add_option(&w, "--readers", asked.readers);
    add_option(&w, "--memory-limit", asked.memory);
    add_list(&w, "--data", &asked.data);
    add_list(&w, "--val-data", &asked.val_data);
    if (asked.json) add_word(&w, "--json");
    add_word(&w, NULL);
    execv(trainer, (char **)w.at);
    if (errno == ENOEXEC)
        fail(EXIT_ERROR, trainer, "it is for another processor: give one that was built for this one, --trainer PATH");
    fail(EXIT_ERROR, trainer, "cannot be run: %s", error_text(errno));
}
