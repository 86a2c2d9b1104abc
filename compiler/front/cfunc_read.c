/* cfunc_read.c: reads C functions: converts libclang's syntax tree to a small one of ours, or refuses it.
 *
 * The tables below name all that is supported; anything else is refused.  Implicit conversions are dropped, since
 * tracing makes them again from the types of variables, parameters and results. */
#include "front/cfunc_read.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ libclang's answers */

static int keep_cursor(Cursor c, Cursor parent, void *user)
{
    (void)parent;
    push((Cursors *)user, c);
    return VISIT_NEXT;
}

Cursors c_children(Cursor c)
{
    Cursors v = {0};
    clang.visitChildren(c, keep_cursor, &v);
    return v;
}

const char *c_kind_of(Cursor c) { return clang_text(clang.getCursorKindSpelling(c.kind)); }
bool c_is_kind(Cursor c, const char *kind) { return same(c_kind_of(c), kind); }
const char *c_name_of(Cursor c) { return clang_text(clang.getCursorSpelling(c)); }

C_place c_place_in_text(Clang_place p, unsigned *offset)
{
    unsigned line = 0, column = 0;
    Clang file;
    clang.getExpansionLocation(p, &file, &line, &column, offset);
    return line ? (C_place){(int)line, (int)column} : (C_place){1, 1};
}

C_place c_place(Cursor c) { return c_place_in_text(clang.getRangeStart(clang.getCursorExtent(c)), NULL); }

_Noreturn void c_refuse(C_reader *r, Cursor c, const char *what) { c_error(r->t, c_place(c), "%s", what); }

/* Refuses an unsupported kind of syntax. */
_Noreturn void c_refuse_kind(C_reader *r, Cursor c)
{
    static const char *const words[][2] = {{"ArraySubscriptExpr", "arrays are not supported"},
                                           {"GotoStmt", "goto is not supported; use if and loops"},
                                           {"IndirectGotoStmt", "goto is not supported; use if and loops"},
                                           {"LabelStmt", "goto and labels are not supported; use if and loops"},
                                           {"SwitchStmt", "switch is not supported; use if … else if …"},
                                           {"UnionDecl", "unions are not supported"},
                                           {"EnumDecl", "enum is not supported; use #define NAME constant"}};
    const char *kind = c_kind_of(c);
    for (int i = 0; i < COUNT_OF(words); i++)
        if (same(kind, words[i][0])) c_refuse(r, c, words[i][1]);
    c_error(r->t, c_place(c), "this construct (%s) is not supported", kind);
}

/* ------------------------------------------------------------------ types */

static const C_record *record_of(C_reader *r, Cursor declaration)
{
    for (int i = 0; i < r->records.n; i++)
        if (clang.equalCursors(r->records.at[i].c, declaration)) return r->records.at[i].r;
    return NULL;
}

static C_type c_type_of(C_reader *r, Clang_type t, Cursor at)
{
    static const struct {
        const char *name;
        C_kind kind;
    } kinds[] = {{"Float", C_REAL}, {"Double", C_REAL}, {"Int", C_INT}, {"Bool", C_BOOL}, {"Void", C_VOID}};
    if (clang.isVolatileQualifiedType(t)) c_refuse(r, at, "volatile is not supported");
    Clang_type plain = clang.getCanonicalType(t);
    const char *kind = clang_text(clang.getTypeKindSpelling(plain.kind));
    for (int i = 0; i < COUNT_OF(kinds); i++)
        if (same(kind, kinds[i].name)) return (C_type){kinds[i].kind, NULL};
    const C_record *record = same(kind, "Record") ? record_of(r, clang.getTypeDeclaration(plain)) : NULL;
    if (record) return (C_type){C_STRUCT, record};
    const char *word = strstr(kind, "Pointer")                         ? "pointers are not supported: "
                       : strstr(kind, "Array") || same(kind, "Vector") ? "arrays are not supported: "
                                                                       : "";
    c_error(r->t, c_place(at), "%sa type must be float, double, int, bool or a struct of these, found '%s'", word,
            clang_text(clang.getTypeSpelling(t)));
}

C_type c_value_type(C_reader *r, Clang_type t, Cursor at)
{
    C_type type = c_type_of(r, t, at);
    if (type.kind == C_VOID) c_refuse(r, at, "void is not a value; a function must return its result");
    return type;
}

