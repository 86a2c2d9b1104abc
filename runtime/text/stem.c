/* stem.c: stems of English words for ROUGE: Porter's algorithm (An algorithm for suffix stripping, Program 14.3, 1980)
 * with the default changes of NLTK, which rouge_score uses.
 *
 * A word has bytes a-z and 0-9.  Its form is [C](VC)^m[V], where C and V are runs of consonants and vowels; m is its
 * measure; y after a consonant is a vowel. */
#include "text/rouge.h"

#include <string.h>

typedef struct Word {
    char *at;
    int64_t n;
} Word;

static bool is_vowel_letter(char c) { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u'; }

static bool is_consonant(const char *w, int64_t i)
{
    bool turned = false;
    if (is_vowel_letter(w[i])) return false;
    for (; i > 0 && w[i] == 'y'; i--) turned = !turned;
    return !is_vowel_letter(w[i]) != turned;
}

/* The measure of the first n letters; 2: two or more. */
static int measure(const char *w, int64_t n)
{
    int m = 0;
    bool consonant = true;
    for (int64_t i = 0; i < n && m < 2; i++) {
        bool before = consonant;
        consonant = w[i] == 'y' ? i == 0 || !before : !is_vowel_letter(w[i]);
        m += i > 0 && !before && consonant;
    }
    return m;
}

static bool has_vowel(const char *w, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (is_vowel_letter(w[i]) || (w[i] == 'y' && i > 0)) return true; /* y after anything but a vowel is a vowel */
    return false;
}

static bool ends_double(Word w) { return w.n >= 2 && w.at[w.n - 1] == w.at[w.n - 2] && is_consonant(w.at, w.n - 1); }

/* Ends in consonant, vowel, consonant other than w, x, y; or is a vowel and a consonant. */
static bool ends_short(const char *w, int64_t n)
{
    if (n == 2) return !is_consonant(w, 0) && is_consonant(w, 1);
    return n >= 3 && is_consonant(w, n - 3) && !is_consonant(w, n - 2) && is_consonant(w, n - 1) &&
           !strchr("wxy", w[n - 1]);
}

static bool has_suffix(Word w, const char *suffix)
{
    int64_t n = (int64_t)strlen(suffix);
    return w.n >= n && memcmp(w.at + w.n - n, suffix, (size_t)n) == 0;
}

static void end_in(Word *w, int64_t stem, const char *to)
{
    int64_t n = (int64_t)strlen(to);
    memcpy(w->at + stem, to, (size_t)n);
    w->n = stem + n;
}

/* ------------------------------------------------------------------ rules */

typedef struct Ending {
    const char *suffix, *to;
    int least; /* measure of the part before the suffix */
} Ending;

/* The first suffix that matches decides, whether or not its stem is long enough. */
static const Ending *fitting(Word w, const Ending *rules)
{
    while (rules->suffix && !has_suffix(w, rules->suffix)) rules++;
    return rules->suffix ? rules : NULL;
}

static void apply(Word *w, const Ending *rules)
{
    const Ending *r = fitting(*w, rules);
    if (!r) return;
    int64_t stem = w->n - (int64_t)strlen(r->suffix);
    if (measure(w->at, stem) >= r->least) end_in(w, stem, r->to);
}

/* Plurals. */
static void step_1a(Word *w)
{
    static const Ending rules[] = {{"sses", "ss", 0}, {"ies", "i", 0}, {"ss", "ss", 0}, {"s", "", 0}, {NULL, NULL, 0}};
    if (w->n == 4 && has_suffix(*w, "ies")) end_in(w, 1, "ie");
    else apply(w, rules);
}

/* Restores the verb's ending before -ed or -ing. */
static void restore(Word *w)
{
    static const Ending rules[] = {{"at", "ate", 0}, {"bl", "ble", 0}, {"iz", "ize", 0}, {NULL, NULL, 0}};
    if (fitting(*w, rules)) apply(w, rules);
    else if (ends_double(*w)) w->n -= strchr("lsz", w->at[w->n - 1]) == NULL;
    else if (measure(w->at, w->n) == 1 && ends_short(w->at, w->n)) end_in(w, w->n, "e");
}

static void step_1b(Word *w)
{
    static const Ending agreed[] = {{"eed", "ee", 1}, {NULL, NULL, 0}};
    int64_t stem = has_suffix(*w, "ed") ? w->n - 2 : has_suffix(*w, "ing") ? w->n - 3 : -1;
    if (has_suffix(*w, "ied")) {
        end_in(w, w->n - 3, w->n == 4 ? "ie" : "i");
        return;
    }
    if (fitting(*w, agreed)) {
        apply(w, agreed);
        return;
    }
    if (stem < 0 || !has_vowel(w->at, stem)) return;
    w->n = stem;
    restore(w);
}

static void step_1c(Word *w)
{
    if (w->n > 2 && has_suffix(*w, "y") && is_consonant(w->at, w->n - 2)) w->at[w->n - 1] = 'i';
}

static void step_2(Word *w)
{
    static const Ending rules[] = {
        {"ational", "ate", 1}, {"tional", "tion", 1}, {"enci", "ence", 1}, {"anci", "ance", 1}, {"izer", "ize", 1},
        {"bli", "ble", 1},     {"alli", "al", 1},     {"entli", "ent", 1}, {"eli", "e", 1},     {"ousli", "ous", 1},
        {"ization", "ize", 1}, {"ation", "ate", 1},   {"ator", "ate", 1},  {"alism", "al", 1},  {"iveness", "ive", 1},
        {"fulness", "ful", 1}, {"ousness", "ous", 1}, {"aliti", "al", 1},  {"iviti", "ive", 1}, {"biliti", "ble", 1},
        {"fulli", "ful", 1},   {NULL, NULL, 0}};
    if (has_suffix(*w, "alli") && measure(w->at, w->n - 4) > 0) end_in(w, w->n - 4, "al");
    if (has_suffix(*w, "logi") && measure(w->at, w->n - 3) > 0) w->n--; /* the l belongs to the stem */
    else apply(w, rules);
}

static void step_3(Word *w)
{
    static const Ending rules[] = {{"icate", "ic", 1}, {"ative", "", 1}, {"alize", "al", 1}, {"iciti", "ic", 1},
                                   {"ical", "ic", 1},  {"ful", "", 1},   {"ness", "", 1},    {NULL, NULL, 0}};
    apply(w, rules);
}

static void step_4(Word *w)
{
    static const Ending rules[] = {{"al", "", 2},    {"ance", "", 2}, {"ence", "", 2}, {"er", "", 2},
                                   {"ic", "", 2},    {"able", "", 2}, {"ible", "", 2}, {"ant", "", 2},
                                   {"ement", "", 2}, {"ment", "", 2}, {"ent", "", 2},  {"ion", "", 2},
                                   {"ou", "", 2},    {"ism", "", 2},  {"ate", "", 2},  {"iti", "", 2},
                                   {"ous", "", 2},   {"ive", "", 2},  {"ize", "", 2},  {NULL, NULL, 0}};
    if (has_suffix(*w, "ion") && (w->n == 3 || !strchr("st", w->at[w->n - 4]))) return;
    apply(w, rules);
}

static void step_5(Word *w)
{
    if (has_suffix(*w, "e")) {
        int m = measure(w->at, w->n - 1);
        w->n -= m > 1 || (m == 1 && !ends_short(w->at, w->n - 1));
    }
    if (has_suffix(*w, "ll") && measure(w->at, w->n - 1) > 1) w->n--;
}

/* ------------------------------------------------------------------ whole words */

static bool irregular(Word *w)
{
    static const char *const known[][2] = {
        {"sky", "sky"},        {"skies", "sky"},       {"dying", "die"},        {"lying", "lie"},
        {"tying", "tie"},      {"news", "news"},       {"innings", "inning"},   {"inning", "inning"},
        {"outings", "outing"}, {"outing", "outing"},   {"cannings", "canning"}, {"canning", "canning"},
        {"howe", "howe"},      {"proceed", "proceed"}, {"exceed", "exceed"},    {"succeed", "succeed"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i][0]) == (size_t)w->n && has_suffix(*w, known[i][0])) {
            end_in(w, 0, known[i][1]);
            return true;
        }
    return false;
}

int64_t stem_word(char *word, int64_t n)
{
    Word w = {word, n};
    if (n <= 2 || irregular(&w)) return w.n;
    step_1a(&w);
    step_1b(&w);
    step_1c(&w);
    step_2(&w);
    step_3(&w);
    step_4(&w);
    step_5(&w);
    return w.n;
}
