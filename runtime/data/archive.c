/* archive.c: pictures or recordings of a tar archive, and those that a CSV lists.
 *
 * In an archive the class of NAME.jpg is what NAME.cls beside it says (WebDataset), or else the name of its folder; the
 * text of NAME.wav is in NAME.txt.
 * NAME ends at the first dot of the last part, and members of one name lie together. */
#include "base/words.h"
#include "data/cells.h"
#include "data/files.h"
#include "source/tar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_LABEL = 255, MOST_TEXT = 1 << 16 };

typedef struct Sample { /* members of one name */
    char *key, *name;
    Data_file file;
    bool found;      /* the file */
    char *label;     /* its class or text */
    Data_file stray; /* the first file without a class */
    char *stray_name;
} Sample;

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static char *sample_key(const char *name)
{
    const char *last = last_part(name);
    return text_of("%.*s", (int)(last - name + (int64_t)strcspn(last, ".")), name);
}

/* Members train/CLASS/NAME and val/CLASS/NAME would be one set of pictures: as of a folder, one part must be given. */
static void check_part(const File_index *s, const char *path, const char *name)
{
    while (strncmp(name, "./", 2) == 0) name += 2;
    const char *slash = strchr(name, '/');
    char *part = text_of("%.*s", (int)strcspn(name, "/"), name);
    if (s->wants == CLASS_LABELS && slash && strchr(slash + 1, '/') && is_part_of_data(part))
        fail(EXIT_DATA, path,
             "expected a folder for each class, found the folder %s with folders in it (%s); make an archive of each "
             "part, and give that of training with --data, the other with --val-data",
             part, name);
    free(part);
}

/* "cats" of "train/cats/1.jpg"; NULL: it lies in no folder. */
static char *folder_label(const char *name)
{
    const char *end = strrchr(name, '/'), *begin = end;
    if (!end) return NULL;
    while (begin > name && begin[-1] != '/') begin--;
    return text_of("%.*s", (int)(end - begin), begin);
}

static void note_stray(Sample *a)
{
    if (a->stray_name) return;
    a->stray = a->file;
    a->stray_name = text_of("%s", a->name);
}

static void end_sample(File_index *s, Sample *a)
{
    if (a->found) {
        char *folder = a->label || s->wants == TEXT_LABELS ? NULL : folder_label(a->name);
        if (folder) check_part(s, s->archives.at[s->archives.n - 1], a->name);
        s->by_folder |= folder != NULL;
        if (s->wants == CLASS_LABELS && !a->label && !folder) note_stray(a);
        else add_data_file(s, a->file, a->name, a->name, a->label ? a->label : folder, NULL);
        free(folder);
    }
    free(a->key);
    free(a->name);
    free(a->label);
    *a = (Sample){.stray = a->stray, .stray_name = a->stray_name};
}

/* A class, or with many bytes a text. */
static char *read_label(const Tar *t, const char *path, const Tar_member *m, bool text)
{
    int64_t most = text ? MOST_TEXT : MOST_LABEL, n = m->bytes <= most ? m->bytes : 0;
    char *label = must_alloc((size_t)n + 1);
    read_tar(t, m->first, n, label);
    while (n > 0 && strchr(" \t\r\n", label[n - 1])) label[--n] = 0;
    if (n == 0 || (int64_t)strlen(label) != n)
        fail(EXIT_DATA, text_of("%s: member %s", path, m->name), "expected %s, of at most %lld bytes, found %lld bytes",
             text ? "a text" : "the number or name of a class", (long long)most, (long long)m->bytes);
    return label;
}

