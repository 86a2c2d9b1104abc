/* gbnf.c: reads a grammar in llama.cpp's notation, GBNF:
 *
 *     root ::= "[" item ("," item)* "]"      # texts are of the rule root
 *     item ::= [a-z_]+ | [^\x00-\x1f"] | "\u00e9"{2,3} | .
 *
 * A way ends with its line, except behind ::= or | and within ( ). */
#include "base/utf8.h"
#include "grammar/rules.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 100 }; /* groups in groups */

typedef struct Text_reader {
    const char *text, *at, *end;
    Grammar *g;
    Grammar_fault *f;
    json_t *names; /* numbers of rules */
    int depth;
} Text_reader;

/* ------------------------------------------------------------------ places and faults */

static void find_place(const Text_reader *t, const char *at, int *line, int *column)
{
    *line = *column = 1;
    for (const char *p = t->text; p < at; p++) {
        if (*p == '\n') ++*line, *column = 1;
        else if (((unsigned char)*p & 0xc0) != 0x80) ++*column;
    }
}

static bool refuse_at(const Text_reader *t, const char *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static bool refuse_at(const Text_reader *t, const char *at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(t->f->words, sizeof t->f->words, fmt, args);
    va_end(args);
    find_place(t, at, &t->f->line, &t->f->column);
    return false;
}

static bool refuse_large(const Text_reader *t)
{
    return refuse_at(t, t->at, "the grammar is too large here: at most %d elements, after repetitions are written out",
                     MOST_ELEMENTS);
}

/* What is found, for a message. */
static const char *found_here(const Text_reader *t, char *room, size_t bytes)
{
    uint32_t code;
    if (t->at == t->end) return "the end";
    if (*t->at == '\n' || *t->at == '\r') return "the end of the line";
    int n = decode_utf8((const unsigned char *)t->at, t->end - t->at, &code);
    if (n == 0) snprintf(room, bytes, "a byte that is not UTF-8");
    else if (code < ' ') snprintf(room, bytes, "the character U+%04X", (unsigned)code);
    else snprintf(room, bytes, "'%.*s'", n, t->at);
    return room;
}

static bool refuse_found(const Text_reader *t, const char *expected)
{
    char room[48];
    return refuse_at(t, t->at, "expected %s, found %s", expected, found_here(t, room, sizeof room));
}

/* ------------------------------------------------------------------ blanks, names, numbers */

static bool here(const Text_reader *t, char c) { return t->at < t->end && *t->at == c; }

static void pass_blanks(Text_reader *t, bool lines)
{
    for (; t->at < t->end; t->at++) {
        if (*t->at == '#')
            while (t->at + 1 < t->end && t->at[1] != '\n' && t->at[1] != '\r') t->at++;
        else if (*t->at != ' ' && *t->at != '\t' && !(lines && (*t->at == '\n' || *t->at == '\r'))) return;
    }
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

/* The rule that is named here; -1: none is, or a fault. */
static int32_t take_rule_name(Text_reader *t)
{
    char name[256];
    const char *from = t->at;
    while (t->at < t->end && is_name_character(*t->at)) t->at++;
    size_t n = (size_t)(t->at - from);
    if (n == 0) return refuse_found(t, "a rule's name: letters, digits and -"), -1;
    if (n >= sizeof name) return refuse_at(t, from, "a rule's name is longer than %d bytes", (int)sizeof name - 1), -1;
    memcpy(name, from, n);
    name[n] = 0;
    const json_t *known = json_object_get(t->names, name);
    if (known) return (int32_t)json_integer_value(known);
    int32_t rule = add_rule(t->g, name);
    if (rule < 0) return refuse_large(t), -1;
    find_place(t, from, &t->g->rule[rule].line, &t->g->rule[rule].column);
    json_object_set_new(t->names, name, json_integer(rule));
    return rule;
}

static bool take_times(Text_reader *t, int32_t *to)
{
    const char *from = t->at;
    int64_t n = 0;
    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
        if (n <= MOST_TIMES) n = 10 * n + (*t->at - '0');
    if (t->at == from) return refuse_found(t, "a number");
    if (n > MOST_TIMES) return refuse_at(t, from, "at most %d times", MOST_TIMES);
    *to = (int32_t)n;
    return true;
}

/* ------------------------------------------------------------------ characters */

static bool take_hex(Text_reader *t, int digits, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < digits; i++, t->at++) {
        const char *hex = "0123456789abcdefABCDEF", *digit = here(t, 0) || t->at == t->end ? NULL : strchr(hex, *t->at);
        if (!digit)
            return refuse_found(t, digits == 2 ? "2 hex digits" : digits == 4 ? "4 hex digits" : "8 hex digits");
        *code = *code << 4 | (uint32_t)(digit - hex < 16 ? digit - hex : digit - hex - 6);
    }
    return true;
}

static bool take_gbnf_escape(Text_reader *t, uint32_t *code)
{
    static const char names[] = "trn\\\"[]", means[] = "\t\r\n\\\"[]";
    const char *from = t->at++, *known = t->at < t->end && *t->at ? strchr(names, *t->at) : NULL;
    char c = t->at < t->end ? *t->at : 0;
    if (known) return *code = (unsigned char)means[known - names], t->at++, true;
    if (c != 'x' && c != 'u' && c != 'U')
        return refuse_found(t, "an escape: \\n \\r \\t \\\\ \\\" \\[ \\] \\xHH \\uHHHH \\UHHHHHHHH");
    t->at++;
    if (!take_hex(t, c == 'x' ? 2 : c == 'u' ? 4 : 8, code)) return false;
    if (*code >= CODE_POINTS || (*code >= 0xd800 && *code < 0xe000))
        return refuse_at(t, from, "U+%04X is no character", (unsigned)*code);
    return true;
}

static bool take_character(Text_reader *t, const char *where, uint32_t *code)
{
    if (t->at == t->end || *t->at == '\n' || *t->at == '\r') return refuse_found(t, where);
    if (*t->at == '\\') return take_gbnf_escape(t, code);
    int n = decode_utf8((const unsigned char *)t->at, t->end - t->at, code);
    if (n == 0) return refuse_found(t, where);
    t->at += n;
    return true;
}

static bool take_literal(Text_reader *t, Part *p)
{
    for (t->at++; !here(t, '"');) {
        uint32_t code;
        char bytes[4];
        if (!take_character(t, "a character or the closing \"", &code)) return false;
        int n = encode_utf8(code, bytes);
        for (int i = 0; i < n; i++)
            if (!add_element(p, ONE_BYTE, (unsigned char)bytes[i])) return refuse_large(t);
    }
    t->at++;
    return true;
}

static bool take_ranges(Text_reader *t, Ranges *r)
{
    while (!here(t, ']')) {
        const char *from = t->at;
        uint32_t first, last;
        if (!take_character(t, "a character or the closing ]", &first)) return false;
        last = first;
        if (here(t, '-') && t->at + 1 < t->end && t->at[1] != ']') {
            t->at++;
            if (!take_character(t, "the last character of a range", &last)) return false;
        }
        if (last < first) return refuse_at(t, from, "a range ends before it begins");
        add_range(r, first, last);
    }
    return true;
}

static bool take_class(Text_reader *t, Part *p)
{
    Ranges r = {0};
    const char *from = t->at++;
    bool others = here(t, '^'), good;
    if (others) t->at++;
    good = take_ranges(t, &r);
    if (good) {
        t->at++;
        settle_ranges(&r, others);
        good =
            r.n ? add_characters(t->g, &r, p) || refuse_large(t) : refuse_at(t, from, "no character is in this class");
    }
    free_ranges(&r);
    return good;
}

static bool take_any(Text_reader *t, Part *p)
{
    Ranges all = {0};
    t->at++;
    settle_ranges(&all, true);
    bool good = add_characters(t->g, &all, p) || refuse_large(t);
    free_ranges(&all);
    return good;
}

/* ------------------------------------------------------------------ ways */

static bool take_ways(Text_reader *t, int32_t rule, bool inside);

static bool take_group(Text_reader *t, Part *p)
{
    const char *from = t->at++;
    int32_t rule = add_rule(t->g, NULL);
    if (rule < 0) return refuse_large(t);
    if (t->depth == DEEPEST) return refuse_at(t, from, "groups are nested more than %d deep", DEEPEST);
    t->depth++;
    pass_blanks(t, true);
    if (!take_ways(t, rule, true)) return false;
    t->depth--;
    if (!here(t, ')')) return refuse_found(t, "a ) of the group");
    t->at++;
    return add_element(p, RULE_HERE, rule) || refuse_large(t);
}

static bool take_braces(Text_reader *t, int32_t *least, int32_t *most)
{
    const char *from = t->at++;
    pass_blanks(t, false);
    if (!take_times(t, least)) return false;
    *most = *least;
    pass_blanks(t, false);
    if (here(t, ',')) {
        t->at++;
        pass_blanks(t, false);
        *most = ALL_TIMES;
        if (!here(t, '}') && !take_times(t, most)) return false;
        pass_blanks(t, false);
    }
    if (!here(t, '}')) return refuse_found(t, "a } of the repetition");
    t->at++;
    if (*most != ALL_TIMES && *most < *least) return refuse_at(t, from, "a repetition has its larger number first");
    return true;
}

/* What follows the elements from `from` on: how often they come. */
static bool take_repetition(Text_reader *t, Part *p, int32_t from)
{
    for (; t->at < t->end && strchr("*+?{", *t->at) && *t->at; pass_blanks(t, t->depth > 0)) {
        int32_t least = *t->at == '+', most = *t->at == '?' ? 1 : ALL_TIMES;
        if (from < 0) return refuse_at(t, t->at, "nothing stands before this '%c', which repeats it", *t->at);
        if (*t->at != '{') t->at++;
        else if (!take_braces(t, &least, &most)) return false;
        if (!repeat_part(t->g, p, from, least, most)) return refuse_large(t);
    }
    return true;
}

/* An element and its repetition; *any false: there is none here. */
static bool take_element(Text_reader *t, Part *p, bool *any)
{
    const int32_t from = p->n;
    const char c = t->at < t->end ? *t->at : 0;
    *any = true;
    if (c == '"') {
        if (!take_literal(t, p)) return false;
    } else if (c == '[') {
        if (!take_class(t, p)) return false;
    } else if (c == '.') {
        if (!take_any(t, p)) return false;
    } else if (c == '(') {
        if (!take_group(t, p)) return false;
    } else if (is_name_character(c)) {
        int32_t rule = take_rule_name(t);
        if (rule < 0) return false;
        if (!add_element(p, RULE_HERE, rule)) return refuse_large(t);
    } else if (c == '<' || c == '!') {
        return refuse_at(t, t->at,
                         "tokens by name or number are not supported in a grammar; write their text in \"…\"");
    } else {
        *any = false;
        return take_repetition(t, p, -1);
    }
    pass_blanks(t, t->depth > 0);
    return take_repetition(t, p, from);
}

static bool take_way(Text_reader *t, int32_t rule)
{
    Part p = {0};
    bool any = true, good = true;
    while (good && any) good = take_element(t, &p, &any);
    if (good) good = add_way(t->g, rule, p.at, p.n) || refuse_large(t);
    free(p.at);
    return good;
}

static bool take_ways(Text_reader *t, int32_t rule, bool inside)
{
    if (!take_way(t, rule)) return false;
    while (here(t, '|')) {
        t->at++;
        pass_blanks(t, true);
        if (!take_way(t, rule)) return false;
    }
    if (inside || t->at == t->end || here(t, '\n') || here(t, '\r')) return true;
    return refuse_found(t, "\"text\", [class], (group), a rule, | or the end of the line");
}

/* ------------------------------------------------------------------ rules */

static bool take_rule(Text_reader *t)
{
    const char *from = t->at;
    int32_t rule = take_rule_name(t);
    if (rule < 0) return false;
    if (t->g->rule[rule].defined)
        return refuse_at(t, from, "the rule \"%.60s\" is defined twice", t->g->rule[rule].name);
    pass_blanks(t, false);
    if (t->end - t->at < 3 || memcmp(t->at, "::=", 3) != 0) return refuse_found(t, "::= behind a rule's name");
    t->at += 3;
    pass_blanks(t, true);
    t->g->rule[rule].defined = true;
    if (strcmp(t->g->rule[rule].name, "root") == 0) t->g->root = rule;
    return take_ways(t, rule, false);
}

static bool take_rules(Text_reader *t)
{
    if (t->end - t->text > GRAMMAR_TEXT)
        return refuse_at(t, t->text, "the grammar has %lld bytes: at most %d", (long long)(t->end - t->text),
                         GRAMMAR_TEXT);
    for (pass_blanks(t, true); t->at < t->end; pass_blanks(t, true))
        if (!take_rule(t)) return false;
    return check_grammar(t->g, t->f);
}

Grammar *read_gbnf(const char *text, int64_t bytes, Grammar_fault *f)
{
    Text_reader t = {text, text, text + bytes, new_grammar(), f, json_object(), 0};
    *f = (Grammar_fault){0};
    bool good = take_rules(&t);
    json_decref(t.names);
    if (good) return t.g;
    free_grammar(t.g);
    return NULL;
}
