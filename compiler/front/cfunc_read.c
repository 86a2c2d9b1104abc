/* cfunc_read.c: reads C functions: libclang's syntax tree becomes a small one of ours, or a message.
 *
 * What is not named in the tables below is refused, so that nothing is translated by chance.  Conversions that C makes
 * by itself are left out: tracing makes them again from the types of variables, parameters and results. */
#include "front/cfunc.h"
#include "front/clang.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 200, MOST_SLOTS = 256 };

typedef VEC(Cursor) Cursors;

typedef struct Reader {
    C_text *t;
    VEC(C_function *) functions;
    VEC(struct Known_record {
        Cursor c;
        C_record *r;
    }) records;
    C_function *f; /* being read */
    VEC(struct Local {
        Cursor c;
        C_type type;
    }) locals; /* of f, by slot */
    int depth;
} Reader;

/* ------------------------------------------------------------------ libclang's answers */

static int keep_cursor(Cursor c, Cursor parent, void *user)
{
    (void)parent;
    push((Cursors *)user, c);
    return VISIT_NEXT;
}

static Cursors children(Cursor c)
{
    Cursors v = {0};
    clang.visitChildren(c, keep_cursor, &v);
    return v;
}

static const char *kind_of(Cursor c) { return clang_text(clang.getCursorKindSpelling(c.kind)); }
static bool is_kind(Cursor c, const char *kind) { return same(kind_of(c), kind); }
static const char *name_of(Cursor c) { return clang_text(clang.getCursorSpelling(c)); }

static C_place place_in_text(Clang_place p, unsigned *offset)
{
    unsigned line = 0, column = 0;
    Clang file;
    clang.getExpansionLocation(p, &file, &line, &column, offset);
    return line ? (C_place){(int)line, (int)column} : (C_place){1, 1};
}

static C_place place(Cursor c) { return place_in_text(clang.getRangeStart(clang.getCursorExtent(c)), NULL); }

static _Noreturn void refuse(Reader *r, Cursor c, const char *what) { c_error(r->t, place(c), "%s", what); }

/* What there is no translation of. */
static _Noreturn void refuse_kind(Reader *r, Cursor c)
{
    static const char *const words[][2] = {{"ArraySubscriptExpr", "arrays have no place in functions of numbers"},
                                           {"GotoStmt", "goto: write it with if and loops"},
                                           {"IndirectGotoStmt", "goto: write it with if and loops"},
                                           {"LabelStmt", "goto and its labels: write it with if and loops"},
                                           {"SwitchStmt", "switch: write if … else if …"},
                                           {"UnionDecl", "unions have no place in functions of numbers"},
                                           {"EnumDecl", "enum: #define NAME constant"}};
    const char *kind = kind_of(c);
    for (int i = 0; i < COUNT_OF(words); i++)
        if (same(kind, words[i][0])) refuse(r, c, words[i][1]);
    c_error(r->t, place(c), "this (a %s) has no place in functions of numbers", kind);
}

/* ------------------------------------------------------------------ types */

static const C_record *record_of(Reader *r, Cursor declaration)
{
    for (int i = 0; i < r->records.n; i++)
        if (clang.equalCursors(r->records.at[i].c, declaration)) return r->records.at[i].r;
    return NULL;
}

static C_type type_of(Reader *r, Clang_type t, Cursor at)
{
    static const struct {
        const char *name;
        C_kind kind;
    } kinds[] = {{"Float", C_REAL}, {"Double", C_REAL}, {"Int", C_INT}, {"Bool", C_BOOL}, {"Void", C_VOID}};
    if (clang.isVolatileQualifiedType(t)) refuse(r, at, "volatile has no place in functions of numbers");
    Clang_type plain = clang.getCanonicalType(t);
    const char *kind = clang_text(clang.getTypeKindSpelling(plain.kind));
    for (int i = 0; i < COUNT_OF(kinds); i++)
        if (same(kind, kinds[i].name)) return (C_type){kinds[i].kind, NULL};
    const C_record *record = same(kind, "Record") ? record_of(r, clang.getTypeDeclaration(plain)) : NULL;
    if (record) return (C_type){C_STRUCT, record};
    const char *word = strstr(kind, "Pointer") ? "pointers have no place in functions of numbers: "
                       : strstr(kind, "Array") || same(kind, "Vector")
                           ? "arrays have no place in functions of numbers: "
                           : "";
    c_error(r->t, place(at), "%stypes are float, double, int, bool, and structs of these; this is '%s'", word,
            clang_text(clang.getTypeSpelling(t)));
}

