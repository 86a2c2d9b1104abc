/* settings.h: the recipe's settings (runtime/interface/recipe.def) as the compiler uses them: it finds, checks and prints them. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "base/util.h"

#include "runtime/interface/settings.h"

extern const Lathe_recipe recipe_defaults;

/* The library's functions that take a setting as an option, of which the description's tables are made. */
typedef struct Setting_option {
    const char *function; /* "optim.adamw"; NULL at the end */
    const char *start;    /* its default there, as written in recipe.def; "none", "required" */
    const char *meaning;
} Setting_option;

const Setting *setting_at(int k);                 /* the k-th row; NULL: there are no more */
const Setting *find_setting(const char *name);    /* NULL: there is none */
const Setting_option *setting_options(const Setting *s);
const Setting_option *option_of(const Setting *s, const char *function); /* NULL: the function does not take it */

bool is_settable(const Setting *s);               /* a name that --set takes */
int word_count(const Setting *s);                 /* of a WORD */
const char *setting_word(const Lathe_recipe *r, const char *name); /* the word that a recipe has there */
bool setting_holds(const Setting *s, double v);   /* within its limits */
bool setting_takes(const Setting *s, const char *text, double *v); /* text as that number; false: it is none within its limits */
const char *range_text(const Setting *s);         /* "an integer, 0 or more"; of a flag "true or false …" */

void say_settings_page(Text *t);                  /* the table in models/README.md */

#endif
