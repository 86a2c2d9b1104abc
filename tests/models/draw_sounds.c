/* draw_sounds.c: WAV files for speech.sh: tones in a row, each a letter: low is a, high is c.
 *
 *     draw_sounds FOLDER N      FOLDER/000.wav … of 1 to 5 letters, FOLDER/list.csv; FOLDER/words/a/0.wav, … of one letter
 *
 * Some have two channels, some another sampling rate.  The folders must be there. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t state = 12345;
static int below(int n) { return (int)((state = state * 1664525 + 1013904223) >> 8) % n; }

static void put_number(FILE *f, uint32_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) fputc((int)(x >> (8 * i) & 255), f);
}

static void put_head(FILE *f, int rate, int channels, int samples)
{
    int bytes = 2 * channels * samples;
    fputs("RIFF", f);
    put_number(f, (uint32_t)(36 + bytes), 4);
    fputs("WAVEfmt ", f);
    put_number(f, 16, 4);
    put_number(f, 1, 2);
    put_number(f, (uint32_t)channels, 2);
    put_number(f, (uint32_t)rate, 4);
    put_number(f, (uint32_t)(rate * channels * 2), 4);
    put_number(f, (uint32_t)(channels * 2), 2);
    put_number(f, 16, 2);
    fputs("data", f);
    put_number(f, (uint32_t)bytes, 4);
}

/* A tenth of a second of a tone, and half of it of near silence, for each letter. */
static void write_wav(const char *path, const char *letters, int rate, int channels)
{
    FILE *f = fopen(path, "wb");
    int n = 0, tone = rate / 10, pause = rate / 20;
    while (letters[n]) n++;
    if (!f) perror(path), exit(1);
    put_head(f, rate, channels, n * (tone + pause));
    for (int i = 0; i < n * (tone + pause); i++) {
        double hz = 300 * pow(2, letters[i / (tone + pause)] - 'a') * (1 + 0.02 * (below(3) - 1));
        double x = i % (tone + pause) < tone ? 6000 * sin(6.283185307 * hz * i / rate) : 0;
        for (int c = 0; c < channels; c++) put_number(f, (uint32_t)((int)x + below(200) - 100), 2);
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    char path[500], letters[6];
    if (argc != 3) return 2;
    snprintf(path, sizeof path, "%s/list.csv", argv[1]);
    FILE *list = fopen(path, "w");
    if (!list) perror(path), exit(1);
    fputs("path,text\n", list);
    for (int i = 0; i < atoi(argv[2]); i++) {
        int n = 1 + below(5);
        for (int k = 0; k < n; k++) letters[k] = (char)('a' + below(3));
        letters[n] = 0;
        snprintf(path, sizeof path, "%s/%03d.wav", argv[1], i);
        write_wav(path, letters, i % 5 == 4 ? 11025 : 8000, 1 + (i % 7 == 6));
        fprintf(list, "%03d.wav,%s\n", i, letters);
        snprintf(path, sizeof path, "%s/words/%c/%d.wav", argv[1], 'a' + i % 3, i);
        letters[0] = (char)('a' + i % 3), letters[1] = 0;
        write_wav(path, letters, 8000, 1);
    }
    fclose(list);
    return 0;
}
