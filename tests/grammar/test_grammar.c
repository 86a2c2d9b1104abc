/* test_grammar.c: grammars and JSON schemas accept what llama.cpp and jsonschema accept, and refuse what they refuse
 * (tests/reference/grammar/); which bytes may come next, against following each; what is refused, and why; bounds. */
#include "harness.h"
#include "base/words.h"
#include "grammar/grammar.h"

#include <stdlib.h>
#include <string.h>

static Vocabulary *bytes_alone;
static Constraint *text;

static Grammar *gbnf(const char *words)
{
    Grammar_fault f;
    Grammar *g = read_gbnf(words, (int64_t)strlen(words), &f);
    expect(g != NULL, "%.40s: %d:%d: %s", words, f.line, f.column, f.words);
    return g;
}

/* 0: refused, 1: it may go on, 2: it is whole. */
static int verdict(const Grammar *g, const char *at, size_t n)
{
    begin_constraint(text, g);
    return follow_bytes(text, at, (int64_t)n) ? 1 + may_end_here(text) : 0;
}

/* ------------------------------------------------------------------ recordings */

static json_t *line_of(FILE *f)
{
    static char *line;
    static size_t room;
    return getline(&line, &room, f) > 0 ? json_loads(line, 0, NULL) : NULL;
}

static void check_gbnf_recording(void)
{
    FILE *f = fopen("tests/reference/grammar/gbnf.jsonl", "r");
    const char *words;
    json_t *one, *want;
    int n = 0;
    while ((one = line_of(f))) {
        Grammar *g = gbnf(json_string_value(json_array_get(one, 0)));
        json_object_foreach(json_array_get(one, 1), words, want)
        {
            int found = verdict(g, words, strlen(words));
            expect(found == json_integer_value(want), "%d expected, %d found: %.60s", (int)json_integer_value(want),
                   found, words);
            n++;
        }
        free_grammar(g);
        json_decref(one);
    }
    expect(n > 300, "only %d texts", n);
    fclose(f);
}

static void check_texts(const Grammar *g, const json_t *texts, bool valid)
{
    size_t i;
    const json_t *one;
    json_array_foreach(texts, i, one)
    {
        int found = verdict(g, json_string_value(one), json_string_length(one));
        expect((found == 2) == valid, "%s: %.200s", valid ? "valid, and refused" : "not valid, and accepted",
               json_string_value(one));
    }
}

static void check_schema_recording(void)
{
    FILE *f = fopen("tests/reference/grammar/schemas.jsonl", "r");
    json_t *one;
    int n = 0;
    for (; (one = line_of(f)); n++) {
        Grammar_fault wrong;
        Grammar *g = schema_grammar(json_array_get(one, 0), &wrong);
        if (!expect(g != NULL, "%s", wrong.words)) continue;
        check_texts(g, json_array_get(one, 1), true);
        check_texts(g, json_array_get(one, 2), false);
        free_grammar(g);
        json_decref(one);
    }
    expect(n >= 60, "only %d schemas", n);
    fclose(f);
}

/* ------------------------------------------------------------------ what may come next */

/* Each byte that is said to be next, and no other, can be followed; to a depth. */
static void check_next(const Grammar *g, char *at, int64_t n, int depth)
{
    bool any, seen = false;
    verdict(g, at, (size_t)n);
    const uint64_t *next = next_tokens(text, &any);
    uint64_t copy[4];
    memcpy(copy, next, sizeof copy);
    for (int b = 0; b < 256; b++) {
        bool said = copy[b >> 6] >> (b & 63) & 1;
        at[n] = (char)b;
        bool found = verdict(g, at, (size_t)n + 1) > 0;
        expect(said == found, "byte %d after %lld bytes: %d, %d", b, (long long)n, said, found);
        seen |= found;
        if (found && depth && (b % 7 == 0 || !copy[0])) check_next(g, at, n + 1, depth - 1);
    }
    expect(seen == any, "whether any byte may come");
}

