/* json.c: JSON lines: reads the wanted fields of each line's object, without ever storing the line.
 *
 * RFC 8259, except that a newline always ends the record.  Errors are found while reading: parts of a text longer than
 * the reader's limit may have been returned before. */
#include "base/utf8.h"
#include "base/words.h"
#include "source/reader.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>

enum { OPEN, KEY, VALUE, STRING, ITEM, AFTER_ITEM, NEXT, CLOSE };
enum { SEEN_TEXT = 1, SEEN_SOURCE = 2, SEEN_TARGET = 4, SEEN_MESSAGES = 8 };
enum { DEEPEST = 512 };

/* ------------------------------------------------------------------ small things */

/* Skips white space within a record; returns the byte after it, -1 at the file's end. */
int json_blanks(Feed *f)
{
    int c;
    while ((c = next_byte(f)) == ' ' || c == '\t' || c == '\r') f->begin++;
    return c;
}

static bool bad(Reader *r, int found, const char *expected)
{
    if (found < 0) stop_record(r, "expected %s, found the end of the file", expected);
    else if (found == '\n') stop_record(r, "expected %s, found the end of the line", expected);
    else if (found < 32 || found > 126) stop_record(r, "expected %s, found byte 0x%02x", expected, found);
    else stop_record(r, "expected %s, found '%c'", expected, found);
    return false;
}

bool take_json(Reader *r, int wanted, const char *expected)
{
    int c = json_blanks(&r->feed);
    if (c != wanted) return bad(r, c, expected);
    r->feed.begin++;
    return true;
}

/* ------------------------------------------------------------------ strings */

/* Four hexadecimal digits at `at`; -1: none. */
static int32_t hex_at(const char *at, int64_t n)
{
    int32_t x = 0;
    if (n < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        x = x << 4 | digit;
    }
    return x;
}

/* \uXXXX, or two of them: the code point, and its bytes in the feed.  Half of a pair is replaced. */
static int32_t unicode_escape(Reader *r, int64_t *used)
{
    Feed *f = &r->feed;
    int64_t n = want_feed(f, 12);
    const char *at = f->at + f->begin;
    int32_t code = hex_at(at + 2, n - 2), low = -1;
    *used = 6;
    if (code < 0) return -1;
    if (code >= 0xd800 && code < 0xdc00 && n >= 12 && at[6] == '\\' && at[7] == 'u') low = hex_at(at + 8, 4);
    if (low >= 0xdc00 && low < 0xe000) {
        *used = 12;
        return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code < 0xd800 || code >= 0xe000) return code;
    if (r->s->options.bad_utf8 == UTF8_STOP) {
        char *place = source_place(r->s, &r->at);
        fail(EXIT_DATA, place,
             "expected Unicode, found half of a surrogate pair (\\u%04x); repair it, or let such be replaced",
             (unsigned)code);
    }
    r->counts.replaced++;
    return 0xfffd;
}

/* Reads the characters after a backslash, into `to` if it is not NULL. */
static bool take_escape(Reader *r, Draft *to)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    Feed *f = &r->feed;
    char out[4];
    int length = 1;
    int64_t used = 2;
    if (want_feed(f, 2) < 2) return bad(r, -1, "an escape");
    int c = (unsigned char)f->at[f->begin + 1];
    const char *name = c ? strchr(names, c) : NULL;
    if (name) {
        out[0] = meant[name - names];
    } else if (c == 'u') {
        int32_t code = unicode_escape(r, &used);
        if (code < 0) return stop_record(r, "expected four hexadecimal digits after \\u"), false;
        if (code == 0) r->counts.zero_bytes++;
        length = encode_utf8((uint32_t)code, out);
    } else {
        return bad(r, c, "one of \"\\/bfnrtu after a backslash");
    }
    f->begin += used;
    if (to) add_draft(to, out, length);
    return true;
}

static bool plain_block(const char *at)
{
    unsigned char special = 0;
    for (int i = 0; i < 32; i++) special |= (at[i] == '"') | (at[i] == '\\') | ((unsigned char)at[i] < 32);
    return !special;
}

/* The number of leading bytes of n that need no escape. */
static int64_t plain_run(const char *at, int64_t n)
{
    int64_t i = 0;
    while (i + 32 <= n && plain_block(at + i)) i += 32;
    while (i < n && at[i] != '"' && at[i] != '\\' && (unsigned char)at[i] >= 32) i++;
    return i;
}

