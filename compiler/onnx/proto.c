/* proto.c: fields of protobuf's messages. */
#include "onnx/onnx.h"
#include "runtime/base/protobuf.h"

#include <string.h>

static void say_key(Text *t, int field, int wire)
{
    char room[PROTO_LONGEST];
    say_bytes(t, room, proto_key(room, field, wire));
}

static void say_varint(Text *t, uint64_t v)
{
    char room[PROTO_LONGEST];
    say_bytes(t, room, proto_varint(room, v));
}

void proto_int(Text *t, int field, int64_t v)
{
    say_key(t, field, PROTO_VARINT);
    say_varint(t, (uint64_t)v);
}

void proto_bytes(Text *t, int field, const void *at, size_t n)
{
    say_key(t, field, PROTO_BYTES);
    say_varint(t, n);
    if (n) say_bytes(t, at, n);
}

void proto_text(Text *t, int field, const char *s)
{
    const char *text = printable(s, "\n\t"); /* a reader may refuse what is not UTF-8 */
    proto_bytes(t, field, text, strlen(text));
}

void proto_message(Text *t, int field, const Text *m) { proto_bytes(t, field, m->at, m->n); }

/* ------------------------------------------------------------------ attributes of operators */

enum {
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20
};
enum { TYPE_INT = 2, TYPE_TEXT = 3, TYPE_INTS = 7 };

static void add_attribute(Text *t, const char *name, Text value, int type)
{
    Text a = {0};
    proto_text(&a, ATTRIBUTE_NAME, name);
    say_bytes(&a, value.at, value.n);
    proto_int(&a, ATTRIBUTE_TYPE, type);
    proto_message(t, NODE_ATTRIBUTE, &a);
}

void attribute_int(Text *t, const char *name, int64_t v)
{
    Text value = {0};
    proto_int(&value, ATTRIBUTE_I, v);
    add_attribute(t, name, value, TYPE_INT);
}

void attribute_ints(Text *t, const char *name, int n, const int64_t *v)
{
    Text value = {0};
    for (int k = 0; k < n; k++) proto_int(&value, ATTRIBUTE_INTS, v[k]);
    add_attribute(t, name, value, TYPE_INTS);
}

void attribute_text(Text *t, const char *name, const char *s)
{
    Text value = {0};
    proto_text(&value, ATTRIBUTE_S, s);
    add_attribute(t, name, value, TYPE_TEXT);
}
