/* recordings.c: recordings as the rows of a batch: features, their lengths, and a text or a class. */
#include "base/file.h"
#include "base/words.h"
#include "data/hear.h"
#include "data/recordings.h"
#include "data/split.h"
#include "model/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Recordings { /* what threads share */
    const Reading *reading;
    File_index *index;
    Sound_form form;
    int64_t letters; /* room of a text; 0: there is none */
    double seconds;
    bool other_rates; /* some have to be resampled */
} Recordings;

static int64_t numbers_of(const Recordings *r) { return r->form.frames * r->form.mel.mels; }

/* ------------------------------------------------------------------ one recording */

static void *open_listener(const void *with) { return open_hearer(&((const Recordings *)with)->form); }

/* A room is the features, and behind them their frames. */
static int64_t room_of(const Recordings *r) { return (int64_t)sizeof(float) * (numbers_of(r) + 1); }

static char *hear_file(void *thread, int fd, const Data_file *q, const File_turn *turn, char *room)
{
    Hearer *h = thread;
    float *out = (float *)(void *)room;
    int32_t frames;
    char *wrong = hear(h, &(Sound_bytes){fd, q->first, q->bytes}, turn, out, &frames);
    if (!wrong) memcpy(out + hearer_numbers(h), &frames, sizeof frames);
    return wrong;
}

static bool leaves_out_recording(const void *hearer) { return was_too_long(hearer); }

/* ------------------------------------------------------------------ batches */

static const float *features_in(const Recordings *r, const char *rooms, int64_t row)
{
    return (const float *)(const void *)(rooms + row * room_of(r));
}

/* One that cannot be read, where that is allowed, has zeros, and one frame of them. */
static int32_t frames_in(const Recordings *r, const char *rooms, int64_t row)
{
    int32_t frames;
    memcpy(&frames, features_in(r, rooms, row) + numbers_of(r), sizeof frames);
    return frames > 1 ? frames : 1;
}

static void put_features(const Recordings *r, const Lathe_tensor *t, char *at, int64_t row, const float *x)
{
    int64_t n = numbers_of(r);
    if (t->dtype == LATHE_F32) memcpy(at + row * n * 4, x, sizeof *x * (size_t)n);
    for (int64_t i = 0; i < n && t->dtype != LATHE_F32; i++) write_real(t->dtype, at, row * n + i, (double)x[i]);
}

static bool is_tensor_named(const Lathe_tensor *t, const char *name) { return strcmp(t->name, name) == 0; }

static void fill_input(const Recordings *r, const Lathe_tensor *t, char *at, int64_t row, int64_t item,
                       const char *rooms)
{
    int32_t *ids = (int32_t *)(void *)at;
    const char *spoken = spoken_text(r->index, item);
    if (is_tensor_named(t, "features")) put_features(r, t, at, row, features_in(r, rooms, row));
    if (is_tensor_named(t, "lengths")) ids[row] = frames_in(r, rooms, row);
    if (is_tensor_named(t, "label")) ids[row] = r->index->at[item].class;
    if (is_tensor_named(t, "text")) letter_ids(r->index, spoken, ids + row * r->letters, r->letters);
    if (is_tensor_named(t, "text_lengths")) ids[row] = (int32_t)letter_ids(r->index, spoken, NULL, r->letters);
}

static void fill_recordings(const void *with, const Lathe_entry *e, char *in, const File_turn *turn, bool training,
                            const char *rooms)
{
    (void)training;
    for (int i = 0; i < e->inputs; i++)
        for (int64_t row = 0; row < e->rows; row++)
            fill_input(with, &e->input[i], in + e->input[i].offset, row, turn[row].item, rooms);
}

/* ------------------------------------------------------------------ lengths */

typedef struct Look { /* at a recording's header */
    const Recordings *r;
    int64_t frames;
    double seconds;
    int rate;
} Look;

static char *take_length(void *with, const Sound_about *about)
{
    Look *look = with;
    look->frames = frames_of_sound(&look->r->form, about);
    look->rate = about->rate;
    look->seconds = (double)about->samples / about->rate;
    return NULL;
}

/* false: it cannot be read, which bad_records allows. */
static bool look_at_header(const Recordings *r, int64_t item, Look *look)
{
    File_index *s = r->index;
    const Data_file *q = &s->at[item];
    *look = (Look){.r = r};
    int fd = open_to_read(q->archive < 0 ? s->names + q->name : s->archives.at[q->archive]);
    char *wrong = fd < 0 ? text_of("cannot be read: %s", error_text(errno))
                         : read_sound(&(Sound_bytes){fd, q->first, q->bytes}, &(Sound_taker){look, take_length, NULL});
    if (fd >= 0) close(fd);
    if (wrong && !note_bad_file(s, item, wrong, r->reading->recipe->bad_records, "bad_records leaves it out"))
        fail(EXIT_DATA, place_of_file(s, q), "%s%s", wrong, bad_files_advice(s, r->reading));
    bool read = !wrong;
    free(wrong);
    return read;
}

/* What does not fit the inputs; NULL: it fits. */
static char *unfit(const Recordings *r, int64_t item, const Look *look)
{
    int64_t letters = r->letters ? letters_in(spoken_text(r->index, item)) : 0;
    const Mel_form *m = &r->form.mel;
    if (look->frames > r->form.frames)
        return text_of(
            "expected at most %lld frames (%.4g s), found %lld (%.4g s); build the model with --set frames=%lld",
            (long long)r->form.frames, (double)r->form.frames * m->hop / m->rate, (long long)look->frames,
            look->seconds, (long long)look->frames);
    if (letters > r->letters)
        return text_of(
            "expected a text of at most %lld characters, found %lld; build the model with --set letters=%lld",
            (long long)r->letters, (long long)letters, (long long)letters);
    return NULL;
}

