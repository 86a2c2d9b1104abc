/* options.c: options as a command line again: what tells one build's folder from another's, and what a user is told. */
#include "desc/passes.h"
#include "desc/target.h"

static DType type_in_blocks(const char *word)
{
#define NAMED(member, text, ...)                                                                                       \
    if (word && same(word, text)) return member;
    LATHE_BLOCK_TYPES(NAMED)
    return BOOL;
}

bool only_answers(const Options *o) { return type_in_blocks(o->parameters) != BOOL; }

DType block_type(const Options *o) { return type_in_blocks(only_answers(o) ? o->parameters : o->frozen); }

DType cache_type(const Options *o)
{
    if (o->cache && same(o->cache, "bf16")) return BF16;
    return o->cache && same(o->cache, "q8_0") ? Q8_0 : F32;
}

const char *block_option(const Options *o)
{
    return format("--%s %s", only_answers(o) ? "parameters" : "frozen", dtype_name(block_type(o)));
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
