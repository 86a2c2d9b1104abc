/* test_cfunc.c: functions in C by nn.cfunc against the same text compiled by the system's compiler: functions written
 * for what the language has, and random ones with branches, loops, calls and early returns.  Gradients in fp64 against
 * differences; finite, where a side that is not taken has none. */
#include "harness.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

enum { POINTS = 64, TOGETHER = 8, MOST = 32 };

/* Each has f(x, y, n) as its last function; helpers are called g and h, structs P. */
static const char *const written[] = {
    "float f(float x, float y, int n) { return x * y - x / (2 + y * y) + n; }",
    "float f(float x, float y, int n) { return fmaxf(x, y) * fminf(x, 0.5f) + fabsf(y) - floorf(x) + ceilf(y) * "
    "truncf(x * 3); }",
    "float f(float x, float y, int n) { return expf(x) + log1pf(y * y) + expm1f(0.1f * x) * tanhf(y) + erff(x) + "
    "sinf(x) * cosf(y) + tanf(0.1f * y); }",
    "float f(float x, float y, int n) { return powf(x, 3) + powf(y, 4) + powf(x * x + 1, 0.3f) + powf(y * y + 1, -2) + "
    "log2f(x * x + 1) + log10f(3) + powf(x, 0); }",
    /* sides that are not taken and have no finite slope */
    "float f(float x, float y, int n) { return x > 0 ? sqrtf(x) : 0; }",
    "float f(float x, float y, int n) { if (x <= 0) return y; return logf(x) / x; }",
    "float f(float x, float y, int n) { float r = 0; if (x != 0) r = sinf(x) / x; else r = 1; return x * 0 == 0 && n > "
    "99 ? 1 / (x - x) : r; }",
    "float f(float x, float y, int n) { return 1000 * x > 20 ? 1000 * x : log1pf(expf(1000 * x)); }",
    "float f(float x, float y, int n) { for (int i = 0; i < 3; i++) { if (y < 0) break; y = sqrtf(y) - 0.7f; } return "
    "y + powf(x > 0 ? x : 0.5f, 1.5f); }",
    "float f(float x, float y, int n) { return y > 0 && logf(y) > -1 ? powf(y, x) : x; }",
    /* integers and truths */
    "float f(float x, float y, int n) { return n / 3 + 10 * (n % 3) + 100 * (n / -2) + 1000 * (n % -2) + (7 & n) - (n "
    "| 1) + (n ^ 5) + ~n + abs(n); }",
    "float f(float x, float y, int n) { int m = x * 4; bool b = m; m += b; m -= !n; return m + (x > y) + (n == 1) * 2 "
    "+ (b && y > 0) + (b || n); }",
    "float f(float x, float y, int n) { int a = 1, b = (a = 3, a + 1); n += a++ + --b; a *= 2.6f; return n * a + "
    "(double)b + -x; }",
    /* statements */
    "float f(float x, float y, int n) { float s = 0; for (int i = 0; i < 5; i++) { if (i == n) continue; s += i * x; "
    "if (s > 2) break; } return s; }",
    "float f(float x, float y, int n) { int i = 0; do { x = 0.5f * x + y; } while (++i < 4 && x < 1); int k = 3; while "
    "(k > 0) { k -= 1; if (y > x) return i + x; x -= 0.25f; } return x; }",
    "float f(float x, float y, int n) { int i = 0; for (;;) { if (i >= n && i > 1) break; for (int k = 0; k < 2; k++) "
    "{ if (x > k) break; if (y > 1) return k; x += 0.1f; } if (++i > 4) break; } return x + i; }",
    "float f(float x, float y, int n) { for (int i = 0; i < 3; i++) { if (x > i) { if (y > i) continue; x -= 1; if (n "
    "> i) { y += 1; break; } } y *= 0.5f; } return x - 10 * y; }",
    "float f(float x, float y, int n) { if (x < 0) return 1; else if (x < y) return x; if (n) { if (y < 0) return 3; y "
    "+= 1; } return y; }",
    "static float g(float a, int n) { if (a > n) return a - n; a *= 2; return a; } float h(float a) { return g(a, 1) + "
    "g(-a, 0); } float f(float x, float y, int n) { float x2 = h(x); { float x = y; x2 += g(x, n); } return x2; }",
    "#define LOW -1.0f\n#define SPAN (2 * -LOW)\nfloat f(float x, float y, int n) { /* don't */ return (x - LOW) / "
    "SPAN; // it's linear\n}",
    /* structs */
    "typedef struct { float a; float b; } P; P f(float x, float y, int n) { return (P){ x * y, x + y }; }",
    "struct P { float a, b; }; struct P g(float x) { struct P r = { x }; r.b += 2; return r; } struct P f(float x, "
    "float y, int n) { struct P p = g(x), q = { .b = y }; if (n > 0) { p.a += q.b; q = p; } else p = q; p.b -= g(y).a; "
    "return n > 1 ? p : q; }",
};

