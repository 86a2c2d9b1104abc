/* test_kept_rows.c: rows that a block keeps in shared memory (emit/kept.c): which kernels' text says so, from 24 KB to
 * what a block may have; in the simulator what C gives, in every order of threads; and that mistakes put into the
 * copies are seen. */
#include "harness_cuda.h"

#include <dlfcn.h>
#include <string.h>

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) n++;
    return n;
}

static char *text_of(const Module *m)
{
    const char *folder = temp_folder();
    options.target = &target_cuda;
    emit_cuda(new_page(m), folder);
    return read_file(format("%s/model.cu", folder), NULL);
}

static const Module *compiled(const char *arguments)
{
    return compile_model(format("tests/models/rows.lua --target cuda %s", arguments));
}

/* ------------------------------------------------------------------ which */

/* Of scores in the softmax; of logits, which training overwrites and evaluation does not; of two in the softmax's
 * derivative, which is made where the second lies: in this order in the text of fp32. */
static void test_texts(void)
{
    static const struct {
        const char *arguments;
        int kept;
    } cases[] = {
        {"--set width=6144 --set classes=6141", 5},   /* 24 KB, and with what 16 bytes hold */
        {"--set width=6140 --set classes=6140", 2},   /* but two rows together */
        {"--set width=12608 --set classes=25216", 5}, /* 98.5 KB */
        {"--set width=12612 --set classes=25213", 4}, /* one of the two */
        {"--set width=25220 --set classes=25217", 0},
        {"--set width=2048 --set classes=12281 --precision bf16", 2},
        {"--set width=2048 --set classes=12280 --precision bf16", 0},
        {"--set width=2048 --set classes=50432 --precision bf16", 2},
        {"--set width=2048 --set classes=50433 --precision bf16", 0},
    };
    for (int i = 0; i < COUNT_OF(cases); i++) {
        const char *text = text_of(compiled(cases[i].arguments));
        int kept = count(text, "= keep_row<");
        expect(kept == cases[i].kept, "%s: %d rows are kept, and not %d", cases[i].arguments, kept, cases[i].kept);
    }
}

/* ------------------------------------------------------------------ what they compute */

/* 16 bytes divide rows, and do not; one and two; below and above the 48 KB that need no asking.  Of the first the
 * entries too. */
static void test_values(void)
{
    static const char *const lines[] = {"--set batch=3 --set width=6144 --set classes=6149",
                                        "--set width=6200 --set classes=12301 --precision bf16"};
    Rng rng = rng_of(3);
    for (int i = 0; i < COUNT_OF(lines); i++) {
        Both b = both_sides(compiled(lines[i]));
        compare_sides(&b, lines[i], 16, &rng);
        if (i == 0) {
            Live *cpu = build_model(format("tests/models/rows.lua %s", lines[i]));
            compare_entries(&b.device, cpu, lines[i], 2, 1e-4, 1e-4, &rng);
            unload(cpu);
        }
        close_both(&b);
    }
}

/* ------------------------------------------------------------------ mistakes */

/* model.cu with cuda/rows.cuh written out, and in both the first `from` made `to`. */
static const char *complaint_with(const Both *b, const char *from, const char *to)
{
    static const char include[] = "#include \"cuda/rows.cuh\"";
    const char *model = read_file(format("%s/model.cu", b->folder), NULL), *at = strstr(model, include);
    must(at);
    const char *all =
        format("%.*s%s%s", (int)(at - model), model, read_file("runtime/cuda/rows.cuh", NULL), at + sizeof include - 1);
    const char *found = strstr(all, from);
    if (!found) die("\"%s\" is not in the text", from);
    Device d = device_of_text(b, format("%.*s%s%s", (int)(found - all), all, to, found + strlen(from)), NULL);
    Rng rng = rng_of(4);
    const char *report = first_complaint(b, &d, &rng);
    dlclose(d.library);
    return report;
}

static void test_mistakes(void)
{
    static const struct {
        const char *from, *to, *word;
    } mistakes[] = {
        {"\n    copy_wait<0>();", "\n", "has not waited"},
        {"copy_commit();", "", "has not waited"},
        {"row[last] = from[last]", "(void)row", "before it is written"},
        {"= keep_row<4>(", "= keep_row<8>(", "before it is written"}, /* what other threads take */
        {"BATCH, row_bytes", "BATCH, -16 + row_bytes", "out of bounds"},
        {"prefer_shared(kernel, shared)", "(void)kernel", "more than the 49152"},
    };
    Both b = both_sides(compiled("--set batch=3"));
    expect(same(complaint_with(&b, "row", "row"), "nothing"), "the text as it is is complained of");
    for (int i = 0; i < COUNT_OF(mistakes); i++) {
        const char *report = complaint_with(&b, mistakes[i].from, mistakes[i].to);
        expect(strstr(report, mistakes[i].word), "\"%s\" made \"%s\": %s", mistakes[i].from, mistakes[i].to, report);
    }
    close_both(&b);
}

int main(void)
{
    need_simulator();
    test_texts();
    test_values();
    test_mistakes();
    return finish();
}
