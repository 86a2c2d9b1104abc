/* json_text.c: JSON of any text and number. */
#include "base/json_text.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "base/words.h"

#include <math.h>
#include <stdlib.h>

const char *utf8_of(const char *text)
{
    if (!text) return NULL;
    char *utf8 = must_alloc(printable_room(strlen(text)));
    escape_bytes(utf8, text);
    if (strcmp(utf8, text) != 0) return utf8;
    free(utf8);
    return text;
}

json_t *word_json(const char *text) { return text ? json_string(utf8_of(text)) : json_null(); }

char *word_of_json(const json_t *word)
{
    if (!json_is_string(word)) return NULL;
    char *text = text_of("%s", json_string_value(word));
    unescape_bytes(text);
    return text;
}

json_t *real_json(double x) { return isfinite(x) ? json_real(x) : json_null(); }

void put_json(json_t *object, const char *key, json_t *value)
{
    bug_if(!value || json_object_set_new(object, utf8_of(key), value) != 0);
}

void add_json(json_t *array, json_t *value) { bug_if(!value || json_array_append_new(array, value) != 0); }

char *json_written(const json_t *all, size_t flags)
{
    char *text = all ? json_dumps(all, flags) : NULL;
    bug_if(!text);
    return text;
}

/* JSON must be UTF-8; other bytes become U+FFFD. */
json_t *text_json(const char *text, size_t bytes)
{
    char *clean = must_alloc(3 * bytes + 1), *to = clean;
    for (size_t i = 0; i < bytes;) {
        uint32_t code = 0xfffd;
        int n = decode_utf8((const unsigned char *)text + i, (int64_t)(bytes - i), &code);
        to += encode_utf8(n ? code : 0xfffd, to);
        i += n ? (size_t)n : 1;
    }
    json_t *s = json_stringn(clean, (size_t)(to - clean));
    free(clean);
    return s;
}
