/* heap.h: a binary heap in an array. */
#ifndef LATHE_TOKEN_HEAP_H
#define LATHE_TOKEN_HEAP_H

/* static void push(Item *heap, int64_t *n, Item new): the array has room for *n + 1.  static Item pop(Item *heap,
 * int64_t *n): the first item; *n > 0. */
#define DEFINE_HEAP(Item, before, push, pop)                                                                           \
    static void push(Item *heap, int64_t *n, Item new)                                                                 \
    {                                                                                                                  \
        int64_t i = (*n)++;                                                                                            \
        for (; i > 0 && before(new, heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];                  \
        heap[i] = new;                                                                                                 \
    }                                                                                                                  \
    static Item pop(Item *heap, int64_t *n)                                                                            \
    {                                                                                                                  \
        Item first = heap[0], last = heap[--*n];                                                                       \
        int64_t i = 0;                                                                                                 \
        for (int64_t child; (child = 2 * i + 1) < *n; i = child) {                                                     \
            child += child + 1 < *n && before(heap[child + 1], heap[child]);                                           \
            if (!before(heap[child], last)) break;                                                                     \
            heap[i] = heap[child];                                                                                     \
        }                                                                                                              \
        heap[i] = last;                                                                                                \
        return first;                                                                                                  \
    }

#endif
