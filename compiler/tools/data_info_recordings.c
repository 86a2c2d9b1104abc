/* data_info_recordings.c: `lathe data info` of recordings: their classes or texts, rates and lengths, and which cannot
 * be read. */
#include "base/json_text.h"
#include "data/recordings.h"
#include "source/sound.h"
#include "tools/data_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Heard { /* of each recording */
    File_index *index;
    Lengths *rate, *milliseconds, *letters;
    int64_t bytes, several, damaged; /* several: with several channels */
    double seconds;
    char *first; /* damaged */
} Heard;

/* ------------------------------------------------------------------ which they are */

/* A CSV whose first line has the column path, and whose first path is a recording. */
static bool lists_recordings(const char *path)
{
    char line[1 << 12];
    bool found = false;
    FILE *f = has_end(path, ".csv") ? fopen(path, "r") : NULL;
    if (!f) return false;
    if (fgets(line, sizeof line, f) && strstr(line, "path") && fgets(line, sizeof line, f))
        for (int i = 0; i < 6 && recording_files.end[i]; i++) found |= strstr(line, recording_files.end[i]) != NULL;
    fclose(f);
    return found;
}

bool are_recordings(const Words *paths)
{
    for (int i = 0; i < paths->n; i++)
        if (!holds_data_files(&recording_files, paths->at[i], false) && !lists_recordings(paths->at[i])) return false;
    return paths->n > 0;
}

/* Recordings in no folder have no class. */
static File_labels labels_of(const Words *paths)
{
    File_labels all = CLASS_LABELS;
    char line[1 << 12];
    for (int i = 0; i < paths->n; i++) {
        FILE *f = lists_recordings(paths->at[i]) ? fopen(paths->at[i], "r") : NULL;
        if (f && fgets(line, sizeof line, f) && strstr(line, "text")) all = TEXT_LABELS;
        if (f) fclose(f);
        else if (is_of_kind(&recording_files, paths->at[i]) || holds_data_files(&recording_files, paths->at[i], true))
            return UNLABELLED;
    }
    return all;
}

/* ------------------------------------------------------------------ hearing them */

static char *take_sound(void *with, const Sound_about *about)
{
    Heard *x = with;
    add_length(x->rate, about->rate);
    add_length(x->milliseconds, about->samples * 1000 / about->rate);
    x->several += about->channels > 1;
    x->seconds += (double)about->samples / about->rate;
    return NULL;
}

static void pass_samples(void *with, const float *x, int64_t n) { (void)with, (void)x, (void)n; }

static void hear_one(Heard *x, int64_t item)
{
    const File_index *s = x->index;
    const Data_file *p = &s->at[item];
    int fd = open_to_read(p->archive < 0 ? s->names + p->name : s->archives.at[p->archive]);
    char *wrong = fd < 0
                      ? text_of("cannot be read: %s", error_text(errno))
                      : read_sound(&(Sound_bytes){fd, p->first, p->bytes}, &(Sound_taker){x, take_sound, pass_samples});
    if (fd >= 0) close(fd);
    x->bytes += p->bytes;
    if (wrong && !x->damaged++) x->first = text_of("%s: %s", place_of_file(s, p), wrong);
    free(wrong);
    if (spoken_text(s, item)) add_length(x->letters, letters_in(spoken_text(s, item)));
}

/* ------------------------------------------------------------------ told */

static void print_lengths(const char *name, const Lengths *h, double unit, const char *of)
{
    show(stdout, "%-11s %.6g to %.6g %s, median %.6g\n", name, (double)length_least(h) / unit,
         (double)length_most(h) / unit, of, (double)length_quantile(h, 0.5) / unit);
}

static void print_heard(const Heard *x)
{
    const char *of = x->index->wants == CLASS_LABELS ? text_of("of %s", class_counts(x->index))
                     : x->index->wants == TEXT_LABELS
                         ? text_of("with texts of %d different characters", letters_of_texts(x->index).n - 1)
                         : "without classes: they are in no folder";
    show(stdout, "recordings  %s, %.3g hours, %s, %s\n", grouped_text(x->index->n), x->seconds / 3600,
         bytes_text(x->bytes), of);
    if (length_count(x->rate)) {
        print_lengths("length", x->milliseconds, 1000, "s");
        print_lengths("rate", x->rate, 1, "Hz");
    }
    if (length_count(x->letters)) print_lengths("text", x->letters, 1, "characters");
    if (x->several)
        show(stdout, "channels    %s recordings have several, which are averaged\n", grouped_text(x->several));
    if (x->damaged) show(stdout, "damaged     %s cannot be read; the first: %s\n", grouped_text(x->damaged), x->first);
}

static json_t *span_json(const Lengths *h, double unit)
{
    return json_pack("{s:f,s:f,s:f}", "min", (double)length_least(h) / unit, "median",
                     (double)length_quantile(h, 0.5) / unit, "max", (double)length_most(h) / unit);
}

static json_t *heard_json(const Heard *x)
{
    json_t *all = json_pack("{s:I,s:I,s:f}", "recordings", (json_int_t)x->index->n, "file_bytes", (json_int_t)x->bytes,
                            "seconds", x->seconds);
    json_t *classes = json_object();
    for (int k = 0; k < x->index->classes.n; k++) {
        int64_t n = 0;
        for (int64_t i = 0; i < x->index->n; i++) n += x->index->at[i].class == k;
        put_json(classes, x->index->classes.at[k], json_integer(n));
    }
    put_json(all, "classes", classes);
    if (length_count(x->rate)) put_json(all, "length", span_json(x->milliseconds, 1000));
    if (length_count(x->rate)) put_json(all, "rate", span_json(x->rate, 1));
    if (length_count(x->letters)) put_json(all, "text", span_json(x->letters, 1));
    put_json(all, "several_channels", json_integer(x->several));
    put_json(all, "damaged", json_integer(x->damaged));
    if (x->first) put_json(all, "first_damaged", text_json(x->first, strlen(x->first)));
    return all;
}

void tell_recordings(const Words *paths, bool json)
{
    Heard x = {.index = find_data_files(&recording_files, paths, labels_of(paths), NULL, NULL),
               .rate = new_lengths(),
               .milliseconds = new_lengths(),
               .letters = new_lengths()};
    for (int64_t i = 0; i < x.index->n; i++) hear_one(&x, i);
    if (json) print_json(heard_json(&x));
    else print_heard(&x);
}
