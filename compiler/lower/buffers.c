/* buffers.c: makes the buffers of a program, each under a name of its own. */
#include "lower/lower.h"

#include <ctype.h>
#include <string.h>

/* "layer.attn" -> "layer_attn" */
static char *buffer_identifier(const char *s)
{
    char *p = copy_string(s);
    for (char *c = p; *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    return isdigit((unsigned char)*p) ? format("n%s", p) : p;
}

static const char *unique_buffer_name(Cut *cut, const char *base)
{
    return unique_string(&cut->program->names, buffer_identifier(base));
}

Buffer *new_buffer(Cut *cut, Loop *level, const char *name, Home home, DType t, Shape s, Node *value)
{
    Buffer *b = NEW(Buffer);
    View dense = view_dense(s);
    *b = (Buffer){
        .name = unique_buffer_name(cut, name), .home = home, .dtype = t, .shape = s, .value = value, .level = level};
    memcpy(b->stride, dense.stride, sizeof b->stride);
    b->bytes = bytes_of_elements(t, elements(s));
    b->first = b->begin = -1;
    push(&cut->program->buffers, b);
    return b;
}