static C_type value_type(Reader *r, Clang_type t, Cursor at)
{
    C_type type = type_of(r, t, at);
    if (type.kind == C_VOID) refuse(r, at, "void is no value; a function returns its result");
    return type;
}

static void read_record(Reader *r, Cursor c)
{
    C_record *record = NEW(C_record);
    record->name = name_of(c);
    Cursors fields = children(c);
    for (int i = 0; i < fields.n; i++) {
        Cursor f = fields.at[i], *rest;
        if (!is_kind(f, "FieldDecl")) refuse(r, f, "a struct has fields of numbers, and nothing else");
        Cursors parts = children(f);
        rest = parts.at;
        if (parts.n > 1 || (parts.n == 1 && !is_kind(*rest, "TypeRef"))) refuse(r, f, "a field is a type and a name");
        C_type type = value_type(r, clang.getCursorType(f), f);
        if (type.kind == C_STRUCT) refuse(r, f, "structs inside of structs are not taken: name its fields");
        if (record->n == MOST_FIELDS) refuse(r, f, "a struct has at most 16 fields");
        record->field[record->n] = name_of(f);
        record->type[record->n++] = type.kind;
    }
    if (record->n) push(&r->records, ((struct Known_record){c, record}));
}

/* ------------------------------------------------------------------ expressions */

static C_node *read_expression(Reader *r, Cursor c);

static C_node *new_node(C_form form, Cursor c, int n)
{
    C_node *node = NEW(C_node);
    *node = (C_node){.form = form, .at = place(c), .n = n, .kid = NEW_ARRAY(C_node *, n)};
    return node;
}

static C_node *read_kids(Reader *r, Cursor c, C_form form, int n)
{
    Cursors v = children(c);
    if (v.n != n) refuse(r, c, "this has no place in functions of numbers");
    C_node *node = new_node(form, c, n);
    for (int i = 0; i < n; i++) node->kid[i] = read_expression(r, v.at[i]);
    return node;
}

/* Parentheses, and the conversions that C makes. */
static C_node *read_inner(Reader *r, Cursor c) { return read_kids(r, c, COMMA, 1)->kid[0]; }
static C_node *read_choice(Reader *r, Cursor c) { return read_kids(r, c, CHOOSE, 3); }

static C_node *read_number(Reader *r, Cursor c)
{
    C_node *node = new_node(NUMBER, c, 0);
    node->type = type_of(r, clang.getCursorType(c), c);
    Clang value = clang.Cursor_Evaluate(c);
    if (!value) refuse(r, c, "this number cannot be read");
    node->number = clang.EvalResult_getKind(value) == VALUE_INTEGER ? (double)clang.EvalResult_getAsLongLong(value)
                                                                    : clang.EvalResult_getAsDouble(value);
    clang.EvalResult_dispose(value);
    return node;
}

static C_node *read_name(Reader *r, Cursor c)
{
    Cursor declared = clang.getCursorReferenced(c);
    C_node *node = new_node(VARIABLE, c, 0);
    node->word = name_of(c);
    for (node->slot = 0; node->slot < r->locals.n; node->slot++)
        if (clang.equalCursors(r->locals.at[node->slot].c, declared)) {
            node->type = r->locals.at[node->slot].type;
            return node;
        }
    c_error(r->t, node->at, "'%s' is no variable of this function", node->word);
}

static C_node *read_field(Reader *r, Cursor c)
{
    C_node *node = read_kids(r, c, FIELD, 1);
    node->field = copy_of(&(const char *){name_of(c)}, sizeof(const char *));
    return node;
}

static C_node *read_cast(Reader *r, Cursor c)
{
    Cursors v = children(c);
    C_node *node = new_node(CONVERT, c, 1);
    node->type = value_type(r, clang.getCursorType(c), c);
    if (node->type.kind == C_STRUCT || v.n < 1) refuse(r, c, "a cast is to float, double, int or bool");
    node->kid[0] = read_expression(r, v.at[v.n - 1]); /* before it the type's name */
    return node;
}