void c_read_record(C_reader *r, Cursor c)
{
    C_record *record = NEW(C_record);
    record->name = c_name_of(c);
    Cursors fields = c_children(c);
    for (int i = 0; i < fields.n; i++) {
        Cursor f = fields.at[i], *rest;
        if (!c_is_kind(f, "FieldDecl")) c_refuse(r, f, "a struct can have only fields that are numbers");
        Cursors parts = c_children(f);
        rest = parts.at;
        if (parts.n > 1 || (parts.n == 1 && !c_is_kind(*rest, "TypeRef")))
            c_refuse(r, f, "a field must be a type and a name");
        C_type type = c_value_type(r, clang.getCursorType(f), f);
        if (type.kind == C_STRUCT) c_refuse(r, f, "nested structs are not supported; list the inner fields here");
        if (record->n == MOST_FIELDS) c_refuse(r, f, "a struct can have at most 16 fields");
        record->field[record->n] = c_name_of(f);
        record->type[record->n++] = type.kind;
    }
    if (record->n) push(&r->records, ((struct Known_record){c, record}));
}

/* ------------------------------------------------------------------ expressions */

C_node *c_read_expression(C_reader *r, Cursor c);

C_node *c_new_node(C_form form, Cursor c, int n)
{
    C_node *node = NEW(C_node);
    *node = (C_node){.form = form, .at = c_place(c), .n = n, .kid = NEW_ARRAY(C_node *, n)};
    return node;
}

C_node *c_read_kids(C_reader *r, Cursor c, C_form form, int n)
{
    Cursors v = c_children(c);
    if (v.n != n) c_refuse(r, c, "this construct is not supported");
    C_node *node = c_new_node(form, c, n);
    for (int i = 0; i < n; i++) node->kid[i] = c_read_expression(r, v.at[i]);
    return node;
}

/* Parentheses and implicit conversions. */
static C_node *read_inner(C_reader *r, Cursor c) { return c_read_kids(r, c, COMMA, 1)->kid[0]; }
static C_node *read_choice(C_reader *r, Cursor c) { return c_read_kids(r, c, CHOOSE, 3); }

static C_node *c_read_number(C_reader *r, Cursor c)
{
    C_node *node = c_new_node(NUMBER, c, 0);
    node->type = c_type_of(r, clang.getCursorType(c), c);
    Clang value = clang.Cursor_Evaluate(c);
    if (!value) c_refuse(r, c, "this number cannot be read");
    node->number = clang.EvalResult_getKind(value) == VALUE_INTEGER ? (double)clang.EvalResult_getAsLongLong(value)
                                                                    : clang.EvalResult_getAsDouble(value);
    clang.EvalResult_dispose(value);
    return node;
}

static C_node *read_name(C_reader *r, Cursor c)
{
    Cursor declared = clang.getCursorReferenced(c);
    C_node *node = c_new_node(VARIABLE, c, 0);
    node->word = c_name_of(c);
    for (node->slot = 0; node->slot < r->locals.n; node->slot++)
        if (clang.equalCursors(r->locals.at[node->slot].c, declared)) {
            node->type = r->locals.at[node->slot].type;
            return node;
        }
    c_error(r->t, node->at, "'%s' is not a variable of this function", node->word);
}

static C_node *read_field(C_reader *r, Cursor c)
{
    C_node *node = c_read_kids(r, c, FIELD, 1);
    node->field = copy_of(&(const char *){c_name_of(c)}, sizeof(const char *));
    return node;
}

static C_node *read_cast(C_reader *r, Cursor c)
{
    Cursors v = c_children(c);
    C_node *node = c_new_node(CONVERT, c, 1);
    node->type = c_value_type(r, clang.getCursorType(c), c);
    if (node->type.kind == C_STRUCT || v.n < 1) c_refuse(r, c, "a cast must be to float, double, int or bool");
    node->kid[0] = c_read_expression(r, v.at[v.n - 1]); /* the one before it is the type's name */
    return node;
}

/* { a, b } or { .field = a }, of a struct. */
static C_node *c_read_list(C_reader *r, Cursor c)
{
    C_type type = c_value_type(r, clang.getCursorType(c), c);
    Cursors v = c_children(c);
    if (type.kind != C_STRUCT || v.n > type.record->n)
        c_refuse(r, c, "a list in braces must initialize a struct, with at most one value per field");
    C_node *node = c_new_node(LIST, c, v.n);
    node->type = type;
    node->field = NEW_ARRAY(const char *, v.n);
    for (int i = 0; i < v.n; i++) {
        Cursors named = c_children(v.at[i]);
        bool has_name = named.n == 2 && c_is_kind(named.at[0], "MemberRef");
        node->field[i] = has_name ? c_name_of(named.at[0]) : type.record->field[i];
        if (i && has_name != (c_children(v.at[0]).n == 2 && c_is_kind(c_children(v.at[0]).at[0], "MemberRef")))
            c_refuse(r, v.at[i], "name all fields or none");
        node->kid[i] = c_read_expression(r, has_name ? named.at[1] : v.at[i]);
    }
    return node;
}

