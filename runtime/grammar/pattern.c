/* pattern.c: a regular expression of a schema (ECMA-262) becomes a grammar of the JSON string's characters.
 *
 * Understood: characters, ., classes, \d \w \s, groups, |, * + ? {m,n}, and ^ $ at the ends of the whole pattern's
 * ways. A character is written in one way: as it is, or with its short escape. */
#include "base/utf8.h"
#include "grammar/rules.h"
#include "grammar/json_schema.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST_GROUP = 32 };

typedef struct Pattern {
    const char *at, *character; /* character: the rule of any */
    Gbnf_text *out;
    char *why;
    size_t bytes;
    int depth;
} Pattern;

static bool refuse_pattern(const Pattern *p, const char *what)
{
    snprintf(p->why, p->bytes, "%s, at \"%.30s\"", what, *p->at ? p->at : "the end");
    return false;
}

static bool next_code(Pattern *p, uint32_t *code)
{
    int n = decode_utf8((const unsigned char *)p->at, (int64_t)strlen(p->at), code);
    p->at += n;
    return n > 0 || refuse_pattern(p, "a character is missing");
}

/* ------------------------------------------------------------------ characters of a string */

/* A character in a class of GBNF. */
static void put_class_code(Gbnf_text *t, uint32_t code)
{
    put_gbnf(t, code < 0x10000 ? "\\u%04X" : "\\U%08X", (unsigned)code);
}

