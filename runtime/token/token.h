/* token.h: shared by the files of tokenizers: the representation of a tokenizer, and the parts of an encoder. */
#ifndef LATHE_TOKEN_TOKEN_H
#define LATHE_TOKEN_TOKEN_H

#include "base/words.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ token/strings.c: byte strings by number */

typedef struct Strings {
    char *pool;
    int64_t bytes, room;
    int64_t *end; /* [n] end of string k in the pool; it starts at the end of the one before */
    int32_t n, cap;
    int32_t *slot; /* [slots] number + 1, by hash; 0: free */
    uint64_t slots;
} Strings;

int32_t add_string(Strings *s, const char *at, int64_t n, bool known); /* its number; known: find_string finds it */
int32_t find_string(const Strings *s, const char *at, int64_t n);      /* -1: none */
const char *string_at(const Strings *s, int32_t k, int64_t *n);
void free_strings(Strings *s);

/* A hash of short strings, for tables in memory. */
static inline uint64_t quick_hash(const char *at, int64_t n)
{
    const uint64_t mix = 0x9E3779B97F4A7C15u;
    const char *end = at + n;
    uint64_t h = (uint64_t)n * mix, w = 0;
    for (; end - at > 8; at += 8) {
        memcpy(&w, at, 8);
        h = (h ^ w) * mix;
        h ^= h >> 29;
    }
    if (n >= 8) {
        memcpy(&w, end - 8, 8);
    } else if (n >= 4) {
        memcpy(&w, at, 4);
        uint32_t last;
        memcpy(&last, end - 4, 4);
        w |= (uint64_t)last << 32;
    } else if (n > 0) {
        w = (unsigned char)at[0] | (uint64_t)(unsigned char)at[n >> 1] << 8 | (uint64_t)(unsigned char)end[-1] << 16;
    }
    h = (h ^ w) * mix;
    return h ^ h >> 32;
}

/* ------------------------------------------------------------------ token/trie.c: tokens that begin at a position */

typedef struct Edge { /* from a node by a byte to the next node */
    uint64_t key;     /* node << 8 | byte */
    int32_t to;       /* 0: a free slot, because no edge leads to the root */
    int32_t id;       /* the token that ends there; -1: none */
} Edge;

typedef struct Trie {
    Edge *edge; /* [slots] by hash */
    uint64_t slots;
    int32_t nodes; /* without the root, 0 */
} Trie;

static inline uint64_t edge_key(int32_t node, char byte) { return (uint64_t)node << 8 | (unsigned char)byte; }

void add_to_trie(Trie *t, const char *at, int64_t n, int32_t id);
const Edge *follow_byte(const Trie *t, int32_t node, char byte); /* NULL: no token continues with it */
void free_trie(Trie *t);

/* ------------------------------------------------------------------ a tokenizer */

typedef struct Pair {   /* BPE: two tokens that become one */
    uint64_t key;       /* left << 32 | right; NO_PAIR: a free slot */
    int32_t rank, made; /* the lowest rank is merged first */
} Pair;
#define NO_PAIR UINT64_MAX

typedef struct Special { /* a token at which text is cut first */
    char *text;
    int64_t bytes;
    int32_t id;
    bool left, right; /* includes spaces on that side */
} Special;

enum { MAX_STAGES = 8, LONGEST_TOKEN = 1 << 15, LONGEST_RANK = 1000 }; /* bytes; LONGEST_RANK: tiktoken's */

typedef struct Split { /* a stage of splitting text into pieces (token/split.c) */
    char *pattern;     /* regular expression: its matches are pieces */
    bool only;         /* text between matches is dropped; otherwise it is a piece, too */
    bool digits;       /* Hugging Face's Digits, for writing it again */
    void *code;        /* pcre2_code */
    bool jit;
} Split;

typedef struct Normals Normals; /* token/normal.c */

enum { MAX_BEGINS = 8, MAX_FRAME = 16 }; /* tokens before a text; parts of a row */

typedef struct Frame { /* a text, or two, and the tokens around: token/frame.c */
    struct Framed {
        int32_t id; /* -1: a text */
        int part, type; /* part: 0, or 1 for the second text; -1: a token */
    } at[MAX_FRAME];
    int n; /* 0: the file says nothing */
} Frame;
typedef struct Framed Framed;

