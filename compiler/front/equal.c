/* equal.c: makes `tensor == number` an error.
 *
 * Lua calls no metamethod for `==` between values of two types, so `if i % 2 == 0` on a loop index would silently be
 * false.  A description is therefore loaded with every A == B rewritten as (__equal(A, B)), and A ~= B as
 * (not __equal(A, B)), on the same lines.  Only `and` and `or` bind looser than comparison: A reaches back to the start
 * of the expression or to a looser operator, B is read forward operand by operand.  Anything unclear stays as it is. */
#include "front/front.h"

#include <ctype.h>
#include <string.h>

typedef enum Kind { NAME, KEYWORD, LITERAL, SYMBOL, END } Kind;

typedef struct Token {
    Kind kind;
    const char *at;
    int n;
} Token;

typedef VEC(Token) Tokens;

static bool is(const Token *t, const char *text)
{
    return (int)strlen(text) == t->n && memcmp(t->at, text, (size_t)t->n) == 0;
}

static bool among(const Token *t, const char *const *words)
{
    for (; *words; words++)
        if (is(t, *words)) return true;
    return false;
}

/* ------------------------------------------------------------------ tokens */

/* The end of the [[ … ]] or [=[ … ]=] that begins at p; NULL: none does. */
static const char *long_bracket(const char *p)
{
    int level = (int)strspn(p + 1, "=");
    if (p[0] != '[' || p[1 + level] != '[') return NULL;
    for (const char *q = p + 2 + level; (q = strchr(q, ']')); q++)
        if ((int)strspn(q + 1, "=") == level && q[1 + level] == ']') return q + 2 + level;
    return p + strlen(p);
}

static const char *skip_space(const char *p)
{
    for (;;) {
        p += strspn(p, " \t\r\n\f\v");
        if (p[0] != '-' || p[1] != '-') return p;
        const char *end = long_bracket(p + 2);
        p = end ? end : p + strcspn(p, "\n");
    }
}

static const char *quoted_end(const char *p)
{
    char quote = *p++;
    while (*p && *p != quote) p += p[0] == '\\' && p[1] ? 2 : 1;
    return *p ? p + 1 : p;
}

static const char *number_end(const char *p)
{
    bool hex = p[0] == '0' && (p[1] | 32) == 'x';
    for (; isalnum((unsigned char)*p) || *p == '.'; p++)
        if ((*p | 32) == (hex ? 'p' : 'e') && (p[1] == '+' || p[1] == '-')) p++;
    return p;
}

static int symbol_length(const char *p)
{
    static const char *const longer[] = {"...", "..", "==", "~=", "<=", ">=", "//", "::", "<<", ">>"};
    for (int i = 0; i < COUNT_OF(longer); i++)
        if (starts_with(p, longer[i])) return (int)strlen(longer[i]);
    return 1;
}

static Token next_token(const char *p)
{
    static const char *const keywords[] = {"and",      "break",  "do",   "else",  "elseif", "end", "for",
                                           "function", "goto",   "if",   "in",    "local",  "not", "or",
                                           "repeat",   "return", "then", "until", "while",  NULL};
    static const char *const literals[] = {"nil", "true", "false", NULL};
    p = skip_space(p);
    if (!*p) return (Token){END, p, 0};
    const char *end = long_bracket(p);
    if (*p == '"' || *p == '\'') end = quoted_end(p);
    else if (isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1]))) end = number_end(p);
    if (end) return (Token){LITERAL, p, (int)(end - p)};
    for (end = p; *end == '_' || isalnum((unsigned char)*end);) end++;
    if (end == p) {
        Token t = {SYMBOL, p, symbol_length(p)};
        if (is(&t, "...")) t.kind = LITERAL;
        return t;
    }
    Token t = {NAME, p, (int)(end - p)};
    t.kind = among(&t, keywords) ? KEYWORD : among(&t, literals) ? LITERAL : NAME;
    return t;
}

/* ------------------------------------------------------------------ the two sides */

static bool closes(const Token *t) { return t->kind == SYMBOL && (*t->at == ')' || *t->at == ']' || *t->at == '}'); }
static bool opens(const Token *t) { return t->kind == SYMBOL && (*t->at == '(' || *t->at == '[' || *t->at == '{'); }

