/* pictures.h: pictures in folders and tar archives, and batches of them. */
#ifndef LATHE_DATA_PICTURES_H
#define LATHE_DATA_PICTURES_H

#include "base/words.h"
#include "data/reading.h"
#include "interface/lathe_model.h"
#include "token/token.h"

#include <jansson.h>

/* ------------------------------------------------------------------ data/picture_index.c: which pictures there are */

typedef struct Picture {  /* a file, or a member of an archive */
    int64_t first, bytes; /* first: byte of the archive */
    int64_t name;         /* where it begins in Picture_index.names: a path, or a member's name */
    uint64_t draw;        /* a hash of the name, without the path of --data */
    int32_t archive;      /* -1: a file */
    int32_t class;        /* -1: not known */
} Picture;

typedef struct Picture_index {
    Picture *at;
    int64_t n, room;
    char *names;
    int64_t name_bytes, name_room;
    Words archives;
    bool labelled;    /* each must have a class */
    bool by_folder;   /* a label is a folder's name */
    Strings labels;   /* of classes, as they were met; Picture.class is its number until they are settled */
    Words classes;    /* by id */
    int64_t left_out; /* files that are no pictures */
    char *example;    /* one of them */
} Picture_index;

/* All pictures of paths: folders with a folder for each class, tar archives, CSV files with the columns path and label,
 * single pictures.  known: the classes of training; NULL: those of the data.  An error in the files ends the program
 * (3). */
Picture_index *find_pictures(const Words *paths, bool labelled, const Words *known);
char *picture_place(const Picture_index *s, const Picture *p); /* "a.tar: member cats/1.jpg", from malloc */
void shuffle_pictures(Picture_index *s); /* by names alone, so that any part of the list has all classes */
int64_t index_bytes(const Picture_index *s);

/* ---- for those who find pictures.  below: the name without the path of --data; label NULL: not known */
void add_picture(Picture_index *s, Picture p, const char *name, const char *below, const char *label);
void leave_file_out(Picture_index *s, const char *name); /* counts a file that is no picture */
bool is_part_of_data(const char *name); /* "train", "val": folders of a data set that are no classes */
bool is_picture_name(const char *name);
/* A picture, an archive, a folder with some in it, or with bare in itself. */
bool holds_pictures(const char *path, bool bare);
const char *picture_hint(const char *path); /* what to do with it where other data is expected; "" if it has none */
void add_archive(Picture_index *s, const char *path);      /* data/archive.c */
void add_picture_list(Picture_index *s, const char *path); /* data/archive.c: a CSV */

/* ------------------------------------------------------------------ data/classes.c: names of classes */

/* Gives the pictures the ids of their classes: those of `known`, or the labels in their order; labels that are all
 * numbers, and no folders, are ids themselves.  A label that is not known ends the program (3). */
void settle_classes(Picture_index *s, const Words *known);
char *shown_words(const Words *all); /* "cat, dog"; of many the first */
char *class_counts(const Picture_index *s); /* "3 classes: blue 20, green 20, red 20" */
json_t *classes_json(const Words *classes); /* classes.json */
Words *read_classes(const char *path);

/* ------------------------------------------------------------------ data/pictures.c: batches */

typedef struct Pictures Pictures;

/* known: the classes of training; NULL: those of the data. */
Pictures *open_pictures(const Reading *reading, const Lathe_entry *e, const Words *known);
int64_t pictures_rows(const Pictures *p);
int64_t pictures_heap(const Pictures *p);
int pictures_readers(const Pictures *p);   /* threads */
uint64_t pictures_hash(const Pictures *p); /* of names, sizes and classes */
const Words *pictures_classes(const Pictures *p);
char *classes_text(const Pictures *p); /* how many pictures each has */
int32_t picture_class(const Pictures *p, int64_t item);
const char *picture_fault(const Pictures *p, int64_t item); /* why it cannot be read; NULL: it was */
uint64_t picture_draw(const Pictures *p, int64_t item); /* the hash of its name */
const char *picture_name(const Pictures *p, int64_t item);
/* Fills the inputs with the pictures item [e->rows], as they are.  A picture that cannot be read ends the program (3);
 * to predict, bad_records of them are black, and told. */
void fill_pictures(Pictures *p, const Lathe_entry *e, char *in, const int64_t *item);

typedef struct Picture_turn { /* a picture in training */
    int64_t item, epoch;      /* its crop and flip are a function of seed and both */
} Picture_turn;
typedef void Give_turns(void *with, int64_t step, int64_t n, Picture_turn *turn);

/* Fills a training step.  Reading threads are already at the pictures of the steps after it, which `give` says; batches
 * depend on what it says alone.  false: a picture cannot be read. */
bool fill_picture_step(Pictures *p, const Lathe_entry *e, char *in, int64_t step, Give_turns *give, void *with);
const char *pictures_failure(const Pictures *p, int *code); /* NULL: there is none */

#endif
