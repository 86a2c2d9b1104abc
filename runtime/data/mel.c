/* mel.c: log-mel features of a recording: frames under a Hann window, their power spectrum, mel filters, a logarithm.
 *
 * Definitions are torchaudio's MelSpectrogram (mel_scale htk) and librosa's melspectrogram (slaney, with its norm),
 * with centred frames and a mirrored recording at the ends.  The spectrum is the Fourier transform's definition: for
 * each frequency a product with cosines and one with sines.  A frame is folded about its middle first, since cosines
 * are even about it and sines odd, which halves the work.  LANES frames go side by side, so that vector units are busy
 * and each sum has one order. */
#include "base/words.h"
#include "data/mel.h"
#include "math/math.h"

#include <math.h>
#include <stdlib.h>

enum { LANES = 8 };

typedef struct Filter { /* a triangle over frequencies first … first + n - 1 */
    int first, n;
    double *weight; /* [n] */
} Filter;

struct Mel {
    Mel_form form;
    int half;               /* n_fft / 2: frequencies are 0 … half */
    double *window;         /* [n_fft] */
    double *cosine, *sine;  /* [n_fft] of a whole turn */
    double (*even)[LANES];  /* [half + 1] of the frames at work: x[k] + x[n_fft - k] */
    double (*odd)[LANES];   /* [half + 1] x[k] - x[n_fft - k] */
    double (*power)[LANES]; /* [half + 1] */
    Filter *filter;         /* [mels] */
    int least, most;        /* frequencies that some filter reads: least … most - 1 */
};

Mel_form mel_form(const Lathe_recipe *r, int mels)
{
    return (Mel_form){.rate = (int)r->sample_rate,
                      .n_fft = (int)r->n_fft,
                      .hop = (int)r->hop_length,
                      .window = (int)(r->win_length ? r->win_length : r->n_fft),
                      .mels = mels,
                      .f_min = r->f_min,
                      .f_max = r->f_max > 0 ? r->f_max : (double)r->sample_rate / 2,
                      .scale = r->mel_scale,
                      .floor = r->log_floor};
}

int64_t mel_frames(const Mel_form *f, int64_t samples) { return samples / f->hop + 1; }
int64_t mel_samples(const Mel_form *f, int64_t frames) { return frames * f->hop - 1; }

int64_t mel_bytes(const Mel_form *f)
{
    int64_t spectra = 3 * (f->n_fft / 2 + 1) * LANES, filters = f->mels * ((int64_t)sizeof(Filter) / 8) + 2 * f->n_fft;
    return 8 * (3 * (int64_t)f->n_fft + spectra + filters);
}

/* ------------------------------------------------------------------ mel filters */

static double mel_of(const Mel_form *f, double hz)
{
    if (f->scale == LATHE_MEL_HTK) return 2595 * log10_f64(1 + hz / 700);
    return hz < 1000 ? hz * 3 / 200 : 15 + 27 * log_f64(hz / 1000) / log_f64(6.4);
}

static double hz_of(const Mel_form *f, double mel)
{
    if (f->scale == LATHE_MEL_HTK) return 700 * (pow_f64(10, mel / 2595) - 1);
    return mel < 15 ? mel * 200 / 3 : 1000 * exp_f64((mel - 15) * log_f64(6.4) / 27);
}

/* The k-th of the points between f_min and f_max that are at equal distances in mels; filter k rises from point k to
 * k + 1 and falls to k + 2. */
static double point_at(const Mel_form *f, int k)
{
    double low = mel_of(f, f->f_min), high = mel_of(f, f->f_max);
    return hz_of(f, low + (high - low) * k / (f->mels + 1));
}

static double triangle_at(const Mel_form *f, int k, double hz)
{
    double left = point_at(f, k), peak = point_at(f, k + 1), right = point_at(f, k + 2);
    double up = (hz - left) / (peak - left), down = (right - hz) / (right - peak);
    double weight = up < down ? up : down;
    if (weight <= 0) return 0;
    return f->scale == LATHE_MEL_HTK ? weight : weight * 2 / (right - left); /* slaney: equal areas */
}

static Filter make_filter(const Mel_form *f, int k)
{
    Filter filter = {0};
    double per_hz = (double)f->n_fft / f->rate, hz = 1 / per_hz;
    int first = (int)ceil(point_at(f, k) * per_hz), last = (int)floor(point_at(f, k + 2) * per_hz);
    if (first < 0) first = 0;
    if (last > f->n_fft / 2) last = f->n_fft / 2;
    if (last < first) return filter;
    filter = (Filter){first, last - first + 1, must_alloc(sizeof(double) * (size_t)(last - first + 1))};
    for (int i = 0; i < filter.n; i++) filter.weight[i] = triangle_at(f, k, (first + i) * hz);
    return filter;
}

int empty_mel(const Mel *m)
{
    for (int k = 0; k < m->form.mels; k++) {
        double sum = 0;
        for (int i = 0; i < m->filter[k].n; i++) sum += m->filter[k].weight[i];
        if (sum == 0) return k;
    }
    return -1;
}

