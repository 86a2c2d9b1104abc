/* fuzz_cfunc.c: texts in C inside of a description: what nn.cfunc takes becomes a sound graph.  libclang itself is not
 * instrumented, and gets only what front/cfunc_text.c lets through.  The last function is called as f(x, y), or as
 * f(x, y, n) where the text begins with a letter. */
#include "fuzz.h"
#include "lathe.h"

#include <ctype.h>

static const char head[] = "local f = nn.cfunc [==[\n",
                  tail[] = "]==]\n"
                           "return {\n  config = { features = 3, batch = 4 },\n  forward = function(c, input)\n"
                           "    local x, y = input.features:select(1, 0), nn.param { name = \"y\", shape = { 4 } }\n"
                           "    local n = input.features:select(1, 2):cast(\"i32\")\n";
static const char
    two[] = "    local r = f(x, y)\n",
    three[] = "    local r = f(x, y, n)\n",
    rest[] = "    return (r:cast(\"f32\") * y):sum()\n  end,\n  train = { optimizer = optim.sgd { lr = 0.1 } },\n"
             "  data = data.csv { target = \"t\" },\n}\n";

void fuzz_one(const char *path, const char *text, size_t n)
{
    Text t = {0};
    say(&t, "%s", head);
    say_bytes(&t, text, n);
    say(&t, "%s%s%s", tail, n && isalpha((unsigned char)*text) ? three : two, rest);
    if (!write_file(path, t.at, t.n)) die("no description is written");
    Options options = {.target = &target_cpu, .model_file = path, .check_stages = true};
    Desc *d = front(&options);
    for (int i = 0; i < d->graphs.n; i++) check_graph(d->graphs.at[i], "front");
}
