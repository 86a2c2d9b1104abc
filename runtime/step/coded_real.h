/* coded_real.h: a block of moments to 8 bits and back (step/coded.c), compiled for float and for double: REAL, NAME(x). */

void NAME(decode_block)(const Code_table *t, const uint8_t *code, float largest, int64_t n, REAL *x)
{
    for (int64_t i = 0; i < n; i++) x[i] = (REAL)t->codes.value[code[i]] * (REAL)largest;
}

static float NAME(largest_of)(const REAL *x, int64_t n)
{
    REAL most = 0;
    for (int64_t i = 0; i < n; i++) most = NAME(max)(most, NAME(abs)(x[i]));
    return (float)most;
}

/* The number of middles that each is above.  Rounded to float, a double may lie in the cell beside its own. */
static void NAME(codes_of)(const Code_table *t, const REAL *x, int64_t n, int32_t *at)
{
    const bool rounds = sizeof(REAL) > sizeof(float);
    for (int64_t i = 0; i < n; i++) at[i] = cell_of((float)x[i]);
    for (int64_t i = 0; i < n; i++) at[i] = t->cell[at[i]];
    for (int64_t i = 0; i < n && rounds; i++) at[i] -= at[i] > 0 && x[i] <= (REAL)t->codes.middle[at[i] - 1];
    for (int64_t i = 0; i < n; i++) at[i] += x[i] > (REAL)t->codes.middle[at[i]] ? 1 : 0;
}

void NAME(code_block)(const Code_table *t, const REAL *x, int64_t n, uint8_t *code, float *largest)
{
    REAL part[LATHE_CODED_BLOCK];
    int32_t at[LATHE_CODED_BLOCK];
    const int32_t zero = t->codes.zero, above = zero == 0; /* squares move up from zero, and what is negative down */
    *largest = NAME(largest_of)(x, n);
    const REAL one = *largest > 0 ? (REAL)*largest : 1;
    for (int64_t i = 0; i < n; i++) part[i] = x[i] / one;
    NAME(codes_of)(t, part, n, at);
    for (int64_t i = 0; i < n; i++) {
        const int32_t up = (at[i] == zero) & (x[i] > 0) & above, down = (at[i] == zero) & (x[i] < 0) & !above;
        code[i] = (uint8_t)(at[i] + up - down);
    }
}
