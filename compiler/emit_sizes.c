/* emit_sizes.c: extents with the user's names: BATCH * SEQ rather than 768, where it is clear what is meant. */
#include "emit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef enum Meaning { BATCH, TIME, LAYERS, HEADS, WIDTH, VOCABULARY, OTHER } Meaning;

static VEC(struct Size {
    const char *name, *key;
    Meaning meaning;
    int64_t value;
    bool used;
}) sizes;

/* Integers of a configuration that are no extents. */
static const char *const counts[] = {"steps", "warmup", "eval_every", "save_every",    "log_every", "accumulate",
                                     "seed",  "top_k",  "context",    "sample_tokens", "epochs"};

/* What the headers that generated sources include have for themselves; emit/sizes.sh compares. */
static const char theirs[] =
    " ALIGNED ALL_LANES AROUND BACKWARD_PART BLOCK_END BY_NAMES CEIL_DIV CHANGES CHUNK CUDNN_BACKWARD "
    "CUDNN_FORWARD CUDNN_FORWARD_LSE DEVICE DEVICE_MEMORY DYNAMIC_SHARED EACH EACH_BLOCK EOF FORWARD_PART "
    "FOUND INFINITY KERNEL KNOWN LANES LANES_END LAP LARGER LEAST_SHARED LN2_F32 LN2_HIGH_F32 LN2_LOW_F32 "
    "LN_2 LOG2_E LOG2_E_F32 MATH MEET MOST_LOOKS NAN NULL ONE_BLOCK ON_GPU OWN PARALLEL PARALLEL_2 "
    "PERSISTENT PLAIN_KERNEL PLUS RESTRICT ROLLED ROUNDS ROUND_F32 SHARED SHORT SIDE SIMD SLICE STEP_PARTS "
    "TABLE TEAM TENSOR_KERNEL TENSOR_THREADS TENSOR_WARPS THREADS UNROLL UNSEEN UNWATCHED UPDATE_PART WARP "
    "WARPS WARP_END WARP_FIRST WHOLE_LOOP ";

static Meaning meaning_of(const char *key)
{
    static const struct {
        const char *start;
        Meaning meaning;
    } known[] = {{"batch", BATCH},  {"seq", TIME},  {"layers", LAYERS},  {"heads", HEADS},     {"width", WIDTH},
                 {"hidden", WIDTH}, {"dim", WIDTH}, {"channels", WIDTH}, {"vocab", VOCABULARY}};
    for (int i = 0; i < COUNT_OF(known); i++)
        if (starts_with(key, known[i].start)) return known[i].meaning;
    return OTHER;
}

/* Families of macros in C's own headers. */
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

/* Whether the sources have it already: as a macro, or as a size. */
bool is_size_name(const char *word)
{
    for (int i = 0; i < sizes.n; i++)
        if (same(sizes.at[i].name, word)) return true;
    return is_theirs(word);
}

/* KERNEL_ where the headers have a KERNEL. */
static const char *name_of(const char *key)
{
    char *name = identifier(key);
    for (char *c = name; *c; c++) *c = (char)toupper((unsigned char)*c);
    return is_theirs(name) ? format("%s_", name) : name;
}

static void add_size(const char *key, int64_t value)
{
    const char *name = name_of(key);
    for (int i = 0; i < sizes.n; i++)
        if (same(sizes.at[i].name, name)) return;
    for (int i = 0; i < COUNT_OF(counts); i++)
        if (same(counts[i], key)) return;
    push(&sizes, ((struct Size){name, key, meaning_of(key), value, false}));
}

void set_sizes(const Desc *d)
{
    memset(&sizes, 0, sizeof sizes);
    for (int i = 0; i < d->knobs.n; i++) {
        char *end;
        long long value = strtoll(d->knobs.at[i].value, &end, 10);
        if (!*end && value > 1) add_size(d->knobs.at[i].name, value);
    }
    if (d->batch > 1) add_size("batch", d->batch);
    if (d->seq > 1) add_size("seq", d->seq);
    if (d->vocab > 1) add_size("vocab", d->vocab);
}

void say_sizes(Text *t)
{
    Text s = {0};
    for (int i = 0; i < sizes.n; i++)
        if (sizes.at[i].used) say(&s, "    %s = %lld,\n", sizes.at[i].name, (long long)sizes.at[i].value);
    if (s.n) say(t, "enum {\n%s};\n\n", s.at);
}

static const char *mention(struct Size *s)
{
    s->used = true;
    return s->name;
}

static struct Size *size_of(Meaning m)
{
    for (int i = 0; i < sizes.n; i++)
        if (sizes.at[i].meaning == m) return &sizes.at[i];
    return NULL;
}

/* ------------------------------------------------------------------ names for extents */

/* The one name with this value; two make it unclear which is meant.  Small numbers mean too many things. */
static const char *single(int64_t n)
{
    struct Size *found = NULL;
    for (int i = 0; i < sizes.n; i++) {
        struct Size *s = &sizes.at[i];
        if (s->value != n || s->meaning == BATCH || s->meaning == LAYERS || (n <= 4 && s->meaning != HEADS)) continue;
        if (found) return NULL;
        found = s;
    }
    return found ? mention(found) : NULL;
}