struct Tokenizer {
    Token_kind kind;
    char *path;    /* of its file, for messages */
    char *other;   /* the kind, if it is not supported */
    int32_t n;     /* ids are below this */
    Strings token; /* all but BYTES, CHARS: bytes of each id; find_string finds those that text can give */
    /* CHARS */
    uint32_t *character; /* [n] code point of each id */
    int32_t *id;         /* [CODE_POINTS] id + 1; 0: none */
    /* WORDS */
    bool lower, punctuation;
    Strings shown;   /* each word and a blank, for decoding */
    int32_t unknown; /* for text without a token; -1: Unigram ends the program, BPE leaves bytes out */
    /* WORDPIECE, with punctuation, shown and unknown as above */
    char *inner; /* before a piece that does not begin a word: "##" */
    int64_t longest_word; /* characters; longer ones are unknown */
    /* UNIGRAM: in a file that writes blanks as U+2581 token[] has blanks */
    Trie trie;     /* of what text can give */
    double *score; /* [n] log probability */
    double unknown_score;
    Normals *normals;   /* normalisation of text; NULL: none */
    bool blank_sign;    /* U+2581 in text is a blank */
    bool cut_blanks;    /* a piece begins at each space */
    bool prefix_first;  /* prefix_space only at the beginning of the text, not after a special token */
    bool prefix_pieces; /* a space before each piece that does not begin with one */
    bool prefix_always; /* prefix_space also before a text that begins with one */
    /* BPE, UNIGRAM: how text is cut */
    int32_t byte_id[256]; /* -1: none */
    bool prefix_space;    /* a space before each text that does not begin with one */
    int stages;
    Split stage[MAX_STAGES];
    bool known_stages, words_end; /* all stages are published; one cuts words, not only numbers */
    bool marks_begin;             /* a piece ends between a wide letter and a wide full stop or comma: safe_cut */
    bool letters_end;             /* a piece always ends between an ASCII letter and a space: safe_cut */
    /* BPE */
    int32_t (*merge)[2]; /* [merges] in order; by_token: none */
    int64_t merges;
    Pair *pair; /* [pairs], a power of two */
    uint64_t pairs;
    bool characters; /* they are merged, not bytes; those without a token become bytes */
    bool cut_words;  /* a piece begins at each space that follows no space */
    bool whole;    /* a piece that is a token is encoded as it, without merges */
    bool by_token; /* tiktoken: the rank of a pair is the id of its token */
    Special *special;
    int specials;
    bool starts[256]; /* bytes that special tokens start with */
    int32_t begin[MAX_BEGINS];
    int begins;
    Frame frame[2]; /* around one text, around two */
    bool spaced_words; /* words that are given one by one have a space before each */
    char *text;       /* of tokenizer.json as it was read; NULL: it must be made */
};

Tokenizer *new_tokenizer(Token_kind kind, const char *path);
void add_special(Tokenizer *t, const char *text, int64_t bytes, int32_t id, bool left, bool right);
void take_post_processor(Tokenizer *t, const json_t *post); /* the tokens before a text */
void take_frame(Tokenizer *t, const json_t *post);

/* ------------------------------------------------------------------ token/chars.c: bytes and characters */

void number_characters(Tokenizer *t); /* by id[], which is not 0 for characters that occur */
uint32_t letter_of_byte(int byte);    /* GPT-2's letter for a byte: U+0021 … U+0143 */
int byte_of_letter(uint32_t letter);  /* -1: none */
char *plain_text(const Tokenizer *t); /* our own tokenizer.json of bytes and characters */
/* False: not of that kind. */
bool take_plain(Tokenizer *t, const json_t *all);
bool take_hf_plain(Tokenizer *t, const json_t *all);

/* ------------------------------------------------------------------ token/normal.c: normalisation */

typedef struct Draft_text { /* built from pieces */
    char *at;
    int64_t n, room;
} Draft_text;

void put_text(Draft_text *d, const char *at, int64_t n);
/* token/unicode.c: finds NFC, NFD, NFKC or NFKD; without the library that makes them it ends the program (3). */
bool find_normal_form(Tokenizer *t, const char *name, int *form);
const char *name_of_form(int form);
void put_normal_form(int form, const char *text, int64_t n, Draft_text *out);
bool changes_text(const Normals *all);
const char *only_form(const Normals *all); /* its name, if they are nothing else; NULL */

