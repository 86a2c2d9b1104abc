/* python.c: what Python's syntax and names are in Lua, for messages about text that Lua cannot read. */
#include "front/front.h"

#include <string.h>

/* How a line of Python is recognized: by its first word, by its last character, or by a text in it; and by the token at
 * which Lua stopped reading.  NULL and 0: any. */
typedef struct Sign {
    const char *first, *has, *near;
    char last;
    const char *lua;
} Sign;

static const char no_import[] = "nothing is imported: nn, optim and data are there, and require \"name\" runs name.lua "
                                "beside this file";
static const char keys_are[] = "a table is { a = 1, b = 2 }";
static const char list_is[] = "a list is { 1, 2, 3 }";
static const char comment_is[] = "a comment begins with --";
static const char longer[] = "write x = x + 1: there is no += or ++";

static const Sign signs[] = {
    {.first = "def", .lua = "a function is `local function f(x) … end`"},
    {.first = "import", .lua = no_import},
    {.first = "from", .lua = no_import},
    {.first = "class",
     .lua = "there are no classes; a layer is a function of tensors, `local function block(x) … end`"},
    {.first = "elif", .lua = "write `elseif … then`"},
    {.first = "else", .last = ':', .lua = "write `else … end`, without the colon"},
    {.first = "if", .last = ':', .lua = "write `if … then … end`"},
    {.first = "while", .last = ':', .lua = "write `while … do … end`"},
    {.first = "for", .last = ':', .lua = "write `for i = 0, n - 1 do … end`, or `for i, x in ipairs(list) do … end`"},
    {.first = "with", .last = ':', .lua = "there is no `with`; a function is `local function f(x) … end`"},
    {.first = "assert", .lua = "assert is a function: assert(condition, \"message\")"},
    {.has = "\"\"\"", .lua = "a comment begins with --, and a text of several lines is [[ … ]]"},
    {.near = "#", .lua = comment_is},
    {.near = "//", .has = "//", .lua = comment_is},
    {.near = "!", .has = "!=", .lua = "\"not equal\" is ~="},
    {.near = "!", .lua = "write `not x`"},
    {.near = "+", .has = "+=", .lua = longer},
    {.near = "+", .has = "++", .lua = longer},
    {.near = "-", .has = "-=", .lua = "write x = x - 1: there is no -="},
    {.near = "*", .has = "*=", .lua = "write x = x * 2: there is no *="},
    {.near = "/", .has = "/=", .lua = "write x = x / 2: there is no /="},
    {.near = "*", .has = "**", .lua = "a power is x ^ 2"},
    {.near = "*", .has = "(*", .lua = "write table.unpack(list) in place of *list"},
    {.near = "&", .has = "&&", .lua = "write `and`"},
    {.near = "|", .has = "||", .lua = "write `or`"},
    {.has = "lambda", .lua = "a function without a name is `function(x) return … end`"},
    {.near = "[", .lua = list_is},
    {.near = ":", .has = "[:", .lua = "a part of a tensor is x:slice(axis, first, beyond) or x:select(axis, i)"},
    {.near = ":", .has = "{", .lua = keys_are},
    {.near = ":", .has = "\":", .lua = keys_are},
    {.first = "if", .near = "=", .lua = "\"equal\" is =="},
    {.near = "=", .has = "(", .lua = "arguments have no names: options are a table, f(x, { out = 10 })"},
    {.has = " is None", .lua = "write x == nil"},
    {.has = " is not None", .lua = "write x ~= nil"},
    {.near = "in", .lua = "there is no `in`, except of a loop: `for i, x in ipairs(list) do … end`"},
    {.near = "else", .has = " if ", .lua = "write `condition and a or b`"},
};

/* Lua's `assert(…)` and `from = 1` do not count. */
static bool begins_with_word(const char *line, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(line, word, n) != 0) return false;
    if (strchr(" \t", line[n]) && line[n]) return !strchr("=,(", line[n + strspn(line + n, " \t")]);
    return line[n] == ':';
}

static char last_character(const char *line)
{
    size_t n = strlen(line);
    while (n && strchr(" \t\r", line[n - 1])) n--;
    return n ? line[n - 1] : 0;
}

/* message: NULL: of the line above, which Lua read to its end */
static bool is_sign(const Sign *s, const char *line, const char *message)
{
    return (message || !s->near) && (!s->first || begins_with_word(line, s->first)) &&
           (!s->has || strstr(line, s->has)) && (!s->last || last_character(line) == s->last) &&
           (!s->near || (message && strstr(message, format("near '%s'", s->near))));
}

static const char *trimmed_line(const char *text, int number)
{
    for (; number > 1 && *text; text++) number -= *text == '\n';
    text += strspn(text, " \t");
    return copy_bytes_as_string(text, strcspn(text, "\n"));
}

const char *python_hint(const char *text, int line, const char *message)
{
    const char *it = trimmed_line(text, line), *above = line > 1 ? trimmed_line(text, line - 1) : "";
    for (int i = 0; i < COUNT_OF(signs); i++)
        if (is_sign(&signs[i], it, message)) return format("\n  in Lua, %s", signs[i].lua);
    for (int i = 0; i < COUNT_OF(signs); i++)
        if (is_sign(&signs[i], above, NULL)) return format("\n  in Lua, %s (line %d)", signs[i].lua, line - 1);
    return "";
}

/* ------------------------------------------------------------------ names */

static const char *const names[][2] = {
    {"None", "nil"},
    {"null", "nil"},
    {"True", "true"},
    {"False", "false"},
    {"range", "`for i = 0, n - 1 do … end`"},
    {"enumerate", "`for i, x in ipairs(list) do … end`"},
    {"zip", "`for i, x in ipairs(list) do … end`"},
    {"len", "#list, and x:size(axis) of a tensor"},
    {"int", "math.floor(x), and x:cast(\"i32\") of a tensor"},
    {"float", "x + 0.0, and x:cast(\"f32\") of a tensor"},
    {"str", "tostring(x)"},
    {"list", "a table { 1, 2, 3 }"},
    {"tuple", "a table { 1, 2, 3 }"},
    {"dict", "a table { a = 1, b = 2 }"},
    {"isinstance", "type(x), and nn.is_tensor(x)"},
    {"max", "math.max(a, b), and nn.max(a, b) of tensors"},
    {"min", "math.min(a, b), and nn.min(a, b) of tensors"},
    {"abs", "math.abs(x), and nn.abs(x) of a tensor"},
    {"sum", "x:sum(axis) of a tensor"},
    {"self", "a local: a layer is a function of tensors, and its parameters follow from its calls"},
    {"super", "nothing: a layer is a function of tensors"},
};

const char *python_name(const char *name)
{
    for (int i = 0; i < COUNT_OF(names); i++)
        if (same(names[i][0], name)) return format("; in Lua it is %s", names[i][1]);
    return NULL;
}
