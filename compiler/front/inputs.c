/* inputs.c: what forward may read: the fields of `input`, as data.text, data.pairs, data.csv or `inputs` declare them.
 */
#include "front/fields.h"

#include <ctype.h>
#include <string.h>

/* ------------------------------------------------------------------ the data's own */

#define IDS(word, of, ...)                                                                                             \
    {                                                                                                                  \
        .name = word, .role = of, .dtype = I32, __VA_ARGS__                                                            \
    }
#define AXIS(word) .axes = 1, .axis = {{.name = word}}

static const Field of_text[] = {IDS("tokens", LATHE_TOKENS, AXIS("seq"), .time = true),
                                IDS("targets", LATHE_TARGETS, AXIS("seq"), .time = true),
                                IDS("segments", LATHE_SEGMENTS, AXIS("seq"), .time = true, .packed = true),
                                IDS("positions", LATHE_POSITIONS, AXIS("seq"), .time = true, .packed = true)};
static const Field of_pairs[] = {
    IDS("source", LATHE_SOURCE, AXIS("source_seq")), IDS("source_lengths", LATHE_SOURCE_LENGTHS),
    IDS("tokens", LATHE_TOKENS, AXIS("seq"), .time = true), IDS("targets", LATHE_TARGETS, AXIS("seq"), .time = true),
    IDS("lengths", LATHE_LENGTHS)};
static const Field of_csv[] = {{.name = "features", .role = LATHE_FEATURES, .dtype = F32, AXIS("features")},
                               IDS("targets", LATHE_TARGETS)};

/* What a table's target is scaled by: targets * target_deviation + target_mean is in its units. */
static const Field of_units[] = {{.name = "target_mean", .role = LATHE_TARGET_MEAN, .dtype = F32},
                                 {.name = "target_deviation", .role = LATHE_TARGET_DEVIATION, .dtype = F32}};

static bool is_csv(const Trace *trace)
{
    const Lathe_recipe *r = &trace->desc->recipe;
    return r->csv_target && !r->table && !r->arrays;
}
static bool is_pairs(const Trace *trace) { return trace->desc->recipe.pairs; }

static void add_fields(Trace *trace, const Field *field, int n)
{
    for (int i = 0; i < n; i++) push(&trace->fields->all, field[i]);
}

/* Of a table of mixed columns; a kind of column that it lacks has no field. */
static void add_fields_of_table(Trace *trace)
{
    int64_t n[4];
    static const char *const sizes[] = {"numbers", "categories", "levels", "classes"};
    for (int i = 0; i < COUNT_OF(sizes); i++)
        if (!knob_integer(trace, sizes[i], &n[i]) || n[i] < 0)
            err(place_of_key(trace, NULL, "config"),
                "config needs `%s`, an integer, which `lathe train` takes from the data of data.table", sizes[i]);
    if (!n[0] && !n[1])
        err(place_of_key(trace, NULL, "config"),
            "the sizes of the table are not known\n  lathe train MODEL.lua --data FILE finds them; other commands need "
            "--set numbers=N --set categories=N --set levels=N --set classes=N, as that shows them");
    const Field number = {.name = "numbers", .role = LATHE_FEATURES, .dtype = F32, AXIS("numbers")},
                category = IDS("categories", LATHE_FEATURES, AXIS("categories"), .below = {.name = "levels"}),
                class = IDS("targets", LATHE_TARGETS, .below = {.name = "classes"}),
                value = {.name = "targets", .role = LATHE_TARGETS, .dtype = F32},
                values = {.name = "targets", .role = LATHE_TARGETS, .dtype = F32, AXIS("targets")};
    int64_t targets = 1; /* config need not say it */
    if (n[0]) add_fields(trace, &number, 1);
    if (n[1]) add_fields(trace, &category, 1);
    (void)knob_integer(trace, "targets", &targets);
    if (n[3] && targets > 1)
        err(place_of_key(trace, NULL, "config"), "a table has one target of classes or several of numbers, not both\n"
                                                 "  data.arrays takes both, as two inputs with target = true");
    add_fields(trace, n[3] ? &class : targets > 1 ? &values : &value, 1);
    if (!n[3] && targets <= 1) add_fields(trace, of_units, COUNT_OF(of_units));
}