/* ------------------------------------------------------------------ random functions; numbers without f, which would
 * be rounded to float in the oracle */

typedef struct Gen {
    Rng *r;
    Text t;
    bool helper, in_loop; /* in a helper: no calls */
    int counters;
} Gen;

static const char *pick_one(Gen *g, int n, const char *const *of) { return of[below(g->r, n)]; }
#define ONE(g, ...) pick_one(g, COUNT_OF(((const char *[]){__VA_ARGS__})), (const char *[]){__VA_ARGS__})

static char *real(Gen *g, int d);

static char *integer(Gen *g, int d)
{
    if (d <= 0) return format("%s", ONE(g, "n", "i0", "2", "3", "(int)(2 * x)", "(int)y"));
    const char *a = integer(g, d - 1), *b = integer(g, d - 1);
    switch (below(g->r, 5)) {
    case 0: return format("(%s + %s) %% 7", a, b);
    case 1: return format("(%s - %s) / %s", a, b, ONE(g, "2", "3", "-2"));
    case 2: return format("%s * %s %% 5", ONE(g, "n", "i0"), b);
    case 3: return format("(%s > 0 ? %s : %s)", real(g, 0), a, b);
    default: return format("(%s %s %s)", a, ONE(g, "&", "|", "^"), b);
    }
}

static char *condition(Gen *g, int d)
{
    switch (d <= 0 ? 0 : below(g->r, 5)) {
    case 0:
    case 1: return format("%s %s %s", real(g, d - 1), ONE(g, "<", "<=", ">", ">=", "!="), real(g, d - 1));
    case 2: return format("%s %s %s", integer(g, d - 1), ONE(g, "==", "!=", "<"), integer(g, 0));
    case 3: return format("(%s %s %s)", condition(g, d - 1), ONE(g, "&&", "||"), condition(g, d - 1));
    default: return format("!(%s)", condition(g, d - 1));
    }
}

static char *real(Gen *g, int d)
{
    if (d <= 0) return format("%s", ONE(g, "x", "y", "v0", "v1", "v2", "0.5", "1.25", "i0", "n"));
    const char *a = real(g, d - 1), *b = real(g, d - 1);
    switch (below(g->r, g->helper ? 13 : 15)) {
    case 0:
    case 1: return format("(%s %s %s)", a, ONE(g, "+", "-", "*"), b);
    case 2: return format("%s / (1 + %s * %s)", real(g, 0), b, b);
    case 3: return format("%s(%s, %s)", ONE(g, "fmaxf", "fminf"), a, b);
    case 4: return format("%s(%s)", ONE(g, "sinf", "cosf", "tanhf", "fabsf", "erff"), a);
    case 5: return format("expf(-fabsf(%s))", a);
    case 6: return format("sqrtf(fabsf(%s) + 0.1)", a);
    case 7: return format("(%s ? %s : %s)", condition(g, 1), a, b);
    case 8: return format("(%s > 0.1 ? logf(%s) : %s)", a, a, b);
    case 9: return format("(%s < 0.3 ? %s : 1 / %s)", a, b, a);
    case 10: return format("(float)(%s)", integer(g, 1));
    case 11: return format("powf(tanhf(%s), %s)", a, ONE(g, "2", "3", "4.0"));
    case 12: return format("-%s", real(g, 0));
    default: return format("g(%s, %s, %s)", a, b, integer(g, 1));
    }
}

