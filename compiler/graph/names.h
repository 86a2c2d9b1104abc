/* names.h: names of axes and values (axis.c, title.c).  Part of graph.h, which includes it. */
#ifndef GRAPH_NAMES_H
#define GRAPH_NAMES_H

/* An axis in sizes of the description: times / over · Π size^power + plus, followed by axis `behind`. */
typedef struct Axis_sizes {
    int64_t extent, times, over, plus;
    int behind;                 /* 0: none */
    int n;
    struct Size_of {
        const char *size;       /* "batch", "width": a word of the configuration */
        int64_t extent;
        int power;
    } of[4];
} Axis_sizes;

/* graph/axis.c: an axis is a number, as in shapes; 0: unknown */
const Axis_sizes *axis_numbered(int axis);                  /* NULL: 0 */
int axis_with(Axis_sizes a);                                /* 0: its extent is not an integer above 1 */
int axis_of(const char *size, int64_t extent);
const char *size_of_axis(int axis);                         /* "width"; NULL: it is not one size of the description */
int axis_scaled(int axis, int64_t times, int64_t over);     /* times · axis / over */
int axis_longer(int axis, int64_t by);                      /* axis + by */
int axis_sum(int a, int b);                                 /* a + b; 0: one is unknown */
int axis_power(int axis, const char *size, int64_t extent, int power);  /* axis · size^power; of 0: size^power */
int axis_merged(Shape s, int from, int to);                 /* axes from … to - 1 as one */
void axes_of_reshape(Shape from, Shape *to);
int axis_behind(int axis, int64_t n);                       /* inner factor of extent n: SEQ of BATCH * SEQ; 0: unknown */
void note_reshape(Shape from, Shape to);                    /* remembers how the description splits axes, for passes */
void check_axes(Shape *s);                                  /* drops axes of another extent */
void take_axes(Shape *s, Shape from);                       /* where s has none and the extents are the same */
void axes_of_node(Node *n);
unsigned axes_of_inputs(Node *n);                           /* names axes by inputs of n's shape; returns bits of weak names */
int axis_counted(const Node *n);                            /* filled constant: the axis with this extent, or 0 */
int axis_shared(const Node *n);                             /* likewise: with this 1 / extent or -1 / extent */
Shape with_axis(Shape s, Shape from, int k);                /* s followed by axis k of `from` */
Shape axes_before(Shape s, int n);                          /* its first n axes */

/* graph/title.c */
void give_title(Node *n, const char *title, Title_rank rank, const char *layer);
void hand_on_title(Node *to, const Node *from);             /* if to replaces from */
void title_alike(Node *to, const Node *from);               /* same elements, in another order or type */
bool is_another_form(const Node *n);                           /* its input in another order or type? */
void title_instead(Node *to, const Node *from);             /* if to replaces from and nothing else */
void title_gradient(Node *g, const Node *of);               /* g is the gradient of `of` */
void title_of_gradient(Node *g, const char *parameter);     /* if g has no title */
const char *own_part_of(const char *name);                  /* weight of h.attn.c_attn.weight, */
const char *path_before(const char *name);                  /* and h.attn.c_attn */
const char *last_part_of(const char *path);                 /* a layer's own name: attn of h.attn, h.0 of model.h.0 */

#endif