/* The first token of A for the comparison at k, or -1. */
static int left_of(const Tokens *s, int k)
{
    static const char *const bounds[] = {"=", ",", ";", NULL}, *const comparisons[] = {"==", "~=", "<", ">",
                                                                                       "<=", ">=", NULL};
    int depth = 0;
    for (int i = k - 1; i >= 0; i--) {
        const Token *t = &s->at[i];
        if (closes(t)) depth++;
        else if (opens(t) && depth-- == 0) return i + 1;
        else if (depth == 0 && t->kind == SYMBOL && among(t, comparisons)) return -1;
        else if (depth == 0 && t->kind == SYMBOL && among(t, bounds)) return i + 1;
        else if (depth == 0 && t->kind == KEYWORD && is(t, "end")) return -1;
        else if (depth == 0 && t->kind == KEYWORD && !is(t, "not")) return i + 1;
    }
    return -1;
}

/* The token after the bracket that closes the one at i. */
static int past_bracket(const Tokens *s, int i)
{
    int depth = 0;
    for (; s->at[i].kind != END; i++) {
        if (opens(&s->at[i])) depth++;
        else if (closes(&s->at[i]) && --depth == 0) return i + 1;
    }
    return -1;
}

/* The token after a name, literal, bracket or constructor with its fields, indices and calls. */
static int past_operand(const Tokens *s, int i)
{
    static const char *const unary[] = {"-", "#", "~", "not", NULL}, *const field[] = {".", ":", NULL};
    while (among(&s->at[i], unary) && s->at[i].kind != LITERAL) i++;
    if (s->at[i].kind == NAME || s->at[i].kind == LITERAL) i++;
    else if (opens(&s->at[i])) i = past_bracket(s, i);
    else return -1;
    while (i > 0) {
        const Token *t = &s->at[i];
        if (t->kind == SYMBOL && among(t, field) && s->at[i + 1].kind == NAME) i += 2;
        else if (opens(t)) i = past_bracket(s, i);
        else if (t->kind == LITERAL && strchr("\"'[", *t->at)) i++;
        else return i;
    }
    return i;
}

/* The token after B of the comparison at k, or -1. */
static int right_of(const Tokens *s, int k)
{
    static const char *const binary[] = {"+", "-", "*", "/", "//", "%", "^", "..", "&", "|", "~", "<<", ">>", NULL};
    static const char *const comparisons[] = {"==", "~=", "<", ">", "<=", ">=", NULL};
    int i = past_operand(s, k + 1);
    while (i > 0 && s->at[i].kind == SYMBOL && among(&s->at[i], binary)) i = past_operand(s, i + 1);
    return i > 0 && s->at[i].kind == SYMBOL && among(&s->at[i], comparisons) ? -1 : i;
}

/* ------------------------------------------------------------------ the text */

typedef struct Edit {  /* of a token: text before and after it */
    int before, after; /* numbers of comparisons that begin and end here */
    bool unequal[4];   /* of the comparisons that begin */
    bool comma;
} Edit;

char *guard_comparisons(const char *text)
{
    Tokens s = {0};
    for (Token t = next_token(text);; t = next_token(t.at + t.n)) {
        push(&s, t);
        if (t.kind == END) break;
    }
    Edit *edits = NEW_ARRAY(Edit, s.n);
    for (int k = 0; k < s.n; k++) {
        if (s.at[k].kind != SYMBOL || !(is(&s.at[k], "==") || is(&s.at[k], "~="))) continue;
        int left = left_of(&s, k), right = right_of(&s, k);
        if (left < 0 || right <= k + 1 || left >= k || edits[left].before == 4) continue;
        edits[left].unequal[edits[left].before++] = is(&s.at[k], "~=");
        edits[right - 1].after++;
        edits[k].comma = true;
    }
    Text out = {0};
    const char *done = text;
    for (int k = 0; k < s.n; k++) {
        const Token *t = &s.at[k];
        say_bytes(&out, done, (size_t)(t->at - done));
        for (int i = edits[k].before; i-- > 0;) say(&out, edits[k].unequal[i] ? "(not __equal(" : "(__equal(");
        if (edits[k].comma) say(&out, ", ");
        else say_bytes(&out, t->at, (size_t)t->n);
        for (int i = 0; i < edits[k].after; i++) say(&out, "))");
        done = t->at + t->n;
    }
    return out.at;
}

int equal_call(lua_State *L)
{
    const Tensor *a = is_tensor(L, 1), *b = is_tensor(L, 2);
    if ((a || b) && !lua_isnoneornil(L, 1) && !lua_isnoneornil(L, 2) && !lua_rawequal(L, 1, 2))
        refuse_comparison(L, "==", "eq");
    lua_settop(L, 2);
    lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPEQ));
    return 1;
}
