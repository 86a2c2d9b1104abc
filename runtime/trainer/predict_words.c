/* predict_words.c: the label of each word, read where the word's first piece is: a line of a CSV, or lists in JSON
 * lines. Words that were cut, or of which the tokenizer makes nothing, have none. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/tables.h"
#include "trainer/predict.h"

#include <string.h>

bool are_word_labels(const Predictions *p, const Lathe_tensor *t)
{
    return p->data->sentences && has_sentence_words(p->data->sentences) && strcmp(t->name, "logits") == 0 &&
           t->rank == 3 && t->dim[2] > 1 && t->dtype != LATHE_I32 && t->dtype != LATHE_BOOL;
}

bool has_word_lines(const Predictions *p) { return p->outputs == 1 && are_word_labels(p, p->output[0]); }

bool is_word_column(const char *name)
{
    static const char *const names[] = {"row", "word", "label", "probability", "tokens", "labels", "probabilities"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

typedef struct Labelled {
    const char *word, *label; /* label NULL: none */
    double probability;
} Labelled;

/* Of the k-th word of a row, with logits x [positions][classes], which become probabilities at its place. */
static Labelled labelled_word(const Predictions *p, double *x, int64_t number, int32_t k)
{
    const Lathe_tensor *t = output_named(p->entry, "logits");
    int32_t place;
    Labelled w = {.word = sentence_word(p->data->sentences, predicted_item(p, number), k, &place)};
    if (place < 0) return w;
    int64_t classes = t->dim[2], best = to_probabilities(x + place * classes, classes);
    if (best < 0) return w;
    w.label = predicted_class(p, best);
    if (!w.label) w.label = text_of("%lld", (long long)best);
    w.probability = x[place * classes + best];
    return w;
}

void put_word_header(FILE *f, const Predictions *p)
{
    fprintf(f, "row,");
    put_copied(f, p->copied, copied_name);
    fprintf(f, "word,label,probability\n");
}

void put_word_lines(FILE *f, const Predictions *p, double *x, int64_t number)
{
    int32_t words = sentence_words(p->data->sentences, predicted_item(p, number));
    for (int32_t k = 0; k < words; k++) {
        Labelled w = labelled_word(p, x, number, k);
        fprintf(f, "%lld,", (long long)number);
        put_copied(f, p->copied, copied_text);
        put_field(f, w.word);
        fputc(',', f);
        if (w.label) put_field(f, w.label);
        if (w.label) fprintf(f, ",%.9g\n", w.probability);
        else fprintf(f, ",\n");
    }
}

void put_word_lists(json_t *to, const Predictions *p, double *x, int64_t number)
{
    json_t *tokens = json_array(), *labels = json_array(), *sure = json_array();
    int32_t words = sentence_words(p->data->sentences, predicted_item(p, number));
    for (int32_t k = 0; k < words; k++) {
        Labelled w = labelled_word(p, x, number, k);
        add_json(tokens, word_json(w.word));
        add_json(labels, w.label ? word_json(w.label) : json_null());
        add_json(sure, w.label ? real_json(w.probability) : json_null());
    }
    put_json(to, "tokens", tokens);
    put_json(to, "labels", labels);
    put_json(to, "probabilities", sure);
}