/* Reads from inside a string to after its end; to NULL: drops it. */
Got take_json_string(Reader *r, Draft *to)
{
    Feed *f = &r->feed;
    for (;;) {
        int64_t n = want_feed(f, 1), space = to ? draft_space(to) : n;
        if (n == 0) return bad(r, -1, "\" at the end of a string"), GOT_BAD;
        if (space <= 0) return GOT_PART;
        int64_t run = plain_run(f->at + f->begin, n < space ? n : space);
        if (to) add_draft(to, f->at + f->begin, run);
        f->begin += run;
        if (run) continue;
        char c = f->at[f->begin];
        if (c == '"') return f->begin++, GOT_END;
        if (c != '\\') return bad(r, (unsigned char)c, "\" at the end of a string"), GOT_BAD;
        if (!take_escape(r, to)) return GOT_BAD;
    }
}

/* Reads into key, truncated, with a 0 byte. */
bool take_json_key(Reader *r, char *key)
{
    char room[KEY_BYTES + 8];
    Draft d = {.at = room, .limit = KEY_BYTES, .room = sizeof room};
    if (!take_json(r, '"', "a name in quotes")) return false;
    Got got = take_json_string(r, &d);
    if (got == GOT_PART) got = take_json_string(r, NULL);
    if (got == GOT_BAD || !take_json(r, ':', "':' after a name")) return false;
    memcpy(key, room, (size_t)d.n);
    key[memchr(room, 0, (size_t)d.n) ? 0 : d.n] = 0; /* no wanted field has a zero byte in its name */
    return true;
}

/* ------------------------------------------------------------------ unwanted values */

static bool take_word(Reader *r, const char *word)
{
    Feed *f = &r->feed;
    int64_t n = (int64_t)strlen(word);
    if (want_feed(f, n) < n || memcmp(f->at + f->begin, word, (size_t)n) != 0)
        return stop_record(r, "expected %s", word), false;
    f->begin += n;
    return true;
}

static int64_t take_digits(Feed *f)
{
    int64_t n = 0;
    for (int c; (c = next_byte(f)) >= '0' && c <= '9'; n++) f->begin++;
    return n;
}

static bool take_number(Reader *r)
{
    Feed *f = &r->feed;
    if (next_byte(f) == '-') f->begin++;
    bool zero = next_byte(f) == '0';
    int64_t digits = take_digits(f);
    if (digits == 0 || (zero && digits > 1)) return bad(r, next_byte(f), "a number");
    if (next_byte(f) == '.') {
        f->begin++;
        if (!take_digits(f)) return bad(r, next_byte(f), "digits after the point");
    }
    int c = next_byte(f);
    if (c != 'e' && c != 'E') return true;
    f->begin++;
    c = next_byte(f);
    if (c == '+' || c == '-') f->begin++;
    return take_digits(f) ? true : bad(r, next_byte(f), "digits of an exponent");
}

static bool skip_scalar(Reader *r, int c)
{
    switch (c) {
    case '"': return r->feed.begin++, take_json_string(r, NULL) == GOT_END;
    case 't': return take_word(r, "true");
    case 'f': return take_word(r, "false");
    case 'n': return take_word(r, "null");
    default: return (c >= '0' && c <= '9') || c == '-' ? take_number(r) : bad(r, c, "a value");
    }
}

typedef struct Nest { /* the open lists and objects */
    int depth;
    bool object[DEEPEST];
} Nest;

/* After [ or {, or a comma: goes to the next value; *closed: it was the end of an empty one. */
static bool enter(Reader *r, Nest *nest, bool after_comma, bool *closed)
{
    char key[KEY_BYTES + 8];
    bool object = nest->object[nest->depth - 1];
    *closed = !after_comma && json_blanks(&r->feed) == (object ? '}' : ']');
    if (*closed) return true;
    return !object || take_json_key(r, key);
}

/* After a value: leaves everything that ends there, up to the next value. */
static bool leave(Reader *r, Nest *nest)
{
    while (nest->depth) {
        int c = json_blanks(&r->feed);
        bool object = nest->object[nest->depth - 1], closed;
        if (c != ',' && c != (object ? '}' : ']')) return bad(r, c, object ? "',' or '}'" : "',' or ']'");
        r->feed.begin++;
        if (c == ',') return enter(r, nest, true, &closed);
        nest->depth--;
    }
    return true;
}

