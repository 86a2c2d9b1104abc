/* source.h: documents from files: finding, opening, decompressing and reading them, in memory that does not depend on
 * the length of files, lines or documents.
 *
 * An error in a file ends the program (EXIT_DATA) with a message that names the file and the line, record or byte.
 * Different threads may use different objects. */
#ifndef LATHE_SOURCE_SOURCE_H
#define LATHE_SOURCE_SOURCE_H

#include "base/words.h"

#include <stdbool.h>
#include <stdint.h>

/* ------------------------------------------------------------------ source/open.c: the bytes of a file, unpacked */

typedef enum Packed { NOT_PACKED, PACKED_GZ, PACKED_ZST } Packed;

typedef struct Input Input;

/* path "-": standard input.  The first bytes show whether it is compressed.  listed: the file's size when it was found:
 * no more is read if it has grown, and a shorter file ends the program; -1: its present size. */
Input *open_input(const char *path, int64_t listed);
void close_input(Input *in);
int64_t read_input(Input *in, void *to, int64_t bytes);        /* fewer than asked for only at the end */
int64_t peek_input(Input *in, const char **at, int64_t bytes); /* the next bytes, at most PEEK, which are not consumed */
void seek_input(Input *in, int64_t offset);                    /* in unpacked bytes; back in a pipe: ends the program */
int64_t input_offset(const Input *in);                         /* of the next byte, unpacked */
int64_t input_bytes(const Input *in);                          /* unpacked; -1 if unknown before the end */
Packed input_packed(const Input *in);
bool input_is_stream(const Input *in);   /* a pipe, which can be read only once */
const char *input_path(const Input *in); /* for messages */
int64_t input_heap(const Input *in);     /* bytes taken */
enum { PEEK = 1 << 16 };

/* ------------------------------------------------------------------ source/source.c, source/classify.c: finding files */

typedef enum Format { /* of a file; FORMAT_FOUND: by its first bytes and its name */
                      FORMAT_FOUND,
                      FORMAT_TEXT,
                      FORMAT_JSONL,
                      FORMAT_CSV, /* commas; fields may be in double quotes, and then have newlines */
                      FORMAT_TSV, /* tabs; no quoting */
                      FORMAT_SHARD,
                      FORMAT_NPY,
                      FORMATS
} Format;

typedef enum Split_text { /* the documents of plain text */
                          SPLIT_FILE,
                          SPLIT_BLANK, /* paragraphs: lines between empty lines; without the newline at their end */
                          SPLIT_LINE,  /* non-empty lines, without their newline */
                          SPLIT_WHOLE /* files, as SPLIT_FILE, but sequences may continue in the next
                                       */
} Split_text;

typedef enum Bad_utf8 {               /* treatment of bytes that are not UTF-8 */
                        UTF8_REPLACE, /* U+FFFD for each maximal part of a character (Unicode 15, section 3.9); counted
                                       */
                        UTF8_STOP,
                        UTF8_KEEP /* unchanged: for tokenizers of bytes */
} Bad_utf8;

typedef enum Targets { /* meaning of a list of strings as the target of a pair */
                       TARGETS_JOIN,
                       TARGETS_FIRST,
                       TARGETS_EACH /* one pair per string, with the same source */
} Targets;

/* The text of a chat: opening, and for each message: before ROLE after CONTENT end behind.  The assistant's contents and
 * the ends after them count.  What is NULL or false is not so. */
