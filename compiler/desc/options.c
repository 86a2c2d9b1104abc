/* options.c: options as a command line again: what tells one build's folder from another's, and what a user is told. */
#include "desc/passes.h"
#include "desc/target.h"

#include <string.h>

/* A type of matrices: BOOL: fp32; DTYPES: it is none. */
static DType type_of_matrices(const char *word)
{
#define NAMED(member, text, ...)                                                                                       \
    if (same(word, text)) return member;
    LATHE_BLOCK_TYPES(NAMED)
    return same(word, "fp32") ? BOOL : DTYPES;
}

/* TYPE, or PATTERN=TYPE */
static void take_type(Block_types *b, const char *word, bool first)
{
    if (b->fault) return;
    const char *equals = strrchr(word, '=');
    DType type = type_of_matrices(equals ? equals + 1 : word);
    if (type == DTYPES || equals == word || (!equals && !first)) b->fault = word;
    else if (!equals) b->others = type;
    else push(&b->rules, ((Block_rule){copy_bytes_as_string(word, (size_t)(equals - word)), type}));
}

static Block_types read_block_types(const char *text)
{
    Block_types b = {.others = BOOL};
    for (const char *rest = text; rest && *rest;) {
        size_t n = strcspn(rest, ",");
        take_type(&b, copy_bytes_as_string(rest, n), rest == text);
        rest += n + (rest[n] != 0);
    }
    return b;
}

static bool some_blocks(const char *text)
{
    Block_types b = read_block_types(text);
    bool some = b.others != BOOL;
    for (int i = 0; i < b.rules.n; i++) some |= b.rules.at[i].type != BOOL;
    return some && !b.fault;
}

bool makes_library(const Options *o) { return o->library || o->amalgamation || o->python; }

bool made_for_ranks(const Options *o) { return !makes_library(o); }

bool only_answers(const Options *o) { return some_blocks(o->parameters); }

Block_types block_types(const Options *o) { return read_block_types(only_answers(o) ? o->parameters : o->frozen); }

bool has_blocks(const Options *o) { return some_blocks(only_answers(o) ? o->parameters : o->frozen); }

DType cache_type(const Options *o)
{
    if (o->cache && same(o->cache, "bf16")) return BF16;
    return o->cache && same(o->cache, "q8_0") ? Q8_0 : F32;
}

const char *block_option(const Options *o)
{
    return only_answers(o) ? format("--parameters %s", o->parameters) : format("--frozen %s", o->frozen);
}

static void option_of_flag(Text *t, const char *option, bool given)
{
    if (given) say(t, " %s", option);
}

static void option_of_text(Text *t, const char *option, const char *value)
{
    if (value) say(t, " %s %s", option, shell_quoted(value));
}

static void option_of_list(Text *t, const char *option, Texts values)
{
    for (int i = 0; i < values.n; i++) option_of_text(t, option, values.at[i]);
}

static void option_of_number(Text *t, const char *option, double n)
{
    if (n != 0) say(t, " %s %.17g", option, n);
}

static void option_of_target(Text *t, const char *option, const Target *target)
{
    option_of_text(t, option, target ? target->name : NULL);
}

static void options_of_passes(Text *t, const char *option, Passes_out without)
{
    (void)option;
    int n;
    const Pass *list = pass_list(&n);
    for (int i = 1; i < n; i++)
        if (without >> (i - 1) & 1) say(t, " --no-%s", list[i].option);
}

/* A member of another type has no text here, and this does not compile. */
#define SAY(option, member, changes)                                                                                   \
    if (changes >= least)                                                                                              \
        _Generic(o->member,                                                                                            \
            bool: option_of_flag,                                                                                            \
            int: option_of_number,                                                                                           \
            int64_t: option_of_number,                                                                                       \
            double: option_of_number,                                                                                        \
            const char *: option_of_text,                                                                                   \
            Texts: option_of_list,                                                                                         \
            const Target *: option_of_target,                                                                                \
            Passes_out: options_of_passes)(&t, option, o->member);

char *options_text(const Options *o, Changes least)
{
    Text t = {0};
    say(&t, "%s", "");
#define FLAG(member, option, changes, help)                    SAY(option, member, changes)
#define TEXT(member, option, argument, changes, help)          SAY(option, member, changes)
#define CHECKED(type, member, option, argument, changes, help) SAY(option, member, changes)
#define FOUND(type, member, changes)                           SAY("--" #member, member, changes)
#include "desc/options.def"
    return t.at;
}
