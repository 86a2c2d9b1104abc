/* sizes.c: extents in terms of the sizes of the description, BATCH * SEQ instead of 768. graph/axis.c knows what the
 * axes are. */
#include "emit/emit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Words that the headers of generated sources define; tests/emit/sizes.sh compares the list. */
static const char theirs[] =
    " ALIGNED ALL_LANES AROUND AS_PRAGMA BACKWARD_PART BLOCK_END BY_NAMES CEIL_DIV CHANGES CHUNK COMES_AFTER "
    "CUDNN_BACKWARD CUDNN_FORWARD CUDNN_FORWARD_LSE DEVICE DEVICE_MEMORY DYNAMIC_SHARED EACH EACH_BLOCK EOF "
    "EXTREME_OF_LANES "
    "FORWARD_PART FOUND INFINITY KERNEL KNOWN LANES LANES_END LAP LARGER LEAST_SHARED LN_2 LN2_F32 "
    "LN2_HIGH_F32 LN2_LOW_F32 LOG2_E LOG2_E_F32 MATH MEET MOST_LOOKS NAN NULL ON_GPU ONE_BLOCK OWN PARALLEL "
    "PARALLEL_2 PERSISTENT PLAIN_KERNEL PLUS RESTRICT ROLLED ROUND_F32 ROUNDS SHARED SHORT SIDE SIMD SIMD_AND SLICE "
    "SMALLER STEP_PARTS TABLE TEAM TENSOR_KERNEL TENSOR_THREADS TENSOR_WARPS THREADS UNROLL UNSEEN UNWATCHED "
    "UPDATE_PART WARP WARP_END WARP_FIRST WARPS WHOLE_LOOP ";

/* The starts are those of macro families in the headers of C. */
static bool is_theirs(const char *word)
{
    static const char *const starts[] = {
        "BIG_E",   "BUFSIZ", "BYTE_O", "CUDA",    "CUDNN",    "EXIT_",   "FD_",   "FP_",      "HUGE_V",   "INT8",
        "INT16",   "INT32",  "INT64",  "INTMAX_", "INTPTR_",  "INT_F",   "INT_L", "LATHE_",   "LITTLE",   "MATH_E",
        "MB_C",    "M_",     "NFDB",   "PDP_",    "PTRDIFF_", "RAND_M",  "RT_",   "SEEK_",    "SIG_A",    "SIZE_M",
        "UINT8",   "UINT16", "UINT32", "UINT64",  "UINTMAX",  "UINTPTR", "UINT_", "WCHAR_M",  "WCONTIN",  "WEXIT",
        "WIFCONT", "WIFEX",  "WIFS",   "WINT_M",  "WNOHANG",  "WNOWAIT", "WSTOP", "WTERMSIG", "WUNTRACED"};
    for (int i = 0; i < COUNT_OF(starts); i++)
        if (starts_with(word, starts[i])) return true;
    return strstr(theirs, format(" %s ", word)) != NULL;
}

/* Do the sources have this word already, as a macro or as a size? */
bool is_size_name(Page *page, const char *word)
{
    for (int i = 0; i < page->sizes.n; i++)
        if (same(page->sizes.at[i].name, word)) return true;
    return is_theirs(word);
}

/* KERNEL_ if the headers define KERNEL. */
static const char *name_of(Page *page, const char *key)
{
    char *name = identifier(page, key);
    for (char *c = name; *c; c++) *c = (char)toupper((unsigned char)*c);
    return is_theirs(name) ? format("%s_", name) : name;
}

static void add_size(Page *page, const char *key, int64_t value)
{
    const char *name = name_of(page, key);
    for (int i = 0; i < page->sizes.n; i++)
        if (same(page->sizes.at[i].name, name)) return;
    push(&page->sizes, ((Size){name, key, value, false}));
}