static void statements(Gen *g, int depth, int n);

static void block(Gen *g, const char *head, int depth)
{
    say(&g->t, "%s {\n", head);
    statements(g, depth - 1, 1 + (int)below(g->r, 2));
    say(&g->t, "}\n");
}

static void loop(Gen *g, int depth)
{
    bool outer = g->in_loop;
    int k = g->counters++, rounds = 2 + (int)below(g->r, 2);
    g->in_loop = true;
    if (below(g->r, 3)) block(g, format("for (int k%d = 0; k%d < %d; k%d++)", k, k, rounds, k), depth);
    else {
        say(&g->t, "int k%d = %d;\n", k, rounds);
        block(g, format("while (k%d-- > 0 && %s)", k, condition(g, 1)), depth);
    }
    g->in_loop = outer;
}

static void statement(Gen *g, int depth)
{
    switch (depth > 0 ? below(g->r, 9) : below(g->r, 4)) {
    case 0:
    case 1:
        say(&g->t, "%s %s %s(%s);\n", ONE(g, "v0", "v1", "v2"), ONE(g, "=", "+=", "-="),
            ONE(g, "sinf", "tanhf", "cosf"), real(g, 2));
        break;
    case 2: say(&g->t, "%s *= %s;\n", ONE(g, "v0", "v1", "v2"), ONE(g, "0.5", "-0.9")); break;
    case 3: say(&g->t, "i0 = %s;\n", integer(g, 2)); break;
    case 4: block(g, format("if (%s)", condition(g, 2)), depth); break;
    case 5:
        block(g, format("if (%s)", condition(g, 2)), depth);
        block(g, "else", depth);
        break;
    case 6: loop(g, depth); break;
    case 7: say(&g->t, "if (%s) return %s(%s);\n", condition(g, 1), ONE(g, "sinf", "tanhf"), real(g, 2)); break;
    default:
        if (g->in_loop) say(&g->t, "if (%s) %s;\n", condition(g, 1), ONE(g, "break", "continue"));
        else say(&g->t, "{ float w = %s; v1 += sinf(w); }\n", real(g, 1));
    }
}

static void statements(Gen *g, int depth, int n)
{
    for (int i = 0; i < n; i++) statement(g, depth);
}

static char *random_function(Rng *r)
{
    Gen g = {.r = r};
    for (int which = 0; which < 2; which++) {
        g.helper = which == 0;
        say(&g.t, "float %s(float x, float y, int n) {\nfloat v0 = x, v1 = y, v2 = 0.25; int i0 = %s;\n",
            g.helper ? "g" : "f", ONE(&g, "n", "0", "1"));
        statements(&g, g.helper ? 1 : 3, g.helper ? 2 : 5);
        say(&g.t, "return sinf(%s);\n}\n", real(&g, 2));
    }
    return g.t.at;
}

/* ------------------------------------------------------------------ one model of many functions */

typedef struct Family {
    const char *what;
    int n;
    const char *text[MOST];
} Family;

static bool returns_struct(const char *text)
{
    const char *f = strstr(text, "P f(");
    return f != NULL;
}