/* { a, b } or { .field = a } of a struct. */
static C_node *read_list(Reader *r, Cursor c)
{
    C_type type = value_type(r, clang.getCursorType(c), c);
    Cursors v = children(c);
    if (type.kind != C_STRUCT || v.n > type.record->n) refuse(r, c, "a list in braces fills a struct, a value a field");
    C_node *node = new_node(LIST, c, v.n);
    node->type = type;
    node->field = NEW_ARRAY(const char *, v.n);
    for (int i = 0; i < v.n; i++) {
        Cursors named = children(v.at[i]);
        bool has_name = named.n == 2 && is_kind(named.at[0], "MemberRef");
        node->field[i] = has_name ? name_of(named.at[0]) : type.record->field[i];
        if (i && has_name != (children(v.at[0]).n == 2 && is_kind(children(v.at[0]).at[0], "MemberRef")))
            refuse(r, v.at[i], "name all fields or none");
        node->kid[i] = read_expression(r, has_name ? named.at[1] : v.at[i]);
    }
    return node;
}

/* (struct P){ a, b }: behind the type's name the list. */
static C_node *read_compound_literal(Reader *r, Cursor c)
{
    Cursors v = children(c);
    if (!v.n) refuse(r, c, "this list is empty");
    return read_expression(r, v.at[v.n - 1]);
}

static bool is_among(const char *word, const char *const *words)
{
    while (*words && !same(*words, word)) words++;
    return *words != NULL;
}

/* What a value can be stored into. */
static void check_place(Reader *r, Cursor c, const C_node *n)
{
    bool field = n->form == FIELD && n->kid[0]->form == VARIABLE;
    if (n->form != VARIABLE && !field) refuse(r, c, "assignments are to variables and their fields");
}