/* (struct P){ a, b }: the list is the last child. */
static C_node *read_compound_literal(C_reader *r, Cursor c)
{
    Cursors v = c_children(c);
    if (!v.n) c_refuse(r, c, "this list is empty");
    return c_read_expression(r, v.at[v.n - 1]);
}

static bool is_among(const char *word, const char *const *words)
{
    while (*words && !same(*words, word)) words++;
    return *words != NULL;
}

/* Refuses targets that cannot be assigned to. */
static void check_place(C_reader *r, Cursor c, const C_node *n)
{
    bool field = n->form == FIELD && n->kid[0]->form == VARIABLE;
    if (n->form != VARIABLE && !field) c_refuse(r, c, "only variables and their fields can be assigned to");
}

static C_node *read_binary(C_reader *r, Cursor c)
{
    static const char *const arithmetic[] = {
        "+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "!=", "&", "|", "^", NULL};
    const char *op = clang_text(clang.getBinaryOperatorKindSpelling(clang.getCursorBinaryOperatorKind(c)));
    C_form form = same(op, "=") ? ASSIGN : same(op, "&&") ? AND : same(op, "||") ? OR : same(op, ",") ? COMMA : BINARY;
    if (form == BINARY && !is_among(op, arithmetic)) c_error(r->t, c_place(c), "the operator %s is not supported", op);
    C_node *node = c_read_kids(r, c, form, 2);
    if (form == BINARY) node->word = op;
    if (form == ASSIGN) check_place(r, c, node->kid[0]);
    return node;
}

static C_node *read_compound(C_reader *r, Cursor c)
{
    static const char *const ops[] = {"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", NULL};
    const char *op = clang_text(clang.getBinaryOperatorKindSpelling(clang.getCursorBinaryOperatorKind(c)));
    if (!is_among(op, ops)) c_error(r->t, c_place(c), "the operator %s is not supported", op);
    C_node *node = c_read_kids(r, c, ASSIGN, 2);
    check_place(r, c, node->kid[0]);
    node->word = copy_bytes_as_string(op, strlen(op) - 1);
    return node;
}

static C_node *read_unary(C_reader *r, Cursor c)
{
    static const char *const ops[] = {"-", "+", "!", "~", NULL};
    int kind = clang.getCursorUnaryOperatorKind(c);
    const char *op = clang_text(clang.getUnaryOperatorKindSpelling(kind));
    bool step = same(op, "++") || same(op, "--");
    if (same(op, "*") || same(op, "&")) c_refuse(r, c, "pointers are not supported");
    if (!step && !is_among(op, ops)) c_error(r->t, c_place(c), "the operator %s is not supported", op);
    C_node *node = c_read_kids(r, c, step ? STEP : UNARY, 1);
    node->word = step ? (op[0] == '+' ? "+" : "-") : op;
    node->late = kind == POST_INCREMENT || kind == POST_DECREMENT;
    if (step) check_place(r, c, node->kid[0]);
    return node;
}

/* The first child is the function, inside a conversion. */
static C_node *read_call(C_reader *r, Cursor c)
{
    Cursors v = c_children(c);
    Cursor called = v.n ? v.at[0] : c;
    while (!c_is_kind(called, "DeclRefExpr") && c_children(called).n == 1) called = c_children(called).at[0];
    if (!c_is_kind(called, "DeclRefExpr")) c_refuse(r, c, "functions must be called by name");
    C_node *node = c_new_node(CALL, c, v.n - 1);
    node->word = c_name_of(called);
    for (int i = 0; i < node->n; i++) node->kid[i] = c_read_expression(r, v.at[i + 1]);
    return node;
}

C_node *c_read_expression(C_reader *r, Cursor c)
{
    static const struct {
        const char *kind;
        C_node *(*read)(C_reader *, Cursor);
    } forms[] = {{"UnexposedExpr", read_inner},     {"ParenExpr", read_inner},
                 {"IntegerLiteral", c_read_number}, {"FloatingLiteral", c_read_number},
                 {"DeclRefExpr", read_name},        {"MemberRefExpr", read_field},
                 {"BinaryOperator", read_binary},   {"CompoundAssignOperator", read_compound},
                 {"UnaryOperator", read_unary},     {"ConditionalOperator", read_choice},
                 {"CallExpr", read_call},           {"CStyleCastExpr", read_cast},
                 {"InitListExpr", c_read_list},     {"CompoundLiteralExpr", read_compound_literal}};
    const char *kind = c_kind_of(c);
    if (++r->depth > DEEPEST) c_refuse(r, c, "this is nested too deeply; move parts into variables");
    for (int i = 0; i < COUNT_OF(forms); i++)
        if (same(kind, forms[i].kind)) {
            C_node *node = forms[i].read(r, c);
            r->depth--;
            return node;
        }
    c_refuse_kind(r, c);
}

/* ------------------------------------------------------------------ functions */

static void read_function(C_reader *r, Cursor c)
{
    C_function *f = NEW(C_function);
    *f = (C_function){.name = c_name_of(c), .text = r->t, .at = c_place(c)};
    r->f = f;
    r->locals.n = r->depth = 0;
    if (clang.Cursor_isVariadic(c)) c_refuse(r, c, "a function must have a fixed number of parameters");
    f->result = c_value_type(r, clang.getCursorResultType(c), c);
    Cursors v = c_children(c);
    for (int i = 0; i < v.n; i++) {
        if (c_is_kind(v.at[i], "TypeRef")) continue;
        else if (c_is_kind(v.at[i], "CompoundStmt")) f->body = c_read_block(r, v.at[i]);
        else if (!c_is_kind(v.at[i], "ParmDecl")) c_refuse(r, v.at[i], "attributes are not supported");
        else {
            if (f->nparams == MOST_PARAMETERS) c_refuse(r, v.at[i], "a function can have at most 16 parameters");
            f->param[f->nparams] = c_name_of(v.at[i]);
            f->type[f->nparams] = c_value_type(r, clang.getCursorType(v.at[i]), v.at[i]);
            c_new_slot(r, v.at[i], f->type[f->nparams++]);
        }
    }
    f->nslots = r->locals.n;
    if (f->body) push(&r->functions, f); /* not a declaration */
}

static void read_top(C_reader *r, Cursor c)
{
    const char *kind = c_kind_of(c);
    if (same(kind, "FunctionDecl")) read_function(r, c);
    else if (same(kind, "StructDecl")) c_read_record(r, c);
    else if (same(kind, "VarDecl"))
        c_refuse(r, c, "global variables are not supported; #define a constant, or make it a parameter");
    else if (!same(kind, "TypedefDecl") && !(same(kind, "UnexposedDecl") && c_children(c).n == 0)) c_refuse_kind(r, c);
}

/* Links calls to their functions, after all are read; refuses recursion. */
static void link_calls(C_reader *r, C_function *f);

static void link_node(C_reader *r, C_node *n)
{
    if (!n) return;
    for (int i = 0; i < n->n; i++) link_node(r, n->kid[i]);
    for (int i = 0; n->form == CALL && i < r->functions.n; i++)
        if (same(r->functions.at[i]->name, n->word)) n->callee = r->functions.at[i];
    const char *fault = n->form == CALL && !n->callee ? c_math_fault(n->word, n->n) : NULL;
    if (fault) c_error(r->t, n->at, "%s", fault);
    if (!n->callee) return;
    if (n->callee->nparams != n->n)
        c_error(r->t, n->at, "%s takes %d arguments, found %d", n->word, n->callee->nparams, n->n);
    if (n->callee->seen == BEING_SEEN)
        c_error(r->t, n->at, "%s calls itself here; recursion is not supported", n->word);
    if (n->callee->seen == UNSEEN) link_calls(r, n->callee);
}

static void link_calls(C_reader *r, C_function *f)
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
            c_error(t, c_place_in_text(clang.getDiagnosticLocation(d), NULL), "%s",
                    clang_text(clang.getDiagnosticSpelling(d)));
        clang.disposeDiagnostic(d);
    }
}

