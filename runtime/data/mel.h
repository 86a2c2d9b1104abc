/* mel.h: samples of a recording to log-mel features. */
#ifndef LATHE_DATA_MEL_H
#define LATHE_DATA_MEL_H

#include "interface/lathe_model.h"

/* ------------------------------------------------------------------ data/rate.c: another sampling rate */

/* Samples at one rate become samples at another, as torchaudio.functional.resample makes them by default: a sinc under
 * a Hann window of 6 zeros on each side, at 0.99 of the lower rate. */
typedef struct Rate Rate;

Rate *open_rate(int from, int to); /* NULL: the rates have so small a common divisor that a table would be too large */
void restart_rate(Rate *r); /* for another recording */
void close_rate(Rate *r);
int64_t samples_at_rate(int64_t n, int from, int to);
/* The next samples; the last ones with end.  Writes at most `room` samples to out, and returns how many. */
int64_t change_rate(Rate *r, const float *x, int64_t n, bool end, double *out, int64_t room);
enum { RATE_ROOM = 1 << 22 }; /* most bytes of a table */

/* ------------------------------------------------------------------ data/mel.c: log-mel features */

typedef struct Mel_form {
    int rate, n_fft, hop, window, mels; /* rate: samples a second; window: samples of it, at most n_fft */
    double f_min, f_max;                /* Hz */
    Lathe_mel_scale scale;
    double floor;                       /* least power, before its logarithm */
} Mel_form;

typedef struct Mel Mel;

Mel_form mel_form(const Lathe_recipe *r, int mels);
int64_t mel_frames(const Mel_form *f, int64_t samples);
int64_t mel_samples(const Mel_form *f, int64_t frames); /* most samples that make so many frames */
int64_t mel_bytes(const Mel_form *f); /* memory of one */
Mel *open_mel(const Mel_form *f);
void close_mel(Mel *m);
int empty_mel(const Mel *m); /* the first filter that no frequency of the spectrum falls into; -1: none */
/* Log-mel features of n samples: out [mel_frames(n)][mels].  Frames are centred at multiples of hop; before and behind
 * its ends the recording is mirrored. */
void find_mel(Mel *m, const double *x, int64_t n, float *out);

#endif