static C_node *read_binary(Reader *r, Cursor c)
{
    static const char *const arithmetic[] = {
        "+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "!=", "&", "|", "^", NULL};
    const char *op = clang_text(clang.getBinaryOperatorKindSpelling(clang.getCursorBinaryOperatorKind(c)));
    C_form form = same(op, "=") ? ASSIGN : same(op, "&&") ? AND : same(op, "||") ? OR : same(op, ",") ? COMMA : BINARY;
    if (form == BINARY && !is_among(op, arithmetic))
        c_error(r->t, place(c), "the operator %s has no place in functions of numbers", op);
    C_node *node = read_kids(r, c, form, 2);
    if (form == BINARY) node->word = op;
    if (form == ASSIGN) check_place(r, c, node->kid[0]);
    return node;
}

static C_node *read_compound(Reader *r, Cursor c)
{
    static const char *const ops[] = {"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", NULL};
    const char *op = clang_text(clang.getBinaryOperatorKindSpelling(clang.getCursorBinaryOperatorKind(c)));
    if (!is_among(op, ops)) c_error(r->t, place(c), "the operator %s has no place in functions of numbers", op);
    C_node *node = read_kids(r, c, ASSIGN, 2);
    check_place(r, c, node->kid[0]);
    node->word = copy_bytes_as_string(op, strlen(op) - 1);
    return node;
}

static C_node *read_unary(Reader *r, Cursor c)
{
    static const char *const ops[] = {"-", "+", "!", "~", NULL};
    int kind = clang.getCursorUnaryOperatorKind(c);
    const char *op = clang_text(clang.getUnaryOperatorKindSpelling(kind));
    bool step = same(op, "++") || same(op, "--");
    if (same(op, "*") || same(op, "&")) refuse(r, c, "pointers have no place in functions of numbers");
    if (!step && !is_among(op, ops))
        c_error(r->t, place(c), "the operator %s has no place in functions of numbers", op);
    C_node *node = read_kids(r, c, step ? STEP : UNARY, 1);
    node->word = step ? (op[0] == '+' ? "+" : "-") : op;
    node->late = kind == POST_INCREMENT || kind == POST_DECREMENT;
    if (step) check_place(r, c, node->kid[0]);
    return node;
}

/* The first child is what is called, seen through a conversion. */
static C_node *read_call(Reader *r, Cursor c)
{
    Cursors v = children(c);
    Cursor called = v.n ? v.at[0] : c;
    while (!is_kind(called, "DeclRefExpr") && children(called).n == 1) called = children(called).at[0];
    if (!is_kind(called, "DeclRefExpr")) refuse(r, c, "functions are called by name");
    C_node *node = new_node(CALL, c, v.n - 1);
    node->word = name_of(called);
    for (int i = 0; i < node->n; i++) node->kid[i] = read_expression(r, v.at[i + 1]);
    return node;
}

static C_node *read_expression(Reader *r, Cursor c)
{
    static const struct {
        const char *kind;
        C_node *(*read)(Reader *, Cursor);
    } forms[] = {{"UnexposedExpr", read_inner},   {"ParenExpr", read_inner},
                 {"IntegerLiteral", read_number}, {"FloatingLiteral", read_number},
                 {"DeclRefExpr", read_name},      {"MemberRefExpr", read_field},
                 {"BinaryOperator", read_binary}, {"CompoundAssignOperator", read_compound},
                 {"UnaryOperator", read_unary},   {"ConditionalOperator", read_choice},
                 {"CallExpr", read_call},         {"CStyleCastExpr", read_cast},
                 {"InitListExpr", read_list},     {"CompoundLiteralExpr", read_compound_literal}};
    const char *kind = kind_of(c);
    if (++r->depth > DEEPEST) refuse(r, c, "this is nested too deeply: put parts into variables");
    for (int i = 0; i < COUNT_OF(forms); i++)
        if (same(kind, forms[i].kind)) {
            C_node *node = forms[i].read(r, c);
            r->depth--;
            return node;
        }
    refuse_kind(r, c);
}

/* ------------------------------------------------------------------ statements */

static C_node *read_statement(Reader *r, Cursor c);

static int new_slot(Reader *r, Cursor c, C_type type)
{
    if (r->locals.n == MOST_SLOTS) refuse(r, c, "a function has at most 256 variables");
    push(&r->locals, ((struct Local){c, type}));
    return r->locals.n - 1;
}

static C_node *read_variable(Reader *r, Cursor c)
{
    if (clang.Cursor_getStorageClass(c) != PLAIN_STORAGE)
        refuse(r, c, "static, extern and register have no place in functions of numbers");
    C_node *node = new_node(DECLARE, c, 1);
    node->word = name_of(c);
    node->type = value_type(r, clang.getCursorType(c), c);
    Cursors v = children(c);
    for (int i = 0; i < v.n; i++) {
        if (is_kind(v.at[i], "TypeRef") || is_kind(v.at[i], "StructDecl")) continue;
        if (node->kid[0]) refuse(r, v.at[i], "this has no place in functions of numbers");
        node->kid[0] = read_expression(r, v.at[i]);
    }
    node->slot = new_slot(r, c, node->type); /* after its first value, which cannot mention it */
    return node;
}

static C_node *read_declarations(Reader *r, Cursor c)
{
    Cursors v = children(c);
    C_node *node = new_node(BLOCK, c, v.n);
    node->n = 0;
    for (int i = 0; i < v.n; i++) {
        if (is_kind(v.at[i], "VarDecl")) node->kid[node->n++] = read_variable(r, v.at[i]);
        else if (is_kind(v.at[i], "StructDecl")) read_record(r, v.at[i]);
        else if (!is_kind(v.at[i], "TypedefDecl")) refuse_kind(r, v.at[i]);
    }
    return node;
}

static C_node *read_block(Reader *r, Cursor c)
{
    Cursors v = children(c);
    C_node *node = new_node(BLOCK, c, v.n);
    for (int i = 0; i < v.n; i++) node->kid[i] = read_statement(r, v.at[i]);
    return node;
}

static C_node *read_if(Reader *r, Cursor c)
{
    Cursors v = children(c);
    if (v.n < 2 || v.n > 3) refuse(r, c, "this has no place in functions of numbers");
    C_node *node = new_node(IF, c, 3);
    node->kid[0] = read_expression(r, v.at[0]);
    for (int i = 1; i < v.n; i++) node->kid[i] = read_statement(r, v.at[i]);
    return node;
}

/* Where the two semicolons in the head of a `for` stand; its parts that are empty have no cursor. */
static void semicolons(Reader *r, Cursor c, unsigned *first, unsigned *second)
{
    unsigned start = 0;
    place_in_text(clang.getRangeStart(clang.getCursorExtent(c)), &start);
    const char *p = start < strlen(r->t->plain) ? strchr(r->t->plain + start, '(') : NULL;
    *first = *second = 0;
    for (int depth = 0; p && *p; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0) break;
        if (*p == ';' && depth == 1) *(*first ? second : first) = (unsigned)(p - r->t->plain);
    }
    if (!*second) refuse(r, c, "the head of this loop cannot be read: write for (start; condition; step)");
}

static C_node *read_for(Reader *r, Cursor c)
{
    Cursors v = children(c);
    unsigned first, second, at = 0;
    semicolons(r, c, &first, &second);
    C_node *node = new_node(REPEATED, c, 4);
    for (int i = 0; i < v.n - 1; i++) {
        place_in_text(clang.getRangeStart(clang.getCursorExtent(v.at[i])), &at);
        int part = at < first ? 0 : at < second ? 1 : 2;
        if (node->kid[part]) refuse(r, c, "the head of this loop cannot be read: write for (start; condition; step)");
        node->kid[part] = part ? read_expression(r, v.at[i]) : read_statement(r, v.at[i]);
    }
    if (v.n) node->kid[3] = read_statement(r, v.at[v.n - 1]);
    return node;
}