static char *description(const Family *f)
{
    Text t = {0};
    say(&t, "return {\n  config = { features = 4, batch = %d },\n  forward = function(c, input)\n", POINTS);
    say(&t, "    local p = nn.param { name = \"p\", shape = { c.batch, 2 } }\n");
    say(&t, "    local function column(k) return input.features:select(1, k) end\n");
    say(&t, "    local x, y = column(0) + p:select(1, 0), column(1) + p:select(1, 1)\n");
    say(&t, "    local n = nn.floor(2 * column(2)):cast(\"i32\")\n");
    say(&t, "    local out, loss = { x = x, y = y, n = n:cast(\"f32\") }, 0\n");
    for (int k = 0; k < f->n; k++) {
        say(&t, "    do\n      local f = nn.cfunc [==[%s]==]\n      local a, b = f(x, y, n)\n", f->text[k]);
        say(&t, "      out.a%d, out.b%d, loss = a, b, loss + (a * column(3)):mean()\n", k, k);
        say(&t, "      if b then loss = loss + (b * b):mean() end\n    end\n");
    }
    say(&t, "    return loss, out\n  end,\n  train = { optimizer = optim.sgd { lr = 0.1 } },\n  data = data.csv { "
            "target = \"t\" },\n}\n");
    return t.at;
}

/* The oracle: real is what `float` stands for. */
typedef void Oracle(const double *x, const double *y, const double *n, double *a, double *b);

static char *oracle_text(const Family *f, bool fp64)
{
    static const char *const functions[] = {"exp",  "expm1", "log",   "log1p", "log2", "log10", "sqrt",
                                            "pow",  "sin",   "cos",   "tan",   "tanh", "erf",   "fabs",
                                            "fmax", "fmin",  "floor", "ceil",  "trunc"};
    Text t = {0};
    say(&t, "#include <math.h>\n#include <stdbool.h>\n#include <stdlib.h>\n");
    for (int i = 0; fp64 && i < COUNT_OF(functions); i++) say(&t, "#define %sf %s\n", functions[i], functions[i]);
    if (fp64) say(&t, "#define float double\n");
    for (int k = 0; k < f->n; k++) {
        say(&t, "#define f f%d\n#define g g%d\n#define h h%d\n#define P P%d\n%s\n", k, k, k, k, f->text[k]);
        say(&t, "void oracle%d(const double *x, const double *y, const double *n, double *a, double *b)\n{\n", k);
        say(&t, "for (int i = 0; i < %d; i++) {\n", POINTS);
        if (!returns_struct(f->text[k])) say(&t, "a[i] = f(x[i], y[i], n[i]);\n}\n}\n");
        else
            say(&t, "%sP r = f(x[i], y[i], n[i]);\na[i] = r.a; b[i] = r.b;\n}\n}\n",
                strstr(f->text[k], "struct P {") ? "struct " : "");
        say(&t, "#undef f\n#undef g\n#undef h\n#undef P\n");
    }
    return t.at;
}

static void *build_oracle(const Family *f, bool fp64, const char *name)
{
    char *text = oracle_text(f, fp64), *out, *c = format("%s/%s.c", temp_folder(), name),
         *so = format("%s/%s.so", temp_folder(), name);
    must(write_file(c, text, strlen(text)));
    int code = run_command(&out, "${CC:-cc} -O1 -ffp-contract=off -w -shared -fPIC -o %s %s -lm", so, c);
    expect(code == 0, "the oracle of %s: %s", f->what, out);
    return code ? NULL : dlopen(so, RTLD_NOW);
}

/* ------------------------------------------------------------------ comparing */

static bool equal(double a, double b, double off)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= off * (1 + fabs(b));
}

static void compare(const Family *f, int k, const char *which, const double *is, const double *wanted_,
                    const double *at[3], double off)
{
    for (int i = 0; i < POINTS; i++)
        if (!expect(equal(is[i], wanted_[i], off),
                    "%s, function %d, result %s at (%.17g, %.17g, %g): %.17g, and the compiler's says %.17g\n%s",
                    f->what, k, which, at[0][i], at[1][i], at[2][i], is[i], wanted_[i], f->text[k]))
            return;
}