static void add_fields_of_data(Trace *trace)
{
    static const Field weight = {.name = "weight", .role = LATHE_TARGETS, .dtype = F32};
    if (trace->desc->recipe.row_weight) add_fields(trace, &weight, 1);
    if (trace->desc->recipe.table) add_fields_of_table(trace);
    else if (is_csv(trace)) add_fields(trace, of_csv, COUNT_OF(of_csv));
    else if (is_pairs(trace)) add_fields(trace, of_pairs, COUNT_OF(of_pairs));
    else add_fields(trace, of_text, trace->desc->recipe.pack ? COUNT_OF(of_text) : 2);
}

/* ------------------------------------------------------------------ `inputs = {…}` */

Where at_input(const Trace *trace, const char *name) { return place_of_key(trace, "inputs", name); }

/* The number, or the name of a number in config, on the top. */
static Size size_of_field(lua_State *L, const char *input, const char *what)
{
    const Trace *trace = trace_of(L);
    Size s = {0};
    if (lua_type(L, -1) == LUA_TSTRING) {
        s.name = copy_string(lua_tostring(L, -1));
        if (!knob_integer(trace, s.name, &s.n))
            err(at_input(trace, input), "input '%s': %s is \"%s\", but config has no integer of that name", input, what,
                s.name);
    } else if (lua_isinteger(L, -1)) s.n = lua_tointeger(L, -1);
    else
        err(at_input(trace, input), "input '%s': %s must be an integer, or the name of one in config, found %s", input,
            what, lua_text(L, -1));
    if (s.n < 1 || s.n > INT32_MAX)
        err(at_input(trace, input), "input '%s': %s must be 1 to %d, found %lld", input, what, INT32_MAX,
            (long long)s.n);
    return s;
}

static DType type_of_field(lua_State *L, const char *input)
{
    const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (same(word, "f32")) return F32;
    if (same(word, "i32")) return I32;
    err(at_input(trace_of(L), input),
        "input '%s': the type must be \"f32\" or \"i32\", found %s\n  `inputs` is a table such as %s", input,
        lua_text(L, -1), array_form);
}

/* The other keys of a field's table. */
static void read_field_words(lua_State *L, Field *f)
{
    static const char *const known[] = {"below", "target"};
    const char **keys;
    int n;
    keys_of(L, -1, &keys, &n);
    for (int i = 0; i < n; i++) {
        lua_getfield(L, -1, keys[i]);
        if (same(keys[i], "below")) f->below = size_of_field(L, f->name, "below");
        else if (same(keys[i], "target") && lua_isboolean(L, -1)) {
            if (lua_toboolean(L, -1)) f->role = LATHE_TARGETS;
        } else if (same(keys[i], "target"))
            err(f->where, "input '%s': target must be true or false, found %s", f->name, lua_text(L, -1));
        else err(f->where, "input '%s' has no '%s'%s", f->name, keys[i], advice(keys[i], known, COUNT_OF(known)));
        lua_pop(L, 1);
    }
    if (f->below.n && f->dtype != I32)
        err(f->where, "input '%s': below is a bound of ids, but its type is \"f32\"; use \"i32\"", f->name);
}

static void read_field(lua_State *L, Field *f)
{
    if (!lua_istable(L, -1)) {
        f->dtype = type_of_field(L, f->name);
        return;
    }
    lua_rawgeti(L, -1, 1);
    f->dtype = type_of_field(L, f->name);
    lua_pop(L, 1);
    int64_t n = (int64_t)lua_rawlen(L, -1) - 1;
    if (n > MOST_AXES)
        err(f->where, "input '%s' has %lld axes after the batch; the limit is %d", f->name, (long long)n, MOST_AXES);
    for (; f->axes < n; f->axes++) {
        lua_rawgeti(L, -1, f->axes + 2);
        f->axis[f->axes] = size_of_field(L, f->name, format("size %d", f->axes + 1));
        lua_pop(L, 1);
    }
    read_field_words(L, f);
}

