/* file_groups.c: which pictures or recordings belong together (a speaker's, a patient's), by a pattern of their names.
 *
 * A pattern has one group in brackets: (*)_* takes anna of anna_07.wav.  It is compared with as many parts of the name
 * as it has, from the end, so one of two parts can take the folder.  * is any number of characters of a part, as few as
 * will do, and ? is one. */
#include "base/hash.h"
#include "base/words.h"
#include "data/files.h"

#include <stdlib.h>
#include <string.h>

static bool is_pattern(const char *group) { return strpbrk(group, "()*") != NULL; }

static const char *group_pattern(const char *group) { return strcmp(group, "folder") == 0 ? "(*)/*" : group; }

bool is_read_from_names(const char *group) { return is_pattern(group_pattern(group)); }

void check_group(const char *group)
{
    const char *open = strchr(group, '('), *close = strchr(group, ')');
    if (is_pattern(group) && (!open || !close || close < open || strchr(open + 1, '(') || strchr(close + 1, ')')))
        fail(EXIT_USAGE, NULL,
             "group=%s: expected one group in brackets in a pattern of names, such as (*)_* of anna_07.wav", group);
}

/* ------------------------------------------------------------------ a name */

/* Where the last parts of the name begin, as many as the pattern has; NULL: it has fewer. */
static const char *last_parts(const char *pattern, const char *name)
{
    const char *at = name + strlen(name);
    int slashes = 0;
    for (const char *p = pattern; *p; p++) slashes += *p == '/';
    while (at > name && (at[-1] != '/' || slashes-- > 0)) at--;
    return slashes > 0 ? NULL : at;
}

/* Only the last * is tried again: those before it were as short as the text behind them allows. */
bool group_in_name(const char *pattern, const char *name, const char **begin, const char **end)
{
    const char *at = last_parts(pattern, name), *star = NULL, *resume = NULL;
    *begin = *end = NULL;
    while (at && (*at || *pattern)) {
        if (*pattern == '(') *begin = at, pattern++;
        else if (*pattern == ')') *end = at, pattern++;
        else if (*pattern == '*') star = ++pattern, resume = at;
        else if (*at && (*pattern == *at || (*pattern == '?' && *at != '/'))) pattern++, at++;
        else if (star && *resume && *resume != '/') pattern = star, at = ++resume;
        else return false;
    }
    return at && *end > *begin;
}

uint64_t hash_of_group(File_index *s, const Data_file *p, const char *below)
{
    const char *begin, *end, *pattern = group_pattern(s->group);
    if (!is_pattern(pattern))
        fail(EXIT_USAGE, place_of_file(s, p),
             "expected a pattern of names such as (*)_*, or folder, as the group of %s in folders and archives, found "
             "group=%s, which would be a column of a .csv of paths",
             s->kind->many, s->group);
    if (!group_in_name(pattern, below, &begin, &end))
        fail(EXIT_DATA, place_of_file(s, p),
             "expected a name that the group's pattern %s fits, found %s (names begin below --data, and the last part "
             "of the pattern is compared with the last part of the name)",
             pattern, below);
    return hash_of(begin, (size_t)(end - begin));
}

/* ------------------------------------------------------------------ all of them */

/* Each with its label, before classes are settled. */
void check_group_classes(const File_index *s, const char *path)
{
    bool differs = s->wants != CLASS_LABELS;
    for (int64_t i = 0; i < s->n && !differs; i++) {
        int64_t n;
        const char *label = string_at(&s->labels, s->at[i].class, &n);
        differs = hash_of(label, (size_t)n) != s->at[i].group;
    }
    if (!differs)
        fail(EXIT_DATA, path,
             "expected groups other than the classes, found that the group of each %s is its class (group=%s), so "
             "each class would be wholly in training or wholly in evaluation",
             s->kind->one, s->group);
}