bool skip_json(Reader *r)
{
    Nest nest = {0};
    do {
        int c = json_blanks(&r->feed);
        if (c == '{' || c == '[') {
            bool closed;
            if (nest.depth == DEEPEST) return stop_record(r, "lists and objects are nested more than %d deep", DEEPEST), false;
            nest.object[nest.depth++] = c == '{';
            r->feed.begin++;
            if (!enter(r, &nest, false, &closed)) return false;
            if (!closed) continue;
        } else if (!skip_scalar(r, c)) {
            return false;
        }
        if (!leave(r, &nest)) return false;
    } while (nest.depth);
    return true;
}

/* ------------------------------------------------------------------ records */

/* The kind of a field; 0: not wanted.  *naming: of a half of a pair. */
static int wanted(const Source_options *o, const char *key, int *naming)
{
    bool either = !o->text && !o->target;
    *naming = 0;
    if (!o->target && !strcmp(key, either ? "messages" : o->text))
        return strcmp(key, "messages") ? SEEN_TEXT : SEEN_MESSAGES;
    if (either && !strcmp(key, "text")) return SEEN_TEXT;
    if (!either && !o->target) return 0;
    for (; *naming < (either ? PAIR_NAMINGS : 1); ++*naming) {
        if (!strcmp(key, o->text ? o->text : pair_names[*naming][0])) return SEEN_SOURCE;
        if (!strcmp(key, o->target ? o->target : pair_names[*naming][1])) return SEEN_TARGET;
    }
    return 0;
}

static const char *field_name(const Reader *r, int seen)
{
    const Source_options *o = &r->s->options;
    const char *const *pair = pair_names[r->json.naming];
    return seen == SEEN_TARGET     ? (o->target ? o->target : pair[1])
           : o->text               ? o->text
           : seen == SEEN_MESSAGES ? "messages"
           : seen == SEEN_TEXT     ? "text"
                                   : pair[0];
}

static void keep_name(Reader *r, const char *key)
{
    char *at = r->json.keys;
    size_t n = strlen(at), room = sizeof r->json.keys - n;
    if (strlen(key) + 5 <= room) snprintf(at + n, room, "%s\"%s\"", n ? ", " : "", key);
}

/* A record has one text, one pair or one chat. */
static bool fits_others(Reader *r, const char *key, int seen, int naming)
{
    struct Json *j = &r->json;
    int pair = SEEN_SOURCE | SEEN_TARGET, first = j->seen & -j->seen;
    if (j->seen & seen && naming == j->naming) return stop_record(r, "there are two fields \"%s\"", key), false;
    if (!j->seen || ((j->seen | seen) == pair && naming == j->naming)) return true;
    stop_record(r, "there are fields \"%s\" and \"%s\"; name the one to read", field_name(r, first), key);
    return false;
}

static bool begin_string(Reader *r, const char *key)
{
    struct Json *j = &r->json;
    int c = json_blanks(&r->feed);
    if (c != '"' && c != '[')
        return stop_record(r, "the field \"%s\" is neither a string nor a list of strings", key), false;
    r->feed.begin++;
    j->in_list = c == '[';
    j->first = true;
    j->state = j->in_list ? ITEM : STRING;
    return true;
}

static bool begin_value(Reader *r)
{
    struct Json *j = &r->json;
    char key[KEY_BYTES + 8];
    int naming;
    if (!take_json_key(r, key)) return false;
    int seen = wanted(&r->s->options, key, &naming);
    j->state = NEXT;
    if (!seen) {
        keep_name(r, key);
        return skip_json(r);
    }
    if (!fits_others(r, key, seen, naming)) return false;
    j->seen |= seen;
    j->naming = naming;
    if (seen == SEEN_MESSAGES) return read_messages(r);
    j->to = seen == SEEN_TARGET ? &r->target : &r->text;
    return begin_string(r, key);
}

/* Ends a target of TARGETS_EACH. */
static bool end_target(Reader *r)
{
    if (r->targets == MOST_TARGETS) return stop_record(r, "there are more than %d targets", MOST_TARGETS), false;
    r->target_end[r->targets++] = (int32_t)r->target.n;
    return true;
}