/* The command line uses an input's name too: INPUT=FILE.  Some names belong to the trainer. */
static void check_input_name(const Trace *trace, const char *name)
{
    static const char *const taken[] = {"seed",       "step",  "position", "slot_position", "first_row",
                                        "loss_scale", "share", "begins",   "loss"};
    bool word = isalpha((unsigned char)*name) || *name == '_';
    for (const char *at = name; *at; at++) word &= isalnum((unsigned char)*at) || *at == '_';
    if (!word)
        err(at_input(trace, name),
            "an input's name must be letters, digits and _, not beginning with a digit, found '%s'", name);
    for (int i = 0; i < COUNT_OF(taken); i++)
        if (same(name, taken[i]) || strncmp(name, "total_", 6) == 0)
            err(at_input(trace, name), "the name '%s' belongs to the trainer; give the input another one", name);
}

static void read_declared(lua_State *L)
{
    Trace *trace = trace_of(L);
    const char **names;
    int n;
    keys_of(L, -1, &names, &n);
    if (n == 0 || lua_rawlen(L, -1) > 0)
        err(place_of_key(trace, NULL, "inputs"), "`inputs` must be a table such as %s", array_form);
    for (int i = 0; i < n; i++) {
        check_input_name(trace, names[i]);
        Field f = {.name = names[i], .role = LATHE_FEATURES, .where = at_input(trace, names[i])};
        lua_getfield(L, -1, names[i]);
        read_field(L, &f);
        lua_pop(L, 1);
        push(&trace->fields->all, f);
    }
}

static void read_inputs(lua_State *L, int model, int c)
{
    Trace *trace = trace_of(L);
    const Lathe_recipe *r = &trace->desc->recipe;
    trace->fields = NEW(struct Fields);
    if (push_description_part(L, model, c, "inputs")) {
        if (!r->arrays)
            err(place_of_key(trace, NULL, "inputs"),
                "data.%s declares its own inputs; leave `inputs` out, or use data.arrays",
                r->table          ? "table"
                : is_csv(trace)   ? "csv"
                : is_pairs(trace) ? "pairs"
                                  : "text");
        read_declared(L);
        lua_pop(L, 1);
        check_files_and_series(trace);
        add_fields_of_pictures(trace);
    } else if (r->arrays) {
        err(place_of_key(trace, NULL, "data"), "data.%s needs %s", kind_of_rows(trace), form_of_inputs(trace));
    } else add_fields_of_data(trace);
}

bool is_size_of_inputs(const Trace *trace, const char *knob)
{
    static const char *const others[] = {"batch", "vocab"};
    for (int i = 0; i < COUNT_OF(others); i++)
        if (same(knob, others[i])) return true;
    for (int i = 0; trace->fields && i < trace->fields->all.n; i++)
        for (int k = 0; k < trace->fields->all.at[i].axes; k++)
            if (same(knob, trace->fields->all.at[i].axis[k].name)) return true;
    return false;
}

/* ------------------------------------------------------------------ tensors of them */

static void spec_of(Desc *d, const Field *f, Shape s, int64_t below)
{
    for (int i = 0; i < d->inputs.n; i++)
        if (same(d->inputs.at[i].name, f->name)) return;
    push(
        &d->inputs,
        ((Tensor_spec){
            .name = f->name, .dtype = f->dtype, .shape = s, .role = f->role, .where = making().where, .below = below}));
}

static int64_t size_now(const Trace *trace, const Size *s)
{
    int64_t n = s->n;
    if (same(s->name, "seq") && !trace->desc->recipe.arrays) return trace->time; /* 1 in decode */
    if (s->name) knob_integer(is_teacher(trace) ? student_of(trace) : trace, s->name, &n);
    return n;
}

