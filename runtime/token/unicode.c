/* unicode.c: the normal forms of Unicode (Standard Annex 15): NFC, NFD, NFKC, NFKD, by libutf8proc. */
#include "base/utf8.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

#include <stdlib.h>

#ifdef LATHE_WITH_UTF8PROC
#include <dlfcn.h>
#include <pthread.h>
#include <utf8proc.h>

static const struct {
    const char *name;
    int options;
    uint32_t least; /* text of characters below it is left as it is */
} forms[] = {{"NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE, 0x300},
             {"NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, 0x80},
             {"NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT, 0x80},
             {"NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, 0x80}};
enum { FORMS = sizeof forms / sizeof *forms };

static struct Utf8proc {
    utf8proc_ssize_t (*decompose)(const utf8proc_uint8_t *, utf8proc_ssize_t, utf8proc_int32_t *, utf8proc_ssize_t,
                                  utf8proc_option_t);
    utf8proc_ssize_t (*reencode)(utf8proc_int32_t *, utf8proc_ssize_t, utf8proc_option_t);
    utf8proc_category_t (*category)(utf8proc_int32_t);
} library;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static char *not_loaded; /* why it is not there; NULL: it is */

static void load_utf8proc(void)
{
    void *all = dlopen("libutf8proc.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!all) all = dlopen("libutf8proc.so.3", RTLD_NOW | RTLD_LOCAL); /* from 2.9 on; these functions are the same */
    void *decompose = all ? dlsym(all, "utf8proc_decompose") : NULL;
    void *reencode = decompose ? dlsym(all, "utf8proc_reencode") : NULL;
    void *category = reencode ? dlsym(all, "utf8proc_category") : NULL;
    if (!category) not_loaded = text_of("%s", dlerror());
    memcpy(&library.decompose, &decompose, sizeof decompose);
    memcpy(&library.reencode, &reencode, sizeof reencode);
    memcpy(&library.category, &category, sizeof category);
}

bool find_normal_form(Tokenizer *t, const char *name, int *form)
{
    int i = 0;
    while (i < FORMS && strcmp(forms[i].name, name) != 0) i++;
    if (i == FORMS) return false;
    pthread_once(&loaded, load_utf8proc);
    if (not_loaded)
        fail(EXIT_DATA, t->path,
             "text is normalised (%s) by libutf8proc, which cannot be loaded: %s; Debian, Ubuntu: apt install "
             "libutf8proc2, or libutf8proc3",
             name, not_loaded);
    *form = i;
    return true;
}

const char *name_of_form(int form) { return forms[form].name; }

bool is_control_or_format(uint32_t c)
{
    utf8proc_category_t is = library.category((utf8proc_int32_t)c);
    return is == UTF8PROC_CATEGORY_CC || is == UTF8PROC_CATEGORY_CF || is == UTF8PROC_CATEGORY_CO;
}

bool is_accent(uint32_t c) { return library.category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_MN; }

static void put_run(int form, const char *text, int64_t n, Draft_text *out)
{
    const utf8proc_option_t how = (utf8proc_option_t)forms[form].options;
    const utf8proc_uint8_t *from = (const utf8proc_uint8_t *)text;
    utf8proc_ssize_t codes = library.decompose(from, n, NULL, 0, how);
    bug_if(codes < 0);                                                       /* the text is UTF-8 */
    utf8proc_int32_t *room = must_alloc(sizeof *room * (size_t)(codes + 1)); /* one for the end that reencode writes */
    utf8proc_ssize_t bytes = library.reencode(room, library.decompose(from, n, room, codes, how), how);
    bug_if(bytes < 0);
    put_text(out, (const char *)room, bytes);
    free(room);
}

/* Bytes that are no UTF-8 stay, and what is on their two sides does not meet. */
void put_normal_form(int form, const char *text, int64_t n, Draft_text *out)
{
    bool plain = true;
    int64_t begin = 0, i = 0;
    if (!n) return; /* there may be no text to add to */
    while (i < n) {
        uint32_t code;
        int length = decode_utf8((const unsigned char *)text + i, n - i, &code);
        if (length && code >= forms[form].least) plain = false;
        if (!length) {
            if (plain) put_text(out, text + begin, i - begin);
            else put_run(form, text + begin, i - begin, out);
            put_text(out, text + i, 1);
            begin = i + 1;
            plain = true;
        }
        i += length ? length : 1;
    }
    if (plain) put_text(out, text + begin, n - begin);
    else put_run(form, text + begin, n - begin, out);
}

#else

bool find_normal_form(Tokenizer *t, const char *name, int *form)
{
    static const char *const names[] = {"NFC", "NFD", "NFKC", "NFKD"};
    *form = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            fail(EXIT_DATA, t->path,
                 "text is normalised (%s), and this program was built without libutf8proc; install libutf8proc-dev and "
                 "build again",
                 name);
    return false;
}

const char *name_of_form(int form) { return form ? "" : "NFC"; }

bool is_control_or_format(uint32_t c) { return c < 32; }
bool is_accent(uint32_t c) { return c == 0x300; }

void put_normal_form(int form, const char *text, int64_t n, Draft_text *out)
{
    (void)form;
    put_text(out, text, n);
}

#endif