static bool begin_item(Reader *r)
{
    struct Json *j = &r->json;
    const char *join = r->s->options.join ? r->s->options.join : " ";
    Targets how = j->to == &r->target ? r->s->options.targets : TARGETS_JOIN;
    int c = json_blanks(&r->feed);
    j->state = NEXT;
    if (c == ']' && j->first) return r->feed.begin++, true;
    if (c != '"') return bad(r, c, "a string of the list");
    r->feed.begin++;
    if (!j->first && how == TARGETS_FIRST) j->to = NULL;
    if (!j->first && how == TARGETS_JOIN && j->to) add_draft(j->to, join, (int64_t)strlen(join));
    if (!j->first && how == TARGETS_EACH && !end_target(r)) return false;
    j->first = false;
    j->state = STRING;
    return true;
}

/* A comma or the closing c. */
static bool go_on(Reader *r, int closing, const char *expected, int again, int over)
{
    int c = json_blanks(&r->feed);
    if (c != ',' && c != closing) return bad(r, c, expected);
    r->feed.begin++;
    r->json.state = c == ',' ? again : over;
    return true;
}

static bool open_record(Reader *r)
{
    r->json = (struct Json){.state = KEY};
    r->targets = r->spans = 0;
    if (next_byte(&r->feed) == '[')
        return stop_record(r, "expected an object in each line, found a list; if the file is one JSON list, `jq -c "
                              ".[]` makes lines of it"),
               false;
    if (!take_json(r, '{', "'{'")) return false;
    if (json_blanks(&r->feed) == '}') r->feed.begin++, r->json.state = CLOSE;
    return true;
}

static bool refuse_missing(Reader *r)
{
    struct Json *j = &r->json;
    const Source_options *o = &r->s->options;
    bool either = !o->text && !o->target;
    int missing = j->seen & SEEN_SOURCE ? SEEN_TARGET : j->seen & SEEN_TARGET || o->target ? SEEN_SOURCE : SEEN_TEXT;
    char *there = *j->keys ? text_of("; there are %s", j->keys) : text_of("%s", "");
    stop_record(r, "there is no field \"%s\"%s%s", field_name(r, missing),
                !j->seen && either ? ", nor \"messages\", nor \"source\" and \"target\"; say what the fields are called" : "", there);
    free(there);
    return false;
}

static bool close_record(Reader *r)
{
    int seen = r->json.seen, c = json_blanks(&r->feed);
    if (c >= 0 && c != '\n') return bad(r, c, "the end of the line after the record");
    if (seen == SEEN_TEXT || seen == SEEN_MESSAGES) return true;
    if (seen != (SEEN_SOURCE | SEEN_TARGET)) return refuse_missing(r);
    return r->s->options.targets != TARGETS_EACH || end_target(r);
}

/* Handles a full draft: only texts may come in parts; pairs must be complete. */
static Got string_step(Reader *r)
{
    Draft *to = r->json.to;
    Got got = take_json_string(r, to);
    if (got != GOT_BAD && to && draft_space(to) <= 0 && !(r->json.seen & SEEN_TEXT)) {
        stop_record(r, "a field of a pair has more than %lld bytes", (long long)r->part);
        return GOT_BAD;
    }
    if (got == GOT_END) r->json.state = r->json.in_list ? AFTER_ITEM : NEXT;
    return got;
}

static bool step(Reader *r)
{
    switch (r->json.state) {
    case OPEN: return open_record(r);
    case KEY: return begin_value(r);
    case ITEM: return begin_item(r);
    case AFTER_ITEM: return go_on(r, ']', "',' or ']'", ITEM, NEXT);
    default: return go_on(r, '}', "',' or '}'", KEY, CLOSE);
    }
}

/* Goes to the next record; false: none. */
static bool find_record(Reader *r)
{
    int c;
    while ((c = json_blanks(&r->feed)) == '\n') r->feed.begin++;
    r->at.offset = feed_offset(&r->feed);
    r->at.line = feed_line(&r->feed);
    r->json.state = OPEN;
    r->fresh = false;
    return c >= 0;
}

Got read_json(Reader *r)
{
    if (r->fresh && !find_record(r)) return GOT_NOTHING;
    for (;;) {
        int state = r->json.state;
        if (state == CLOSE) return close_record(r) ? GOT_END : GOT_BAD;
        if (state == STRING) {
            Got got = string_step(r);
            if (got == GOT_PART || got == GOT_BAD) return got;
        } else if (!step(r)) {
            return GOT_BAD;
        }
    }
}