/* A batch of the data.  With accumulation it is [micro][batch][…], and forward sees one [batch][…]. */
static void push_data(lua_State *L, const Field *f, Shape s)
{
    const Trace *trace = trace_of(L);
    check_size(L, s);
    make_at(lua_place(L));
    spec_of(trace->desc, f, s, size_now(trace, &f->below));
    Node *n;
    if (trace->graph->micro) {
        Shape all = {1, {trace->graph->micro->trip}, {(uint16_t)trace->graph->micro->axis}};
        for (int i = 0; i < s.rank; i++) all = with_axis(all, s, i);
        check_size(L, all);
        n = loop_x(trace->graph->micro, input_node(f->name, f->dtype, all));
    } else n = input_node(f->name, f->dtype, s);
    push_tensor(L, n, (Factor){0, 1, rows_of_item(trace)}, f->time ? (Factor){1, 1, 1} : NOWHERE, NULL);
}

/* [rows][1] in decode, [rows][prefill] in prefill */
static Node *positions_now(Trace *trace, Shape s)
{
    Node *first = position_node(trace);
    first = own_positions(trace) ? reshape(first, s) : broadcast(first, s);
    return trace->time == 1 ? first : map2(OP_add, first, iota(s, s.rank - 1));
}

/* Decode is inside one document: segment 1, and the positions of the tokens. */
static void push_packed(lua_State *L, const Field *f, Shape s)
{
    if (!trace_of(L)->decode) {
        push_data(L, f, s);
        return;
    }
    make_at(lua_place(L));
    Node *n = f->role == LATHE_SEGMENTS ? broadcast(scalar(1, I32), s) : positions_now(trace_of(L), s);
    push_tensor(L, n, (Factor){0, 1, 1}, (Factor){1, 1, 1}, NULL);
}

/* In decode, the length of a target is that of its part so far. */
static void push_reached(lua_State *L, Shape s)
{
    make_at(lua_place(L));
    Node *n = map2(OP_add, position_node(trace_of(L)), scalar(1, I32));
    push_tensor(L, broadcast(n, s), (Factor){0, 1, 1}, NOWHERE, NULL);
}

/* [rows] in decode; else the rows of one part of a batch. */
static Shape of_batch(const Trace *trace)
{
    int64_t all = trace->desc->batch, rows = trace->batch * rows_of_item(trace);
    int axis = trace->decode ? axis_of(own_positions(trace) ? "slots" : "rows", rows)
                             : axis_scaled(axis_of("batch", all), rows, all);
    return (Shape){1, {rows}, {(uint16_t)axis}};
}

static Shape shape_of_field(const Trace *trace, const Field *f)
{
    Shape s = of_batch(trace);
    for (int k = 0; k < f->axes; k++) {
        int64_t n = size_now(trace, &f->axis[k]);
        s.dim[s.rank] = n;
        const char *name = trace->graph->entry == ENTRY_prefill && f->time ? "prefill" : f->axis[k].name;
        s.axis[s.rank++] = (uint16_t)(name ? axis_of(name, n) : 0);
    }
    return s;
}

/* One number, for all rows and parts of a batch. */
static void push_unit(lua_State *L, const Field *f)
{
    make_at(lua_place(L));
    spec_of(trace_of(L)->desc, f, (Shape){0}, 0);
    push_tensor(L, input_node(f->name, f->dtype, (Shape){0}), NOWHERE, NOWHERE, NULL);
}

static void push_field(lua_State *L, const Field *f)
{
    Shape s = shape_of_field(trace_of(L), f);
    if (f->role == LATHE_TARGET_MEAN || f->role == LATHE_TARGET_DEVIATION) return push_unit(L, f);
    if (f->packed) push_packed(L, f, s);
    else if (trace_of(L)->decode && f->role == LATHE_LENGTHS) push_reached(L, s);
    else push_data(L, f, s);
}

