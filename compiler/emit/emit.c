/* emit.c: what all of the emitter uses: statements with indentation, lines under 100 columns, names, expressions. */
#include "desc/target.h"
#include "emit/emit.h"
#include "passes/passes.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 99, INDENT = 4 };

/* ------------------------------------------------------------------ statements */

static void put_line(Writer *w, const char *text)
{
    say(&w->text, "%*s%s\n", w->depth * INDENT, "", text);
    w->block[w->depth].children++;
}

void line(Writer *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    put_line(w, vformat(fmt, args));
    va_end(args);
}

/* close_block() inserts the brace: only then is the number of statements known. */
void open_block(Writer *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    put_line(w, vformat(fmt, args));
    va_end(args);
    w->depth++;
    must(w->depth < COUNT_OF(w->block));
    w->block[w->depth].at = w->text.n - 1;
    w->block[w->depth].children = 0;
}

static void put_braces(Writer *w, size_t at, const char *end)
{
    const char *brace = w->depth ? " {" : "\n{";
    char *rest = copy_string(w->text.at + at);
    w->text.n = at;
    say(&w->text, "%s%s", brace, rest);
    say(&w->text, "%*s%s\n", w->depth * INDENT, "", end);
}

void close_block(Writer *w)
{
    size_t at = w->block[w->depth].at;
    bool braces = w->block[w->depth].children != 1 || w->depth == 1;
    w->depth--;
    if (braces) put_braces(w, at, "}");
}

void close_lambda(Writer *w)
{
    size_t at = w->block[w->depth].at;
    w->depth--;
    put_braces(w, at, "};");
}

/* ------------------------------------------------------------------ lines */

/* How bad it is to break the line at the space s[i]: 0 is best; -1: not allowed. */
static int badness(const char *s, size_t i, int depth)
{
    char before = s[i - 1];
    bool operator= strchr("+-*/<>=&|^?:", before) && i >= 2 && (s[i - 2] == ' ' || strchr("<>=!&|+-", s[i - 2]));
    if (before == ',' || before == ';') return 8 * depth;
    if (!operator|| before == '=') return -1;
    if (strchr("&|?:", before)) return 8 * depth + 1;
    if (strchr("<>", before)) return 8 * depth + 2;
    return 8 * depth + (strchr("+-", before) ? 3 : 4);
}

/* Where to break a line of more than `room` columns; 0: nowhere. Prefers late places, outside parentheses, at loosely
 * binding operators. */
static size_t breaking_point(const char *s, size_t start, size_t room)
{
    size_t best = 0;
    int depth = 0, least = 1 << 20;
    size_t any = 0; /* the last space outside of strings */
    bool string = false;
    for (size_t i = 0; s[i] && i < room; i++) {
        if (string && s[i] == '\\' && s[i + 1]) i++;
        else if (s[i] == '"') string = !string;
        if (string) continue;
        if (strchr("([{", s[i])) depth++;
        if (strchr(")]}", s[i])) depth--;
        if (s[i] != ' ' || i <= start) continue;
        any = i;
        int bad = badness(s, i, depth);
        if (bad >= 0 && i < room / 2) bad += 8;
        if (bad >= 0 && bad <= least) least = bad, best = i;
    }
    return best ? best : any;
}

static void say_line(Text *t, const char *s, size_t columns)
{
    size_t indent = strspn(s, " "), room = columns;
    const char *rest = s;
    size_t start = indent;
    while (strlen(rest) > room) {
        size_t at = breaking_point(rest, start, room + 1);
        if (!at) break;
        say_bytes(t, rest, at);
        say(t, "\n%*s", (int)indent + 2 * INDENT, "");
        rest += at + 1;
        room = columns - indent - 2 * INDENT;
        start = 0;
    }
    say(t, "%s\n", rest);
}

void say_wrapped(Text *t, const char *text) { say_within(t, text, COLUMNS); }

void say_within(Text *t, const char *text, int columns)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        say_line(t, copy_bytes_as_string(text, n), (size_t)columns);
        text += n + (text[n] == '\n');
    }
}

static size_t field_of(const char *text)
{
    const char *end = strstr(text, "  ");
    return end ? (size_t)(end - text) : strlen(text);
}

/* The length of the next piece of a remark. This is a whole field (fields are separated by two blanks or more) if it
 * fits in a line, else a word and the operator after it. */
static size_t piece(const char *text, size_t room)
{
    if (field_of(text) <= room) return field_of(text);
    size_t n = strcspn(text, " ");
    while (text[n] == ' ' && strspn(text + n + 1, "+-*/=<>?:") &&
           strspn(text + n + 1, "+-*/=<>?:") == strcspn(text + n + 1, " "))
        n += 1 + strcspn(text + n + 1, " ");
    return n;
}

