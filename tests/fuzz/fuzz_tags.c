/* fuzz_tags.c: JSON lines of words and their labels: each label is one of the classes, and lies in the row it is of. */
#include "fuzz.h"
#include "base/words.h"
#include "data/tags.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROW = 12 };

static void read_row(Tags *t, Labels *l, const Cells *c, int words_in, int labels_in, Encoder *e)
{
    int32_t to[ROW];
    Ids ids = {0};
    int64_t first = t->n;
    int32_t words = add_words(t, c, words_in, e, &ids);
    add_word_labels(t, l, 0, c, labels_in, words);
    place_words(t, words, ids.n, ids.n < ROW ? ids.n : ROW);
    fill_labels(t, first, words, to, ROW);
    for (int i = 0; i < ROW; i++) bug_if(to[i] != NO_LABEL && (to[i] < 0 || to[i] >= l->met.n));
    bug_if(labelled_words(t, first, words, true) + labelled_words(t, first, words, false) > words);
    if (words % 5 == 4) drop_words(t, words);
    free_ids(&ids);
}

static void read_classes(const Labels *l)
{
    Words classes = classes_of_labels(l, NULL);
    int32_t *id = ids_of_labels(l, &classes);
    for (int i = 0; i < l->met.n; i++) bug_if(id[i] < 0 || id[i] >= classes.n);
    tell_missing_labels(l, &classes);
    free(id);
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    (void)text;
    char *own = text_of("%s.jsonl", path);
    (void)unlink(own);
    bug_if(link(path, own) != 0);
    Words paths = {0};
    add_word(&paths, own);
    Labels l = {.paths = &paths};
    Tags t = {0};
    Tokenizer *k = open_tokenizer(TOKEN_BYTES);
    limit_bytes(k, 256);
    Encoder *e = open_encoder(k);
    start_tags(&t, k, n % 2);
    Cells *c = open_cells_and_lists(own);
    int words_in = column_named(c, "tokens"), labels_in = column_named(c, "tags");
    while (words_in >= 0 && labels_in >= 0 && next_cells(c)) read_row(&t, &l, c, words_in, labels_in, e);
    if (t.n) read_classes(&l);
    close_cells(c);
    close_encoder(e);
    unlink(own);
}