/* token/clean.c: one thing that BERT does to text; the last three need category_of() to be there. */
enum { CLEAN_TEXT, CLEAN_IDEOGRAPHS, CLEAN_MARKS, CLEAN_CAPITALS };
void put_clean(int what, const char *text, int64_t n, Draft_text *out);
bool is_control_or_format(uint32_t c); /* Unicode's categories C*, but not what has none: token/unicode.c */
bool is_accent(uint32_t c);            /* Mn, likewise */
int lower_letter(uint32_t c, char *out); /* bytes of its small letter, or of itself: token/words.c */

/* False: text may no longer be cut before a space; sets t->other if the part is unknown. */
bool take_normalizer(Tokenizer *t, const json_t *part);
const char *normal_text(const Normals *all, const char *text, int64_t *n, Draft_text room[2]);
void free_normals(Normals *all);
int64_t decode_base64(const char *at, int64_t n, char *out); /* bytes; -1: it is none; token/files.c */
bool is_space_at(const char *at, int64_t n); /* text begins with Unicode's White_Space; token/words.c */

/* ------------------------------------------------------------------ token/split.c: regular expressions */

/* pattern: an expression, or the name of a published one.  False: invalid, with the reason in *fault (from malloc);
 * ends the program if it was built without PCRE2. */
const char *published_pattern(const char *name); /* NULL: no such name */
bool add_split(Tokenizer *t, const char *pattern, bool only, bool digits, char **fault);
void free_splits(Tokenizer *t);

typedef struct Splitter Splitter; /* of one thread */
Splitter *open_splitter(const Tokenizer *t, const char *const *place);
void close_splitter(Splitter *s);
/* Calls take(arg, piece, bytes) for each piece of text, which holds no special tokens; invalid UTF-8 byte by byte. */
typedef void Take_piece(void *arg, const char *at, int64_t n);
void split_text(Splitter *s, const char *text, int64_t n, Take_piece *take, void *arg);

/* ------------------------------------------------------------------ token/special.c: special tokens in text */

/* The next special token of text[from … n): its position, and its number in *which; n and -1: none. */
int64_t find_special(const Tokenizer *t, const char *text, int64_t from, int64_t n, int *which);
bool special_crosses(const Tokenizer *t, const char *text, int64_t n, int64_t cut); /* whether one may span the cut */
bool is_blank(char c);                                                              /* of ASCII */

/* ------------------------------------------------------------------ token/bpe.c: merging */

void set_pairs(Tokenizer *t);       /* of merge[] */
void set_token_pairs(Tokenizer *t); /* by_token: for all ways to make a token from two */
typedef struct Merger Merger;       /* of one thread: memory and cache */
Merger *open_merger(const Tokenizer *t, const char *const *place);
void close_merger(Merger *m);
void merge_piece(Merger *m, const char *at, int64_t n, Ids *out);

/* ------------------------------------------------------------------ token/unigram.c */

typedef struct Lattice Lattice; /* of one thread: memory */
Lattice *open_lattice(const Tokenizer *t, const char *const *place);
void close_lattice(Lattice *l);
void unigram_piece(Lattice *l, const char *at, int64_t n, Ids *out);

/* ------------------------------------------------------------------ token/pieces.c: a piece of either, cached */

typedef struct Pieces Pieces;    /* of one thread */
enum { PIECES_BYTES = 8 << 20 }; /* largest size, except for pieces of more than 100,000 bytes */
Pieces *open_pieces(const Tokenizer *t, const char *const *place);
void close_pieces(Pieces *p);
void encode_piece(Pieces *p, const char *at, int64_t n, Ids *out);

/* ------------------------------------------------------------------ token/merges.c: learning them */

/* Learns merge[] from pieces and their counts, until there are `size` tokens or no pair occurs `least` times; token[]
 * and byte_id[] have the bytes. */
void learn_merges(Tokenizer *t, const Strings *piece, const int64_t *count, int64_t size, int64_t least);

/* ------------------------------------------------------------------ token/seeds.c, token/em.c: unigram
 * models */

typedef struct Corpus { /* distinct words of a text, each followed by 0xff */
    const char *text;
    int64_t bytes, words;
    const int64_t *begin, *count; /* [words] position and count of each */
} Corpus;