static C_node *read_while(Reader *r, Cursor c)
{
    Cursors v = children(c);
    C_node *node = new_node(REPEATED, c, 4);
    node->late = is_kind(c, "DoStmt");
    if (v.n != 2) refuse(r, c, "this has no place in functions of numbers");
    node->kid[1] = read_expression(r, v.at[node->late]);
    node->kid[3] = read_statement(r, v.at[!node->late]);
    return node;
}

static C_node *read_return(Reader *r, Cursor c)
{
    if (children(c).n != 1) refuse(r, c, "a function returns its result: return …;");
    return read_kids(r, c, RETURN, 1);
}

static C_node *read_break(Reader *r, Cursor c) { return (void)r, new_node(BREAK, c, 0); }
static C_node *read_continue(Reader *r, Cursor c) { return (void)r, new_node(CONTINUE, c, 0); }
static C_node *read_nothing(Reader *r, Cursor c) { return (void)r, new_node(NOTHING, c, 0); }

static C_node *read_statement(Reader *r, Cursor c)
{
    static const struct {
        const char *kind;
        C_node *(*read)(Reader *, Cursor);
    } forms[] = {{"CompoundStmt", read_block}, {"DeclStmt", read_declarations}, {"IfStmt", read_if},
                 {"ForStmt", read_for},        {"WhileStmt", read_while},       {"DoStmt", read_while},
                 {"ReturnStmt", read_return},  {"BreakStmt", read_break},       {"ContinueStmt", read_continue},
                 {"NullStmt", read_nothing}};
    const char *kind = kind_of(c);
    for (int i = 0; i < COUNT_OF(forms); i++) {
        if (!same(kind, forms[i].kind)) continue;
        if (++r->depth > DEEPEST) refuse(r, c, "this is nested too deeply");
        C_node *node = forms[i].read(r, c);
        r->depth--;
        return node;
    }
    return read_expression(r, c);
}

/* ------------------------------------------------------------------ functions */

static void read_function(Reader *r, Cursor c)
{
    C_function *f = NEW(C_function);
    *f = (C_function){.name = name_of(c), .text = r->t, .at = place(c)};
    r->f = f;
    r->locals.n = r->depth = 0;
    if (clang.Cursor_isVariadic(c)) refuse(r, c, "a function has a fixed number of parameters");
    f->result = value_type(r, clang.getCursorResultType(c), c);
    Cursors v = children(c);
    for (int i = 0; i < v.n; i++) {
        if (is_kind(v.at[i], "TypeRef")) continue;
        else if (is_kind(v.at[i], "CompoundStmt")) f->body = read_block(r, v.at[i]);
        else if (!is_kind(v.at[i], "ParmDecl")) refuse(r, v.at[i], "attributes have no place in functions of numbers");
        else {
            if (f->nparams == MOST_PARAMETERS) refuse(r, v.at[i], "a function has at most 16 parameters");
            f->param[f->nparams] = name_of(v.at[i]);
            f->type[f->nparams] = value_type(r, clang.getCursorType(v.at[i]), v.at[i]);
            new_slot(r, v.at[i], f->type[f->nparams++]);
        }
    }
    f->nslots = r->locals.n;
    if (f->body) push(&r->functions, f); /* else it is a declaration */
}

static void read_top(Reader *r, Cursor c)
{
    const char *kind = kind_of(c);
    if (same(kind, "FunctionDecl")) read_function(r, c);
    else if (same(kind, "StructDecl")) read_record(r, c);
    else if (same(kind, "VarDecl"))
        refuse(r, c, "variables outside of functions are not taken: #define a constant, or make it a parameter");
    else if (!same(kind, "TypedefDecl") && !(same(kind, "UnexposedDecl") && children(c).n == 0)) refuse_kind(r, c);
}

/* Calls find their functions when all are read; one that reaches itself is refused. */
static void link_calls(Reader *r, C_function *f);