void set_sizes(Page *page)
{
    const Desc *d = page->desc;
    for (int i = 0; i < d->knobs.n; i++) {
        char *end;
        long long value = strtoll(d->knobs.at[i].value, &end, 10);
        if (!*end && value > 1) add_size(page, d->knobs.at[i].name, value);
    }
    if (d->batch > 1) add_size(page, "batch", d->batch);
    if (d->seq > 1) add_size(page, "seq", d->seq);
    if (d->vocab > 1) add_size(page, "vocab", d->vocab);
    if (d->recipe.rows > 1) add_size(page, "rows", d->recipe.rows);
    if (d->recipe.slots > 1) add_size(page, "slots", d->recipe.slots);
    if (d->recipe.prefill > 1) add_size(page, "prefill", d->recipe.prefill);
    if (d->recipe.accumulate > 1) add_size(page, "accumulate", d->recipe.accumulate);
}

void say_sizes(Page *page, Text *t)
{
    Text s = {0};
    for (int i = 0; i < page->sizes.n; i++)
        if (page->sizes.at[i].used)
            say(&s, "    %s = %lld,\n", page->sizes.at[i].name, (long long)page->sizes.at[i].value);
    if (s.n) say(t, "enum {\n%s};\n\n", s.at);
}

/* ------------------------------------------------------------------ extents */

static Size *size_of(Page *page, const struct Size_of *of)
{
    for (int i = 0; i < page->sizes.n; i++)
        if (same(page->sizes.at[i].key, of->size) && page->sizes.at[i].value == of->extent) return &page->sizes.at[i];
    return NULL;
}

static void say_powers(Page *page, Text *t, const Axis_sizes *a, int sign)
{
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < a->of[i].power * sign; k++) {
            Size *size = size_of(page, &a->of[i]);
            size->used = true;
            say(t, "%s%s", t->n ? (sign > 0 ? " * " : " / ") : "", size->name);
        }
}

static bool all_named(Page *page, const Axis_sizes *a)
{
    for (int i = 0; i < a->n; i++)
        if (!size_of(page, &a->of[i])) return false;
    return !a->behind || all_named(page, axis_numbered(a->behind));
}

/* 4 * WIDTH / HEADS + 1. Evaluated from left to right, it is the extent. NULL: the axis has no name. */
static const char *axis_text(Page *page, int axis, int64_t n)
{
    const Axis_sizes *a = axis_numbered(axis);
    Text t = {0};
    if (!a || a->extent != n || !all_named(page, a)) return NULL;
    bool above = false;
    for (int i = 0; i < a->n; i++) above |= a->of[i].power > 0;
    if (a->times != 1 || !above) say(&t, "%lld", (long long)a->times);
    say_powers(page, &t, a, 1);
    say_powers(page, &t, a, -1);
    if (a->over != 1) say(&t, " / %lld", (long long)a->over);
    if (a->plus) say(&t, " %c %lld", a->plus < 0 ? '-' : '+', llabs(a->plus));
    const Axis_sizes *behind = axis_numbered(a->behind);
    if (behind) say(&t, " + %s", axis_text(page, a->behind, behind->extent));
    return n > INT32_MAX && strchr(t.at, ' ') ? NULL : t.at; /* the factors are int */
}

const char *extent_text(Page *page, int64_t n, int axis)
{
    const char *name = axis_text(page, axis, n);
    return name ? name : format("%lld", (long long)n);
}

const char *factor_text(Page *page, int64_t n, int axis)
{
    const char *s = extent_text(page, n, axis);
    return strchr(s, ' ') ? format("(%s)", s) : s;
}

/* Does one of the operators occur outside parentheses? */
static bool has_outside(const char *text, const char *operators)
{
    int depth = 0;
    for (; *text; text++) {
        depth += (*text == '(') - (*text == ')');
        if (!depth && strchr(operators, *text) && strncmp(text, "->", 2)) return true;
    }
    return false;
}

Expr extent_expression(Page *page, int64_t n, int axis)
{
    const char *s = extent_text(page, n, axis);
    return (Expr){s, !strchr(s, ' ') ? PRIMARY : has_outside(s, "+-") ? PLUS : TIMES};
}

