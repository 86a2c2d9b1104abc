/* settings.h: a row of recipe.def as data, for the compiler (desc/settings.c) and for trainers (trainer/knobs.c). */
#ifndef LATHE_INTERFACE_SETTINGS_H
#define LATHE_INTERFACE_SETTINGS_H

#include "lathe_model.h"

typedef enum Setting_kind {
    SETTING_REAL, SETTING_COUNT, SETTING_FLAG,  /* double, int64_t, int64_t */
    SETTING_WORD,                               /* an enum, stored as int */
    SETTING_TEXT, SETTING_LIST,                 /* const char * */
    SETTING_BOOL                                /* bool */
} Setting_kind;

typedef enum Setting_hold { SETTING_RUN, SETTING_NOTED, SETTING_BUILT, SETTING_INNER } Setting_hold;

typedef struct Setting {
    const char *name;               /* the name of the member of Lathe_recipe, and for --set */
    Setting_kind kind;
    Setting_hold hold;
    size_t field;                   /* offset in Lathe_recipe */
    double least, most;             /* of numbers */
    const char *table, *key;        /* its place in a description; NULL: none */
    const char *unit, *meaning;
    const char *const *words, *const *ids;  /* WORD: by value, in descriptions and in C; NULL at the end */
} Setting;

static inline bool setting_is_number(const Setting *s) { return s->kind <= SETTING_FLAG; }

/* What a flag's text says: 1 or true, 0 or false; -1: it says neither. */
static inline int flag_of_text(const char *text)
{
    if (strcmp(text, "1") == 0 || strcmp(text, "true") == 0) return 1;
    return strcmp(text, "0") == 0 || strcmp(text, "false") == 0 ? 0 : -1;
}

/* A number's value in a recipe. */
static inline double setting_number(const Setting *s, const Lathe_recipe *r)
{
    const char *at = (const char *)r + s->field;
    return s->kind == SETTING_REAL ? *(const double *)at : (double)*(const int64_t *)at;
}

static inline void put_setting_number(const Setting *s, Lathe_recipe *r, double value)
{
    char *at = (char *)r + s->field;
    if (s->kind == SETTING_REAL) *(double *)at = value;
    else *(int64_t *)at = (int64_t)value;
}

static inline int setting_choice(const Setting *s, const Lathe_recipe *r) { return *(const int *)((const char *)r + s->field); }

static inline const char *setting_text(const Setting *s, const Lathe_recipe *r)
{
    return *(const char *const *)((const char *)r + s->field);
}

#endif
