/* files.h: files that are samples, pictures or recordings: in folders, tar archives and lists, each with a class or a
 * text. */
#ifndef LATHE_DATA_FILES_H
#define LATHE_DATA_FILES_H

#include "base/words.h"
#include "data/reading.h"
#include "interface/lathe_model.h"
#include "token/token.h"

#include <jansson.h>

typedef struct File_kind {      /* what files are */
    const char *one, *many;     /* "picture", "pictures" */
    const char *end[6];         /* of their names: ".jpg", …; NULL: no more */
    const char *ends, *or_ends; /* for messages: ".jpg, .jpeg, .png", ".jpg, .jpeg or .png" */
    const char *paths;          /* what --data may be: "a folder with …" */
    const char *hint;           /* who reads them, where other data is expected */
} File_kind;
extern const File_kind picture_files, recording_files;

typedef enum { UNLABELLED, CLASS_LABELS, TEXT_LABELS } File_labels; /* what each file must have */

typedef struct Data_file { /* a file, or a member of an archive */
    int64_t first, bytes;  /* first: byte of the archive */
    int64_t name;          /* where it begins in File_index.names: a path, or a member's name */
    int64_t text;          /* where its text begins, likewise; -1: it has none */
    uint64_t draw;         /* a hash of the name, without the path of --data */
    uint64_t group;        /* a hash of its group, if there are some */
    int32_t archive;       /* -1: a file */
    int32_t class;         /* -1: not known */
} Data_file;

typedef struct File_index {
    const File_kind *kind;
    Data_file *at;
    int64_t n, room;
    char *names;
    int64_t name_bytes, name_room;
    Words archives;
    File_labels wants;
    const char *group; /* a column of lists, "folder", or a pattern of names; NULL: files have no groups */
    bool by_folder;   /* a label is a folder's name */
    Strings labels;   /* of classes, as they were met; Data_file.class is its number until they are settled */
    Words classes;    /* by id; of texts, characters: classes[0] is "", the blank of CTC */
    int64_t left_out; /* files of other kinds */
    char *example;    /* one of them */
    int64_t bad;      /* files that cannot be read, as far as is known, which bad_records allows */
    char *first_bad;  /* the first of them, and why */
} File_index;

/* ------------------------------------------------------------------ data/file_index.c: which files there are */

/* All files of the kind in paths: folders (for classes with a folder for each), tar archives, CSV files with the
 * columns path and label, or path and text, single files.  known: the classes of training; NULL: those of the data.
 * group: what says which files belong together, as in File_index.  An error in the files ends the program (3). */
File_index *find_data_files(const File_kind *kind, const Words *paths, File_labels wants, const Words *known,
                            const char *group);
char *place_of_file(const File_index *s, const Data_file *p); /* "a.tar: member cats/1.jpg", from malloc */
const char *name_of_file(const File_index *s, int64_t item);
const char *spoken_text(const File_index *s, int64_t item); /* NULL: it has none */
void shuffle_data_files(File_index *s); /* by names alone, so that any part of the list has all classes */
/* Counts a file that cannot be read, and tells it, unless what_follows is NULL; false: more are not allowed. */
bool note_bad_file(File_index *s, int64_t item, const char *wrong, int64_t allowed, const char *what_follows);
char *bad_files_advice(const File_index *s, const Reading *reading); /* after what is wrong; from malloc */
int64_t file_index_bytes(const File_index *s);
uint64_t file_index_hash(const File_index *s); /* of names, sizes, classes and texts */

/* ---- for those who find files.  below: the name without the path of --data; label NULL: not known; group NULL: as the
 * name says */
void add_data_file(File_index *s, Data_file p, const char *name, const char *below, const char *label,
                   const char *group);
void leave_file_out(File_index *s, const char *name); /* counts a file of another kind */
bool is_part_of_data(const char *name); /* "train", "val": folders of a data set that are no classes */
bool is_of_kind(const File_kind *kind, const char *name);
/* A file of the kind, an archive, a folder with some in it, or with bare in itself. */
bool holds_data_files(const File_kind *kind, const char *path, bool bare);
const char *data_file_hint(const char *path); /* what to do with it where other data is expected; "" if it has none */
void add_archive(File_index *s, const char *path);   /* data/archive.c */
void add_file_list(File_index *s, const char *path); /* data/archive.c: a CSV */

/* ------------------------------------------------------------------ data/file_groups.c: files that belong together */

void check_group(const char *group); /* ends the program (2) if it is a pattern that cannot be */
bool is_read_from_names(const char *group); /* it is "folder" or a pattern, not the name of a column */
bool group_in_name(const char *pattern, const char *name, const char **begin, const char **end); /* false: none */
uint64_t hash_of_group(File_index *s, const Data_file *p, const char *below); /* by its name */
void check_group_classes(const File_index *s, const char *path); /* refuses groups that are the classes */

/* ------------------------------------------------------------------ data/classes.c: names of classes */