/* A line that continues a field is indented further than one that begins a field. */
void say_comment(Text *t, int indent, const char *text)
{
    enum { FIELD = 5, INSIDE = 9 };
    Text s = {0};
    size_t margin = (size_t)indent + 2, used = margin;
    text = in_comment(text);
    bool fields = strstr(text, "  ") != NULL;
    say(&s, "%*s/*", indent, "");
    while (*text) {
        size_t blanks = strspn(text, " ");
        text += blanks;
        size_t n = piece(text, COLUMNS - margin - (blanks > 1 || !fields ? FIELD : INSIDE));
        bool full = used + blanks + n + 4 > COLUMNS || (blanks > 1 && n < field_of(text));
        if (full && used > margin) {
            say(&s, "\n%*s *", indent, "");
            used = margin;
            blanks = blanks > 1 ? FIELD : fields ? INSIDE : 1;
        }
        blanks += !blanks;
        say(&s, "%*s%.*s", (int)blanks, "", (int)n, text);
        used += blanks + n;
        text += n;
    }
    say(t, "%s */\n", s.at);
}

/* ------------------------------------------------------------------ names */

bool name_taken(const Names *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (same(s->at[i], name)) return true;
    return false;
}

/* Which of wish, wish_b, wish_c, … a name is, from 1; 0: none. */
static int place_after(const char *wish, size_t n, const char *name)
{
    if (name[0] != wish[0] || strncmp(name, wish, n) != 0) return 0;
    int place = name[n] == '_' ? number_after_the_first(name + n + 1) : 0;
    return !name[n] ? 1 : place > 1 ? place : 0;
}

const char *new_name(Names *s, const char *wish)
{
    size_t n = strlen(wish);
    bool *taken = NEW_ARRAY(bool, s->n + 2); /* the first s->n + 1 places: one at least is free */
    int k = 1;
    for (int i = 0; i < s->n; i++) {
        int place = place_after(wish, n, s->at[i]);
        if (place && place < s->n + 2) taken[place] = true;
    }
    while (taken[k]) k++;
    const char *name = k == 1 ? wish : format("%s_%s", wish, after_the_first(k));
    push(s, name);
    return name;
}

const char *new_index(Names *s, const char *letter, const char *word)
{
    return new_name(s, name_taken(s, letter) ? word : letter);
}

const char *unique_name(Strings *taken, const char *wish) { return unique_string(taken, wish); }

static int by_word(const void *word, const void *entry) { return strcmp(word, ((const Header_word *)entry)->word); }

bool is_word_of_c(const char *word)
{
    return bsearch(word, header_words, (size_t)header_word_count, sizeof *header_words, by_word) != NULL;
}

static bool is_taken_everywhere(const char *word)
{
    const Header_word *found = bsearch(word, header_words, (size_t)header_word_count, sizeof *header_words, by_word);
    return found && found->everywhere;
}

static int by_letters(const void *word, const void *entry) { return strcmp(word, *(const char *const *)entry); }

/* Keywords of C, GNU C and C++ (model.h is read as either), and lower-case macros of system headers; in strcmp()'s
 * order. */
static bool reserved(Page *page, const char *word)
{
    static const char *const words[] = {
        "alignas",   "alignof",   "alloca",   "and",           "asm",      "auto",     "bf16",    "bitand",
        "bitor",     "bool",      "break",    "case",          "catch",    "char",     "class",   "compl",
        "const",     "constexpr", "continue", "decltype",      "default",  "delete",   "do",      "double",
        "else",      "enum",      "errno",    "explicit",      "export",   "extern",   "f16",     "false",
        "float",     "for",       "friend",   "goto",          "i386",     "if",       "inline",  "int",
        "int32_t",   "int64_t",   "int8_t",   "linux",         "long",     "main",     "mutable", "namespace",
        "new",       "noexcept",  "noreturn", "not",           "nullptr",  "operator", "or",      "private",
        "protected", "ptrdiff_t", "public",   "register",      "restrict", "return",   "short",   "signed",
        "size_t",    "sizeof",    "static",   "static_assert", "stderr",   "stdin",    "stdout",  "struct",
        "switch",    "template",  "this",     "thread_local",  "throw",    "true",     "try",     "typedef",
        "typeid",    "typename",  "typeof",   "uint32_t",      "uint64_t", "uint8_t",  "union",   "unix",
        "unsigned",  "using",     "virtual",  "void",          "volatile", "wchar_t",  "while",   "xor"};
    if (bsearch(word, words, COUNT_OF(words), sizeof *words, by_letters)) return true;
    for (const char *const *other = page->target->words; *other; other++)
        if (same(*other, word)) return true;
    return is_size_name(page, word) || is_taken_everywhere(word);
}

