/* block.c: a block: ids of consecutive documents, cut into rows, and the order in which rows are taken.
 *
 * Joined: row k has the ids from k · stride on, across documents.  Packed (data/pack.h): documents are cut into pieces
 * of at most seq positions, and pieces of several documents share a row. */
#include "base/words.h"
#include "data/pack.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "math/random.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_SITE = 0x7fff0003 };
/* A block has room for documents of LATHE_SHORTEST ids each; it ends early if they are shorter. */

/* ------------------------------------------------------------------ room: interface/lathe_model.h says how much */

static int64_t id_room(const Order *o) { return o->block_tokens + PART_BYTES + LATHE_AROUND; }
static int64_t run_room(const Order *o) { return o->block_tokens / LATHE_SHORTEST + 1; }

static int64_t row_room(const Order *o)
{
    return o->pairs ? lathe_pair_rows(o->block_tokens) : lathe_block_rows(o->block_tokens, o->stride, o->pack);
}

int64_t block_bytes(const Order *o)
{
    return o->pairs ? lathe_pair_bytes(o->block_tokens, o->seq, o->source_seq)
                    : lathe_block_bytes(o->block_tokens, o->seq, o->stride, o->pack);
}

static size_t scratch_room(const Order *o)
{
    int64_t n = row_room(o), bytes = pack_scratch(n, o->seq), table = (int64_t)(sizeof(Row_piece) + sizeof(Slot)) + 8;
    bug_if(bytes + n * table > LATHE_PIECE_BYTES * n + 8 * (o->seq + 4));
    return (size_t)bytes;
}

void open_rows(Block *b, const Order *o)
{
    size_t n = (size_t)row_room(o);
    *b = (Block){.id = must_alloc(4 * (size_t)id_room(o)), .order = must_alloc(4 * n)};
    if (o->pairs) open_pairs(b, o);
    if (!o->pack) return;
    b->run = must_alloc(4 * (size_t)(run_room(o) + 1));
    b->piece = must_alloc(sizeof *b->piece * n);
    b->slot = must_alloc(sizeof *b->slot * n);
    b->row = must_alloc(4 * (n + 1));
    b->of_row = must_alloc(4 * n);
    b->scratch = must_alloc(scratch_room(o));
}

void close_rows(Block *b)
{
    void *const all[] = {b->id, b->order, b->run, b->piece, b->slot, b->row, b->of_row, b->scratch, b->pair};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    *b = (Block){0};
}

/* ------------------------------------------------------------------ filling */

void start_rows(Block *b)
{
    b->ids = b->rows = b->runs = b->pieces = b->documents = b->predicted = 0;
    b->last = b->masked = false;
    b->sum = (Pair_sum){0};
    b->sizes = (Document_sizes){0};
    b->length = -1;
}

/* length is -1 if the document began in another block. */
static void note_size(Document_sizes *s, int64_t length, int64_t seq)
{
    if (length < 0) return;
    if (s->documents == 0 || length < s->shortest) s->shortest = length;
    if (length > s->longest) s->longest = length;
    s->documents++;
    s->ids += length;
    s->split += length > seq + 1;
}

/* A function of epoch and number alone, because the order of rows must be. */
static int64_t tokens_wanted(const Block *b, const Order *o)
{
    int64_t n = b->epoch == 0 && o->first_tokens ? o->first_tokens : o->block_tokens;
    for (int64_t k = b->number; k > 0 && n < o->block_tokens; k--) n *= 2;
    return n < o->block_tokens ? n : o->block_tokens;
}

bool block_is_full(const Block *b, const Order *o)
{
    return b->ids >= tokens_wanted(b, o) || ((o->pack || o->pairs) && b->runs >= run_room(o));
}

static void add_id(Block *b, int32_t id, bool counts)
{
    if (id >= 0) b->id[b->ids++] = counts ? id : ~id;
}

static void append_part_ids(Block *b, const Document_part *p, bool counts)
{
    int32_t *to = b->id + b->ids;
    if (counts && p->n) memcpy(to, p->id, sizeof *p->id * (size_t)p->n);
    for (int64_t i = 0; !counts && i < p->n; i++) to[i] = ~p->id[i];
    b->ids += p->n;
    b->masked |= !counts;
}