static void check_all_next(void)
{
    static const char *const words[] = {"root ::= [^a-y]{2} \"\\u20ac\"? | \"\" | ([\\u0391-\\u03ff] root)",
                                        "root ::= (\"a\" \"b\"? | .)+ \"c\"",
                                        "root ::= x{0,3} \"e\" x*\nx ::= [0-9é] | \"(\" x \")\""};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char at[16];
        Grammar *g = gbnf(words[i]);
        check_next(g, at, 0, 1);
        free_grammar(g);
    }
}

/* ------------------------------------------------------------------ what is refused */

static void check_refused(void)
{
    static const struct Refused {
        const char *words, *why;
        int line, column;
    } all[] = {
        {"root ::= a\na ::= a \"x\" | \"y\"", "left recursion", 1, 10},
        {"root ::= b root | \"c\"\nb ::= \"x\" | \"\"", "left recursion", 1, 1},
        {"root ::= \"x\" b", "nowhere defined", 1, 14},
        {"x ::= \"a\"", "no rule \"root\"", 0, 0},
        {"root ::= \"a", "closing \"", 1, 12},
        {"root ::= [z-a]", "before it begins", 1, 11},
        {"root ::= []", "no character", 1, 10},
        {"root ::= (\"a\" | b)\nb ::= \"c\" b", "never ends", 1, 17},
        {"root ::= * \"b\"", "nothing stands before", 1, 10},
        {"root ::= \"a\"{3,2}", "larger number first", 1, 13},
        {"root ::= \"a\"{99999}", "at most 10000 times", 1, 14},
        {"root ::= (\"ab\"{9000}){9000} \"\"", "", 0, 0},
        {"root ::= \"\\q\"", "an escape", 1, 12},
        {"root ::= \"\\uD800\"", "no character", 1, 11},
        {"root = \"a\"", "expected ::=", 1, 6},
        {"root ::= \"a\"\nroot ::= \"b\"", "defined twice", 2, 1},
        {"root ::= <tok>", "not supported", 1, 10},
        {"root ::= \"\xff\"", "not UTF-8", 1, 11},
        {"root ::= (\"a\"\n", "a ) of the group", 2, 1},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        Grammar_fault f = {0};
        Grammar *g = read_gbnf(all[i].words, (int64_t)strlen(all[i].words), &f);
        if (!*all[i].why) expect(g != NULL, "%s", f.words);
        else
            expect(!g && strstr(f.words, all[i].why) && f.line == all[i].line && f.column == all[i].column,
                   "%s: %d:%d: %s", all[i].words, f.line, f.column, f.words);
        free_grammar(g);
    }
}