/* Names that begin with __ or _A are reserved for the compiler. */
char *identifier(Page *page, const char *words)
{
    Text t = {0};
    if (words[0] && !isalnum((unsigned char)words[0]) && words[1] && !islower((unsigned char)words[1])) say(&t, "x");
    for (const char *s = words; *s; s++) {
        if (!t.n && isdigit((unsigned char)*s)) say(&t, "_");
        say(&t, "%c", isalnum((unsigned char)*s) ? *s : '_');
    }
    if (!t.n || reserved(page, t.at)) say(&t, "_");
    return t.at;
}

const char *file_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "a description";
}

char *upper(const char *word)
{
    char *s = copy_string(word);
    s[0] = (char)toupper((unsigned char)s[0]);
    return s;
}

const char *c_type(DType t)
{
#define C_BLOCK(member, word, name) [member] = "Lathe_" #name,
    static const char *const words[] = {[BOOL] = "bool", [I32] = "int", [F32] = "float",           [F64] = "double",
                                        [BF16] = "bf16", [F16] = "f16", LATHE_BLOCK_TYPES(C_BLOCK)};
    _Static_assert(COUNT_OF(words) == DTYPES, "every type is one of C");
    return words[t];
}

const char *type_suffix(DType t) { return t == BOOL ? type_suffix(I32) : dtype_name(t); }

bool in_doubles(Page *page) { return page->precision.real == F64; }

/* ------------------------------------------------------------------ expressions */

const char *in_parentheses(const char *text) { return strchr(text, ' ') ? format("(%s)", text) : text; }

char *within(Expr e, Binding least) { return e.binding < least ? format("(%s)", e.text) : copy_string(e.text); }

static char *digits(double x, bool single)
{
    char *s = NULL;
    for (int n = 1; n <= 17; n++) {
        s = format("%.*g", n, x);
        if (single ? strtof(s, NULL) == (float)x : strtod(s, NULL) == x) break;
    }
    return s;
}

/* The word for a number that C cannot write in digits; NULL: it can. */
static const char *beyond(double x) { return isnan(x) ? "NAN" : isinf(x) ? (x < 0 ? "-INFINITY" : "INFINITY") : NULL; }

const char *number_text(double x) { return beyond(x) ? beyond(x) : digits(x, false); }

Expr literal(double x, DType t, bool brief)
{
    if (t == BOOL) return (Expr){x != 0 ? "true" : "false", PRIMARY};
    if (t == I32 && x == -2147483648.0) return (Expr){"(-2147483647 - 1)", PRIMARY};
    if (t == I32) return (Expr){format("%lld", (long long)x), x < 0 ? UNARY : PRIMARY};
    if (t == F32) x = (float)x;
    if (beyond(x)) return (Expr){beyond(x), x < 0 ? UNARY : PRIMARY};
    Binding binding = signbit(x) ? UNARY : PRIMARY;
    bool whole = x == floor(x) && fabs(x) < 1e6 && !(x == 0 && signbit(x));
    if (whole && brief) return (Expr){format("%.0f", x), binding};
    char *s = whole ? format("%.0f", x) : digits(t == F32 ? (double)(float)x : x, t == F32);
    bool real = strpbrk(s, ".e") != NULL;
    return (Expr){format("%s%s%s", s, real ? "" : ".0", t == F32 ? "f" : ""), binding};
}

/* How tightly the operators of graph/ops.def bind, and how tightly their operands must. Where gcc and clang warn
 * about mixed operators, the table is stricter than C. */
static const struct Operator {
    const char *text;
    Binding binding, left, right;
} operators[] = {
    {"?", TERNARY, LOGIC_OR, LOGIC_OR}, {"||", LOGIC_OR, EQUAL, EQUAL}, {"&&", LOGIC_AND, LOGIC_AND, EQUAL},
    {"^", BIT_XOR, UNARY, UNARY},       {"&", BIT_AND, UNARY, UNARY},   {"==", EQUAL, PLUS, PLUS},
    {"!=", EQUAL, PLUS, PLUS},          {"<=", LESS, PLUS, PLUS},       {"<", LESS, PLUS, PLUS},
    {"+", PLUS, PLUS, TIMES},           {"-", PLUS, PLUS, TIMES},       {"*", TIMES, TIMES, UNARY},
    {"/", TIMES, TIMES, UNARY},
};

/* The index in operators of the operator that stands behind this blank, such as " + "; -1: none does. */
static int operator_at(const char *blank)
{
    for (int i = 0; i < COUNT_OF(operators); i++) {
        const char *op = operators[i].text;
        if (blank[1] == op[0] && starts_with(blank + 1, op) && blank[1 + strlen(op)] == ' ') return i;
    }
    return -1;
}

/* The loosest operator of an element text outside parentheses. A text with several operators, such as "MAX(a, 0) +
 * LOG(1 + EXP(a))", needs parentheses around each input. */
