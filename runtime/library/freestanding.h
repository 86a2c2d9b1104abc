/* freestanding.h: what a library takes of libc and libm, for programs that have neither (`--freestanding`): on the headers
 * that every C compiler has, and on memcpy, memmove, memset and memcmp, which gcc and clang ask of every program.
 *
 * Results have the bits of other libraries: functions here are exact.  Only the six digits of %g, in words, are not. */
#ifndef LATHE_LIBRARY_FREESTANDING_H
#define LATHE_LIBRARY_FREESTANDING_H
#ifdef LATHE_FREESTANDING

#ifndef __NO_MATH_ERRNO__
#error "give -fno-math-errno: without libm there is no errno, and sqrt is one instruction"
#endif
#ifdef _OPENMP
#error "leave -fopenmp out: without libc there are no threads, and all runs in the one that calls"
#endif

#define memcpy    __builtin_memcpy
#define memmove   __builtin_memmove
#define memset    __builtin_memset
#define memcmp    __builtin_memcmp
#define abort     __builtin_trap /* our mistakes alone: what a caller does wrong is a code */
#define assert(x) ((void)0)
#define static_assert _Static_assert

/* ---- <string.h>, <stdlib.h> */

static size_t strlen(const char *s)
{
    size_t n = 0;
    while (s[n]) n++;
    return n;
}

static int strncmp(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i]) return (unsigned char)a[i] < (unsigned char)b[i] ? -1 : 1;
        if (!a[i]) break;
    }
    return 0;
}

static int strcmp(const char *a, const char *b) { return strncmp(a, b, SIZE_MAX); }

static char *strchr(const char *s, int c)
{
    while (*s && *s != (char)c) s++;
    return *s == (char)c ? (char *)(uintptr_t)s : NULL;
}

static size_t strcspn(const char *s, const char *of)
{
    size_t n = 0;
    while (s[n] && !strchr(of, s[n])) n++;
    return n;
}

static size_t strspn(const char *s, const char *of)
{
    size_t n = 0;
    while (s[n] && strchr(of, s[n])) n++;
    return n;
}

/* Base 10; what is out of range ends at the range. */
static long long strtoll(const char *s, char **end, int base)
{
    const char *at = s + strspn(s, " \t\n\v\f\r"), *digits;
    const bool minus = *at == '-';
    unsigned long long n = 0, most = (unsigned long long)LLONG_MAX + minus;
    (void)base;
    if (*at == '-' || *at == '+') at++;
    for (digits = at; *at >= '0' && *at <= '9'; at++) {
        const unsigned digit = (unsigned)(*at - '0');
        n = n > (most - digit) / 10 ? most : n * 10 + digit;
    }
    if (end) *end = (char *)(uintptr_t)(at == digits ? s : at);
    return minus ? (long long)(0 - n) : (long long)n;
}

extern double strtod(const char *s, char **end); /* of settings that no library reads */
#define qsort(...) abort()                       /* of moments in 8 bits, which no library has yet */

/* ---- <stdio.h>: %s, %.NUMBERs, %d, %lld, %g and %04x, of which all words are made */

typedef struct Words_out {
    char *to;
    size_t room, n; /* n: how long all would be */
} Words_out;

static void out_character(Words_out *w, char c)
{
    if (w->n + 1 < w->room) w->to[w->n] = c;
    w->n++;
}

static void out_text(Words_out *w, const char *s, size_t most)
{
    for (size_t i = 0; i < most && s[i]; i++) out_character(w, s[i]);
}

static void out_digits(Words_out *w, unsigned long long x, unsigned base, int least)
{
    char digit[24];
    int n = 0;
    for (; x || n < least; x /= base) digit[n++] = "0123456789abcdef"[x % base];
    while (n) out_character(w, digit[--n]);
}

static void out_integer(Words_out *w, long long x)
{
    if (x < 0) out_character(w, '-');
    out_digits(w, x < 0 ? 0 - (unsigned long long)x : (unsigned long long)x, 10, 1);
}

/* 1.23457e-05: six digits, always with the power of ten. */
static void out_real(Words_out *w, double x)
{
    int power = 0;
    if (x != x || x - x != 0) {
        out_text(w, x != x ? "nan" : x < 0 ? "-inf" : "inf", 4);
        return;
    }
    if (x < 0) out_character(w, '-'), x = -x;
    for (; x >= 10; x /= 10) power++;
    for (; x && x < 1; x *= 10) power--;
    unsigned long long digits = (unsigned long long)(x * 1e5 + 0.5);
    if (digits == 1000000) digits = 100000, power++;
    out_digits(w, digits / 100000, 10, 1);
    out_character(w, '.');
    out_digits(w, digits % 100000, 10, 5);
    out_character(w, 'e');
    out_integer(w, power);
}

