/* encode.c: the ids of a parcel: of its text, or from a shard. */
#include "base/words.h"
#include "data/parcel.h"
#include "data/stream.h"
#include "source/source.h"
#include "token/tokenizer.h"

#include <string.h>

/* Ids of a shard, which were checked when they were read. */
static void widen_ids(Ids *to, const char *text, const Document_part *part)
{
    int64_t n = part->bytes / part->id_size;
    const uint16_t *small = (const void *)text;
    bug_if(to->n + n > to->room);
    if (part->id_size == 4) memcpy(to->at + to->n, text, (size_t)part->bytes);
    else
        for (int64_t i = 0; i < n; i++) to->at[to->n + i] = small[i];
    to->n += n;
}

static void check_part_ids(const Sources *from, int64_t ids, const Document_part *part, const int32_t *id)
{
    bool beyond = false;
    for (int64_t i = 0; i < part->n; i++) beyond |= (uint32_t)id[i] >= (uint64_t)ids;
    if (!beyond) return;
    while ((uint32_t)*id < (uint64_t)ids) id++;
    fail(EXIT_DATA, source_place(from, &part->at),
         "token %lld is beyond the model's vocabulary of %lld; rebuild with a larger --set vocab=N, or use another "
         "tokenizer",
         (long long)*id, (long long)ids);
}

static void check_kept(const Sources *from, int64_t ids, Parcel *q)
{
    const int32_t *id = q->ids.at;
    for (int i = 0; i < q->parts; id += q->part[i++].n) {
        q->part[i].id = id;
        check_part_ids(from, ids, &q->part[i], id);
    }
}

void encode_parcel(const Sources *from, int64_t ids, Encoder *e, Parcel *q)
{
    if (q->kept) {
        check_kept(from, ids, q);
        return;
    }
    for (int i = 0; i < q->parts; i++) {
        Document_part *part = &q->part[i];
        if (part->ends_file) continue;
        int64_t before = q->ids.n;
        if (e) encoder_place(e, from->file[part->at.file].path);
        if (part->id_size) widen_ids(&q->ids, q->text + part->begin, part);
        else (part->plain ? encode_plain : encode_bytes)(e, q->text + part->begin, part->bytes, &q->ids);
        part->n = q->ids.n - before;
        check_part_ids(from, ids, part, q->ids.at + before);
    }
    const int32_t *id = q->ids.at; /* after it has grown, which may move it */
    for (int i = 0; i < q->parts; id += q->part[i++].n) q->part[i].id = id;
}
