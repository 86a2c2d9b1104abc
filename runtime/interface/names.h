/* names.h: what model.c and the trainer know by a name, as enums: entries, categories of planned memory. */
#ifndef LATHE_INTERFACE_NAMES_H
#define LATHE_INTERFACE_NAMES_H

typedef enum Entry {
    NO_ENTRY,                   /* ends a list of entries; of a graph that was read as text with another name */
#define ENTRY(name, ...) ENTRY_##name,
#include "entries.def"
} Entry;

enum {
    ENTRIES = 0                 /* number of rows */
#define ENTRY(name, ...) +1
#include "entries.def"
};

typedef enum Category {
#define CATEGORY(name) CATEGORY_##name,
#include "categories.def"
} Category;

#endif