/* Called before messages too, since a fuzzer continues after them. */
void c_close(C_text *t)
{
    if (t->unit) clang.disposeTranslationUnit(t->unit);
    if (t->index) clang.disposeIndex(t->index);
    t->index = t->unit = NULL;
}

/* Parses in memory, without include folders; the arguments define the constants of math.h, float.h and limits.h. */
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
    t->index = clang.createIndex(0, 0);
    int code = clang.parseTranslationUnit2(t->index, file.name, arguments, COUNT_OF(arguments), &file, 1, 0, &t->unit);
    if (code) c_error(t, (C_place){1, 1}, "libclang cannot parse this text (code %d)", code);
}

C_function *c_read(C_text *t)
{
    C_reader r = {.t = t};
    parse(t);
    check_diagnostics(t, t->unit);
    Cursors top = c_children(clang.getTranslationUnitCursor(t->unit));
    for (int i = 0; i < top.n; i++) read_top(&r, top.at[i]);
    c_close(t);
    if (!r.functions.n)
        c_error(t, (C_place){1, 1},
                "this text defines no function; expected one such as float f(float x) { return …; }");
    for (int i = 0; i < r.functions.n; i++)
        if (r.functions.at[i]->seen == UNSEEN) link_calls(&r, r.functions.at[i]);
    return r.functions.at[r.functions.n - 1];
}
