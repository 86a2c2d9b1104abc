/* machine.h: the machines that `lathe build --for` knows, and the tools that make programs for them. */
#ifndef BUILD_MACHINE_H
#define BUILD_MACHINE_H

#include "build/build.h"

typedef enum System { LINUX, WASI, WINDOWS } System;

typedef struct Machine {
    const char *name;           /* --for NAME */
    System system;
    const char *processor;      /* as uname -m has it */
    const char *debian;         /* as dpkg --print-architecture has it */
    const char *compiler, *archiver, *packages; /* commands, and Debian's packages with all that they need */
    const char *zig;            /* -target of `zig cc` */
    const char *flags, *zig_flags;      /* of the processor; words */
    int64_t most_bytes;         /* of memory; 0: as many as there are */
    bool levels;                /* several, of which the program takes one when it starts */
} Machine;

/* Commands of one machine: beginnings of their lines. */
typedef struct Tools {
    System system;
    Words compiler, archiver;   /* the former with what says which processor; links, too */
    bool threads;               /* it compiles runtime/threads: gcc */
    bool zig;
} Tools;

const Machine *machine_named(const char *name); /* NULL: there is none */
const char *names_of_machines(void);
const char *machine_meant(const char *name); /* "; did you mean aarch64?"; "": none is near */
bool is_family_here(const Machine *m);  /* its programs may run here */
Tools tools_for(const Machine *m, const char *dir); /* NULL: this one; ends the program where they are missing.  dir: for what they say */
void push_words(Words *w, const char *words);

/* ---- linked.c: the libraries of a trainer for a machine whose programs do not run here */

typedef struct Linked {
    Words defines, libraries; /* for the compiler; for the linker */
} Linked;

/* Ends the program where one is missing without which there is no trainer; notes what the trainer lacks. */
Linked linked_for(const Machine *m, const Tools *t, const char *dir);
void add_target_folders(Words *w, const Machine *m);

/* The runtime compiled for it, from its sources unless that was done before.  linked: NULL for one that runs here. */
const char *runtime_library_for(const Machine *m, const Tools *t, const Linked *linked, const char *dir);

/* ---- levels.c: programs with their code for each level */

enum { FIRST_LEVEL = 2, LAST_LEVEL = 4 };
const Machine *machine_of_level(int level);
Words objects_of_levels(const char *dir); /* a trainer's: their main functions are main_v2, … */

#endif
