/* norm_driver.c: for models.sh: steps that are not made, and notes that are damaged. */
#include "norm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float x[8][4];
static char before[1 << 16], after[1 << 16];

static int failures;
#define EXPECT(condition) ((condition) ? (void)0 : (printf("line %d: %s\n", __LINE__, #condition), failures++, (void)0))

static int step(norm *m) { return norm_step(m, &(norm_step_in){x}, NULL); }

/* A note of the saved model with other digits, of which there are as many. */
static int with_note(norm *m, size_t used, const char *note, const char *other)
{
    char *at = NULL;
    memcpy(after, before, used);
    for (size_t i = 8; i < 400 && !at; i++)
        if (strncmp(after + i, note, strlen(note)) == 0) at = after + i;
    if (!at || strlen(note) != strlen(other)) abort();
    memcpy(at, other, strlen(other));
    return norm_load(m, after, used);
}

int main(void)
{
    const char *wrong;
    const size_t bytes = norm_bytes(NULL);
    norm *m = norm_open(aligned_alloc(64, bytes), bytes, NULL, &wrong);
    size_t used, again;
    if (!m) return puts(wrong), 1;
    for (int i = 0; i < 32; i++) (&x[0][0])[i] = (float)(i * 7 % 11);
    for (int k = 0; k < 12; k++) EXPECT(step(m) == 0);
    EXPECT(norm_save(m, before, sizeof before, &used) == 0);
    x[3][1] = NAN;
    EXPECT(step(m) == NORM_DIVERGED);
    x[3][1] = 1;
    EXPECT(norm_save(m, after, sizeof after, &again) == 0);
    EXPECT(again == used && memcmp(before, after, used) == 0);

    EXPECT(with_note(m, used, "\"step\":\"12\"", "\"step\":\"-2\"") == NORM_DATA);
    EXPECT(with_note(m, used, "\"step\":\"12\"", "\"step\":\"1x\"") == NORM_DATA);
    EXPECT(with_note(m, used, "\"seed\":\"0\"", "\"seed\":\"\"0") == NORM_DATA);
    EXPECT(with_note(m, used, "\"format_version\":\"1\"", "\"format_version\":\"2\"") == NORM_DATA &&
           strstr(norm_words(m, NORM_DATA), "expected format 1 or an older one, found 2"));
    EXPECT(with_note(m, used, "\"step\":\"12\"", "\"step\":\"11\"") == NORM_DATA &&
           strstr(norm_words(m, NORM_DATA), "expected the checksum "));
    EXPECT(with_note(m, used, "\"skipped_steps\":\"0\"", "\"skipped_step\":\"12\"") == 0);
    EXPECT(norm_load(m, before, used) == 0 && norm_steps(m) == 12 && step(m) == 0);
    norm_close(m);
    free(m);
    return failures != 0;
}