static void count_part(Block *b, const Document_part *p)
{
    b->documents += p->last;
    if (p->kind == PART_SOURCE) b->source = p->n;
    if (p->kind == PART_TARGET) count_pair(&b->sum, b->source, p->n);
}

static int32_t id_after(const Order *o, Part_kind kind)
{
    return kind == PART_TARGET ? o->pair_end : kind == PART_CHAT ? o->eos : o->end;
}

/* Ids of a shard include their special tokens. */
void add_part(Block *b, const Order *o, const Document_part *p)
{
    bool counts = p->counts || !o->targets_only;
    int64_t before = b->ids;
    bug_if(b->ids + p->n + LATHE_AROUND > id_room(o));
    if (o->pairs) {
        add_pair_part(b, o, p);
        return;
    }
    if (p->first) b->length = 0;
    if (o->pack && (p->first || b->runs == 0)) b->run[b->runs++] = (int32_t)b->ids;
    if (p->first && !p->id_size) add_id(b, p->kind == PART_CHAT ? o->bos : o->begin, counts);
    append_part_ids(b, p, counts);
    if (p->kind == PART_SOURCE) add_id(b, o->sep, counts);
    if (p->last && !p->id_size) add_id(b, id_after(o, p->kind), counts);
    count_part(b, p);
    if (b->length >= 0) b->length += b->ids - before;
    if (p->last) note_size(&b->sizes, b->length, o->seq);
}

/* ------------------------------------------------------------------ cutting */

/* The number of targets that count among the positions of ids begin … begin + places - 1. */
static int64_t targets_of(const Block *b, int64_t begin, int64_t places)
{
    int64_t n = 0;
    if (!b->masked) return places;
    for (int64_t i = begin + 1; i <= begin + places; i++) n += b->id[i] >= 0;
    return n;
}

static void number_rows(Block *b)
{
    for (int64_t i = 0; i < b->rows; i++) b->order[i] = (int32_t)i;
}

/* Rows and pieces without a target that counts are left out. */
static void cut_joined(Block *b, const Order *o)
{
    int64_t rows = b->ids > o->seq ? (b->ids - o->seq - 1) / o->stride + 1 : 0;
    for (int64_t r = 0; r < rows; r++) {
        int64_t n = targets_of(b, r * o->stride, o->seq);
        if (n) b->order[b->rows++] = (int32_t)r;
        b->predicted += n;
    }
}

static void place_piece(Block *b, int64_t begin, int64_t places)
{
    int64_t n = targets_of(b, begin, places);
    if (n) b->piece[b->pieces++] = (Row_piece){(int32_t)begin, (int32_t)places};
    b->predicted += n;
}

static void cut_documents(Block *b, const Order *o)
{
    Chunking how = {.seq = o->seq, .stride = o->stride, .ahead = 1};
    b->run[b->runs] = (int32_t)b->ids;
    for (int64_t r = 0; r < b->runs; r++) {
        int64_t n = b->run[r + 1] - b->run[r], chunks = count_chunks(&how, n);
        bug_if(b->pieces + chunks > row_room(o));
        b->sum.cut += chunks > 1 && b->sum.pairs > 0;
        for (int64_t k = 0; k < chunks; k++) {
            Chunk c = chunk_at(&how, n, k);
            place_piece(b, b->run[r] + c.first, c.length);
        }
    }
}

/* Lists the pieces by row, and those of a row by column. */
static void list_block_rows(Block *b)
{
    memset(b->row, 0, sizeof *b->row * (size_t)(b->rows + 1));
    for (int64_t i = 0; i < b->pieces; i++) b->row[b->slot[i].row + 1]++;
    for (int64_t r = 0; r < b->rows; r++) b->row[r + 1] += b->row[r];
    for (int64_t i = 0; i < b->pieces; i++) b->of_row[b->row[b->slot[i].row] + b->slot[i].segment] = (int32_t)i;
}