static void make_filters(Mel *m)
{
    m->filter = must_alloc(sizeof *m->filter * (size_t)m->form.mels);
    m->least = m->half + 1;
    for (int k = 0; k < m->form.mels; k++) {
        Filter f = m->filter[k] = make_filter(&m->form, k);
        if (f.n && f.first < m->least) m->least = f.first;
        if (f.first + f.n > m->most) m->most = f.first + f.n;
    }
}

/* ------------------------------------------------------------------ opening */

/* Hann's window, periodic as of a spectrum, in the middle of n_fft samples. */
static void make_window(Mel *m)
{
    const double pi = 3.14159265358979323846;
    int n = m->form.window, before = (m->form.n_fft - n) / 2;
    for (int i = 0; i < n; i++) m->window[before + i] = 0.5 - 0.5 * cos_f64(2 * pi * i / n);
    for (int i = 0; i < m->form.n_fft; i++) {
        m->cosine[i] = cos_f64(2 * pi * i / m->form.n_fft);
        m->sine[i] = sin_f64(2 * pi * i / m->form.n_fft);
    }
}

Mel *open_mel(const Mel_form *f)
{
    Mel *m = must_alloc(sizeof *m);
    bug_if(f->n_fft % 2 || f->window > f->n_fft || f->hop < 1);
    m->form = *f;
    m->half = f->n_fft / 2;
    const size_t lanes = sizeof *m->even * (size_t)(m->half + 1);
    m->window = must_alloc(sizeof *m->window * (size_t)f->n_fft);
    m->cosine = must_alloc(sizeof *m->cosine * (size_t)f->n_fft);
    m->sine = must_alloc(sizeof *m->sine * (size_t)f->n_fft);
    m->even = must_alloc(lanes);
    m->odd = must_alloc(lanes);
    m->power = must_alloc(lanes);
    make_window(m);
    make_filters(m);
    return m;
}

void close_mel(Mel *m)
{
    for (int k = 0; k < m->form.mels; k++) free(m->filter[k].weight);
    free(m->filter);
    free(m->window);
    free(m->cosine);
    free(m->sine);
    free(m->even);
    free(m->odd);
    free(m->power);
    free(m);
}

/* ------------------------------------------------------------------ frames */

/* Sample i of n, mirrored at the ends as often as it takes, without doubling the first and the last. */
static double mirrored_sample(const double *x, int64_t n, int64_t i)
{
    int64_t around = 2 * (n - 1);
    if (n == 1) return x[0];
    i = i < 0 ? -i % around : i % around;
    return x[i < n ? i : around - i];
}

/* Sample k of the frame at `centre`, under the window. */
static double windowed(const Mel *m, const double *x, int64_t n, int64_t centre, int k)
{
    int64_t i = centre - m->half + k;
    return m->window[k] * (i >= 0 && i < n ? x[i] : mirrored_sample(x, n, i));
}

static void fold_frames(Mel *m, const double *x, int64_t n, int64_t first)
{
    for (int lane = 0; lane < LANES; lane++) {
        int64_t centre = (first + lane) * m->form.hop;
        for (int k = 1; k < m->half; k++) {
            double a = windowed(m, x, n, centre, k), b = windowed(m, x, n, centre, m->form.n_fft - k);
            m->even[k][lane] = a + b;
            m->odd[k][lane] = a - b;
        }
        m->even[0][lane] = windowed(m, x, n, centre, 0);
        m->even[m->half][lane] = windowed(m, x, n, centre, m->half);
    }
}

/* The power of frequency f of each frame. */
static void find_power(const Mel *m, int f, double *restrict power)
{
    double re[LANES], im[LANES] = {0};
    const double middle = f % 2 ? -1 : 1;
    for (int lane = 0; lane < LANES; lane++) re[lane] = m->even[0][lane] + middle * m->even[m->half][lane];
    for (int k = 1, turn = f; k < m->half; k++, turn += f) {
        if (turn >= m->form.n_fft) turn -= m->form.n_fft;
        const double c = m->cosine[turn], s = m->sine[turn];
        for (int lane = 0; lane < LANES; lane++) {
            re[lane] += c * m->even[k][lane];
            im[lane] += s * m->odd[k][lane];
        }
    }
    for (int lane = 0; lane < LANES; lane++) power[lane] = re[lane] * re[lane] + im[lane] * im[lane];
}

static float log_mel(const Mel *m, int k, int lane)
{
    const Filter *f = &m->filter[k];
    double sum = 0;
    for (int i = 0; i < f->n; i++) sum += f->weight[i] * m->power[f->first + i][lane];
    return log_f32((float)(sum > m->form.floor ? sum : m->form.floor));
}

void find_mel(Mel *m, const double *x, int64_t n, float *out)
{
    int64_t frames = mel_frames(&m->form, n);
    for (int64_t first = 0; first < frames; first += LANES) {
        fold_frames(m, x, n, first);
        for (int f = m->least; f < m->most; f++) find_power(m, f, m->power[f]);
        for (int lane = 0; lane < LANES && first + lane < frames; lane++)
            for (int k = 0; k < m->form.mels; k++) out[(first + lane) * m->form.mels + k] = log_mel(m, k, lane);
    }
}
