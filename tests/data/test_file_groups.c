/* test_file_groups.c: files of one group are on one side of a split and in one fold, as the folder, a pattern of names
 * or a column of a list says it, in any order of --data; patterns take the part in brackets, as short as can be. */
#include "data/files.h"
#include "data/split.h"
#include "sources.h"

#include <stdio.h>
#include <sys/stat.h>

enum { PEOPLE = 13, MOST = 200 };

/* ------------------------------------------------------------------ patterns */

static void check_patterns(void)
{
    static const struct {
        const char *pattern, *name, *group; /* NULL: it does not fit */
    } want[] = {
        {"(*)_*", "anna_07.wav", "anna"},
        {"(*)_*", "yes/anna_07_b.wav", "anna"},
        {"(*)_??.wav", "a_b_07.wav", "a_b"},
        {"(*)_*", "yes_no/anna.wav", NULL}, /* the last part alone */
        {"(*)_*", "_07.wav", NULL},
        {"(*)/*", "yes/anna/07.wav", "anna"},
        {"(*)/*", "07.wav", NULL},
        {"(*)/*/*", "yes/anna/07.wav", "yes"},
        {"p(?)*/*", "yes/p12/07.wav", "1"},
        {"*-(*)-*.*", "a-b-c-d.png", "b"},
        {"(*).png", "a.png.png", "a.png"},
        {"x(*)", "x", NULL},
        {"(*)x", "xxax", "xxa"},
        {"*a(*)b*c", "aabbabc", "a"},
        {"*a(*)b*c", "aaxbbabc", "ax"},
        {"(a)", "a", "a"},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const char *begin, *end;
        bool fits = group_in_name(want[i].pattern, want[i].name, &begin, &end);
        char *got = text_of("%.*s", fits ? (int)(end - begin) : 6, fits ? begin : "(none)");
        expect(strcmp(got, want[i].group ? want[i].group : "(none)") == 0, "%s of %s takes %s", want[i].pattern,
               want[i].name, got);
    }
}

/* ------------------------------------------------------------------ splits */

typedef struct Sides { /* of the files of a data set, by their numbers */
    bool held[MOST];
    int64_t n, evaluated;
} Sides;

static int person_of(int file) { return file * file % PEOPLE; }

/* all/CLASS/PERSON/PERSON_NUMBER.png, all.csv with the columns path, label and who.  Nothing is in the files. */
static void write_files(const char *who)
{
    FILE *list = fopen(in_folder("all/all.csv"), "w");
    fprintf(list, "who,path,label\n");
    for (int i = 0; i < MOST; i++) {
        char *below = text_of("%s/p%d/p%d_%d.png", i % 3 ? "b" : "a", person_of(i), person_of(i), i);
        char *make = text_of("mkdir -p %s/all/%s/p%d", folder, i % 3 ? "b" : "a", person_of(i));
        if (system(make) != 0) perror(make);
        fclose(fopen(text_of("%s/all/%s", folder, below), "w"));
        fprintf(list, "%s%d,%s,%s\n", who, person_of(i), below, i % 3 ? "b" : "a");
    }
    fclose(list);
}

static int number_of(const File_index *s, int64_t item) { return atoi(strrchr(name_of_file(s, item), '_') + 1); }

static Sides sides(const char *path, const char *group, int64_t fold)
{
    Words paths = {0};
    uint64_t key[MOST];
    int32_t row[MOST];
    Sides x = {0};
    add_word(&paths, in_folder(path));
    File_index *s = find_data_files(&picture_files, &paths, CLASS_LABELS, NULL, group);
    shuffle_data_files(s);
    expect(s->n == MOST, "%s: %lld files", path, (long long)s->n);
    for (int64_t i = 0; i < s->n; i++) key[i] = s->at[i].group;
    const Split_rule rule = {
        .by = LATHE_BY_GROUP, .fraction = 0.2, .fold = fold, .folds = fold ? 4 : 0, .group = group};
    int64_t train = split_rows(&rule, s->n, key, row);
    x.n = s->n, x.evaluated = s->n - train;
    for (int64_t k = train; k < s->n; k++) x.held[number_of(s, row[k])] = true;
    return x;
}

static void check_whole(const Sides *x, const char *what)
{
    for (int i = 0; i < MOST; i++)
        for (int k = 0; k < i; k++)
            if (person_of(i) == person_of(k))
                expect(x->held[i] == x->held[k], "%s: files %d and %d of one person", what, i, k);
    expect(x->evaluated > 0 && x->evaluated < x->n / 2, "%s: %lld evaluated", what, (long long)x->evaluated);
}

static void check_splits(void)
{
    static const char *const ways[][2] = {{"all", "folder"},        {"all", "(*)_*"},       {"all", "(*)/*"},
                                          {"all/all.csv", "(*)_*"}, {"all/all.csv", "who"}, {"all/all.csv", "folder"}};
    write_files("p");
    for (int64_t fold = 0; fold <= 4; fold++) {
        Sides first = sides("all", "folder", fold);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            Sides x = sides(ways[i][0], ways[i][1], fold);
            check_whole(&x, ways[i][1]);
            expect(memcmp(x.held, first.held, sizeof x.held) == 0, "%s by %s: the same sides", ways[i][0], ways[i][1]);
        }
    }
    int64_t times[MOST] = {0};
    for (int64_t fold = 1; fold <= 4; fold++) {
        Sides x = sides("all", "folder", fold);
        for (int i = 0; i < MOST; i++) times[i] += x.held[i];
    }
    for (int i = 0; i < MOST; i++) expect(times[i] == 1, "file %d is in %lld folds", i, (long long)times[i]);
}

/* A column that changes is other data. */
static void check_hash(void)
{
    Words paths = {0};
    add_word(&paths, in_folder("all/all.csv"));
    uint64_t before = file_index_hash(find_data_files(&picture_files, &paths, CLASS_LABELS, NULL, "who"));
    write_files("q");
    uint64_t after = file_index_hash(find_data_files(&picture_files, &paths, CLASS_LABELS, NULL, "who"));
    expect(before != after, "other groups, the same hash");
    expect(file_index_hash(find_data_files(&picture_files, &paths, CLASS_LABELS, NULL, NULL)) != after, "no groups");
}

int main(void)
{
    make_test_folder();
    if (mkdir(in_folder("all"), 0777) != 0) perror("all");
    check_patterns();
    check_splits();
    check_hash();
    return finish();
}
