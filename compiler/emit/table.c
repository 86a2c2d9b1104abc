/* table.c: constant arrays of a description, printed once as static tables. */
#include "desc/target.h"
#include "emit/emit.h"

#include <string.h>

static bool same_constant(const Node *a, const Node *b)
{
    return a->dtype == b->dtype && same_shape(a->shape, b->shape) &&
           memcmp(a->data, b->data, sizeof *a->data * (size_t)elements(a->shape)) == 0;
}

const char *table_name(Page *page, const Node *n)
{
    for (int i = 0; i < page->constants.n; i++)
        if (same_constant(page->constants.at[i].node, n)) return page->constants.at[i].name;
    bool again = for_good();
    const char *name = format("table_%d", page->constants.n + 1);
    push(&page->constants, ((struct Constant){n, name}));
    for_a_while(again);
    return name;
}

void say_constants(Page *page, Text *t)
{
    for (int i = 0; i < page->constants.n; i++) {
        const Node *n = page->constants.at[i].node;
        Text row = {0}, dims = {0};
        say(&dims, "%s", array_text(page, n->shape, 0));
        bool nested = n->shape.rank > 1;
        if (nested) say(t, "/* %s as one row */\n", dims.at);
        say(t, "%s %s %s[%lld] = {\n", page->target->table, c_type(n->dtype), page->constants.at[i].name,
            (long long)elements(n->shape));
        for (int64_t k = 0; k < elements(n->shape); k++) {
            const char *number = literal(n->data[k], n->dtype, false).text;
            if (row.n + strlen(number) + 2 > 92) {
                say(t, "   %s\n", row.at);
                row.n = 0;
            }
            say(&row, " %s,", number);
        }
        say(t, "   %s\n};\n\n", row.at);
    }
}
