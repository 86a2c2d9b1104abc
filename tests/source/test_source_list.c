/* test_source_list.c: which files folders and patterns stand for, and their formats by name. */
#include "sources.h"

static void check_list(void)
{
    if (system(text_of("cd %s && mkdir -p d/sub d/.git && echo a >d/b.txt && echo b >d/sub/a.jsonl && echo c "
                       ">d/.hidden && echo d >d/a.txt.gz"
                       " && printf 'x\\0y' >d/noise && echo e >d/.git/e && : >d/z.txt",
                       folder)) != 0)
        abort();
    Words paths = {0};
    add_word(&paths, in_folder("d"));
    add_word(&paths, in_folder("d/*.txt"));
    Sources *s = open_sources(&paths, &(Source_options){0});
    static const char *const names[] = {"d/a.txt.gz", "d/b.txt", "d/sub/a.jsonl", "d/z.txt", "d/b.txt", "d/z.txt"};
    expect(s->n == 6, "six files, found %d", s->n);
    for (int i = 0; i < s->n && i < 6; i++)
        expect(strcmp(s->file[i].path, in_folder(names[i])) == 0, "%s, found %s", names[i], s->file[i].path);
    expect(s->file[2].format == FORMAT_JSONL && s->file[1].format == FORMAT_TEXT, "formats by name");
    close_sources(s);
}

int main(void)
{
    make_test_folder();
    check_list();
    return finish();
}
