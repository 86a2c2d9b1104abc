/* pictures.c: the inputs of pictures: which input they are, and what mixup makes of their class. */
#include "front/fields.h"

static bool is_picture(const Field *f)
{
    bool colours = f->axes == 3 && (f->axis[2].n == 1 || f->axis[2].n == 3);
    return f->dtype == F32 && f->role == LATHE_FEATURES && colours;
}

static bool is_class_field(const Field *f)
{
    return f->dtype == I32 && f->role == LATHE_TARGETS && f->axes == 0 && f->below.n;
}

/* The resized picture must cover the part that is cut from it. */
static void check_resize(const Trace *trace, const Field *f)
{
    int64_t side = trace->desc->recipe.resize, least = f->axis[f->axis[0].n < f->axis[1].n].n;
    if (side && side < least)
        err(place_of_key(trace, "data", "resize"),
            "resize, the shorter side of a picture before it is cut, must be 0 or at least %lld, as input '%s' has, "
            "found "
            "%lld",
            (long long)least, f->name, (long long)side);
}

/* data.images has a picture in each row, and its class. */
static void check_images(const Trace *trace)
{
    int pictures = 0, classes = 0, all = trace->fields->all.n;
    for (int i = 0; i < all; i++) {
        const Field *f = &trace->fields->all.at[i];
        if (is_picture(f) && !pictures++) check_resize(trace, f);
        classes += is_class_field(f);
    }
    if (pictures != 1 || classes != 1 || all != 2)
        err(place_of_key(trace, NULL, "inputs"),
            "data.images needs two inputs, the picture and its class, such as %s\n  the sizes are height, width and "
            "channels: 3, or 1 for grey",
            image_form);
}

/* ------------------------------------------------------------------ pictures in arrays */

/* An input with a place for each pixel would have to be moved with the picture. */
static void check_other(const Trace *trace, const Field *picture, const Field *f)
{
    if (f->axes < 2 || f->axis[0].n != picture->axis[0].n || f->axis[1].n != picture->axis[1].n) return;
    err(place_of_key(trace, "data", "pictures"),
        "input '%s' has %lld x %lld places, as the picture '%s' has, but would not be cropped and mirrored with it; "
        "leave "
        "`pictures` out",
        f->name, (long long)f->axis[0].n, (long long)f->axis[1].n, picture->name);
}

static void check_arrays(const Trace *trace)
{
    const char *name = trace->desc->recipe.pictures;
    const Field *picture = NULL;
    int all = trace->fields->all.n;
    for (int i = 0; i < all; i++)
        if (same(trace->fields->all.at[i].name, name)) picture = &trace->fields->all.at[i];
    if (!picture || !is_picture(picture))
        err(place_of_key(trace, "data", "pictures"),
            "pictures = \"%s\" must name an input of pictures, { \"f32\", height, width, channels } with 3 channels, "
            "or 1 "
            "for grey, such as %s",
            name, image_form);
    for (int i = 0; i < all; i++)
        if (&trace->fields->all.at[i] != picture) check_other(trace, picture, &trace->fields->all.at[i]);
}

/* What varies pictures needs to know which input they are. */
static void check_unvaried(const Trace *trace)
{
    const Lathe_recipe *r = &trace->desc->recipe;
    const char *varied = r->crop != LATHE_CROP_CENTRE ? "crop"
                         : r->crop_pad                ? "pad"
                         : r->flip                    ? "flip"
                         : r->jitter > 0              ? "jitter"
                         : r->cutout                  ? "cutout"
                         : r->mixup > 0               ? "mixup"
                         : r->cutmix > 0              ? "cutmix"
                                                      : NULL;
    if (varied)
        err(place_of_key(trace, "data", varied),
            "%s varies pictures; say which input they are: data.arrays { pictures = \"NAME\", … }", varied);
}

/* ------------------------------------------------------------------ mixup */

static void add_mixed(Trace *trace, const Field *class, const char *ending, DType type)
{
    Field f = {
        .name = format("%s%s", class->name, ending), .role = LATHE_TARGETS, .dtype = type, .where = class->where};
    if (type == I32) f.below = class->below;
    f.mixed = true;
    for (int i = 0; i < trace->fields->all.n; i++)
        if (same(trace->fields->all.at[i].name, f.name))
            err(at_input(trace, f.name),
                "the name '%s' belongs to what mixup makes of input '%s'; give the input another one", f.name,
                class->name);
    push(&trace->fields->all, f);
}

/* NAME_other and NAME_share of the only class. */
static void add_mixed_classes(Trace *trace)
{
    Field class = {0};
    int classes = 0;
    for (int i = 0; i < trace->fields->all.n; i++)
        if (is_class_field(&trace->fields->all.at[i]) && !classes++) class = trace->fields->all.at[i];
    if (classes != 1) return;
    add_mixed(trace, &class, "_other", I32);
    add_mixed(trace, &class, "_share", F32);
}

void add_fields_of_pictures(Trace *trace)
{
    const Lathe_recipe *r = &trace->desc->recipe;
    if (r->images) check_images(trace);
    else if (r->pictures) check_arrays(trace);
    else check_unvaried(trace);
    if (r->images || r->pictures) add_mixed_classes(trace);
}

void check_mixed_classes(const Trace *trace)
{
    const Desc *d = trace->desc;
    if (d->recipe.mixup <= 0 && d->recipe.cutmix <= 0) return;
    for (int i = 0; i < trace->fields->all.n; i++) {
        const char *name = trace->fields->all.at[i].name;
        bool read = false;
        for (int k = 0; k < d->inputs.n; k++) read |= same(d->inputs.at[k].name, name);
        if (read || !trace->fields->all.at[i].mixed) continue;
        err(place_of_key(trace, "data", d->recipe.mixup > 0 ? "mixup" : "cutmix"),
            "classes are mixed in pairs, but the loss does not read input.%s; with a class `label` it should be "
            "nn.cross_entropy(logits, input.label, { other = input.label_other, share = input.label_share })",
            name);
    }
}
