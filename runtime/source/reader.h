/* reader.h: shared by the readers of formats: checked text, drafts of documents, the reader itself. */
#ifndef LATHE_SOURCE_READER_H
#define LATHE_SOURCE_READER_H

#include "source/source.h"

/* ------------------------------------------------------------------ source/feed.c: checked text */

typedef struct Change { /* bytes in the file that became U+FFFD */
    int64_t at;         /* end of the U+FFFD in all checked text */
    int32_t bytes;      /* that it replaces */
} Change;

/* A window of a file's text.  Bytes that are not UTF-8 are replaced on the way into the window, so offsets in the
 * window and in the file differ by earlier replacements. */
typedef struct Feed {
    Input *in;
    Bad_utf8 bad_utf8;
    Counts *counts;
    char *raw; /* [chunk] as read, raw_begin … raw_end not yet checked */
    int64_t chunk, raw_begin, raw_end;
    bool raw_ended;
    char *at; /* [room] checked; begin … end not yet used */
    int64_t begin, end, room;
    bool ended;     /* nothing follows end */
    int64_t before; /* checked text before at[0] */
    int64_t base;   /* offset of the file - place in checked text, so far */
    int64_t line;   /* of at[counted] */
    int64_t counted;
    Change *change; /* [changes]; those from next_change on are ahead */
    int64_t changes, next_change, change_room;
} Feed;

void open_feed(Feed *f, const Source_options *o, Counts *counts, int64_t most); /* most: largest argument of want_feed */
void close_feed(Feed *f);
void start_feed(Feed *f, Input *in, int64_t line); /* from the input's position on */
int64_t want_feed(Feed *f, int64_t n);             /* makes n bytes available, fewer only at the file's end; n <= most */
int64_t feed_offset(Feed *f);                      /* of at[begin], unpacked bytes of the file */
int64_t feed_line(Feed *f);                        /* of at[begin] */
int64_t feed_heap(const Feed *f);
/* The next byte, which is not consumed: -1 at the end. */
static inline int next_byte(Feed *f)
{
    if (f->begin == f->end && want_feed(f, 1) == 0) return -1;
    return (unsigned char)f->at[f->begin];
}

/* ------------------------------------------------------------------ source/reader.c */

typedef struct Draft { /* text of a document, built from pieces */
    char *at;
    int64_t n, limit, room; /* full if n > limit; room: a little more */
} Draft;

int64_t draft_space(const Draft *d); /* bytes until it is full; <= 0: full */
void add_draft(Draft *d, const char *at, int64_t n);

enum { MOST_TARGETS = 256, PAIR_NAMINGS = 2, KEY_BYTES = 256 };
extern const char *const pair_names[PAIR_NAMINGS][2]; /* source/reader.c: source and target */

typedef enum Got { GOT_NOTHING, GOT_PART, GOT_END, GOT_BAD } Got; /* PART: the draft is full; END: of the document */

struct Reader {
    const Sources *s;
    const Source_file *file;
    int64_t part;
    int64_t (*cut)(void *, const char *, int64_t);
    void *cut_arg;
    Counts counts;
    char *first_bad;
    Input *in;
    Feed feed;
    int64_t used;       /* bytes (ids) that the last part took from the feed (buffer) or draft */
    Place at;           /* of the current document or part */
    Draft text, target; /* formats of records */
    const char *wrong;  /* why a record is malformed */
    bool fresh;         /* the record has not been read yet */
    bool whole;         /* the record was read to its end, but not all of it was returned */
    struct Json {
        int state;
        Draft *to;
        bool in_list, first;
        int seen, naming; /* naming: the default names of a pair that were found */
        char keys[120];   /* unwanted names, for messages */
    } json;
    int32_t target_end[MOST_TARGETS]; /* [targets]: ends of targets in the draft (TARGETS_EACH) */
    int targets;
    Span *span; /* [spans] of the chat in `text` */
    int spans, span_room;
    struct Table {
        int state, column, columns, text, target; /* text, target: column; target -1: none */
        char separator;
        bool quoting;
        char **name;
    } table;
    struct Shard {
        char *at;                               /* [room] aligned */
        int64_t begin, end, room, taken, total; /* in ids; taken: read from the file; total: -1: unknown */
        bool ended;
    } shard;
};

int64_t place_to_cut(Reader *r, const char *text, int64_t n); /* 1 … n; the text continues */
void stop_record(Reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

bool next_plain(Reader *r, Document *d); /* source/plain.c */
Got read_json(Reader *r);                /* source/json.c: GOT_NOTHING at the file's end */
int json_blanks(Feed *f); /* the byte after them, -1 at the file's end */
bool take_json(Reader *r, int wanted, const char *expected); /* the byte, after white space; false: malformed, as below */
bool take_json_key(Reader *r, char *key);                    /* [KEY_BYTES + 8]: a name and its colon */
Got take_json_string(Reader *r, Draft *to); /* from after its first quote to after its last; to NULL: drops it */
bool skip_json(Reader *r);                  /* a value */
bool read_messages(Reader *r);              /* source/chat.c: reads a list of messages into text and span */
void start_table(Reader *r);             /* source/table.c: reads the header */
Got read_table(Reader *r);
void start_shard(Reader *r, const Place *from); /* source/shard.c */
bool next_shard(Reader *r, Document *d);

#endif
