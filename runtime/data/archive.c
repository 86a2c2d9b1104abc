/* archive.c: pictures of a tar archive, and those that a CSV lists.
 *
 * In an archive the class of NAME.jpg is what NAME.cls beside it says (WebDataset), or else the name of its folder.
 * NAME ends at the first dot of the last part, and members of one name lie together. */
#include "base/words.h"
#include "data/cells.h"
#include "data/pictures.h"
#include "source/tar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_LABEL = 255 };

typedef struct Sample { /* members of one name */
    char *key, *name;
    Picture picture;
    bool found; /* the picture */
    char *label;
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
static void check_part(const Picture_index *s, const char *path, const char *name)
{
    while (strncmp(name, "./", 2) == 0) name += 2;
    const char *slash = strchr(name, '/');
    char *part = text_of("%.*s", (int)strcspn(name, "/"), name);
    if (s->labelled && slash && strchr(slash + 1, '/') && is_part_of_data(part))
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

static void end_sample(Picture_index *s, Sample *a)
{
    if (a->found) {
        char *folder = a->label ? NULL : folder_label(a->name);
        if (folder) check_part(s, s->archives.at[s->archives.n - 1], a->name);
        s->by_folder |= folder != NULL;
        add_picture(s, a->picture, a->name, a->name, a->label ? a->label : folder);
        free(folder);
    }
    free(a->key);
    free(a->name);
    free(a->label);
    *a = (Sample){0};
}

static char *read_label(const Tar *t, const char *path, const Tar_member *m)
{
    char text[MOST_LABEL + 1] = {0};
    int64_t n = m->bytes <= MOST_LABEL ? m->bytes : 0;
    read_tar(t, m->first, n, text);
    while (n > 0 && strchr(" \t\r\n", text[n - 1])) text[--n] = 0;
    if (n == 0 || (int64_t)strlen(text) != n)
        fail(EXIT_DATA, text_of("%s: member %s", path, m->name),
             "expected the number or name of a class, of at most %d bytes, found %lld bytes", MOST_LABEL,
             (long long)m->bytes);
    return text_of("%s", text);
}

static void take_member(Picture_index *s, Sample *a, const Tar *t, const Tar_member *m)
{
    const char *path = s->archives.at[s->archives.n - 1];
    char *key = sample_key(m->name);
    bool picture = is_picture_name(m->name);
    if (!a->key || strcmp(a->key, key) != 0 || (picture && a->found)) {
        end_sample(s, a);
        a->key = key;
    } else free(key);
    if (picture) {
        a->name = text_of("%s", m->name);
        a->picture = (Picture){.first = m->first, .bytes = m->bytes, .archive = s->archives.n - 1};
        a->found = true;
    } else if (has_end(m->name, ".cls")) {
        free(a->label);
        a->label = read_label(t, path, m);
    } else leave_file_out(s, m->name);
}

void add_archive(Picture_index *s, const char *path)
{
    Sample a = {0};
    Tar_member m;
    Tar *t = open_tar(path);
    add_word(&s->archives, path);
    while (next_tar_member(t, &m)) {
        bool hidden = last_part(m.name)[0] == '.';
        if (m.regular && !hidden) take_member(s, &a, t, &m);
        else if (is_picture_name(m.name) && !hidden) leave_file_out(s, m.name); /* a link */
    }
    end_sample(s, &a);
    close_tar(t);
}

/* ------------------------------------------------------------------ a list */

/* Paths are relative to the list's folder. */
static void add_listed(Picture_index *s, const Cells *c, int path, int label, const char *folder)
{
    struct stat about;
    const char *name = cell(c, path);
    char *file = *name == '/' ? text_of("%s", name) : text_of("%s/%s", folder, name), *place = cell_place(c, path);
    if (!is_picture_name(name))
        fail(EXIT_DATA, place, "expected the path of a .jpg, .jpeg or .png, found \"%s\"", name);
    if (stat(file, &about) != 0 || !S_ISREG(about.st_mode))
        fail(EXIT_DATA, place, "%s cannot be read: %s; paths are relative to the folder of the CSV", file,
             error_text(errno ? errno : EINVAL));
    if (label >= 0 && !cell(c, label)[0]) fail(EXIT_DATA, cell_place(c, label), "expected a class, found none");
    add_picture(s, (Picture){.bytes = about.st_size, .archive = -1}, file, name, label < 0 ? NULL : cell(c, label));
    free(file);
    free(place);
}

void add_picture_list(Picture_index *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? text_of("%.*s", (int)(slash - path), path) : text_of(".");
    Cells *c = open_cells(path);
    int name = column_named(c, "path"), label = column_named(c, "label");
    if (name < 0 || (label < 0 && s->labelled))
        fail(EXIT_DATA, path, "expected the columns path and label in its first line, found no \"%s\"",
             name < 0 ? "path" : "label");
    while (next_cells(c)) add_listed(s, c, name, label, folder);
    close_cells(c);
    free(folder);
}