typedef struct Seed { /* a string that may become a token */
    const char *at;
    int bytes;
    double count, cover; /* cover: count times characters */
} Seed;
enum { SEED_CHARACTERS = 16, SEED_BYTES = 64, LONGEST_WORD = 1024 };

Seed *find_seeds(const Corpus *c, int64_t *n); /* of several characters, each string once or twice */
/* Adds up to `size` tokens with their scores to t: all of `single`, the characters of the words, with their counts, and
 * the best strings. */
void learn_unigram(Tokenizer *t, const Corpus *c, const Strings *single, const double *count, int64_t size);

/* token/corpus.c: the same from pieces and their counts. */
void learn_corpus(Tokenizer *t, const Strings *piece, const int64_t *count, int64_t size);

/* ------------------------------------------------------------------ token/words.c: words */

/* The next word of text[*from … n), with *from after it; false: none.  word: room for 4 n bytes and more. */
bool next_word(const Tokenizer *t, const char *text, int64_t *from, int64_t n, char *word, int64_t *bytes);

/* ------------------------------------------------------------------ token/json.c, token/out.c:
 * tokenizer.json */

char *hf_text(const Tokenizer *t);       /* in Hugging Face's format, except bytes and characters */
void take_hf(Tokenizer *t, json_t *all); /* BPE, Unigram and words; other kinds leave t->other */
void finish_tokens(Tokenizer *t);        /* builds the tables that depend on token[] */
void take_vocab(Tokenizer *t, json_t *vocab, const json_t *added);             /* {token: id, …} */
void take_merges(Tokenizer *t, const json_t *merges);
void take_merge(Tokenizer *t, const char *place, const char *pair, int64_t n); /* "a b" */

typedef struct Name { /* of an id, in a file */
    const char *at;   /* NULL: no token has this id */
    int64_t bytes;
    bool added; /* special */
} Name;
Name *names_of(Tokenizer *t, json_t *vocab, const json_t *added, int64_t *n); /* vocab: {token: id} or [[token, x]] */
const char *type_of(const json_t *part);
bool flag_of(const json_t *part, const char *name, bool absent); /* whether a member is true; absent: the default */
bool is_nothing(const json_t *value);                            /* missing, null, false, "", 0 */
void set_other(Tokenizer *t, char *what);                        /* unless it is set already */
const char *kind_word(const Tokenizer *t);                       /* "a Unigram", "BPE" */
void take_pattern(Tokenizer *t, const char *pattern, bool only, bool digits);
void take_split(Tokenizer *t, const json_t *part);

/* ------------------------------------------------------------------ token/json_unigram.c */

void take_unigram(Tokenizer *t, json_t *all, json_t *model);
void take_blank_pieces(Tokenizer *t, json_t *vocab, const json_t *added, bool bytes); /* token[]; bytes: <0x41> is one */
void take_metaspace(Tokenizer *t, const json_t *part);                          /* of a pre-tokenizer */
int64_t blanks_in(const Name *n, char *out); /* its bytes with spaces for U+2581; out: room for as many */
void set_scores(Tokenizer *t, double least); /* trie, and unknown_score from the least of all scores */
void finish_scores(Tokenizer *t); /* of learned tokens; bytes get such low ones that text does not use their names */

/* ------------------------------------------------------------------ token/wordpiece.c */

void take_wordpiece(Tokenizer *t, json_t *all, json_t *model);
char *json_of_pieces(const char *path, const char *text, int64_t n, const json_t *config); /* token/vocab_txt.c: tokenizer.json, from malloc */
void word_pieces(const Tokenizer *t, const char *word, int64_t n, Ids *out); /* of a word, or a mark */

/* ------------------------------------------------------------------ token/json_characters.c */

void take_sentencepiece(Tokenizer *t, json_t *all, json_t *model);

static inline void need_ids(Ids *ids, int64_t more)
{
    if (ids->n + more <= ids->room) return;
    ids->room = (ids->n + more) * 2 + 64;
    ids->at = must_grow(ids->at, sizeof *ids->at * (size_t)ids->room);
}

static inline void put_id(Ids *ids, int32_t id)
{
    need_ids(ids, 1);
    ids->at[ids->n++] = id;
}

#endif
