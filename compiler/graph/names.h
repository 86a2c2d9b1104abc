/* names.h: what axes and values are called (axis.c, title.c).  A part of graph.h, which includes it. */
#ifndef GRAPH_NAMES_H
#define GRAPH_NAMES_H

/* What an axis is: times / over · Π size^power + plus, in sizes of the description; and behind it another axis. */
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

/* graph/axis.c: an axis is its number in shapes; 0: nothing is known of it */
const Axis_sizes *axis_numbered(int axis);                  /* NULL: 0 */
int axis_with(Axis_sizes a);                                /* that is such; 0: its extent is no whole number above 1 */
int axis_of(const char *size, int64_t extent);
const char *size_of_axis(int axis);                         /* "width"; NULL: its extent is no size of the description */
int axis_scaled(int axis, int64_t times, int64_t over);     /* times · axis / over */
int axis_longer(int axis, int64_t by);                      /* axis + by */
int axis_sum(int a, int b);                                 /* a + b; 0 where one is not known */
int axis_power(int axis, const char *size, int64_t extent, int power);  /* axis · size^power; of 0: size^power */
int axis_merged(Shape s, int from, int to);                 /* axes from … to - 1 as one */
void axes_of_reshape(Shape from, Shape *to);
int axis_behind(int axis, int64_t n);                       /* its n elements that are one step of an axis before: SEQ of BATCH * SEQ; 0: not known, or two */
void note_reshape(Shape from, Shape to);                    /* the description reshapes so: passes will */
void check_axes(Shape *s);                                  /* those of another extent say nothing */
void take_axes(Shape *s, Shape from);                       /* where s says nothing and the extents are the same */
void axes_of_node(Node *n);
unsigned axes_of_inputs(Node *n);                           /* its axes are those of inputs of its shape; by axis: no strong name was found */
int axis_counted(const Node *n);                            /* a filled constant: the axis whose extent it is, or 0 */
int axis_shared(const Node *n);                             /* likewise: the axis of whose extent it is 1 / …, or -1 / … */
Shape with_axis(Shape s, Shape from, int k);                /* s, and then axis k of `from` */
Shape axes_before(Shape s, int n);                          /* its first n axes */

/* graph/title.c */
void give_title(Node *n, const char *title, Title_rank rank, const char *layer);
void hand_on_title(Node *to, const Node *from);             /* where one stands for the other */
void title_alike(Node *to, const Node *from);               /* both are the same elements, in another order or type */
bool is_another_form(const Node *n);                           /* the same elements in another order or type */
void title_instead(Node *to, const Node *from);             /* to stands for from and for nothing else */
void title_gradient(Node *g, const Node *of);               /* g is the gradient of `of` */
void title_of_gradient(Node *g, const char *parameter);     /* where g has no title */
const char *own_part_of(const char *name);                  /* weight of h.attn.c_attn.weight, */
const char *path_before(const char *name);                  /* and h.attn.c_attn */
const char *last_part_of(const char *path);                 /* a layer's own name: attn of h.attn, h.0 of model.h.0 */

#endif
