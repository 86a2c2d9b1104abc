/* settings_table.h: the table of all settings, in the order of recipe.def, for the two files that look settings up. */
#ifndef LATHE_INTERFACE_SETTINGS_TABLE_H
#define LATHE_INTERFACE_SETTINGS_TABLE_H

#include "settings.h"

#include <math.h>

#define IS(id, said) said,
#define WORD(name, type, start, words, ...) static const char *const name##_said[] = {words NULL};
#include "recipe.def"

#define IS(id, said) #id,
#define WORD(name, type, start, words, ...)                                                                               \
    static const char *const name##_ids[] = {words NULL};                                                                 \
    _Static_assert(sizeof(type) == sizeof(int), "enums are stored as int");
#include "recipe.def"

#define ROW(name, kind, hold, least, most, table, key, unit, meaning, words, ids)                                         \
    {#name, SETTING_##kind, SETTING_##hold, offsetof(Lathe_recipe, name), least, most, table, key, unit, meaning, words, ids},

static const Setting settings[] = {
#define REAL(name, start, least, most, table, key, hold, unit, meaning, ...)                                              \
    ROW(name, REAL, hold, least, most, #table, #key, unit, meaning, NULL, NULL)
#define COUNT(name, start, least, most, table, key, hold, unit, meaning, ...)                                             \
    ROW(name, COUNT, hold, least, most, #table, #key, unit, meaning, NULL, NULL)
#define FLAG(name, start, table, key, hold, meaning, ...)                                                                 \
    ROW(name, FLAG, hold, 0, 1, #table, #key, "", meaning, NULL, NULL)
#define WORD(name, type, start, words, table, key, hold, meaning, ...)                                                    \
    ROW(name, WORD, hold, 0, 0, #table, #key, "", meaning, name##_said, name##_ids)
#define TEXT(name, table, key, hold, meaning, ...) ROW(name, TEXT, hold, 0, 0, #table, #key, "", meaning, NULL, NULL)
#define LIST(name, table, key, hold, meaning, ...) ROW(name, LIST, hold, 0, 0, #table, #key, "", meaning, NULL, NULL)
#define BOOL(name, table, key, hold, meaning, ...) ROW(name, BOOL, hold, 0, 0, #table, #key, "", meaning, NULL, NULL)
#define INNER(type, kind, name, meaning)           ROW(name, kind, INNER, 0, 0, NULL, NULL, "", meaning, NULL, NULL)
#include "recipe.def"
};
#undef ROW

enum { SETTINGS = sizeof settings / sizeof *settings };

#endif