static int vsnprintf(char *to, size_t room, const char *fmt, va_list args)
{
    Words_out w = {to, room, 0};
    for (; *fmt; fmt++) {
        if (*fmt != '%') {
            out_character(&w, *fmt);
            continue;
        }
        size_t precision = 0;
        const bool precise = *++fmt == '.';
        for (fmt += precise; *fmt >= '0' && *fmt <= '9'; fmt++) precision = precision * 10 + (size_t)(*fmt - '0');
        if (*fmt == 's') out_text(&w, va_arg(args, const char *), precise ? precision : SIZE_MAX);
        else if (*fmt == 'd') out_integer(&w, va_arg(args, int));
        else if (*fmt == 'x') out_digits(&w, va_arg(args, unsigned), 16, (int)precision);
        else if (*fmt == 'g') out_real(&w, va_arg(args, double));
        else if (*fmt == 'l') out_integer(&w, va_arg(args, long long)), fmt += 2;
        else out_character(&w, *fmt);
    }
    if (room) to[w.n < room ? w.n : room - 1] = 0;
    return (int)w.n;
}

static int snprintf(char *to, size_t room, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(to, room, fmt, args);
    va_end(args);
    return n;
}

/* ---- <math.h> */

#define INFINITY       __builtin_inff()
#define NAN            __builtin_nanf("")
#define isnan(x)       __builtin_isnan(x)
#define isfinite(x)    __builtin_isfinite(x)
#define fabs(x)        __builtin_fabs(x)
#define fabsf(x)       __builtin_fabsf(x)
#define copysign(x, y) __builtin_copysign(x, y)
#define copysignf(x, y) __builtin_copysignf(x, y)
#define fma(a, b, c)   __builtin_fma(a, b, c)
#define fmaf(a, b, c)  __builtin_fmaf(a, b, c)
#ifdef __FP_FAST_FMA
#define FP_FAST_FMA 1
#endif
#ifdef __FP_FAST_FMAF
#define FP_FAST_FMAF 1
#endif

static double fmin(double a, double b) { return a < b || b != b ? a : b; }
static double fmax(double a, double b) { return a > b || b != b ? a : b; }
static float fminf(float a, float b) { return a < b || b != b ? a : b; }
static float fmaxf(float a, float b) { return a > b || b != b ? a : b; }

static double floor(double x)
{
    if (!(fabs(x) < 0x1p52)) return x;
    const double whole = (double)(int64_t)x;
    return copysign(whole > x ? whole - 1 : whole, x);
}

static float floorf(float x) { return (float)floor((double)x); }

static float roundf(float x)
{
    const double whole = floor(fabs((double)x) + 0.5);
    return copysignf((float)whole, x);
}

/* What the processor has no instruction for is computed digit by digit: 53 digits of the root and one more.  No root lies in
 * the middle between two doubles. */
#if defined __SSE2__ || defined __aarch64__ || (defined __ARM_FP && __ARM_FP & 8) || defined __riscv_fdiv && __riscv_flen >= 64
#define sqrt(x) __builtin_sqrt(x)
#else
static double sqrt(double x)
{
    union {
        double x;
        uint64_t bits;
    } u = {x};
    int power = 0;
    uint64_t root = 0, rest = 0;
    if (x < 0 || x != x) return NAN;
    if (x == 0 || x == INFINITY) return x;
    if (x < 0x1p-1022) u.x = x * 0x1p54, power = -54;
    power += (int)(u.bits >> 52) - 1075;
    const int odd = power & 1;
    const uint64_t of = ((u.bits & 0xfffffffffffff) | 0x10000000000000) << odd;
    for (int i = 0; i < 54; i++) {
        rest = rest << 2 | (i < 27 ? of >> (52 - 2 * i) & 3 : 0);
        root <<= 1;
        if (rest >= 2 * root + 1) rest -= 2 * root + 1, root++;
    }
    u.bits = ((uint64_t)((power - odd) / 2 + 1049) << 52) + ((root + 1) >> 1) - 0x10000000000000;
    return u.x;
}
#endif
#if defined __SSE2__ || defined __aarch64__ || (defined __ARM_FP && __ARM_FP & 4) || defined __riscv_fdiv
#define sqrtf(x) __builtin_sqrtf(x)
#else /* rounded once more, which changes nothing: 53 digits are more than twice 24 and two */
static float sqrtf(float x) { return (float)sqrt((double)x); }
#endif

#endif
#endif
