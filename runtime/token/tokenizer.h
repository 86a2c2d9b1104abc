/* tokenizer.h: text to ids and back: bytes, characters, words, BPE, unigram models.
 *
 * A Tokenizer does not change after it is made, so threads share it.  An Encoder belongs to one thread.  An error in a
 * file ends the program (EXIT_DATA) with a message that names the file and the place. */
#ifndef LATHE_TOKEN_TOKENIZER_H
#define LATHE_TOKEN_TOKENIZER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct Words;
typedef struct Tokenizer Tokenizer;
typedef struct Encoder Encoder;

typedef enum Token_kind { TOKEN_BYTES, TOKEN_CHARS, TOKEN_WORDS, TOKEN_BPE, TOKEN_UNIGRAM, TOKEN_WORDPIECE } Token_kind;

typedef struct Ids {
    int32_t *at;
    int64_t n, room; /* grows by realloc */
} Ids;

/* A tokenizer of bytes, or of characters, which open_text() finds and numbers. */
Tokenizer *open_tokenizer(Token_kind kind);
void limit_bytes(Tokenizer *t, int64_t most); /* bytes below min(256, most) */

/* ------------------------------------------------------------------ token/files.c: from files */

/* A file: ours, tokenizer.json of Hugging Face (BPE of bytes or characters, Unigram, words, characters, bytes), vocab.json with
 * merges.txt or encoder.json with vocab.bpe beside it (either of the two), ranks of tiktoken; or a folder with such
 * files. */
Tokenizer *load_tokenizer(const char *path);
/* The same for a folder beside weights; NULL: it has none. */
Tokenizer *saved_tokenizer(const char *folder);
/* The same if it is one of bytes or of characters, as kind says; otherwise NULL. */
Tokenizer *saved_plain(const char *folder, Token_kind kind);
Tokenizer *tokenizer_of_json(const char *path, const char *text, int64_t n); /* of the text of tokenizer.json; path: for messages */
const char *tokenizer_path(const Tokenizer *t); /* for messages */
/* The kind of a saved tokenizer that is not supported ("WordPiece of 30522 tokens"); otherwise NULL. */
const char *unread_tokenizer(const Tokenizer *t);

/* ------------------------------------------------------------------ token/token.c: properties */

Token_kind tokenizer_kind(const Tokenizer *t);
int64_t tokenizer_size(const Tokenizer *t);               /* ids are below this */
/* tokenizer.json of BERT's pieces.  vocab: {piece: id}, taken over; config: tokenizer_config.json, which names the tokens
 * around a text, those of the vocabulary.  path: for messages. */
json_t *tokenizer_of_pieces(const char *path, json_t *vocab, const json_t *config);
int32_t special_id(const Tokenizer *t, const char *text); /* "<|endoftext|>"; -1: no such token */
int32_t token_of_text(const Tokenizer *t,
                      const char *text); /* the id of a text that is one token; -1: none, or several */
/* The number of tokens that its file puts before a text ("post_processor": <s>), and their ids; encoding does not add
 * them. */
int tokens_before(const Tokenizer *t, const int32_t **id);
const char *tokenizer_form(const Tokenizer *t); /* NFC, …: all that normalises its text; NULL: nothing does, or more */
int64_t token_bytes(const Tokenizer *t, int32_t id, const char **at); /* decoding: token after token */
bool adds_blank(const Tokenizer *t);         /* encoding puts a space before a text, and the first token decodes to it */
char *tokenizer_text(const Tokenizer *t);    /* of a tokenizer.json, from malloc; loads again as the same */
uint64_t tokenizer_hash(const Tokenizer *t); /* of that text */
char *tokenizer_words(const Tokenizer *t);   /* "BPE of 50257 tokens", from malloc */
void free_tokenizer(Tokenizer *t);

Encoder *open_encoder(const Tokenizer *t);
void close_encoder(Encoder *e);
int64_t encoder_heap(const Tokenizer *t); /* most bytes of an encoder's cache */
/* The place in messages: the prompt, a file; NULL: the tokenizer's own file.  The caller keeps the text. */
void encoder_place(Encoder *e, const char *place);
/* The first byte of a text of UTF-8 that a model of bytes or characters does not know, and what it is; -1: none. */
int64_t unknown_character(const Tokenizer *t, const char *text, int64_t n, uint32_t *code);
/* Appends the ids of any bytes.  For BPE a byte that is not part of UTF-8 is a piece of its own.  Ends the program if
 * the tokenizer has no token for a part of the text. */
void encode_bytes(Encoder *e, const char *text, int64_t n, Ids *out);
/* The largest k <= n found such that the ids of text[0 … k) and of the rest together are the ids of the whole, for any
 * continuation; 0: none was found. */