/* Reads all headers.  A recording that does not fit is left out, or ends the program; the message names the longest. */
static void check_lengths(Recordings *r)
{
    File_index *s = r->index;
    int64_t kept = 0, left = 0, most = -1;
    char *place = NULL, *what = NULL;
    for (int64_t i = 0; i < s->n; i++) {
        Look look;
        if (!look_at_header(r, i, &look)) continue;
        char *wrong = unfit(r, i, &look);
        if (!wrong) r->seconds += look.seconds, s->at[kept++] = s->at[i];
        else left++;
        if (!wrong) r->other_rates |= look.rate != r->form.mel.rate;
        else if (look.frames > most) most = look.frames, place = place_of_file(s, &s->at[i]), what = wrong;
    }
    if (place && r->reading->recipe->too_long == LATHE_REFUSE_LONG)
        fail(EXIT_DATA, place, "%s; this is the longest of %s that %s not fit; or leave them out: --set too_long=drop",
             what, grouped_text(left), left == 1 ? "does" : "do");
    if (place)
        note("%s of %s recordings are left out, as too_long=drop says; the longest: %s: %s", grouped_text(left),
             grouped_text(kept + left), place, what);
    if (!kept) fail(EXIT_DATA, r->reading->paths.at[0], "expected recordings that fit the model, found none");
    s->n = kept;
}

/* ------------------------------------------------------------------ opening */

static const Lathe_tensor *input_of_model(const Lathe_model *m, const char *name)
{
    for (int i = 0; i < m->entries; i++)
        for (int k = 0; k < m->entry[i].inputs; k++)
            if (is_tensor_named(&m->entry[i].input[k], name)) return &m->entry[i].input[k];
    return NULL;
}

void settle_texts(Files *f, const Reading *reading, const Words *known, const int32_t *row, int64_t n)
{
    const Lathe_tensor *t = input_of_model(reading->model, "text");
    File_index *s = index_of_files(f);
    settle_letters(s, known, row, n);
    if (t->below && s->classes.n > t->below)
        fail(EXIT_DATA, reading->paths.at[0],
             "expected texts of at most %lld different characters (input text is below %lld, and 0 is the blank), "
             "found %d, "
             "such as %s; build the model with --set vocab=%d, or simplify the texts",
             (long long)t->below - 1, (long long)t->below, s->classes.n - 1, s->classes.at[s->classes.n - 1],
             s->classes.n);
}

static int64_t most_rows(const Recordings *r)
{
    int64_t most = 0;
    for (int i = 0; i < r->reading->model->entries; i++) {
        const Lathe_entry *e = &r->reading->model->entry[i];
        for (int k = 0; k < e->inputs; k++)
            if (is_tensor_named(&e->input[k], "features") && e->rows > most) most = e->rows;
    }
    return most;
}

static void settle_form(Recordings *r, const Lathe_entry *e)
{
    const Lathe_tensor *x = NULL, *text = input_of_model(r->reading->model, "text");
    for (int i = 0; i < e->inputs; i++)
        if (is_tensor_named(&e->input[i], "features")) x = &e->input[i];
    bug_if(!x || x->rank < 3); /* [rows][frames][mels], also with micro-batches */
    r->form.frames = x->dim[x->rank - 2];
    r->form.mel = mel_form(&r->reading->model->recipe, (int)x->dim[x->rank - 1]);
    r->form.recipe = r->reading->recipe;
    r->form.seed = r->reading->seed;
    r->letters = text ? text->dim[text->rank - 1] : 0;
}

static void tell_empty_filter(const Mel_form *f)
{
    Mel *m = open_mel(f);
    int k = empty_mel(m);
    if (k >= 0)
        note("mel filter %d of %d is narrower than the distance of two frequencies, %g Hz, and stays empty; fewer "
             "n_mels, "
             "or a larger n_fft, would fill all",
             k + 1, f->mels, (double)f->rate / f->n_fft);
    close_mel(m);
}

static const char *hasten_recordings(const void *with)
{
    return ((const Recordings *)with)->other_rates ? ", or resample the recordings to the model's rate once" : "";
}

static char *recordings_text(const void *with)
{
    const Recordings *r = with;
    return text_of("recordings of %.3g hours, %s", r->seconds / 3600,
                   r->letters ? text_of("texts of %d characters", r->index->classes.n - 1) : class_counts(r->index));
}

Files *open_recordings(const Reading *reading, const Lathe_entry *e, const Words *known)
{
    Recordings *r = must_alloc(sizeof *r);
    r->reading = reading;
    settle_form(r, e);
    File_labels wants = reading->predicting ? UNLABELLED : r->letters ? TEXT_LABELS : CLASS_LABELS;
    r->index = find_data_files(&recording_files, &reading->paths, wants, known, group_to_read(reading->recipe));
    if (!reading->predicting) {
        if (wants == CLASS_LABELS) check_class_count(r->index, input_of_model(reading->model, "label"), reading);
        shuffle_data_files(r->index);
        check_lengths(r);
        tell_empty_filter(&r->form.mel);
    }
    bool drop = reading->recipe->too_long == LATHE_DROP_LONG;
    return open_files(reading, r->index,
                      &(Files_form){.with = r,
                                    .room = room_of(r),
                                    .thread_bytes = hearer_bytes(&r->form),
                                    .open_thread = open_listener,
                                    .read = hear_file,
                                    .leaves_out = drop ? leaves_out_recording : NULL,
                                    .fill = fill_recordings,
                                    .hasten = hasten_recordings,
                                    .tell = recordings_text},
                      most_rows(r));
}