static void link_node(Reader *r, C_node *n)
{
    if (!n) return;
    for (int i = 0; i < n->n; i++) link_node(r, n->kid[i]);
    for (int i = 0; n->form == CALL && i < r->functions.n; i++)
        if (same(r->functions.at[i]->name, n->word)) n->callee = r->functions.at[i];
    const char *fault = n->form == CALL && !n->callee ? c_math_fault(n->word, n->n) : NULL;
    if (fault) c_error(r->t, n->at, "%s", fault);
    if (!n->callee) return;
    if (n->callee->nparams != n->n)
        c_error(r->t, n->at, "%s takes %d arguments, and here are %d", n->word, n->callee->nparams, n->n);
    if (n->callee->seen == BEING_SEEN)
        c_error(r->t, n->at, "%s calls itself here: recursion has no place in functions that become straight code",
                n->word);
    if (n->callee->seen == UNSEEN) link_calls(r, n->callee);
}

static void link_calls(Reader *r, C_function *f)
{
    f->seen = BEING_SEEN;
    link_node(r, f->body);
    f->seen = SEEN;
}

/* ------------------------------------------------------------------ the whole text */

static void check_diagnostics(C_text *t, Clang unit)
{
    for (unsigned i = 0; i < clang.getNumDiagnostics(unit); i++) {
        Clang d = clang.getDiagnostic(unit, i);
        if (clang.getDiagnosticSeverity(d) >= SEVERITY_ERROR)
            c_error(t, place_in_text(clang.getDiagnosticLocation(d), NULL), "%s",
                    clang_text(clang.getDiagnosticSpelling(d)));
        clang.disposeDiagnostic(d);
    }
}

static struct Opened {
    Clang index, unit;
} opened;

/* Also before a message: a fuzzer goes on after it. */
void c_close(void)
{
    if (opened.unit) clang.disposeTranslationUnit(opened.unit);
    if (opened.index) clang.disposeIndex(opened.index);
    opened = (struct Opened){NULL, NULL};
}

/* In memory, without folders to include from; names that math.h and its kin would define. */
static void parse(C_text *t)
{
    static const char *const arguments[] = {"-x",
                                            "c",
                                            "-std=gnu17",
                                            "-nostdinc",
                                            "--no-default-config",
                                            "-w",
                                            "-Wno-error=implicit-function-declaration",
                                            "-ferror-limit=1",
                                            "-fbracket-depth=100",
                                            "-Dbool=_Bool",
                                            "-Dtrue=1",
                                            "-Dfalse=0",
                                            "-DM_E=2.7182818284590452354",
                                            "-DM_LOG2E=1.4426950408889634074",
                                            "-DM_LN2=0.69314718055994530942",
                                            "-DM_LN10=2.30258509299404568402",
                                            "-DM_PI=3.14159265358979323846",
                                            "-DM_PI_2=1.57079632679489661923",
                                            "-DM_PI_4=0.78539816339744830962",
                                            "-DM_1_PI=0.31830988618379067154",
                                            "-DM_2_PI=0.63661977236758134308",
                                            "-DM_2_SQRTPI=1.12837916709551257390",
                                            "-DM_SQRT2=1.41421356237309504880",
                                            "-DM_SQRT1_2=0.70710678118654752440",
                                            "-DFLT_EPSILON=__FLT_EPSILON__",
                                            "-DFLT_MIN=__FLT_MIN__",
                                            "-DFLT_MAX=__FLT_MAX__",
                                            "-DINT_MAX=__INT_MAX__",
                                            "-DINFINITY=(1.0f/0.0f)",
                                            "-DNAN=(0.0f/0.0f)",
                                            "-DHUGE_VALF=INFINITY",
                                            "-DHUGE_VAL=INFINITY"};
    Clang_file file = {"cfunc.c", t->text, strlen(t->text)};
    opened.index = clang.createIndex(0, 0);
    int code =
        clang.parseTranslationUnit2(opened.index, file.name, arguments, COUNT_OF(arguments), &file, 1, 0, &opened.unit);
    if (code) c_error(t, (C_place){1, 1}, "libclang could not parse this text at all (code %d)", code);
}

C_function *c_read(C_text *t)
{
    Reader r = {.t = t};
    parse(t);
    check_diagnostics(t, opened.unit);
    Cursors top = children(clang.getTranslationUnitCursor(opened.unit));
    for (int i = 0; i < top.n; i++) read_top(&r, top.at[i]);
    c_close();
    if (!r.functions.n)
        c_error(t, (C_place){1, 1}, "there is no function in this text: float f(float x) { return …; }");
    for (int i = 0; i < r.functions.n; i++)
        if (r.functions.at[i]->seen == UNSEEN) link_calls(&r, r.functions.at[i]);
    return r.functions.at[r.functions.n - 1];
}