static void take_member(File_index *s, Sample *a, const Tar *t, const Tar_member *m)
{
    const char *path = s->archives.at[s->archives.n - 1];
    char *key = sample_key(m->name);
    bool file = is_of_kind(s->kind, m->name), texts = s->wants == TEXT_LABELS;
    if (!a->key || strcmp(a->key, key) != 0 || (file && a->found)) {
        end_sample(s, a);
        a->key = key;
    } else free(key);
    if (file) {
        a->name = text_of("%s", m->name);
        a->file = (Data_file){.first = m->first, .bytes = m->bytes, .archive = s->archives.n - 1};
        a->found = true;
    } else if (has_end(m->name, texts ? ".txt" : ".cls")) {
        free(a->label);
        a->label = read_label(t, path, m, texts);
    } else leave_file_out(s, m->name);
}

void add_archive(File_index *s, const char *path)
{
    Sample a = {0};
    Tar_member m;
    Tar *t = open_tar(path);
    add_word(&s->archives, path);
    while (next_tar_member(t, &m)) {
        bool hidden = last_part(m.name)[0] == '.';
        if (m.regular && !hidden) take_member(s, &a, t, &m);
        else if (is_of_kind(s->kind, m.name) && !hidden) leave_file_out(s, m.name); /* a link */
    }
    end_sample(s, &a);
    if (a.stray_name) /* refused, after what the others may tell */
        add_data_file(s, a.stray, a.stray_name, a.stray_name, NULL, NULL);
    close_tar(t);
}

/* ------------------------------------------------------------------ a list */

typedef struct Listed {
    int path, label, group;
} Listed; /* columns; -1: not there */

static const char *cell_or_none(const Cells *c, int column) { return column < 0 ? NULL : cell(c, column); }

/* Paths are relative to the list's folder. */
static void add_listed(File_index *s, const Cells *c, const Listed *at, const char *folder)
{
    struct stat about;
    const char *name = cell(c, at->path);
    char *file = *name == '/' ? text_of("%s", name) : text_of("%s/%s", folder, name), *place = cell_place(c, at->path);
    if (!is_of_kind(s->kind, name))
        fail(EXIT_DATA, place, "expected the path of a %s, found \"%s\"", s->kind->or_ends, name);
    if (stat(file, &about) != 0 || !S_ISREG(about.st_mode))
        fail(EXIT_DATA, place, "%s cannot be read: %s; paths are relative to the folder of the CSV", file,
             error_text(errno ? errno : EINVAL));
    if (at->label >= 0 && !cell(c, at->label)[0])
        fail(EXIT_DATA, cell_place(c, at->label), "expected a %s, found none",
             s->wants == TEXT_LABELS ? "text" : "class");
    if (at->group >= 0 && !cell(c, at->group)[0])
        fail(EXIT_DATA, cell_place(c, at->group),
             "expected the group of a %s, found none; give a %s that is alone a group of its own", s->kind->one,
             s->kind->one);
    add_data_file(s, (Data_file){.bytes = about.st_size, .archive = -1}, file, name, cell_or_none(c, at->label),
                  cell_or_none(c, at->group));
    free(file);
    free(place);
}

void add_file_list(File_index *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? text_of("%.*s", (int)(slash - path), path) : text_of(".");
    Cells *c = open_cells(path);
    const char *wanted = s->wants == TEXT_LABELS ? "text" : "label";
    Listed at = {.path = column_named(c, "path"),
                 .label = s->wants ? column_named(c, wanted) : -1,
                 .group = s->group ? column_named(c, s->group) : -1};
    if (at.label < 0 && s->wants == CLASS_LABELS) at.label = column_named(c, "class");
    if (at.path < 0 || (at.label < 0 && s->wants))
        fail(EXIT_DATA, path, "expected the columns path and %s in its first line, found no \"%s\"", wanted,
             at.path < 0 ? "path" : wanted);
    if (s->group && at.group < 0 && !is_read_from_names(s->group))
        fail(EXIT_DATA, path,
             "expected a column \"%.60s\", the group that %s are split by, found none; group=folder or a pattern of "
             "names, such as (*)_*, needs no column",
             s->group, s->kind->many);
    while (next_cells(c)) add_listed(s, c, &at, folder);
    close_cells(c);
    free(folder);
}