static void refuse_field(lua_State *L, const char *name)
{
    const struct Fields *fields = trace_of(L)->fields;
    VEC(const char *) names = {0};
    for (int i = 0; i < fields->all.n; i++) push(&names, fields->all.at[i].name);
    if (same(name, "weight"))
        user_error(L, "there is no input.weight; it exists where data.csv or data.table says which column it is: "
                      "weight = \"NAME\"");
    if (same(name, "target_mean") || same(name, "target_deviation"))
        user_error(L, "there is no input.%s; it exists where data.table has one target, which is a number", name);
    if (same(name, "segments") || same(name, "positions"))
        user_error(L, "there is no input.%s; it exists where documents share a sequence, data.text { pack = true }",
                   name);
    if (strstr(name, "_other") || strstr(name, "_share"))
        user_error(
            L,
            "there is no input.%s; NAME_other and NAME_share exist for the class NAME of pictures, data.images or "
            "data.arrays { pictures = … }",
            name);
    if (trace_of(L)->desc->recipe.table && (same(name, "categories") || same(name, "numbers")))
        user_error(L,
                   "there is no input.%s, since config.%s is 0; for tables with such columns and without: if c.%s > 0 "
                   "then … end",
                   name, name, name);
    if (same(name, "lengths") && trace_of(L)->desc->recipe.audio)
        user_error(L, "there is no input.lengths; declare it in `inputs`: lengths = { \"i32\" }");
    if (same(name, "source") || same(name, "source_lengths") || same(name, "lengths"))
        user_error(
            L, "there is no input.%s; it exists where the data is pairs for an encoder and a decoder, data.pairs {}",
            name);
    user_error(L, "there is no input.%s%s", name, advice(name, names.at, names.n));
}

/* If sample generates texts, input.tokens holds their beginnings: ids, -1 where none is given. */
static void push_begun(lua_State *L, const char *name)
{
    const Trace *trace = trace_of(L);
    bool texts = !lathe_reads_rows(&trace->desc->recipe) && !is_pairs(trace);
    if (!texts || !same(name, "tokens"))
        user_error(L, "there is no input.%s in sample, which makes its own%s", name,
                   texts ? "; input.tokens holds what the texts begin with, -1 where nothing is given" : "");
    push_field(L, &of_text[0]);
}

void push_reference(lua_State *L)
{
    static const Field reference = {.name = "reference", .role = LATHE_REFERENCE, .dtype = F32};
    push_field(L, &reference);
}

void push_begins(lua_State *L)
{
    static const Field begins = IDS("begins", LATHE_BEGINS);
    push_field(L, &begins);
}

/* input.tokens … */
static int input_field(lua_State *L)
{
    Trace *trace = trace_of(L);
    const char *name = luaL_checkstring(L, 2);
    if (sampling(trace)) return push_begun(L, name), 1;
    for (int i = 0; i < trace->fields->all.n; i++)
        if (same(trace->fields->all.at[i].name, name)) return push_field(L, &trace->fields->all.at[i]), 1;
    refuse_field(L, name);
    return 0;
}

void push_input(lua_State *L)
{
    lua_newtable(L);
    lua_newtable(L);
    lua_pushcfunction(L, input_field);
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "protected");
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}

/* ------------------------------------------------------------------ sizes that config must have */

static int64_t extent_knob(const Trace *trace, const char *name, bool needed)
{
    int64_t n = 0;
    bool have = knob_integer(trace, name, &n);
    if (!have && !needed) return 0;
    if (n < 1)
        err(place_of_key(trace, NULL, "config"), "config needs `%s`, a positive integer, for this kind of data%s", name,
            have ? format(", found %lld", (long long)n) : "");
    if (n > INT32_MAX)
        err(place_of_key(trace, "config", name), "config's `%s` is %lld; the limit is %d", name, (long long)n,
            INT32_MAX);
    return n;
}

void read_extents(lua_State *L, int model, int c)
{
    Trace *trace = trace_of(L);
    Desc *d = trace->desc;
    bool text = !lathe_reads_rows(&d->recipe);
    d->batch = extent_knob(trace, "batch", true);
    d->seq = text || is_csv(trace) ? extent_knob(trace, "seq", text) : 0;
    if (text)
        d->vocab = extent_knob(trace, "vocab", true); /* elsewhere targets are classes, and vocab may mean anything */
    if (is_csv(trace)) extent_knob(trace, "features", true);
    if (is_pairs(trace)) d->source_seq = extent_knob(trace, "source_seq", true);
    read_inputs(L, model, c);
}
