/* file_index.c: finds pictures or recordings in folders, and keeps what is needed to read each: its name, its place,
 * its class or text. */
#include "base/file.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/words.h"
#include "data/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MOST_DEPTH = 16 };

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n > k && strcasecmp(name + n - k, end) == 0;
}

const File_kind picture_files = {
    "picture",
    "pictures",
    {".jpg", ".jpeg", ".png"},
    ".jpg, .jpeg, .png",
    ".jpg, .jpeg or .png",
    "a folder with a folder for each class, a .tar archive, a .csv of paths and labels, a .jpg or .png",
    ". These are pictures: models/vit.lua and models/convnet.lua read them with --config pictures, a description of "
    "your own with data.images"};
const File_kind recording_files = {
    "recording",
    "recordings",
    {".wav", ".flac", ".ogg", ".opus", ".mp3"},
    ".wav, .flac, .ogg, .opus, .mp3",
    ".wav, .flac, .ogg, .opus or .mp3",
    "a .csv of paths and texts, a folder with a folder for each class, a .tar archive, a .wav, .flac, .ogg, .opus or "
    ".mp3",
    ". These are recordings: models/speech.lua reads them, a description of your own with data.audio"};

bool is_of_kind(const File_kind *kind, const char *name)
{
    for (size_t i = 0; i < sizeof kind->end / sizeof *kind->end && kind->end[i]; i++)
        if (ends_in(name, kind->end[i])) return true;
    return false;
}

void leave_file_out(File_index *s, const char *name)
{
    if (!s->left_out++) s->example = text_of("%s", name);
}

char *place_of_file(const File_index *s, const Data_file *p)
{
    const char *name = s->names + p->name;
    return p->archive < 0 ? text_of("%s", name) : text_of("%s: member %s", s->archives.at[p->archive], name);
}

const char *name_of_file(const File_index *s, int64_t item) { return s->names + s->at[item].name; }

const char *spoken_text(const File_index *s, int64_t item)
{
    return s->at[item].text < 0 ? NULL : s->names + s->at[item].text;
}

/* Returns where the word begins in s->names. */
static int64_t keep_word(File_index *s, const char *word)
{
    int64_t bytes = (int64_t)strlen(word) + 1, at = s->name_bytes;
    if (at + bytes > s->name_room)
        s->names = must_grow(s->names, (size_t)(s->name_room = 2 * s->name_room + bytes + 4096));
    memcpy(s->names + at, word, (size_t)bytes);
    s->name_bytes += bytes;
    return at;
}

static _Noreturn void refuse_unlabelled(const File_index *s, const Data_file *p)
{
    if (s->wants == TEXT_LABELS)
        fail(EXIT_DATA, place_of_file(s, p),
             "expected the text of a %s: a CSV with the columns path and text, or in an archive NAME.txt beside NAME%s",
             s->kind->one, s->kind->end[0]);
    fail(EXIT_DATA, place_of_file(s, p),
         "expected the class of a %s: the name of its folder, in an archive also NAME.cls beside NAME%s, or "
         "a CSV with the columns path and label",
         s->kind->one, s->kind->end[0]);
}

void add_data_file(File_index *s, Data_file p, const char *name, const char *below, const char *label,
                   const char *group)
{
    if (s->n == s->room) s->at = must_grow(s->at, sizeof *s->at * (size_t)(s->room = 2 * s->room + 64));
    p.name = keep_word(s, name);
    p.draw = hash_of(below, strlen(below));
    p.class = -1;
    p.text = -1;
    if (!label && s->wants) refuse_unlabelled(s, &p);
    if (s->group) p.group = group ? hash_of(group, strlen(group)) : hash_of_group(s, &p, below);
    if (s->wants == TEXT_LABELS && !is_utf8(label))
        fail(EXIT_DATA, place_of_file(s, &p), "expected a text in UTF-8, found \"%.60s\"; convert it (iconv -t utf-8)",
             label);
    if (s->wants == TEXT_LABELS) p.text = keep_word(s, label);
    if (s->wants == CLASS_LABELS) {
        int64_t n = (int64_t)strlen(label);
        p.class = find_string(&s->labels, label, n);
        if (p.class < 0) p.class = add_string(&s->labels, label, n, true);
    }
    s->at[s->n++] = p;
}

/* ------------------------------------------------------------------ folders */

