/* data_new.h: families of published models, and what a description calls the keys of their config.json. */
#ifndef LATHE_TOOLS_DATA_NEW_H
#define LATHE_TOOLS_DATA_NEW_H

#include <jansson.h>
#include <stdbool.h>

typedef enum Value {
    SIZE,
    REAL,
    CAP,
    SWITCH,
    ON, /* a switch that is off in models/ */
    GELU,
    GELUS,
    ACTIVATION,
    ROPE,
    EVERY,
    BALANCE,
    FROM_FIRST,
    WORD,
    SHARE,
    NAMES,
    LIST
} Value;

/* Of several rows for one key of the description, the first that has a value counts. */
typedef struct Size {
    const char *theirs;    /* a key of config.json */
    const char *elsewhere; /* objects that may have it: "rope_parameters rope_scaling"; "=a.b": that key; NULL: none */
    const char *ours;      /* a key of the description's config */
    Value value;
    const char *absent; /* the value of a config.json without it, as Lua; NULL: it must be there; "": that of models/ */
    const char *only;   /* the model_types that have it, "mistral phi3"; NULL: all */
} Size;

typedef struct Family {
    const char *type, *description; /* model_type, models/NAME.lua */
    const Size *size;
    bool kind; /* the description has the type as its kind */
} Family;
extern const Family families[];
extern const int family_count;

/* The value in Lua, from malloc; "": the description's own. */
char *value_text(const char *place, const Size *s, const json_t *config);

/* tools/data_new.c: files; what is wrong ends the program */
char *own_text(const char *name); /* of Lathe's own: "models/gpt.lua" */
void check_absent(const char *path);
void make_new_folder(const char *path);
void write_new(const char *path, const char *text);

/* tools/data_new_template.c */
void list_templates(void);
const char *names_of_templates(void); /* "char, llama" */
bool is_template(const char *from);
const char *nearest_template(const char *from); /* NULL: none is near */
void begin_from_template(const char *folder, const char *from);
void write_editor_files(const char *folder);

#endif
