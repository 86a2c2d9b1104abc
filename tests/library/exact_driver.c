/* exact_driver.c: trains a library on made-up batches, saves it to memory half-way, goes on in another instance, and writes
 * the weights, for tests/library/exact.sh.  MODEL is the library's name; OF_TEXT, OF_TABLE or OF_IMAGES says what a batch is.
 *
 *     driver THREADS STEPS FILE */
#include <stdio.h>
#include <stdlib.h>

#define JOIN(a, b)  a##b
#define FULL(a, b)  JOIN(a, b)
#define CALL(word)  FULL(MODEL, _##word)
#define QUOTE(x)    #x
#define QUOTED(x)   QUOTE(x)
#include QUOTED(MODEL.h)

enum { MOST = 1 << 14, ROOM = 1 << 23 }; /* elements of an input; bytes of a saved model */
static int32_t ids[2][MOST];
static float numbers[2][MOST];

static uint32_t state = 7;
static uint32_t drawn(void) { return (state = state * 1664525 + 1013904223) >> 8; }

static void expect(const MODEL *m, int code)
{
    if (code == 0) return;
    printf("code %d: %s\n", code, CALL(words)(m, code));
    exit(1);
}

static MODEL *opened(int threads, int seed)
{
    const CALL(options) o = {.threads = threads, .seed = seed};
    const char *wrong = "no memory";
    const size_t bytes = CALL(bytes)(&o);
    char *memory = malloc(bytes + 64);
    MODEL *m = memory ? CALL(open)(memory + (64 - (uintptr_t)memory % 64), bytes, &o, &wrong) : NULL;
    if (!m) puts(wrong), exit(1);
    return m;
}

static void train(MODEL *m, int steps)
{
    const void *first = ids[0], *second = ids[1], *third = numbers[0], *fourth = numbers[1];
    CALL(step_in) in;
    for (int k = 0; k < steps; k++) {
        for (int i = 0; i < MOST; i++) {
            uint32_t id = drawn(), number = drawn();
            ids[0][i] = (int32_t)(id % 5), ids[1][i] = (int32_t)(id / 5 % 5);
            numbers[0][i] = (float)number / 8388608 - 1, numbers[1][i] = numbers[0][i] * numbers[0][i];
        }
#if defined OF_TEXT
        in.tokens = first, in.targets = second;
#elif defined OF_TABLE
        in.categories = first, in.numbers = third, in.targets = fourth;
#else
        in.image = third, in.label = first;
#endif
        expect(m, CALL(step)(m, &in, NULL));
    }
    (void)first, (void)second, (void)third, (void)fourth;
}

int main(int argc, char **argv)
{
    static char room[ROOM];
    size_t used = 0;
    if (argc != 4) return 2;
    const int threads = atoi(argv[1]), steps = atoi(argv[2]);
    MODEL *m = opened(threads, 5), *other = opened(threads, 6);
    train(m, steps / 2);
    expect(m, CALL(save)(m, room, sizeof room, &used));
    expect(other, CALL(load)(other, room, used));
    train(other, steps - steps / 2);
    expect(other, CALL(save_weights)(other, room, sizeof room, &used));
    FILE *f = fopen(argv[3], "wb");
    if (!f || fwrite(room, 1, used, f) != used || fclose(f) != 0) return 1;
    CALL(close)(m), CALL(close)(other);
    return 0;
}