static int by_word(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* What is in a folder, sorted; no hidden files. */
static Words names_of_folder(const char *path)
{
    Words names = {0};
    DIR *folder = opendir(path);
    if (!folder) fail(EXIT_DATA, path, "cannot be read: %s; check the path", error_text(errno));
    for (struct dirent *e; (e = readdir(folder));)
        if (e->d_name[0] != '.') add_word(&names, text_of("%s", e->d_name));
    closedir(folder);
    if (names.n) qsort(names.at, (size_t)names.n, sizeof *names.at, by_word);
    return names;
}

static void add_single_file(File_index *s, const char *path, const char *below, const char *label)
{
    struct stat about;
    if (stat(path, &about) != 0) fail(EXIT_DATA, path, "cannot be read: %s; check the path", error_text(errno));
    if (!S_ISREG(about.st_mode))
        fail(EXIT_DATA, path, "expected a regular file, because %s are read in any order", s->kind->many);
    add_data_file(s, (Data_file){.bytes = about.st_size, .archive = -1}, path, below, label, NULL);
}

typedef struct Walk { /* through a folder of --data */
    File_index *index;
    const char *path;
    Words hollow; /* class folders whose files lie in folders of theirs */
    char *within; /* one of those */
    bool filled;  /* there is a class folder with files of its own */
    char *stray;  /* a file beside class folders, which has no class */
} Walk;

/* A class folder with `own` files of its own, and with `inside` in its folders.  One called train is no class for a
 * file beside its folders. */
static void note_class_folder(Walk *w, const char *name, int64_t own, int64_t inside)
{
    bool hollow = inside && (!own || is_part_of_data(name));
    w->filled |= own && !hollow;
    if (hollow) add_word(&w->hollow, text_of("%s", name));
}

/* Files of a folder and those in it; returns how many are its own. */
static int64_t add_folder_of(Walk *w, const char *path, const char *label, int depth)
{
    File_index *s = w->index;
    Words names = names_of_folder(path);
    bool texts = s->wants == TEXT_LABELS;
    int64_t own = 0;
    if (depth > MOST_DEPTH)
        fail(EXIT_DATA, path, "expected at most %d folders in each other; does a link lead back?", MOST_DEPTH);
    for (int i = 0; i < names.n; i++) {
        struct stat about;
        char *file = text_of("%s/%s", path, names.at[i]);
        int64_t before = s->n;
        if (stat(file, &about) == 0 && S_ISDIR(about.st_mode)) {
            int64_t filled = add_folder_of(w, file, label || texts ? label : names.at[i], depth + 1);
            if (depth == 0) note_class_folder(w, names.at[i], filled, s->n - before - filled);
            if (depth == 1 && filled && !w->within) w->within = text_of("%s", names.at[i]);
        } else if (is_of_kind(s->kind, file) && depth == 0 && s->wants == CLASS_LABELS) {
            if (!w->stray) w->stray = text_of("%s", file);
        } else if (is_of_kind(s->kind, file)) {
            add_single_file(s, file, file + strlen(w->path) + 1, label);
            own++;
        } else leave_file_out(s, file);
        free(file);
    }
    for (int i = 0; i < names.n; i++) free((char *)names.at[i]);
    free(names.at);
    return own;
}

bool is_part_of_data(const char *name)
{
    static const char *const parts[] = {"train", "training", "val",     "valid", "validation",
                                        "test",  "testing",  "testset", "dev",   "eval"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasecmp(name, parts[i]) == 0) return true;
    return false;
}

/* ROOT/train/CLASS/…: ROOT was given, and its folders are no classes. */
static void check_walk(const Walk *w)
{
    const char *many = w->index->kind->many;
    bool parts = w->hollow.n == 1;
    for (int i = 0; i < w->hollow.n; i++) parts |= is_part_of_data(w->hollow.at[i]);
    if (w->filled || !w->hollow.n || w->index->wants != CLASS_LABELS) return;
    const char *first = w->hollow.at[w->hollow.n - 1], *inside = w->within ? w->within : "another";
    for (int i = w->hollow.n - 1; i >= 0; i--)
        if (strncasecmp(w->hollow.at[i], "train", 5) == 0) first = w->hollow.at[i];
    if (parts)
        fail(EXIT_DATA, w->path,
             "expected a folder for each class, with %s in it, found %s, whose %s lie in folders below, such as %s; if "
             "those are the classes, give %s/%s",
             many, shown_words(&w->hollow), many, inside, w->path, first);
    note("%s: the classes are %s, whose %s lie in folders of theirs, such as %s", w->path, shown_words(&w->hollow),
         many, inside);
}

static void add_data_folder(File_index *s, const char *path)
{
    Walk w = {.index = s, .path = path};
    s->by_folder = true;
    add_folder_of(&w, path, NULL, 0);
    check_walk(&w);
    if (w.stray) add_single_file(s, w.stray, w.stray, NULL); /* refused, after what its neighbours may be */
    for (int i = 0; i < w.hollow.n; i++) free((char *)w.hollow.at[i]);
    free(w.hollow.at);
    free(w.within);
}

static void add_data_path(File_index *s, const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) fail(EXIT_DATA, path, "cannot be read: %s; check the path", error_text(errno));
    if (S_ISDIR(about.st_mode)) add_data_folder(s, path);
    else if (ends_in(path, ".csv")) add_file_list(s, path);
    else if (is_of_kind(s->kind, path)) add_single_file(s, path, path, NULL);
    else if (ends_in(path, ".tar") || ends_in(path, ".tar.gz") || ends_in(path, ".tgz")) add_archive(s, path);
    else fail(EXIT_DATA, path, "expected %s: %s; its name has none of these endings", s->kind->many, s->kind->paths);
}

