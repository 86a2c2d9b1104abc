/* test_encoders.c: folders of encoders that Hugging Face's transformers wrote (tests/reference/encoders.py and
 * token_labels.py) give, through the trainer's import, the logits and the loss that transformers computed from them, of
 * rows of unequal lengths. */
#include "harness.h"

#include <math.h>

/* runtime/trainer/trainer.h, whose other names are not meant for programs that link the compiler. */
void load_weights(const Lathe_model *m, const char *path, void *flat, void *statistics, const char *except);
char *weights_file(const char *path);

static void give(Live *l, int entry, const Recording *r, const char *name)
{
    Recorded ids = recorded(r, name);
    int32_t *at = input_at(l, entry, name);
    must(ids.n == tensor_elements(input_of(l, entry, name)));
    for (int64_t i = 0; i < ids.n; i++) at[i] = (int32_t)ids.at[i];
}

/* Logits of padding, which nothing reads, are each program's own. */
static double apart_in_rows(const Recording *r, const double *own, Recorded logits, bool tokens)
{
    Recorded lengths = recorded(r, "lengths"), ids = recorded(r, "tokens");
    int64_t width = ids.n / lengths.n, classes = logits.n / ids.n;
    double apart = 0;
    for (int64_t i = 0; i < logits.n; i++)
        if (!tokens || i / classes % width < (int64_t)lengths.at[i / classes / width])
            apart = fmax(apart, fabs(own[i] - logits.at[i]));
    return apart;
}

static void compare(const char *from, const char *family, const char *arguments, double tolerance)
{
    bool tokens = same(from, "token_labels");
    char *path = format("tests/reference/%s/%s", from, family);
    Recording r = open_recording(format("%s/expected.safetensors", path));
    Recorded logits = recorded(&r, "logits"), loss = recorded(&r, "loss");
    Live *l = build_model(arguments);
    int entry = entry_index(l, "grad");
    load_weights(l->model, weights_file(path), l->params, NULL, NULL);
    give(l, entry, &r, "tokens");
    give(l, entry, &r, "lengths");
    give(l, entry, &r, tokens ? "labels" : "label");
    if (same(family, "bert") && !tokens) give(l, entry, &r, "types");
    call_entry(l, entry);
    const double *own = read_output(l, entry, "logits");
    double apart = fmax(fabs(loss_of(l, entry) - loss.at[0]), apart_in_rows(&r, own, logits, tokens));
    expect(apart < tolerance, "%s, %s: logits or loss are %g apart", path, arguments, apart);
    printf("note: %s: logits and loss within %.2g of transformers'\n", path, apart);
    unload(l);
}

int main(void)
{
    static const struct {
        const char *family, *sets, *of_tokens;
        double double_tolerance; /* transformers has rotary positions in single precision */
    } families[] = {
        {"bert", "--set context=32 --set activation=gelu_new --set pair=true --set second=second",
         "--set context=32 --set vocab=247", 1e-12},
        {"roberta", "--set context=34 --set types=1 --set eps=1e-5",
         "--set context=34 --set types=1 --set eps=1e-5 --set vocab=330", 1e-12},
        {"modernbert", "--set context=64 --set window=6 --set pooling=mean --set eps=1e-5",
         "--set context=64 --set window=6 --set eps=1e-5 --set vocab=330", 2e-6},
    };
    for (int k = 0; k < COUNT_OF(families); k++) {
        const char *sets =
            format("models/bert.lua --set kind=%s --set layers=3 --set heads=3 --set width=24 --set hidden=34 "
                   "--set vocab=96 --set classes=4 --set seq=24 --set batch=5 %s",
                   families[k].family, families[k].sets);
        const char *tokens =
            format("models/bert.lua --set kind=%s --set layers=2 --set heads=3 --set width=24 --set hidden=34 "
                   "--set classes=5 --set seq=24 --set batch=5 --set head=tokens %s",
                   families[k].family, families[k].of_tokens);
        compare("encoders", families[k].family, format("%s --precision fp64", sets), families[k].double_tolerance);
        compare("encoders", families[k].family, sets, 1e-5);
        compare("token_labels", families[k].family, format("%s --precision fp64", tokens),
                families[k].double_tolerance);
        compare("token_labels", families[k].family, tokens, 1e-5);
    }
    return finish();
}