typedef struct Chat_form {
    const char *before, *after, *end, *behind;
    const char *mark;      /* a token of the form, which a tokenizer must have, as `opening` and `end`; NULL: none */
    const char *opening;   /* begins a chat */
    const char *standing;  /* what the system says where the first message is not the system's */
    const char *answerer;  /* ROLE of the assistant; NULL: "assistant" */
    const char *other_end; /* of messages that are not the assistant's; NULL: end behind, as of the assistant's */
    const char *joint;     /* the system has no message: what it says, and then this, is before the first content */
    const char *thought;   /* what an answer begins with until the next message: a thought that is empty */
    const char *roles;     /* all that may speak; NULL: anyone */
    bool trims;            /* contents lose white space at both ends */
    bool alternates;       /* a person begins, and every second message is a person's */
    bool skips_silence;    /* of a system that says nothing */
    bool bare_end;         /* nothing is behind the last message */
} Chat_form;
/* source/chat_form.c */
extern const Chat_form plain_chat, chatml_chat, llama3_chat, gemma_chat, phi3_chat;
typedef struct Chat_message {
    const char *role; /* system, user, assistant, … */
    Passage said;
    Passage system; /* what the system says before it, of forms with a joint; at NULL: nothing */
    bool last;      /* of the chat, so far */
} Chat_message;
typedef struct Chat_piece { /* of a message */
    Passage text;
    bool counts, content; /* as of a Span */
} Chat_piece;
/* [HEAD_PIECES]: what stands before a role's content; the rest: the content and what ends it. */
enum { HEAD_PIECES = 3, MESSAGE_PIECES = 9 };
/* How many; empty ones are left out, but for the head's. */
int message_pieces(const Chat_form *f, const Chat_message *m, Chat_piece *to);
/* Why the form has no message of this role, `turn` messages (without a system that is joined) after the beginning, or
 * not one that says this; NULL: it has. */
const char *message_fault(const Chat_form *f, const Chat_message *m, int64_t turn);
bool joins_system(const Chat_form *f, const char *role, bool first); /* whether a message is the system's, to be joined */
bool skips_message(const Chat_form *f, const Chat_message *m);
bool is_chat_role(const char *at, int64_t n); /* system, developer, user, assistant or tool */
Passage trimmed(const char *text, int64_t bytes); /* without white space of Unicode at both ends, as Jinja's trim */
/* That of a published chat template, a text of Jinja, into *form; false: none of the known ones. */
bool read_chat_template(const char *template, Chat_form *form);
const char *form_template(const Chat_form *f); /* a template of it; NULL: of the plain form */

typedef struct Source_options { /* all zero: a good default */
    Format format;              /* of all files */
    Split_text split;
    const char *text, *target; /* fields or columns; target: of pairs, whose source is `text` (NULL: "source").  Both
                                  NULL: "text", "source" and "target", "prompt" and "completion" or, in JSON lines,
                                  "messages" (as text: messages), whichever is there */
    Targets targets;
    bool both;             /* a pair is malformed if a half is empty, or if both together are longer than a part */
    const Chat_form *chat;     /* NULL: plain_chat */
    const char *unknown_chat;  /* why the form of chats is not known, which ends the program at the first; NULL: it is */
    const char *join;          /* between the strings of a list; NULL: a space */
    Bad_utf8 bad_utf8;
    int64_t bad_records; /* number of malformed records that are skipped; one more ends the program */
    int raw_id_size;     /* 2, 4: bytes of an id in .bin files without a header; 0: refused */
    int64_t ids_below;   /* upper bound of ids in shards; 0: none */
    bool separated;      /* documents of a shard begin at each id `separator`; otherwise a shard is one document */
    int32_t separator;
    int64_t read_bytes; /* of a file at a time; 0: 256 KB */
} Source_options;

typedef struct Source_file {
    const char *path; /* "-": standard input */
    Format format;
    Packed packed;
    int64_t bytes; /* of the file when it was found; -1: a pipe */
    int id_size;   /* shards: 2 or 4 */
    int64_t ids;   /* shards: by the header, or by the size without one; -1: unknown */
    int64_t head;  /* shards: bytes of the header */
    Input *stream; /* pipes: opened already; NULL: a file */
} Source_file;

typedef struct Sources {
    Source_options options;
    int n;
    Source_file *file; /* [n] in the order of the paths; within folders by name */
} Sources;