static void draw(Live *l, int entry, Rng *r)
{
    const Lathe_tensor *x = input_of(l, entry, "features");
    void *at = input_at(l, entry, "features");
    for (int64_t i = 0; i < tensor_elements(x); i++) set_element(x->dtype, at, i, 1.5 * normal(r));
    for (int i = 0; i < 8; i++) set_element(x->dtype, at, 4 * i, i < 4 ? 0 : 40 * (i - 5.5)); /* 0, and far away */
}

static void check_values(const Family *f, bool fp64, Rng *r)
{
    char *lua = description(f), *file = format("%s/%s_%d.lua", temp_folder(), f->what, fp64);
    must(write_file(file, lua, strlen(lua)));
    Live *l = build_model(format("%s --precision %s", file, fp64 ? "fp64" : "fp32"));
    int entry = entry_index(l, "grad");
    draw(l, entry, r);
    memset(l->params, 0, (size_t)l->model->flat_elements * (fp64 ? 8 : 4));
    call_entry(l, entry);
    const double *at[] = {read_output(l, entry, "x"), read_output(l, entry, "y"), read_output(l, entry, "n")};
    void *library = build_oracle(f, fp64, format("%s_%d", f->what, fp64));
    for (int k = 0; library && k < f->n; k++) {
        double a[POINTS], b[POINTS];
        Oracle *oracle;
        *(void **)&oracle = dlsym(library, format("oracle%d", k));
        oracle(at[0], at[1], at[2], a, b);
        compare(f, k, "a", read_output(l, entry, format("a%d", k)), a, at, fp64 ? 1e-11 : 1e-5);
        if (returns_struct(f->text[k]))
            compare(f, k, "b", read_output(l, entry, format("b%d", k)), b, at, fp64 ? 1e-11 : 1e-5);
    }
    for (int64_t i = 0; i < param_elements(&l->model->param[0]); i++)
        expect(isfinite(read_param(l, l->grads, &l->model->param[0])[i]), "%s: gradient %lld is not finite", f->what,
               (long long)i);
    if (fp64) {
        for (int i = 0; i < 8; i++)
            set_element(LATHE_F64, input_at(l, entry, "features"), 4 * i, normal(r)); /* away from kinks */
        check_gradients(l, entry, f->what, "p", 24, r);
    }
    unload(l);
}

/* Random functions must have what they are there for. */
static void check_coverage(const Family *f)
{
    static const char *const words[] = {"if (",        "else", "for (", "while (", "break", "continue",
                                        "return sinf", " ? ",  "&&",    "g(",      "logf"};
    for (int w = 0; w < COUNT_OF(words); w++) {
        int n = 0;
        for (int k = 0; k < f->n; k++) n += strstr(f->text[k], words[w]) != NULL;
        expect(n > 0, "of %d random functions %d have '%s'", f->n, n, words[w]);
    }
}

int main(void)
{
    if (run_command(&(char *){NULL}, "%s check tests/front/cfunc_text.lua 2>&1 | grep -q 'needs libclang'",
                    lathe_command()) == 0)
        skip_test("libclang 17 or newer is not here");
    Rng r = rng_of(6);
    for (int first = 0; first < COUNT_OF(written); first += TOGETHER) {
        Family f = {.what = format("written%d", first)};
        for (int k = first; k < COUNT_OF(written) && f.n < TOGETHER; k++) f.text[f.n++] = written[k];
        for (int fp64 = first > 0; fp64 < 2; fp64++) check_values(&f, fp64, &r); /* fp32 once: its errors are libm's */
    }
    Family all = {.n = 0};
    for (int round = 0; round < (long_run() ? 150 : 2); round++) {
        Family f = {.what = format("random%d", round), .n = TOGETHER};
        for (int k = 0; k < f.n; k++) f.text[k] = random_function(&r);
        for (int k = 0; k < f.n && all.n < MOST; k++) all.text[all.n++] = f.text[k];
        check_values(&f, true, &r);
    }
    check_coverage(&all);
    return finish();
}
