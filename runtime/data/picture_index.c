/* picture_index.c: finds pictures in folders, and keeps what is needed to read each: its name, its place, its class. */
#include "base/file.h"
#include "base/hash.h"
#include "base/words.h"
#include "data/pictures.h"

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

bool is_picture_name(const char *name)
{
    static const char *const ends[] = {".jpg", ".jpeg", ".png"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_in(name, ends[i])) return true;
    return false;
}

void leave_file_out(Picture_index *s, const char *name)
{
    if (!s->left_out++) s->example = text_of("%s", name);
}

char *picture_place(const Picture_index *s, const Picture *p)
{
    const char *name = s->names + p->name;
    return p->archive < 0 ? text_of("%s", name) : text_of("%s: member %s", s->archives.at[p->archive], name);
}

void add_picture(Picture_index *s, Picture p, const char *name, const char *below, const char *label)
{
    int64_t bytes = (int64_t)strlen(name) + 1;
    if (s->name_bytes + bytes > s->name_room)
        s->names = must_grow(s->names, (size_t)(s->name_room = 2 * s->name_room + bytes + 4096));
    if (s->n == s->room) s->at = must_grow(s->at, sizeof *s->at * (size_t)(s->room = 2 * s->room + 64));
    memcpy(s->names + s->name_bytes, name, (size_t)bytes);
    p.name = s->name_bytes;
    p.draw = hash_of(below, strlen(below));
    p.class = -1;
    if (!label && s->labelled)
        fail(EXIT_DATA, picture_place(s, &p),
             "expected the class of a picture: the name of its folder, in an archive also NAME.cls beside NAME.jpg, or "
             "a CSV with the columns path and label");
    if (label && s->labelled) {
        int64_t n = (int64_t)strlen(label);
        p.class = find_string(&s->labels, label, n);
        if (p.class < 0) p.class = add_string(&s->labels, label, n, true);
    }
    s->name_bytes += bytes;
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

static void add_picture_file(Picture_index *s, const char *path, const char *below, const char *label)
{
    struct stat about;
    if (stat(path, &about) != 0) fail(EXIT_DATA, path, "cannot be read: %s; check the path", error_text(errno));
    if (!S_ISREG(about.st_mode))
        fail(EXIT_DATA, path, "expected a regular file, because pictures are read in any order");
    add_picture(s, (Picture){.bytes = about.st_size, .archive = -1}, path, below, label);
}

typedef struct Walk { /* through a folder of --data */
    Picture_index *index;
    const char *path;
    Words hollow; /* class folders without pictures of their own, with some in their folders */
    char *within; /* one of those */
    bool filled;  /* there is a class folder with pictures of its own */
    char *stray;  /* a picture beside class folders, which has no class */
} Walk;

/* path: a class folder with `own` pictures of its own. */
static void note_class_folder(Walk *w, const char *name, bool own, bool some)
{
    w->filled |= own;
    if (!own && some) add_word(&w->hollow, text_of("%s", name));
}

/* Pictures of a folder and those in it; returns whether it has some of its own. */
static bool add_folder_of(Walk *w, const char *path, const char *label, int depth)
{
    Picture_index *s = w->index;
    Words names = names_of_folder(path);
    bool own = false;
    if (depth > MOST_DEPTH)
        fail(EXIT_DATA, path, "expected at most %d folders in each other; does a link lead back?", MOST_DEPTH);
    for (int i = 0; i < names.n; i++) {
        struct stat about;
        char *file = text_of("%s/%s", path, names.at[i]);
        int64_t before = s->n;
        if (stat(file, &about) == 0 && S_ISDIR(about.st_mode)) {
            bool filled = add_folder_of(w, file, label ? label : names.at[i], depth + 1);
            if (depth == 0) note_class_folder(w, names.at[i], filled, s->n > before);
            if (depth == 1 && filled && !w->within) w->within = text_of("%s", names.at[i]);
        } else if (is_picture_name(file) && depth == 0 && s->labelled) {
            if (!w->stray) w->stray = text_of("%s", file);
        } else if (is_picture_name(file)) {
            add_picture_file(s, file, file + strlen(w->path) + 1, label);
            own = true;
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
    bool parts = w->hollow.n == 1;
    for (int i = 0; i < w->hollow.n; i++) parts |= is_part_of_data(w->hollow.at[i]);
    if (w->filled || !w->hollow.n || !w->index->labelled) return;
    const char *first = w->hollow.at[w->hollow.n - 1], *inside = w->within ? w->within : "another";
    for (int i = w->hollow.n - 1; i >= 0; i--)
        if (strncasecmp(w->hollow.at[i], "train", 5) == 0) first = w->hollow.at[i];
    if (parts)
        fail(
            EXIT_DATA, w->path,
            "expected a folder for each class, with pictures in it, found %s, without pictures of %s own (folders such "
            "as %s are inside); if those are the classes, give %s/%s",
            shown_words(&w->hollow), w->hollow.n == 1 ? "its" : "their", inside, w->path, first);
    note("%s: the classes are %s, whose pictures lie in folders of theirs, such as %s", w->path,
         shown_words(&w->hollow), inside);
}

static void add_data_folder(Picture_index *s, const char *path)
{
    Walk w = {.index = s, .path = path};
    s->by_folder = true;
    add_folder_of(&w, path, NULL, 0);
    check_walk(&w);
    if (w.stray) add_picture_file(s, w.stray, w.stray, NULL); /* refused, after what its neighbours may be */
    for (int i = 0; i < w.hollow.n; i++) free((char *)w.hollow.at[i]);
    free(w.hollow.at);
    free(w.within);
}

static void add_data_path(Picture_index *s, const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) fail(EXIT_DATA, path, "cannot be read: %s; check the path", error_text(errno));
    if (S_ISDIR(about.st_mode)) add_data_folder(s, path);
    else if (ends_in(path, ".csv")) add_picture_list(s, path);
    else if (is_picture_name(path)) add_picture_file(s, path, path, NULL);
    else if (ends_in(path, ".tar") || ends_in(path, ".tar.gz") || ends_in(path, ".tgz")) add_archive(s, path);
    else
        fail(EXIT_DATA, path,
             "expected pictures: a folder with a folder for each class, a .tar archive, a .csv of paths and labels, a "
             ".jpg or .png; its name has none of these endings");
}

/* ------------------------------------------------------------------ told from other data */

static bool has_pictures(const char *path, bool bare, int depth)
{
    bool found = false;
    DIR *folder = opendir(path);
    for (struct dirent *e; folder && !found && depth < MOST_DEPTH && (e = readdir(folder));) {
        struct stat about;
        char *name = text_of("%s/%s", path, e->d_name);
        if (*e->d_name != '.' && stat(name, &about) == 0)
            found = S_ISDIR(about.st_mode) ? !bare && has_pictures(name, false, depth + 1) : is_picture_name(name);
        free(name);
    }
    if (folder) closedir(folder);
    return found;
}

bool holds_pictures(const char *path, bool bare)
{
    return (!bare && (is_picture_name(path) || ends_in(path, ".tar"))) || has_pictures(path, bare, 0);
}

const char *picture_hint(const char *path)
{
    return !holds_pictures(path, false)
               ? ""
               : ". These are pictures: models/vit.lua and models/convnet.lua read them with --config pictures, a "
                 "description of your own with data.images";
}

/* ------------------------------------------------------------------ all of them */

static int by_draw(const void *a, const void *b)
{
    const Picture *p = a, *q = b;
    if (p->draw != q->draw) return p->draw < q->draw ? -1 : 1;
    return p->name < q->name ? -1 : p->name > q->name;
}

void shuffle_pictures(Picture_index *s)
{
    if (s->n) qsort(s->at, (size_t)s->n, sizeof *s->at, by_draw);
}

int64_t index_bytes(const Picture_index *s) { return s->room * (int64_t)sizeof *s->at + s->name_room; }

Picture_index *find_pictures(const Words *paths, bool labelled, const Words *known)
{
    Picture_index *s = must_alloc(sizeof *s);
    s->labelled = labelled;
    for (int i = 0; i < paths->n; i++) add_data_path(s, paths->at[i]);
    if (s->left_out)
        note("%lld file%s that %s no .jpg, .jpeg or .png %s not read, such as %s", (long long)s->left_out,
             s->left_out == 1 ? "" : "s", s->left_out == 1 ? "is" : "are", s->left_out == 1 ? "is" : "are", s->example);
    if (!s->n) fail(EXIT_DATA, paths->at[0], "expected pictures (.jpg, .jpeg, .png), found none; check the path");
    if (s->n > INT32_MAX)
        fail(EXIT_DATA, paths->at[0], "expected fewer than 2^31 pictures, found %lld", (long long)s->n);
    settle_classes(s, known);
    return s;
}