/* ------------------------------------------------------------------ told from other data */

static bool has_data_files(const File_kind *kind, const char *path, bool bare, int depth)
{
    bool found = false;
    DIR *folder = opendir(path);
    for (struct dirent *e; folder && !found && depth < MOST_DEPTH && (e = readdir(folder));) {
        struct stat about;
        char *name = text_of("%s/%s", path, e->d_name);
        if (*e->d_name != '.' && stat(name, &about) == 0)
            found =
                S_ISDIR(about.st_mode) ? !bare && has_data_files(kind, name, false, depth + 1) : is_of_kind(kind, name);
        free(name);
    }
    if (folder) closedir(folder);
    return found;
}

bool holds_data_files(const File_kind *kind, const char *path, bool bare)
{
    return (!bare && (is_of_kind(kind, path) || (kind == &picture_files && ends_in(path, ".tar")))) ||
           has_data_files(kind, path, bare, 0);
}

const char *data_file_hint(const char *path)
{
    static const File_kind *const kinds[] = {&picture_files, &recording_files};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (holds_data_files(kinds[i], path, false)) return kinds[i]->hint;
    return "";
}

/* ------------------------------------------------------------------ all of them */

static int by_draw(const void *a, const void *b)
{
    const Data_file *p = a, *q = b;
    if (p->draw != q->draw) return p->draw < q->draw ? -1 : 1;
    return p->name < q->name ? -1 : p->name > q->name;
}

void shuffle_data_files(File_index *s)
{
    if (s->n) qsort(s->at, (size_t)s->n, sizeof *s->at, by_draw);
}

bool note_bad_file(File_index *s, int64_t item, const char *wrong, int64_t allowed, const char *what_follows)
{
    char *place = place_of_file(s, &s->at[item]);
    if (s->bad < allowed && what_follows) note("%s: %s; %s", place, wrong, what_follows);
    if (!s->bad) s->first_bad = text_of("%s", place);
    free(place);
    return s->bad < allowed && ++s->bad;
}

char *bad_files_advice(const File_index *s, const Reading *reading)
{
    int64_t n = reading->recipe->bad_records;
    if (reading->predicting) return text_of("%s", "");
    if (n && s->bad >= n) return text_of("; bad_records allows only %s such %s", grouped_text(n), s->kind->many);
    if (n) return text_of("; no other of this batch can be read either");
    return text_of(
        "; `lathe data info FOLDER` counts the damaged ones; --set bad_records=N leaves out up to N of them");
}

int64_t file_index_bytes(const File_index *s) { return s->room * (int64_t)sizeof *s->at + s->name_room; }

uint64_t file_index_hash(const File_index *s)
{
    Hash h;
    hash_start(&h);
    for (int64_t i = 0; i < s->n; i++) {
        const Data_file *p = &s->at[i];
        const char *text = spoken_text(s, i);
        hash_add(&h, &p->draw, sizeof p->draw);
        hash_add(&h, &p->bytes, sizeof p->bytes);
        hash_add(&h, &p->class, sizeof p->class);
        if (text) hash_add(&h, text, strlen(text) + 1);
        if (s->group) hash_add(&h, &p->group, sizeof p->group);
    }
    return hash_end(&h);
}

File_index *find_data_files(const File_kind *kind, const Words *paths, File_labels wants, const Words *known,
                            const char *group)
{
    File_index *s = must_alloc(sizeof *s);
    s->kind = kind;
    s->wants = wants;
    s->group = group;
    if (group) check_group(group);
    for (int i = 0; i < paths->n; i++) add_data_path(s, paths->at[i]);
    if (s->left_out)
        note("%lld file%s that %s no %s %s not read, such as %s", (long long)s->left_out, s->left_out == 1 ? "" : "s",
             s->left_out == 1 ? "is" : "are", kind->or_ends, s->left_out == 1 ? "is" : "are", s->example);
    if (!s->n) fail(EXIT_DATA, paths->at[0], "expected %s (%s), found none; check the path", kind->many, kind->ends);
    if (s->n > INT32_MAX)
        fail(EXIT_DATA, paths->at[0], "expected fewer than 2^31 %s, found %lld", kind->many, (long long)s->n);
    if (group) check_group_classes(s, paths->at[0]);
    if (wants != TEXT_LABELS) settle_classes(s, known);
    return s;
}