static struct Operator operator_of(const char *text)
{
    int all = 0, loosest = COUNT_OF(operators), depth = 0;
    for (const char *s = text; *s; s++) {
        depth += (*s == '(') - (*s == ')');
        int at = *s == ' ' ? operator_at(s) : -1;
        all += at >= 0;
        if (at >= 0 && depth == 0 && at < loosest) loosest = at;
    }
    struct Operator found = {"", PRIMARY, 0, 0};
    if (loosest < COUNT_OF(operators)) found = operators[loosest];
    else if (strchr("-!(", *text)) return (struct Operator){"", UNARY, PRIMARY, PRIMARY};
    if (all > 1) found.left = found.right = PRIMARY;
    return found;
}

/* Does the target have a quick form of the word, and does this model keep its values in 16 bits? */
static bool is_quick(Page *page, const char *word, DType t)
{
    const char *const *w = page->target->quick;
    if (!w || t != F32 || !is_stored(page->precision.saved)) return false;
    while (*w && !same(*w, word)) w++;
    return *w != NULL;
}

/* The function for a word of an element text and a type: exp_f32 for EXP. */
static char *spelled(Page *page, const char *word, size_t n, DType t)
{
    char *s = copy_bytes_as_string(word, n);
    if (same(s, "INFINITY")) return s;
    if (same(s, "PHILOX")) return "philox_word";
    for (char *c = s; *c; c++) *c = (char)tolower((unsigned char)*c);
    return format("%s%s_%s", is_quick(page, s, t) ? "quick_" : "", s, type_suffix(t));
}

/* Replaces the identifiers a … e by the inputs and r by the running value. */
static char *filled_in(Page *page, const char *text, const Expr *in, const char *running, DType word_type,
                       DType cast_type)
{
    struct Operator op = operator_of(text);
    Text t = {0};
    for (const char *s = text; *s;) {
        size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
        if (!n) {
            say_bytes(&t, s++, 1);
        } else if (isdigit((unsigned char)*s)) {
            say_bytes(&t, s, n);
        } else if (n > 1) {
            say(&t, "%s", spelled(page, s, n, word_type));
        } else if (*s == 'T') {
            say(&t, "%s", c_type(cast_type));
        } else if (*s == 'r') {
            say(&t, "%s", running);
        } else {
            bool first = *s == 'a';
            say(&t, "%s", within(in[*s - 'a'], first ? op.left : op.right));
        }
        s += n;
    }
    return t.at;
}

/* Integers that may overflow wrap around, as in the interpreter. */
static const char *element_text(const Node *n)
{
    if (!may_wrap(n)) return op_info[n->op].text;
    switch (n->op) {
    case OP_neg: return "NEG(a)";
    case OP_add: return "ADD(a, b)";
    case OP_sub: return "SUB(a, b)";
    case OP_mul: return "MUL(a, b)";
    case OP_sum: return "ADD(r, a)";
    default: return op_info[n->op].text;
    }
}

/* Casts to and from 16 bits end in the type of the other side: to_bf16_f32(x). */
static const char *cast_text(DType from, DType to)
{
    if (to == BOOL) return "a != 0";
    if (is_stored(to)) return to == BF16 ? "TO_BF16(a)" : "TO_F16(a)";
    if (in_blocks(from))
        return to == F32 ? "a" : op_info[OP_cast].text; /* from_q8_0() makes a float of it: element() */
    if (is_stored(from)) return from == BF16 ? "FROM_BF16(a)" : "FROM_F16(a)";
    return op_info[OP_cast].text;
}

Expr apply(Page *page, const Node *n, const Expr *in)
{
    const char *text = n->op == OP_cast ? cast_text(n->in[0]->dtype, n->dtype) : element_text(n);
    bool of_inputs = same(op_info[n->op].class, "CMP") || n->op == OP_philox || is_stored(n->dtype);
    DType word_type = of_inputs ? n->in[0]->dtype : n->dtype;
    if (n->op == OP_cast && n->in[0]->dtype == n->dtype) return in[0];
    if (n->op == OP_class_id) return class_id_text(page, n, in);
    char *s = filled_in(page, text, in, "", word_type, n->dtype);
    if (s[0] == '-' && s[1] == '-') s = format("-(%s)", s + 1);
    return (Expr){s, operator_of(text).binding};
}

char *store_text(DType t, const char *to, bool add, const char *what)
{
    if (add && t == I32) return format("%s = add_i32(%s, %s)", to, to, what);
    return format("%s %s %s", to, add ? "+=" : "=", what);
}

char *reduction_step(Page *page, const Node *n, const char *running, Expr value)
{
    if (n->op == OP_sum && !may_wrap(n)) return format("%s += %s", running, value.text);
    return format("%s = %s", running, filled_in(page, element_text(n), &value, running, n->dtype, n->dtype));
}
