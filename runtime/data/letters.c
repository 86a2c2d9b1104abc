/* letters.c: texts of recordings as ids of characters, from 1 on in the order of Unicode; 0 is the blank of CTC. */
#include "base/printable.h"
#include "base/words.h"
#include "data/recordings.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 8 };

/* The bytes of the character at `text`, which is UTF-8. */
static int letter_bytes(const char *text)
{
    uint32_t code;
    int n = utf8_character((const unsigned char *)text, (int64_t)strlen(text), &code);
    bug_if(n < 1);
    return n;
}

int64_t letters_in(const char *text)
{
    int64_t n = 0;
    for (; *text; n++) text += letter_bytes(text);
    return n;
}

static void collect_letters(Strings *all, const char *text)
{
    for (int k; *text; text += k) {
        k = letter_bytes(text);
        if (find_string(all, text, k) < 0) add_string(all, text, k, true);
    }
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static Words sorted_letters(Strings *all)
{
    Words letters = {0};
    add_word(&letters, "");
    for (int32_t k = 0; k < all->n; k++) {
        int64_t n;
        const char *at = string_at(all, k, &n);
        add_word(&letters, text_of("%.*s", (int)n, at));
    }
    qsort(letters.at, (size_t)letters.n, sizeof *letters.at, by_bytes);
    free_strings(all);
    return letters;
}

Words letters_of_texts(const File_index *s)
{
    Strings all = {0};
    for (int64_t i = 0; i < s->n; i++) collect_letters(&all, spoken_text(s, i));
    return sorted_letters(&all);
}

/* ------------------------------------------------------------------ those of a run */

static void number_letters(File_index *s)
{
    free_strings(&s->labels);
    s->labels = (Strings){0};
    for (int i = 0; i < s->classes.n; i++)
        add_string(&s->labels, s->classes.at[i], (int64_t)strlen(s->classes.at[i]), true);
}

/* Names the texts' characters that have no id. */
static void tell_unknown(const File_index *s)
{
    Strings unknown = {0};
    int64_t count = 0, texts = 0;
    for (int64_t i = 0; i < s->n; i++) {
        int64_t before = count;
        const char *text = spoken_text(s, i);
        for (int k; text && *text; text += k) {
            k = letter_bytes(text);
            if (find_string(&s->labels, text, k) >= 0) continue;
            count++;
            if (find_string(&unknown, text, k) < 0) add_string(&unknown, text, k, true);
        }
        texts += count > before;
    }
    if (count) {
        Words all = sorted_letters(&unknown);
        all.at++, all.n--; /* the blank */
        note("%s character%s in %s of the %s texts %s not among the %d of training: %s; the model cannot "
             "write %s, and targets leave %s out",
             grouped_text(count), count == 1 ? "" : "s", grouped_text(texts), grouped_text(s->n),
             count == 1 ? "is" : "are", s->classes.n - 1, shown_words(&all), count == 1 ? "it" : "them",
             count == 1 ? "it" : "them");
    }
}

void settle_letters(File_index *s, const Words *known, const int32_t *row, int64_t n)
{
    Strings all = {0};
    for (int64_t i = 0; i < n && !known; i++) collect_letters(&all, spoken_text(s, row[i]));
    s->classes = known ? *known : sorted_letters(&all);
    number_letters(s);
    tell_unknown(s);
}

int64_t letter_ids(const File_index *s, const char *text, int32_t *out, int64_t room)
{
    int64_t n = 0;
    for (int k; *text && n < room; text += k) {
        k = letter_bytes(text);
        int32_t id = find_string(&s->labels, text, k);
        if (id > 0 && out) out[n] = id;
        n += id > 0;
    }
    for (int64_t i = n; i < room && out; i++) out[i] = 0;
    return n;
}