/* Gives the files the ids of their classes: those of `known`, or the labels in their order; labels that are all
 * numbers, and no folders, are ids themselves.  A label that is not known ends the program (3). */
void settle_classes(File_index *s, const Words *known);
char *label_of(const Strings *labels, int32_t k); /* from malloc */
bool is_negative(const char *label); /* a whole number below 0 */
_Noreturn void refuse_class(const char *place, const Words *classes, const char *label, const char *what);
/* By id: labels that are all numbers are ids themselves, unless they are words; others are in their order. */
Words names_of_labels(const Strings *labels, bool words);
char *shown_words(const Words *all); /* "cat, dog"; of many the first */
/* Ends the program (3) if the input t (NULL: none) is below fewer; of a model of more, a note. */
void check_class_count(const File_index *s, const Lathe_tensor *t, const Reading *reading);
char *class_counts(const File_index *s); /* "3 classes: blue 20, green 20, red 20" */
json_t *classes_json(const Words *classes); /* classes.json */
Words *read_classes(const char *path);
/* Those of a config.json of Hugging Face's; NULL: it has none.  nameless: LABEL_0, LABEL_1, … are names, too. */
Words *classes_of_config(const char *path, bool nameless);
Words *classes_named_by(const char *path, json_t *config, bool nameless); /* the same of its contents, taken over */

/* ------------------------------------------------------------------ data/ahead.c: batches */

typedef struct File_turn { /* a file in training */
    int64_t item, epoch;   /* how it varies is a function of seed and both */
} File_turn;
/* The turn of row k of a step, counted from this rank's first; from `rows` on they are those of other ranks, in a circle. */
typedef File_turn Give_turn(void *with, int64_t step, int64_t rows, int64_t k);

typedef struct Files_form { /* how files of a kind get into a batch; with is what all threads share */
    void *with;
    int64_t room;           /* bytes of a file in a batch */
    int64_t thread_bytes;   /* memory of a thread */
    int beyond;             /* 1: a step reads the row behind this rank's, too; otherwise 0 */
    void *(*open_thread)(const void *with); /* what a thread reads with */
    /* Reads the file, which fd has open, into room; turn NULL: as it is, else as it varies in training.  Returns NULL,
     * or what is wrong, from malloc. */
    char *(*read)(void *thread, int fd, const Data_file *file, const File_turn *turn, char *room);
    /* Whether the file that the thread read last is wrong only in what the recipe leaves out; NULL: it leaves out
     * nothing.  To predict, such a file counts as none of bad_records. */
    bool (*leaves_out)(const void *thread);
    /* Fills the inputs of an entry with a batch: turn [e->rows], rooms [e->rows][room]; in training beyond more. */
    void (*fill)(const void *with, const Lathe_entry *e, char *in, const File_turn *turn, bool training,
                 const char *rooms);
    const char *(*hasten)(const void *with); /* what would make reading faster; "": nothing that is known */
    char *(*tell)(const void *with); /* "pictures of 3 classes: …", from malloc */
} Files_form;

typedef struct Files Files;

/* rows: of a batch, without those beyond */
Files *open_files(const Reading *reading, File_index *index, const Files_form *form, int64_t rows);
File_index *index_of_files(const Files *f);
int64_t files_heap(const Files *f);
int file_readers(const Files *f); /* threads */
const char *remedy_of_files(const Files *f); /* ", or resample …", if reading them is slow */
char *words_of_files(const Files *f); /* "pictures of 3 classes: …" */
const char *fault_of_file(const Files *f, int64_t item); /* why it cannot be read; NULL: it was */
int64_t faulty_files(const Files *f); /* so many so far */
/* Fills the inputs with the files item [e->rows], as they are.  A file that cannot be read ends the program (3); to
 * predict, bad_records of them are zeros, and told. */
void fill_files(Files *f, const Lathe_entry *e, char *in, const int64_t *item);
/* Reads the files item [n], and keeps those in it that can be read; returns their number.  Without bad_records nothing
 * is read, and all are kept. */
int64_t keep_readable(Files *f, int32_t *item, int64_t n);
/* Fills a training step.  Reading threads are already at the files of the steps after it, which `give` says; batches
 * depend on what it says alone.  Another file of the step takes the place of one that cannot be read; false: more than
 * bad_records cannot, or a whole step. */
bool fill_file_step(Files *f, const Lathe_entry *e, char *in, int64_t step, Give_turn *give, void *with);
const char *files_failure(const Files *f, int *code); /* NULL: there is none */

typedef struct Bad_file { /* that bad_records leaves out */
    int64_t item;
    char why[248];
} Bad_file;

/* Of several ranks each meets some: those of this one in its training steps since take_bad_files(), which counts those
 * of all.  false: they are more than bad_records, and no step is filled any more. */
const Bad_file *met_bad_files(const Files *f, int64_t *n);
bool take_bad_files(Files *f, const Bad_file *bad, int64_t n);

#endif