/* Paths are files, "-", globs (if there is no file of that name), or folders: all files in them and below, except
 * hidden files, and files of unknown format with zero bytes near their beginning.  Reads the heads of files.  Ends the
 * program if there is no file. */
Sources *open_sources(const Words *paths, const Source_options *o);
void close_sources(Sources *s);
uint64_t sources_hash(const Sources *s); /* of names, sizes and first bytes; a corpus may be too large to hash */
const char *format_name(Format f);              /* "JSON lines" */
bool parse_format(const char *word, Format *f); /* "text", "jsonl", "csv", "tsv", "shard", "npy" */

/* ------------------------------------------------------------------ source/reader.c: documents */

/* The start of a document or part, with all that a reader needs to resume there. */
typedef struct Place {
    int32_t file;
    int64_t offset; /* unpacked: of the part in text and shards, of its record elsewhere */
    int64_t record; /* documents of this file before it, skipped ones included */
    int64_t line;   /* from 1, of offset; shards: 0 */
    int64_t inside; /* bytes (shards: ids) of the document before this part */
    uint64_t hash;  /* of the document; 0 if inside is 0 */
} Place;

enum { HASHED = 1 << 16 }; /* number of first bytes that are hashed, or those of the first part, if it is shorter */

typedef struct Span { /* of a text */
    int32_t bytes;
    bool counts;  /* as a target */
    bool content; /* of a message: content, which is never a special token */
} Span;

typedef struct Document { /* or a part of one that is longer than the reader's limit */
    Place at;
    const char *text, *target; /* not ended by 0; target: of pairs, NULL otherwise; text NULL: ids */
    int64_t bytes, target_bytes;
    const void *ids; /* [n_ids] uint16_t or uint32_t; aligned */
    int id_size;     /* 2 or 4; 0: text */
    int64_t n_ids;
    const Span *span; /* [spans] of a chat: in order, they make up the text; otherwise NULL */
    int spans;
    bool first, last; /* part of the document */
    uint64_t hash;    /* XXH64 of the document's first bytes, of a pair its source's; the same for all parts */
} Document;

typedef struct Counts {              /* of a reader so far */
    int64_t documents, parts, split; /* split: documents of several parts */
    int64_t bytes, ids;              /* returned */
    int64_t bad_records, replaced;   /* replaced: number of U+FFFD inserted */
    int64_t zero_bytes, empty_files;
    char *first_bad; /* place and error of the first skipped record; NULL: none */
} Counts;

typedef struct Reader Reader;

/* part_bytes: largest size of a part, at least 16; pairs with a longer text or target, and longer chats, are malformed
 * records. cut(cut_arg, text, n): a place where a text of n bytes may be cut (safe_cut of a tokenizer), 0: none; if cut
 * is NULL or returns 0, texts are cut before the last space of the last eighth, or before the last character that does
 * not fit. */
Reader *open_reader(const Sources *s, int64_t part_bytes, int64_t (*cut)(void *, const char *, int64_t), void *cut_arg);
void close_reader(Reader *r);
/* Goes to a file's beginning, or to a place from next_document, after which the same parts follow. */
void reader_file(Reader *r, int file, const Place *from);
/* False: the file is at its end.  d points to the reader's memory, which is valid until the next call. */
bool next_document(Reader *r, Document *d);
const Counts *reader_counts(const Reader *r);
void count_again(Reader *r); /* from zero; bad_records are allowed anew */
int64_t reader_heap(const Reader *r);               /* bytes allocated; those of zlib and zstd are estimated */
char *source_place(const Sources *s, const Place *p); /* "a.jsonl:17", "a.bin: token 99"; from malloc */

/* ------------------------------------------------------------------ source/shard.c: ids by number */

/* Ids first … first + n - 1 of an uncompressed shard, whose descriptor stays open, so a replaced file is not
 * noticed. */
int open_shard(const Sources *s, int file);
void read_shard(const Sources *s, int file, int fd, int64_t first, int64_t n, int32_t *out);

#endif
