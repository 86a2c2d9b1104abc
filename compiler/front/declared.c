/* declared.c: what data.audio, data.sentences and data.series ask of the inputs that a description declares. */
#include "front/fields.h"

const char array_form[] =
    "{ image = { \"f32\", 28, 28, 1 }, label = \"i32\" }: names, each with a type and the sizes of a row's axes";

static const Field *field_named(const Trace *trace, const char *name)
{
    for (int i = 0; i < trace->fields->all.n; i++)
        if (same(trace->fields->all.at[i].name, name)) return &trace->fields->all.at[i];
    return NULL;
}

/* ------------------------------------------------------------------ recordings */

typedef struct Audio_input {
    const char *name, *form;
    DType dtype;
    int axes;
    bool target, below;
} Audio_input;
static const Audio_input of_audio[] = {
    {"features", "{ \"f32\", frames, n_mels }", F32, 2, false, false},
    {"lengths", "{ \"i32\" }", I32, 0, false, false},
    {"text", "{ \"i32\", letters, below = vocab, target = true }", I32, 1, true, true},
    {"text_lengths", "{ \"i32\", target = true }", I32, 0, true, false},
    {"label", "{ \"i32\", below = classes, target = true }", I32, 0, true, true}};
enum { OF_FEATURES, OF_LENGTHS, OF_TEXT, OF_TEXT_LENGTHS, OF_LABEL, AUDIO_INPUTS };

static void check_audio_input(const Field *f)
{
    const char *names[AUDIO_INPUTS];
    int k = 0;
    for (int i = 0; i < AUDIO_INPUTS; i++) names[i] = of_audio[i].name;
    while (k < AUDIO_INPUTS && !same(names[k], f->name)) k++;
    if (k == AUDIO_INPUTS)
        err(f->where, "data.audio has no input '%s'%s", f->name, advice(f->name, names, AUDIO_INPUTS));
    const Audio_input *a = &of_audio[k];
    if (f->dtype != a->dtype || f->axes != a->axes || (f->role == LATHE_TARGETS) != a->target ||
        (f->below.n > 0) != a->below)
        err(f->where, "input '%s' of data.audio must be %s", f->name, a->form);
}

static void check_spectrum(const Trace *trace)
{
    const Lathe_recipe *r = &trace->desc->recipe;
    double top = r->f_max > 0 ? r->f_max : (double)r->sample_rate / 2;
    if (r->n_fft % 2) err(place_of_key(trace, "data", "n_fft"), "n_fft must be even, found %lld", (long long)r->n_fft);
    if (r->win_length > r->n_fft)
        err(place_of_key(trace, "data", "win_length"), "win_length must be at most n_fft, %lld, found %lld",
            (long long)r->n_fft, (long long)r->win_length);
    if (top > (double)r->sample_rate / 2)
        err(place_of_key(trace, "data", "f_max"), "f_max must be at most half of sample_rate, %g Hz, found %g",
            (double)r->sample_rate / 2, r->f_max);
    if (r->f_min >= top)
        err(place_of_key(trace, "data", "f_min"), "f_min must be below f_max, %g Hz, found %g", top, r->f_min);
}

/* data.audio has features, and a text or a class. */
static void check_audio(const Trace *trace)
{
    for (int i = 0; i < trace->fields->all.n; i++) check_audio_input(&trace->fields->all.at[i]);
    bool text = field_named(trace, "text"), lengths = field_named(trace, "text_lengths");
    bool label = field_named(trace, "label");
    if (!field_named(trace, "features") || text != lengths || text == label)
        err(place_of_key(trace, NULL, "inputs"),
            "data.audio needs the inputs features = %s, and text = %s with text_lengths = %s, or label = %s",
            of_audio[OF_FEATURES].form, of_audio[OF_TEXT].form, of_audio[OF_TEXT_LENGTHS].form,
            of_audio[OF_LABEL].form);
    check_spectrum(trace);
}

/* ------------------------------------------------------------------ texts */

typedef struct Text_input {
    const char *name, *form;
    int axes;
    bool target, below;
} Text_input;
static const Text_input of_sentences[] = {
    {"tokens", "{ \"i32\", seq, below = vocab }", 1, false, true},
    {"lengths", "{ \"i32\" }", 0, false, false},
    {"types", "{ \"i32\", seq }", 1, false, false},
    {"second", "{ \"i32\", seq, below = vocab }", 1, false, true},
    {"second_lengths", "{ \"i32\" }", 0, false, false},
    {"label", "{ \"i32\", below = classes, target = true }", 0, true, true},
    {"labels", "{ \"i32\", seq, below = classes, target = true }", 1, true, true}};

