/* protobuf.h: numbers as protobuf's wire format has them; for ONNX, which compiler and trainer write, and for event files. */
#ifndef LATHE_BASE_PROTOBUF_H
#define LATHE_BASE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

enum { PROTO_VARINT = 0, PROTO_BYTES = 2, PROTO_LONGEST = 10 };

/* 7 bits a byte, the lowest first; all bytes but the last have the top bit.  Returns their number. */
static inline size_t proto_varint(char to[PROTO_LONGEST], uint64_t v)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) to[n++] = (char)(v | 0x80);
    to[n++] = (char)v;
    return n;
}

/* What comes before a field. */
static inline size_t proto_key(char to[PROTO_LONGEST], int field, int wire)
{
    return proto_varint(to, (uint64_t)field << 3 | (uint64_t)wire);
}

/* The fields of messages that both write (onnx.proto). */
enum { MODEL_GRAPH = 7, GRAPH_INITIALIZER = 5, TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_BYTES = 9 };
enum { ONNX_FLOAT = 1 }; /* TensorProto.DataType */

/* A graph without its weights, as `lathe export` hands it to the trainer: this line, then the number of weights, the
 * bytes of the two messages and the hash of the description; the names of the weights, each with a 0 behind it; the
 * fields of ModelProto but for its graph; those of GraphProto but for its weights. */
#define ONNX_PART "lathe's graph for ONNX 1\n"
#define ONNX_PART_NUMBERS "%lld %lld %lld %llx\n"

#endif