/* The same, but what reads as a special token is ordinary text; and whether anything of text[from … to) would be taken for
 * one, or a part of one, in all of text[n]. */
void encode_plain(Encoder *e, const char *text, int64_t n, Ids *out);
bool has_special(const Tokenizer *t, const char *text, int64_t n, int64_t from, int64_t to);
int64_t safe_cut(Encoder *e, const char *text, int64_t n);
void free_ids(Ids *ids);

/* ------------------------------------------------------------------ token/bulk.c: long texts, shards */

/* The ids of a text, by all threads of OpenMP, passed to take(arg, …) in order. */
typedef void Take_ids(void *arg, const int32_t *id, int64_t n);
void encode_text(const Tokenizer *t, const char *place, const char *text, int64_t n, Take_ids *take, void *arg);

/* The same for many texts, or for parts cut by safe_cut: they are copied, and encoded some MB at a time by all threads.
 * take: called in order; first, last: part of a text.  place: for messages; the caller keeps it. */
typedef void Take_part(void *arg, const int32_t *id, int64_t n, bool first, bool last);
typedef struct Bulk Bulk;
Bulk *open_bulk(const Tokenizer *t, Take_part *take, void *arg);
void bulk_text(Bulk *b, const char *place, const char *text, int64_t n, bool first, bool last);
void close_bulk(Bulk *b);

struct Fault;
typedef struct Shard_out Shard_out;    /* errors are recorded in the Fault */
int shard_id_size(const Tokenizer *t); /* bytes: 2 or 4 */
Shard_out *open_shard_out(const char *path, int size, struct Fault *f);
void put_ids(Shard_out *s, const int32_t *id, int64_t n);
int64_t close_shard_out(Shard_out *s);                       /* returns the number of ids; the file is synced */
int64_t shard_ids(const void *at, int64_t bytes, int *size); /* ids in a file's bytes; -1: not a complete shard */

/* ------------------------------------------------------------------ token/cache.c: cached ids */

typedef struct Token_list { /* of a whole text, mapped or in memory */
    const char *at;
    int64_t n;
    int size;     /* bytes of an id: 2 (unsigned) or 4 */
    int64_t heap; /* bytes allocated */
} Token_list;

typedef struct Stretch { /* of text, a file's */
    const char *at, *name;
    int64_t bytes;
} Stretch;

static inline int32_t list_id(const Token_list *l, int64_t i)
{
    return l->size == 2 ? ((const uint16_t *)l->at)[i] : ((const int32_t *)l->at)[i];
}

/* The ids of n stretches in order; hash: of all their bytes. */
Token_list list_tokens(const Tokenizer *t, const Stretch *s, int n, uint64_t hash);

/* ------------------------------------------------------------------ token/learn.c: from text */

typedef struct Learning { /* what to make */
    Token_kind kind;
    int64_t size;                /* number of ids, special ones included; BPE: at least 257; words: 0: all */
    int64_t least;               /* pairs and words with lower counts are left out */
    const char *pattern;         /* BPE: "gpt2", "gpt4", "llama3", "o200k", or a regular expression; NULL: gpt2 */
    bool lower, punctuation;     /* words: lower case; punctuation marks are words */
    const struct Words *special; /* special tokens; words have <unk> before them.  NULL: none */
} Learning;

typedef struct Learner Learner;
Learner *open_learner(const Learning *l);
void learn_from(Learner *s, const char *text, int64_t n); /* a document, or a part cut by safe_cut */
Tokenizer *close_learner(Learner *s);

/* ------------------------------------------------------------------ token/chars.c: in Hugging Face's format */

char *hf_tokenizer(const Tokenizer *t); /* text of tokenizer.json, from malloc */
char *hf_tokenizer_config(const Tokenizer *t, int64_t context); /* of tokenizer_config.json */

/* ------------------------------------------------------------------ token/frame.c: a text and what is around it */

/* The ids of a text, or of two in one row, with the tokens that the tokenizer's file puts around them, in id [most]; what
 * does not fit is cut.  type: which text each is of (NULL: not wanted).  Returns their number, negative if texts were
 * cut. */
int64_t frame_texts(const Tokenizer *t, const Ids *text, bool two, int64_t most, int32_t *id, int32_t *type);
void frame_sizes(const Tokenizer *t, int *before, int *around); /* tokens before one text, and in all */
bool spaces_words(const Tokenizer *t); /* RoBERTa's: words that are given one by one have a space before each */

/* ------------------------------------------------------------------ token/special.c: tokens by their usual names */

typedef struct Usual_tokens { /* -1: the tokenizer has none */
    int32_t bos, eos, pad;
} Usual_tokens;
Usual_tokens usual_tokens(const Tokenizer *k);

#endif
