/* sensor.c: a sensor that learns what is normal: a wave with some noise; then it looks at a wave, one with a kick, and
 * silence. */
#include "sensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { READINGS = 8, STEPS = 1000 };
static float window[SENSOR_STEP_ROWS][READINGS];

static void need(sensor *m, int code)
{
    if (code) fprintf(stderr, "%s\n", sensor_words(m, code)), exit(code);
}

static double drawn(double most) { return most * (2.0 * rand() / RAND_MAX - 1); }

static void read_wave(float *to)
{
    const double phase = drawn(3.14), rate = 0.6 + drawn(0.1);
    for (int i = 0; i < READINGS; i++) to[i] = (float)(sin(phase + rate * i) + drawn(0.05));
}

static float error_of(sensor *m)
{
    float error[SENSOR_PREDICT_ROWS];
    need(m, sensor_predict(m, &(sensor_predict_in){window}, &(sensor_predict_out){.error = error}));
    return error[0];
}

int main(void)
{
    const char *wrong = "no memory";
    const size_t bytes = sensor_bytes(NULL);
    void *memory = aligned_alloc(64, bytes);
    sensor *m = memory ? sensor_open(memory, bytes, NULL, &wrong) : NULL;
    sensor_step_out out = {0};
    if (!m) return fprintf(stderr, "%s\n", wrong), 1;
    for (int step = 0; step < STEPS; step++) {
        for (int b = 0; b < SENSOR_STEP_ROWS; b++) read_wave(window[b]);
        need(m, sensor_step(m, &(sensor_step_in){window}, &out));
    }
    read_wave(window[0]);
    const float normal = error_of(m);
    window[0][4] += 2;
    const float kick = error_of(m);
    for (int i = 0; i < READINGS; i++) window[0][i] = i % 2 ? 1.0f : -1.0f;
    const float shaking = error_of(m);
    printf("a wave %.3f, with a kick %.3f, shaking %.3f\n", normal, kick, shaking);
    sensor_close(m);
    free(memory);
    return kick > 10 * normal && shaking > 10 * normal ? 0 : 1;
}