const char *as_term(const char *text) { return has_outside(text, "+-") ? format("(%s)", text) : text; }

const char *multiplied(const char *a, const char *b)
{
    if (!a) return b;
    return format(has_outside(b, "/+-") ? "%s * (%s)" : "%s * %s", as_term(a), b);
}

const char *divided(const char *a, int64_t by) { return format("%s / %lld", as_term(a), (long long)by); }

const char *extent_in(Page *page, Shape s, int k) { return extent_text(page, s.dim[k], s.axis[k]); }

const char *product_in(Page *page, Shape s, int from, int to)
{
    const char *t = NULL;
    int64_t all = 1;
    for (int k = from; k < to; k++) all *= s.dim[k];
    const char *merged = axis_text(page, axis_merged(s, from, to), all);
    if (merged) return in_64_bits(merged, all);
    for (int k = from; k < to; k++)
        if (s.dim[k] != 1) t = multiplied(t, extent_in(page, s, k));
    return t ? in_64_bits(t, all) : "1";
}

bool is_axis_of(int axis, const char *size)
{
    const char *of = size_of_axis(axis);
    return of && same(of, size);
}

const char *trip_text(Page *page, const Loop *l) { return extent_text(page, l->trip, l->axis); }

const char *array_text(Page *page, Shape s, int from)
{
    Text t = {0};
    for (int k = from; k < s.rank; k++) say(&t, "[%s]", extent_in(page, s, k));
    return t.at ? t.at : "";
}

/* ------------------------------------------------------------------ numbers along an axis */

/* n elements along an axis, if they are such a part: SEQ of SEQ + 1, WIDTH and 2 * WIDTH of 3 * WIDTH, SEQ of BATCH *
 * SEQ. Else NULL. */
static const char *part_text(Page *page, int64_t n, int axis)
{
    const Axis_sizes *a = axis_numbered(axis);
    if (n <= 1 || !a) return NULL;
    if (n == a->extent) return axis_text(page, axis, n);
    if (a->behind) return NULL;
    if (axis_behind(axis, n)) return axis_text(page, axis_behind(axis, n), n);
    if (a->plus) return n == a->extent - a->plus ? axis_text(page, axis_longer(axis, -a->plus), n) : NULL;
    int64_t unit = a->extent / a->times;
    if (a->times == 1 || a->extent % a->times || unit <= 1 || n % unit) return NULL;
    return axis_text(page, axis_scaled(axis, n / unit, a->times), n);
}

const char *subscript_text(Page *page, Shape s, int k, int64_t at)
{
    const char *part = part_text(page, at, s.axis[k]);
    return part ? part : format("%lld", (long long)at);
}

/* n elements of the array that has the axes from … to - 1, as rows of the axes after one. */
const char *step_text(Page *page, Shape s, int from, int to, int64_t n)
{
    int64_t row = 1;
    for (int k = to; k-- > from; row *= s.dim[k]) {
        int64_t rows = n / row;
        if (n % row || (rows > s.dim[k] && k > from)) break;
        if (row == 1 && rows >= s.dim[k]) continue;
        const char *behind = row == 1 ? NULL : product_in(page, s, k + 1, to);
        if (rows == 1 && behind) return behind;
        const char *part = part_text(page, rows, s.axis[k]);
        if (!behind) return part ? part : format("%lld", (long long)n);
        return multiplied(part ? part : format("%lld", (long long)rows), behind);
    }
    return format("%lld", (long long)n);
}

const char *grouped(int64_t n)
{
    char *s = format("%lld", (long long)n);
    size_t digits = strlen(s);
    Text t = {0};
    for (size_t i = 0; i < digits; i++) say(&t, "%s%c", i && (digits - i) % 3 == 0 && s[i - 1] != '-' ? "," : "", s[i]);
    return t.at;
}
