/* parcel.h: a parcel of documents on its way from the thread that reads to one that encodes. */
#ifndef LATHE_DATA_PARCEL_H
#define LATHE_DATA_PARCEL_H

#include "data/stream.h"

enum { PARCEL_PARTS = 1024 };

typedef struct Parcel {
    char *text; /* [PART_BYTES] */
    int64_t bytes;
    Document_part *part; /* [PARCEL_PARTS] */
    int parts;
    Ids ids;
    bool ends_epoch, ready;
    bool kept;     /* its ids come from the cache */
    char *failure; /* NULL: none */
    int code;      /* of the failure */
} Parcel;

/* Encodes its text to ids, which must be below `ids`; e NULL: it has ids already.  A text with other ids ends the
 * thread. */
void encode_parcel(const Sources *from, int64_t ids, Encoder *e, Parcel *q);

#endif