static void pack_documents(Block *b, const Order *o)
{
    cut_documents(b, o);
    int32_t *length = b->of_row; /* not in use yet */
    for (int64_t i = 0; i < b->pieces; i++) length[i] = b->piece[i].places;
    b->rows = pack_pieces(PACK_FIRST, length, b->pieces, o->seq, b->slot, b->scratch);
    list_block_rows(b);
    number_rows(b);
}

static void cut_pairs(Block *b)
{
    b->rows = b->runs;
    for (int64_t r = 0; r < b->rows; r++) b->predicted += b->pair[r].target;
    number_rows(b);
}

/* Fisher and Yates's shuffle. */
static void draw_order(Block *b, const Order *o)
{
    int64_t which = b->epoch << 32 | b->number;
    for (int64_t i = b->rows - 1; o->shuffle && i > 0; i--) {
        int64_t k = uniform_below(o->seed, which, ROW_SITE, i, i + 1);
        int32_t swap = b->order[i];
        b->order[i] = b->order[k];
        b->order[k] = swap;
    }
}

void cut_rows(Block *b, const Order *o)
{
    if (o->pairs) cut_pairs(b);
    else if (o->pack) pack_documents(b, o);
    else cut_joined(b, o);
    draw_order(b, o);
    if (o->pairs) sort_pairs(b, o);
}

/* ------------------------------------------------------------------ rows */

/* An id that does not count as a target is stored as its complement. */
static void read_masked(const int32_t *id, Row_piece p, const Rows *to, int64_t at)
{
    for (int32_t i = 0; i < p.places; i++) {
        int32_t token = id[p.begin + i], target = id[p.begin + i + 1];
        if (to->tokens) to->tokens[at + i] = token < 0 ? ~token : token;
        if (to->targets) to->targets[at + i] = target < 0 ? -1 : target;
    }
}

static void read_piece(const Block *b, Row_piece p, const Rows *to, int64_t at, int32_t segment)
{
    size_t bytes = sizeof *b->id * (size_t)p.places;
    if (b->masked) read_masked(b->id, p, to, at);
    if (to->tokens && !b->masked) memcpy(to->tokens + at, b->id + p.begin, bytes);
    if (to->targets && !b->masked) memcpy(to->targets + at, b->id + p.begin + 1, bytes);
    for (int32_t i = 0; to->segments && i < p.places; i++) to->segments[at + i] = segment;
    for (int32_t i = 0; to->positions && i < p.places; i++) to->positions[at + i] = i;
}

/* Padding is a segment of its own, and none of its targets count. */
static void pad_row(const Rows *to, int64_t from, int64_t end)
{
    for (int64_t i = from; i < end; i++) {
        if (to->tokens) to->tokens[i] = 0;
        if (to->targets) to->targets[i] = -1;
        if (to->segments) to->segments[i] = 0;
        if (to->positions) to->positions[i] = (int32_t)(i - from);
    }
}

void read_row(const Block *b, const Order *o, int64_t k, const Rows *to, int64_t at)
{
    int64_t row = b->order[k], begin = at * o->seq, end = begin;
    if (o->pairs) {
        read_pair_row(b, o, k, to, at);
        return;
    }
    if (!o->pack) {
        read_piece(b, (Row_piece){(int32_t)(row * o->stride), (int32_t)o->seq}, to, begin, 1);
        return;
    }
    for (int32_t i = b->row[row]; i < b->row[row + 1]; i++) {
        const Row_piece *p = &b->piece[b->of_row[i]];
        read_piece(b, *p, to, end, i - b->row[row] + 1);
        end += p->places;
    }
    pad_row(to, end, begin + o->seq);
}

int64_t row_targets(const Block *b, const Order *o, int64_t k)
{
    int64_t n = 0, row = b->order[k];
    if (o->pairs) return b->pair[row].target;
    if (!o->pack) return targets_of(b, row * o->stride, o->seq);
    for (int32_t i = b->row[row]; i < b->row[row + 1]; i++) {
        const Row_piece *p = &b->piece[b->of_row[i]];
        n += targets_of(b, p->begin, p->places);
    }
    return n;
}