/* data.sentences has texts of these names; what is not the second is as long as tokens. */
static void check_sentences(const Trace *trace)
{
    const Field *tokens = field_named(trace, "tokens"), *labels = field_named(trace, "labels");
    const char *names[COUNT_OF(of_sentences)];
    for (int i = 0; i < COUNT_OF(of_sentences); i++) names[i] = of_sentences[i].name;
    if (!tokens)
        err(place_of_key(trace, NULL, "inputs"), "data.sentences needs the input tokens = %s", of_sentences[0].form);
    for (int i = 0; i < trace->fields->all.n; i++) {
        const Field *f = &trace->fields->all.at[i];
        const Text_input *s = of_sentences;
        while (s < of_sentences + COUNT_OF(of_sentences) && !same(s->name, f->name)) s++;
        if (s == of_sentences + COUNT_OF(of_sentences))
            err(f->where, "data.sentences has no input '%s'%s", f->name, advice(f->name, names, COUNT_OF(names)));
        if (f->dtype != I32 || f->axes != s->axes || (f->role == LATHE_TARGETS) != s->target ||
            (s->below && !f->below.n) ||
            ((same(s->name, "types") || same(s->name, "labels")) && f->axis[0].n != tokens->axis[0].n))
            err(f->where, "input '%s' of data.sentences must be %s", f->name, s->form);
    }
    if (labels && (field_named(trace, "label") || field_named(trace, "second") || field_named(trace, "types")))
        err(labels->where,
            "input 'labels' of data.sentences is of the words of one text, so label, second and types do "
            "not go with it");
    if (labels && trace->desc->recipe.second_column)
        err(labels->where,
            "input 'labels' of data.sentences is of the words of one text, so there is no column second = \"%s\"",
            trace->desc->recipe.second_column);
}

/* ------------------------------------------------------------------ time series */

/* The form of an input of data.series; sizes that must be equal are the same letter. */
typedef struct Series_input {
    const char *name, *form;
    bool target;
} Series_input;
static const Series_input of_series[] = {{"past", "{ \"f32\", past, channels }", false},
                                         {"future", "{ \"f32\", ahead, targets, target = true }", true},
                                         {"known", "{ \"f32\", past + ahead, known }", false},
                                         {"past_observed", "{ \"f32\", past, channels }", false},
                                         {"future_observed", "{ \"f32\", ahead, targets, target = true }", true}};

static bool fits_series(const Series_input *s, const Field *f, const Field *past, const Field *future)
{
    if (f->dtype != F32 || f->axes != 2 || (f->role == LATHE_TARGETS) != s->target) return false;
    if (same(s->name, "known")) return f->axis[0].n == past->axis[0].n + future->axis[0].n;
    const Field *like = s->target ? future : past;
    return f->axis[0].n == like->axis[0].n && f->axis[1].n == like->axis[1].n;
}

/* data.series has windows of these names. */
static void check_series(const Trace *trace)
{
    const Field *past = field_named(trace, "past"), *future = field_named(trace, "future");
    const char *names[COUNT_OF(of_series)];
    for (int i = 0; i < COUNT_OF(of_series); i++) names[i] = of_series[i].name;
    if (!past || !future)
        err(place_of_key(trace, NULL, "inputs"), "data.series needs the inputs past = %s and future = %s",
            of_series[0].form, of_series[1].form);
    for (int i = 0; i < trace->fields->all.n; i++) {
        const Field *f = &trace->fields->all.at[i];
        const Series_input *s = of_series;
        while (s < of_series + COUNT_OF(of_series) && !same(s->name, f->name)) s++;
        if (s == of_series + COUNT_OF(of_series))
            err(f->where, "data.series has no input '%s'%s", f->name, advice(f->name, names, COUNT_OF(of_series)));
        if (!fits_series(s, f, past, future))
            err(f->where, "input '%s' of data.series must be %s, with sizes as past and future have them", f->name,
                s->form);
    }
    if (future->axis[1].n > past->axis[1].n)
        err(future->where, "input 'future' has %lld targets, which must be among the %lld channels of input 'past'",
            (long long)future->axis[1].n, (long long)past->axis[1].n);
}

/* ------------------------------------------------------------------ each kind */

void check_files_and_series(const Trace *trace)
{
    const Lathe_recipe *r = &trace->desc->recipe;
    if (r->audio) check_audio(trace);
    if (r->sentences) check_sentences(trace);
    if (r->series) check_series(trace);
}

const char *kind_of_rows(const Trace *trace)
{
    const Lathe_recipe *r = &trace->desc->recipe;
    return r->images ? "images" : r->audio ? "audio" : r->series ? "series" : r->sentences ? "sentences" : "arrays";
}

const char *form_of_inputs(const Trace *trace)
{
    const Lathe_recipe *r = &trace->desc->recipe;
    if (r->series) return format("`inputs = { past = %s, future = %s }`", of_series[0].form, of_series[1].form);
    if (r->sentences)
        return format("`inputs = { tokens = %s, lengths = %s, label = %s }`", of_sentences[0].form,
                      of_sentences[1].form, of_sentences[5].form);
    if (r->audio)
        return format("`inputs = { features = %s, label = %s }`, or with text = %s and text_lengths = %s",
                      of_audio[OF_FEATURES].form, of_audio[OF_LABEL].form, of_audio[OF_TEXT].form,
                      of_audio[OF_TEXT_LENGTHS].form);
    return format("`inputs`, a table such as %s", r->images ? image_form : array_form);
}
