/* cfunc_statements.c: reads the statements of C functions. */
#include "front/cfunc_read.h"

#include <string.h>

int c_new_slot(C_reader *r, Cursor c, C_type type)
{
    if (r->locals.n == MOST_SLOTS) c_refuse(r, c, "a function can have at most 256 variables");
    push(&r->locals, ((struct Local){c, type}));
    return r->locals.n - 1;
}

static C_node *read_variable(C_reader *r, Cursor c)
{
    if (clang.Cursor_getStorageClass(c) != PLAIN_STORAGE)
        c_refuse(r, c, "static, extern and register are not supported");
    C_node *node = c_new_node(DECLARE, c, 1);
    node->word = c_name_of(c);
    node->type = c_value_type(r, clang.getCursorType(c), c);
    Cursors v = c_children(c);
    for (int i = 0; i < v.n; i++) {
        if (c_is_kind(v.at[i], "TypeRef") || c_is_kind(v.at[i], "StructDecl")) continue;
        if (node->kid[0]) c_refuse(r, v.at[i], "this construct is not supported");
        node->kid[0] = c_read_expression(r, v.at[i]);
    }
    node->slot = c_new_slot(r, c, node->type); /* after its first value, where it is not in scope */
    return node;
}

static C_node *read_declarations(C_reader *r, Cursor c)
{
    Cursors v = c_children(c);
    C_node *node = c_new_node(BLOCK, c, v.n);
    node->n = 0;
    for (int i = 0; i < v.n; i++) {
        if (c_is_kind(v.at[i], "VarDecl")) node->kid[node->n++] = read_variable(r, v.at[i]);
        else if (c_is_kind(v.at[i], "StructDecl")) c_read_record(r, v.at[i]);
        else if (!c_is_kind(v.at[i], "TypedefDecl")) c_refuse_kind(r, v.at[i]);
    }
    return node;
}

C_node *c_read_block(C_reader *r, Cursor c)
{
    Cursors v = c_children(c);
    C_node *node = c_new_node(BLOCK, c, v.n);
    for (int i = 0; i < v.n; i++) node->kid[i] = c_read_statement(r, v.at[i]);
    return node;
}

static C_node *read_if(C_reader *r, Cursor c)
{
    Cursors v = c_children(c);
    if (v.n < 2 || v.n > 3) c_refuse(r, c, "this construct is not supported");
    C_node *node = c_new_node(IF, c, 3);
    node->kid[0] = c_read_expression(r, v.at[0]);
    for (int i = 1; i < v.n; i++) node->kid[i] = c_read_statement(r, v.at[i]);
    return node;
}

/* Offsets of the two semicolons in the head of a `for`, since empty parts have no cursor. */
static void semicolons(C_reader *r, Cursor c, unsigned *first, unsigned *second)
{
    unsigned start = 0;
    c_place_in_text(clang.getRangeStart(clang.getCursorExtent(c)), &start);
    const char *p = start < strlen(r->t->plain) ? strchr(r->t->plain + start, '(') : NULL;
    *first = *second = 0;
    for (int depth = 0; p && *p; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0) break;
        if (*p == ';' && depth == 1) *(*first ? second : first) = (unsigned)(p - r->t->plain);
    }
    if (!*second) c_refuse(r, c, "cannot parse the head of this loop; write for (start; condition; step)");
}

static C_node *read_for(C_reader *r, Cursor c)
{
    Cursors v = c_children(c);
    unsigned first, second, at = 0;
    semicolons(r, c, &first, &second);
    C_node *node = c_new_node(REPEATED, c, 4);
    for (int i = 0; i < v.n - 1; i++) {
        c_place_in_text(clang.getRangeStart(clang.getCursorExtent(v.at[i])), &at);
        int part = at < first ? 0 : at < second ? 1 : 2;
        if (node->kid[part]) c_refuse(r, c, "cannot parse the head of this loop; write for (start; condition; step)");
        node->kid[part] = part ? c_read_expression(r, v.at[i]) : c_read_statement(r, v.at[i]);
    }
    if (v.n) node->kid[3] = c_read_statement(r, v.at[v.n - 1]);
    return node;
}

static C_node *read_while(C_reader *r, Cursor c)
{
    Cursors v = c_children(c);
    C_node *node = c_new_node(REPEATED, c, 4);
    node->late = c_is_kind(c, "DoStmt");
    if (v.n != 2) c_refuse(r, c, "this construct is not supported");
    node->kid[1] = c_read_expression(r, v.at[node->late]);
    node->kid[3] = c_read_statement(r, v.at[!node->late]);
    return node;
}

static C_node *read_return(C_reader *r, Cursor c)
{
    if (c_children(c).n != 1) c_refuse(r, c, "a function must return its result: return …;");
    return c_read_kids(r, c, RETURN, 1);
}

static C_node *read_break(C_reader *r, Cursor c) { return (void)r, c_new_node(BREAK, c, 0); }
static C_node *read_continue(C_reader *r, Cursor c) { return (void)r, c_new_node(CONTINUE, c, 0); }
static C_node *read_nothing(C_reader *r, Cursor c) { return (void)r, c_new_node(NOTHING, c, 0); }

C_node *c_read_statement(C_reader *r, Cursor c)
{
    static const struct {
        const char *kind;
        C_node *(*read)(C_reader *, Cursor);
    } forms[] = {{"CompoundStmt", c_read_block}, {"DeclStmt", read_declarations}, {"IfStmt", read_if},
                 {"ForStmt", read_for},          {"WhileStmt", read_while},       {"DoStmt", read_while},
                 {"ReturnStmt", read_return},    {"BreakStmt", read_break},       {"ContinueStmt", read_continue},
                 {"NullStmt", read_nothing}};
    const char *kind = c_kind_of(c);
    for (int i = 0; i < COUNT_OF(forms); i++) {
        if (!same(kind, forms[i].kind)) continue;
        if (++r->depth > DEEPEST) c_refuse(r, c, "this is nested too deeply");
        C_node *node = forms[i].read(r, c);
        r->depth--;
        return node;
    }
    return c_read_expression(r, c);
}