static const char *leading(int64_t n)
{
    struct Size *batch = size_of(BATCH), *seq = size_of(TIME), *heads = size_of(HEADS);
    if (batch && batch->value == n) return mention(batch);
    if (batch && seq && batch->value * seq->value == n) return format("%s * %s", mention(batch), mention(seq));
    if (batch && heads && batch->value * heads->value == n && !single(n))
        return format("%s * %s", mention(batch), mention(heads));
    return NULL;
}

static const char *composed(int64_t n)
{
    struct Size *width = size_of(WIDTH), *seq = size_of(TIME);
    if (!width || width->value <= 8) return NULL;
    for (int k = 2; k <= 4; k++)
        if (width->value * k == n) return format("%d * %s", k, mention(width));
    if (seq && seq->value * width->value == n) return format("%s * %s", mention(seq), mention(width));
    return NULL;
}

const char *extent_text(int64_t n, bool first)
{
    const char *name = first ? leading(n) : NULL;
    if (!name) name = single(n);
    if (!name) name = composed(n);
    if (name && n > INT32_MAX && strchr(name, ' ')) name = NULL; /* a product of int */
    return name ? name : format("%lld", (long long)n);
}

static bool beside(Shape s, int k, int64_t n)
{
    bool found = false;
    for (int i = 0; i < s.rank; i++) found |= i != k && s.dim[i] == n;
    return found;
}

/* The width of a head beside the heads: [HEADS][WIDTH / HEADS].  As many layers as heads: a first axis alone does not
 * tell which are meant. */
const char *extent_in(Shape s, int k, bool first)
{
    struct Size *width = size_of(WIDTH), *heads = size_of(HEADS), *layers = size_of(LAYERS);
    int64_t n = s.dim[k];
    if (heads && width && beside(s, k, heads->value) && !single(n) && heads->value * n == width->value)
        return format("%s / %s", mention(width), mention(heads));
    if (k == 0 && heads && layers && heads->value == n && layers->value == n &&
        !(width && beside(s, k, width->value / n)))
        return format("%lld", (long long)n);
    return extent_text(n, first);
}

const char *size_text(int64_t n) { return extent_text(n, false); }

bool named_size(int64_t n) { return !isdigit((unsigned char)*extent_text(n, true)); }

/* As a factor or a divisor: one name rather than the product of two. */
const char *factor_text(int64_t n)
{
    const char *one = single(n), *s = one ? one : extent_text(n, true);
    return strchr(s, ' ') ? format("(%s)", s) : s;
}

const char *product_in(Shape s, int from, int to)
{
    Text t = {0};
    int factors = 0;
    int64_t all = 1;
    for (int k = from; k < to; k++) factors += s.dim[k] != 1, all *= s.dim[k];
    for (int k = from; k < to; k++) {
        if (s.dim[k] == 1) continue;
        const char *x = extent_in(s, k, false);
        say(&t, "%s%s", t.n ? " * " : "", strchr(x, '/') && factors > 1 ? format("(%s)", x) : x);
    }
    return t.n ? in_64_bits(t.at, all) : "1";
}

/* ------------------------------------------------------------------ loops and their stacks */

const char *trip_text(const Loop *l)
{
    for (int i = 0; i < sizes.n && l->name && *l->name; i++)
        if (sizes.at[i].value == l->trip && starts_with(sizes.at[i].key, l->name)) return mention(&sizes.at[i]);
    return extent_text(l->trip, false);
}

/* A stack of carries has a slot more than the loop has iterations. */
const char *slots_text(int64_t n)
{
    struct Size *layers = size_of(LAYERS);
    if (layers && layers->value == n) return mention(layers);
    return layers && layers->value + 1 == n ? format("%s + 1", mention(layers)) : NULL;
}

/* Is the first axis the slots of layers, the second one the batch? */
static bool has_slots(Shape s)
{
    struct Size *batch = size_of(BATCH);
    return s.rank > 1 && slots_text(s.dim[0]) && (!batch || s.dim[1] == batch->value || s.dim[1] == 1);
}

const char *array_text(Shape s, int from)
{
    Text t = {0};
    bool slots = has_slots(s);
    for (int k = from; k < s.rank; k++)
        say(&t, "[%s]", k == 0 && slots ? slots_text(s.dim[0]) : extent_in(s, k, k == 0 || (k == 1 && slots)));
    return t.at ? t.at : "";
}

/* A constant subscript of axis k: h[LAYERS] for the last slot. */
const char *subscript_text(Shape s, int k, int64_t at)
{
    struct Size *layers = size_of(LAYERS);
    if (k == 0 && layers && has_slots(s) && at == layers->value && s.dim[0] == at + 1) return mention(layers);
    return format("%lld", (long long)at);
}

const char *grouped(int64_t n)
{
    char *s = format("%lld", (long long)n);
    size_t digits = strlen(s);
    Text t = {0};
    for (size_t i = 0; i < digits; i++) say(&t, "%s%c", i && (digits - i) % 3 == 0 && s[i - 1] != '-' ? "," : "", s[i]);
    return t.at;
}