static void check_schemas_refused(void)
{
    static const char *const all[][2] = {
        {"{\"properties\": {\"age\": {\"type\": \"integer\", \"multipleOf\": 3}}}",
         "#/properties/age/multipleOf: is not supported"},
        {"{\"type\": \"strin\"}", "#/type: expected object"},
        {"{\"minlength\": 3}", "#/minlength: is not supported"},
        {"{\"items\": {\"anyOf\": [{}, {\"not\": {}}]}}", "#/items/anyOf/1/not"},
        {"{\"$ref\": \"#/$defs/a\", \"$defs\": {\"a\": {\"$ref\": \"#/$defs/a\"}}}", "leads back to itself"},
        {"{\"$ref\": \"#/$defs/a\", \"$defs\": {\"a\": {\"properties\": {\"b\": {\"$ref\": \"#/$defs/a\"}}, \"required\": [\"b\"]}}}",
         "leads back to itself"},
        {"{\"$ref\": \"other.json\"}", "#/$ref: expected a part"},
        {"{\"pattern\": \"(?=a)\"}", "#/pattern: of groups with ?"},
        {"{\"pattern\": \"a\\\\b\"}", "#/pattern: this escape is not supported"},
        {"{\"pattern\": \"(^a)\"}", "#/pattern: ^ and $"},
        {"{\"pattern\": \"a\", \"maxLength\": 3}", "#/pattern: is not supported beside"},
        {"{\"format\": \"email\"}", "#/format: is supported for"},
        {"{\"enum\": [1], \"minimum\": 2}", "#/minimum: is not supported beside enum"},
        {"{\"enum\": [1], \"type\": \"string\"}", "#/enum: allows no value"},
        {"{\"type\": \"integer\", \"minimum\": 3, \"maximum\": 2}", "no number is between"},
        {"{\"type\": \"number\", \"exclusiveMinimum\": 0}", "#/exclusiveMinimum: is supported for integers"},
        {"{\"minItems\": 3, \"maxItems\": 2}", "#/maxItems: expected a whole number, 3 to"},
        {"{\"minLength\": 1e9}", "#/minLength: expected a whole number"},
        {"{\"items\": {\"items\": {\"minLength\": 9999}, \"maxItems\": 9999}, \"allOf\": [{}, {}]}",
         "#/items: is not supported beside allOf"},
        {"{\"required\": [\"a\"], \"additionalProperties\": false}", "#/required: \"a\" is none"},
        {"3", "#: expected a schema"},
        {"false", "#: false allows no value"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        Grammar_fault f = {0};
        json_t *schema = json_loads(all[i][0], JSON_DECODE_ANY, NULL);
        Grammar *g = schema_grammar(schema, &f);
        expect(schema && !g && strstr(f.words, all[i][1]), "%s: %s", all[i][0], f.words);
        free_grammar(g);
        json_decref(schema);
    }
}

/* ------------------------------------------------------------------ bounds */

/* Twice as many ways to read each byte; brackets without an end. */
static void check_bounds(void)
{
    bool any;
    Grammar *g = gbnf("root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"d\"");
    begin_constraint(text, g);
    int n = 0;
    while (n < 1000 && follow_bytes(text, "a", 1)) n++;
    expect(n > 5 && n < 1000 && strstr(constraint_fault(text), "ambiguous"), "after %d: %s", n, constraint_fault(text));
    expect(!next_tokens(text, &any), "nothing comes after a fault");
    free_grammar(g);
    g = gbnf("root ::= \"[\" root \"]\" | \"[]\"");
    begin_constraint(text, g);
    for (n = 0; n < 200000 && follow_bytes(text, "[", 1); n++) {}
    expect(n > 20000 && n < 200000 && constraint_fault(text), "brackets: %d", n);
    begin_constraint(text, g);
    for (n = 0; n < 9000; n++) follow_bytes(text, "[", 1);
    for (n = 0; n < 9000; n++) expect(follow_bytes(text, "]", 1), "as many brackets are closed, %d", n);
    expect(may_end_here(text) && next_tokens(text, &any) && !any, "and then nothing comes");
    free_grammar(g);
    g = gbnf("root ::= [^\"]* \"\\\"\" ([a-z]{0,9000} \",\")*");
    begin_constraint(text, g);
    for (n = 0; n < 100000; n++) follow_bytes(text, "é", 2);
    follow_bytes(text, "\"", 1);
    for (n = 0; n < 8999; n++) expect(follow_bytes(text, "x", 1) && next_tokens(text, &any) && any, "letter %d", n);
    expect(follow_bytes(text, "x,x", 3) && !constraint_fault(text), "states are forgotten: %s", constraint_fault(text));
    free_grammar(g);
}

int main(void)
{
    Tokenizer *k = open_tokenizer(TOKEN_BYTES);
    limit_bytes(k, 256);
    bytes_alone = open_vocabulary(k);
    text = open_constraint(bytes_alone);
    check_gbnf_recording();
    check_schema_recording();
    check_all_next();
    check_refused();
    check_schemas_refused();
    check_bounds();
    close_constraint(text);
    close_vocabulary(bytes_alone);
    free_tokenizer(k);
    return finish();
}