static void put_escaped(Gbnf_text *t, uint32_t code)
{
    static const char codes[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
    const char *known = code ? strchr(codes, (int)code) : NULL;
    if (!known) put_gbnf(t, "\"\\\\u%04x\"", (unsigned)code);
    else if (names[known - codes] == '"') put_gbnf(t, "\"\\\\\\\"\"");
    else if (names[known - codes] == '\\') put_gbnf(t, "\"\\\\\\\\\"");
    else put_gbnf(t, "\"\\\\%c\"", names[known - codes]);
}

static bool is_escaped(uint32_t code) { return code < ' ' || code == '"' || code == '\\'; }

/* One of the settled ranges' characters. */
static bool put_characters(Pattern *p, const Ranges *r)
{
    bool first = true, open = false;
    put_gbnf(p->out, " (");
    for (int32_t i = 0; i < r->n; i++)
        for (uint32_t c = r->at[i].first; c <= r->at[i].last && c <= '\\'; c++)
            if (is_escaped(c)) put_gbnf(p->out, first ? "" : " | "), put_escaped(p->out, c), first = false;
    for (int32_t i = 0; i < r->n; i++)
        for (uint32_t c = r->at[i].first, end; c <= r->at[i].last; c = end + 1) {
            end = c;
            if (is_escaped(c)) continue;
            end = r->at[i].last;
            if (c < '"' && end >= '"') end = '"' - 1;
            else if (c < '\\' && end >= '\\') end = '\\' - 1;
            if (!open) put_gbnf(p->out, first ? "[" : " | [");
            open = true;
            put_class_code(p->out, c);
            put_gbnf(p->out, "-");
            put_class_code(p->out, end);
        }
    put_gbnf(p->out, open ? "])" : ")");
    return r->n > 0 || refuse_pattern(p, "no character is in this class");
}

/* ------------------------------------------------------------------ escapes */

static void add_named_class(Ranges *to, char name)
{
    static const Range digits[] = {{'0', '9'}}, words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    static const Range blanks[] = {{'\t', '\r'},     {' ', ' '},       {0xa0, 0xa0},
                                   {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029},
                                   {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};
    const bool others = name < 'a';
    const char lower = (char)(name | 0x20);
    const Range *of = lower == 'd' ? digits : lower == 'w' ? words : blanks;
    const size_t n = lower == 'd' ? 1 : lower == 'w' ? 4 : sizeof blanks / sizeof *blanks;
    Ranges r = {0};
    for (size_t i = 0; i < n; i++) add_range(&r, of[i].first, of[i].last);
    if (name == 'S') add_range(&r, 0xfeff, 0xfeff);
    settle_ranges(&r, others);
    for (int32_t i = 0; i < r.n; i++) add_range(to, r.at[i].first, r.at[i].last);
    free_ranges(&r);
}

static bool take_code(Pattern *p, int digits, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < digits; i++, p->at++) {
        const char *hex = "0123456789abcdef", lower = (char)(*p->at | 0x20),
                   *digit = *p->at ? strchr(hex, *p->at <= '9' ? *p->at : lower) : NULL;
        if (!digit) return refuse_pattern(p, "hex digits are missing");
        *code = *code << 4 | (uint32_t)(digit - hex);
    }
    return (*code < 0xd800 || *code > 0xdfff) || refuse_pattern(p, "half of a surrogate pair is not supported");
}

/* Behind a backslash: a class, or one character (*one). */
static bool take_pattern_escape(Pattern *p, Ranges *to, uint32_t *one)
{
    static const char names[] = "tnrfv0", means[] = "\t\n\r\f\v";
    const char c = *p->at;
    const char *known = c ? strchr(names, c) : NULL;
    *one = UINT32_MAX;
    if (c && strchr("dwsDWS", c)) return add_named_class(to, *p->at++), true;
    if (known && !(c == '0' && p->at[1] >= '0' && p->at[1] <= '9')) *one = (unsigned char)means[known - names], p->at++;
    else if (c == 'x' || c == 'u') {
        p->at++;
        if (!take_code(p, c == 'x' ? 2 : 4, one)) return false;
    } else if (c && strchr("^$\\.*+?()[]{}|/-\"'`,:;#&@!%<>=~_ ", c)) *one = (unsigned char)*p->at++;
    else return refuse_pattern(p, "this escape is not supported");
    add_range(to, *one, *one);
    return true;
}

static bool take_class_end(Pattern *p, Ranges *r, uint32_t *code)
{
    if (*p->at != '\\') {
        if (!next_code(p, code)) return false;
        add_range(r, *code, *code);
        return true;
    }
    p->at++;
    if (*p->at == 'b') return *code = '\b', p->at++, add_range(r, '\b', '\b'), true;
    return take_pattern_escape(p, r, code);
}

static bool take_pattern_class(Pattern *p)
{
    Ranges r = {0};
    const bool others = *++p->at == '^';
    bool good = true;
    p->at += others;
    while (good && *p->at != ']') {
        uint32_t first, last;
        good = *p->at ? take_class_end(p, &r, &first) : refuse_pattern(p, "a class has no ]");
        if (!good || *p->at != '-' || p->at[1] == ']' || !p->at[1]) continue;
        p->at++;
        good = take_class_end(p, &r, &last);
        if (good && (first == UINT32_MAX || last == UINT32_MAX || last < first))
            good = refuse_pattern(p, "a range's ends are wrong");
        if (good) add_range(&r, first, last);
    }
    if (good) {
        p->at++;
        settle_ranges(&r, others);
        good = put_characters(p, &r);
    }
    free_ranges(&r);
    return good;
}

/* ------------------------------------------------------------------ atoms */

static bool take_pattern_ways(Pattern *p);

static bool take_pattern_group(Pattern *p)
{
    p->at++;
    if (*p->at == '?') {
        if (p->at[1] != ':') return refuse_pattern(p, "of groups with ?, only (?: …) is supported");
        p->at += 2;
    }
    if (p->depth == DEEPEST_GROUP) return refuse_pattern(p, "groups are nested too deep");
    p->depth++;
    put_gbnf(p->out, " (");
    if (!take_pattern_ways(p)) return false;
    if (*p->at != ')') return refuse_pattern(p, "a group has no )");
    put_gbnf(p->out, ")");
    p->at++;
    p->depth--;
    return true;
}

static bool take_one(Pattern *p)
{
    static const Range line_ends[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
    Ranges r = {0};
    uint32_t code;
    bool good = true, others = *p->at == '.';
    if (others) {
        for (size_t i = 0; i < 3; i++) add_range(&r, line_ends[i].first, line_ends[i].last);
        p->at++;
    } else if (*p->at == '\\') {
        p->at++;
        good = take_pattern_escape(p, &r, &code);
    } else if (next_code(p, &code)) add_range(&r, code, code);
    else good = false;
    settle_ranges(&r, others);
    good = good && put_characters(p, &r);
    free_ranges(&r);
    return good;
}

static bool take_pattern_times(Pattern *p)
{
    int from = 0, to = 0, n = 0, m = 0;
    if (sscanf(p->at, "{%5d,%5d}%n", &from, &to, &n) == 2 && n) m = n;
    else if (sscanf(p->at, "{%5d,}%n", &from, &n) == 1 && n) m = n, to = -1;
    else if (sscanf(p->at, "{%5d}%n", &from, &n) == 1 && n) m = n, to = from;
    if (m == 0 || p->at[1] < '0' || p->at[1] > '9' || from > LONGEST_COUNT || to > LONGEST_COUNT ||
        (to >= 0 && to < from))
        return refuse_pattern(p, "expected {m}, {m,} or {m,n}, none above 10000");
    put_gbnf(p->out, to < 0 ? "{%d,}" : "{%d,%d}", from, to);
    p->at += m;
    return true;
}

static bool take_atom(Pattern *p)
{
    if (*p->at == '(') {
        if (!take_pattern_group(p)) return false;
    } else if (*p->at == '[') {
        if (!take_pattern_class(p)) return false;
    } else if (strchr("^$", *p->at)) {
        return refuse_pattern(p, "^ and $ are supported at the ends of the pattern alone");
    } else if (strchr("*+?{}])", *p->at)) {
        return refuse_pattern(p, "a character that means something else must be escaped");
    } else if (!take_one(p)) return false;
    if (*p->at == '{') {
        if (!take_pattern_times(p)) return false;
    } else if (*p->at && strchr("*+?", *p->at)) put_gbnf(p->out, "%c", *p->at++);
    else return true;
    if (*p->at == '?') p->at++; /* as little as possible: the same texts */
    return !*p->at || !strchr("*+?{", *p->at) || refuse_pattern(p, "a repetition of a repetition needs a group");
}

/* The ways of the whole pattern may begin and end anywhere in the string, unless ^ and $ say otherwise. */
static bool take_pattern_way(Pattern *p)
{
    const bool whole = p->depth == 0, begins = whole && *p->at == '^';
    p->at += begins;
    if (whole && !begins) put_gbnf(p->out, " %s*", p->character);
    while (*p->at && *p->at != '|' && !(*p->at == ')' && !whole) &&
           !(*p->at == '$' && whole && (!p->at[1] || p->at[1] == '|')))
        if (!take_atom(p)) return false;
    if (*p->at == '$' && whole) p->at++;
    else if (whole) put_gbnf(p->out, " %s*", p->character);
    return true;
}

static bool take_pattern_ways(Pattern *p)
{
    if (!take_pattern_way(p)) return false;
    while (*p->at == '|') {
        p->at++;
        put_gbnf(p->out, " |");
        if (!take_pattern_way(p)) return false;
    }
    return true;
}

bool put_pattern(Gbnf_text *t, const char *pattern, const char *character, char *why, size_t bytes)
{
    Pattern p = {pattern, character, t, why, bytes, 0};
    return take_pattern_ways(&p) && (!*p.at || refuse_pattern(&p, "a ) closes no group"));
}
