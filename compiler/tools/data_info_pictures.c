/* data_info_pictures.c: `lathe data info` of pictures: their classes and sizes, and which cannot be read. */
#include "base/json_text.h"
#include "data/files.h"
#include "source/picture.h"
#include "tools/data_command.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { BETWEEN = 5 }; /* seconds between two lines about how far it is */

typedef struct Looked { /* at each picture */
    File_index *index;
    Lengths *width, *height;
    int64_t bytes, damaged;
    char *first; /* damaged */
} Looked;

/* ------------------------------------------------------------------ which they are */

bool are_pictures(const Words *paths)
{
    for (int i = 0; i < paths->n; i++)
        if (!holds_data_files(&picture_files, paths->at[i], false)) return false;
    return paths->n > 0;
}

/* Pictures in no folder have no class. */
static bool have_classes(const Words *paths)
{
    for (int i = 0; i < paths->n; i++)
        if (is_of_kind(&picture_files, paths->at[i]) || holds_data_files(&picture_files, paths->at[i], true))
            return false;
    return true;
}

/* ------------------------------------------------------------------ looking at them */

static void take_sizes(void *with, int width, int height)
{
    Looked *x = with;
    add_length(x->width, width);
    add_length(x->height, height);
}

static void pass_row(void *with, int y, const uint8_t *rgb) { (void)with, (void)y, (void)rgb; }

static void look_into(Looked *x, const Data_file *p, unsigned char *chunk)
{
    const File_index *s = x->index;
    int fd = open_to_read(p->archive < 0 ? s->names + p->name : s->archives.at[p->archive]);
    char *wrong = fd < 0 ? text_of("cannot be read: %s", error_text(errno))
                         : read_picture(&(Picture_bytes){fd, p->first, p->bytes, chunk},
                                        &(Picture_taker){x, take_sizes, pass_row});
    if (fd >= 0) close(fd);
    x->bytes += p->bytes;
    if (wrong && !x->damaged++) x->first = text_of("%s: %s", place_of_file(s, p), wrong);
    free(wrong);
}

/* ------------------------------------------------------------------ told */

static void print_side(const char *name, const Lengths *h)
{
    show(stdout, "%-11s %lld to %lld pixels, median %lld\n", name, (long long)length_least(h),
         (long long)length_most(h), (long long)length_quantile(h, 0.5));
}

static void print_looked(const Looked *x)
{
    show(stdout, "pictures    %s, %s, %s\n", grouped_text(x->index->n), bytes_text(x->bytes),
         x->index->wants ? text_of("of %s", class_counts(x->index)) : "without classes: they are in no folder");
    if (length_count(x->width)) print_side("width", x->width), print_side("height", x->height);
    if (x->damaged) show(stdout, "damaged     %s cannot be read; the first: %s\n", grouped_text(x->damaged), x->first);
}

static json_t *side_json(const Lengths *h)
{
    return json_pack("{s:I,s:I,s:I}", "min", (json_int_t)length_least(h), "median", (json_int_t)length_quantile(h, 0.5),
                     "max", (json_int_t)length_most(h));
}

static json_t *looked_json(const Looked *x)
{
    const File_index *s = x->index;
    json_t *all = json_pack("{s:I,s:I}", "pictures", (json_int_t)s->n, "file_bytes", (json_int_t)x->bytes);
    json_t *classes = json_object();
    for (int k = 0; k < s->classes.n; k++) {
        int64_t n = 0;
        for (int64_t i = 0; i < s->n; i++) n += s->at[i].class == k;
        put_json(classes, s->classes.at[k], json_integer(n));
    }
    put_json(all, "classes", classes);
    if (length_count(x->width)) put_json(all, "width", side_json(x->width));
    if (length_count(x->width)) put_json(all, "height", side_json(x->height));
    put_json(all, "damaged", json_integer(x->damaged));
    if (x->first) put_json(all, "first_damaged", text_json(x->first, strlen(x->first)));
    return all;
}

void tell_pictures(const Words *paths, bool json)
{
    Looked x = {.index =
                    find_data_files(&picture_files, paths, have_classes(paths) ? CLASS_LABELS : UNLABELLED, NULL, NULL),
                .width = new_lengths(),
                .height = new_lengths()};
    unsigned char *chunk = must_alloc(PICTURE_CHUNK);
    double told = seconds_now();
    for (int64_t i = 0; i < x.index->n; i++) {
        look_into(&x, &x.index->at[i], chunk);
        if (seconds_now() - told < BETWEEN) continue;
        told = seconds_now();
        show(stderr, "%s of %s pictures are read\n", grouped_text(i + 1), grouped_text(x.index->n));
    }
    free(chunk);
    if (json) print_json(looked_json(&x));
    else print_looked(&x);
}
