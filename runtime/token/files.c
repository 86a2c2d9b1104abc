/* files.c: the files of a tokenizer: tokenizer.json, vocab.json and merges.txt, encoder.json and vocab.bpe, vocab.txt,
 * ranks of tiktoken; and reading those without a file of their own.  None is trusted. */
#include "base/file.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST = 1 << 28 }; /* bytes of a file */

/* ------------------------------------------------------------------ files */

static char *read_tokenizer_text(const char *path, int64_t *bytes)
{
    struct stat about;
    FILE *f = open_stream_to_read(path);
    if (!f || fstat(fileno(f), &about) != 0)
        fail(EXIT_DATA, path, "expected a tokenizer, but it cannot be read: %s", error_text(errno));
    if (!S_ISREG(about.st_mode) || about.st_size > LARGEST)
        fail(EXIT_DATA, path, "expected a tokenizer: a file of at most %s", bytes_text(LARGEST));
    char *text = must_alloc((size_t)about.st_size + 1);
    *bytes = (int64_t)fread(text, 1, (size_t)about.st_size, f);
    fclose(f);
    return text;
}

static json_t *parse_json(const char *path, const char *text, int64_t n)
{
    json_error_t error;
    json_t *all = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!all) fail(EXIT_DATA, text_of("%s:%d:%d", path, error.line, error.column), "not JSON: %s", error.text);
    return all;
}

/* The next line of *at … end, without its end; NULL: none. */
static const char *next_line(const char **at, const char *end, int64_t *n)
{
    const char *line = *at;
    if (line >= end) return NULL;
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    *at = stop ? stop + 1 : end;
    *n = (stop ? stop : end) - line;
    if (*n && line[*n - 1] == '\r') --*n;
    return line;
}

static char *beside(const char *path, const char *name)
{
    char *folder = folder_of(path), *other = text_of("%s/%s", folder, name);
    free(folder);
    return other;
}

static bool is_there(const char *path) { return access(path, R_OK) == 0; }

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

/* ------------------------------------------------------------------ vocab.json and merges.txt */

static void take_published(Tokenizer *t, const char *name)
{
    char *fault = NULL;
    bool ok = add_split(t, name, false, false, &fault);
    bug_if(!ok);
}

/* As in GPT-2: its expression cuts text, and no token is special in text. */
static Tokenizer *read_pair(const char *vocab, json_t *words, const char *merges)
{
    Tokenizer *t = new_tokenizer(TOKEN_BPE, vocab);
    int64_t bytes, n, number = 0;
    char *text = read_tokenizer_text(merges, &bytes);
    const char *at = text;
    take_published(t, "gpt2");
    take_vocab(t, words, NULL);
    for (const char *line; (line = next_line(&at, text + bytes, &n));) {
        char *place = text_of("%s:%lld", merges, (long long)++number);
        bool comment = n >= 8 && memcmp(line, "#version", 8) == 0;
        if (n && !comment) take_merge(t, place, line, n);
        free(place);
    }
    free(text);
    finish_tokens(t);
    return t;
}

/* The user may give either of two files. */
static const char *const pairs[][2] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};

static Tokenizer *read_vocab(const char *path, json_t *words)
{
    bool encoder = ends_with(path, pairs[1][0]);
    char *merges = beside(path, pairs[encoder][1]);
    if (!is_there(merges))
        fail(EXIT_DATA, path, "is a vocabulary, whose merges are missing: expected %s beside it", pairs[encoder][1]);
    Tokenizer *t = read_pair(path, words, merges);
    free(merges);
    return t;
}

static Tokenizer *read_merges(const char *path)
{
    bool encoder = ends_with(path, pairs[1][1]);
    int64_t n;
    char *vocab = beside(path, pairs[encoder][0]);
    if (!is_there(vocab))
        fail(EXIT_DATA, path, "has merges, whose vocabulary is missing: expected %s beside it", pairs[encoder][0]);
    char *text = read_tokenizer_text(vocab, &n);
    json_t *words = parse_json(vocab, text, n);
    Tokenizer *t = read_pair(vocab, words, path);
    json_decref(words);
    free(text);
    free(vocab);
    return t;
}

/* ------------------------------------------------------------------ tiktoken */

/* Its files lack the expression and the special tokens, which are found by the number of ranks. */
typedef struct Known {
    int32_t ranks;
    const char *pattern;
    struct {
        const char *text;
        int32_t id;
    } special[8];
} Known;

static const Known known[] = {
    {50256, "gpt2", {{"<|endoftext|>", 50256}}}, /* r50k_base */
    {100256,
     "gpt4",
     {{"<|endoftext|>", 100257},
      {"<|fim_prefix|>", 100258},
      {"<|fim_middle|>", 100259},
      {"<|fim_suffix|>", 100260},
      {"<|endofprompt|>", 100276}}},                                             /* cl100k_base */
    {199998, "o200k", {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}}, /* o200k_base */
    {128000,
     "llama3",
     {{"<|begin_of_text|>", 128000},
      {"<|end_of_text|>", 128001},
      {"<|start_header_id|>", 128006},
      {"<|end_header_id|>", 128007},
      {"<|eom_id|>", 128008},
      {"<|eot_id|>", 128009},
      {"<|python_tag|>", 128010}}}, /* tokenizer.model of Llama 3 */
};

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int64_t decode_base64(const char *at, int64_t n, char *out)
{
    int64_t bytes = 0;
    uint32_t bits = 0;
    if (n == 0 || n % 4) return -1;
    int64_t padding = (at[n - 1] == '=') + (at[n - 1] == '=' && at[n - 2] == '=');
    for (int64_t i = 0; i < n - padding; i++) {
        int digit = digit_of(at[i]);
        if (digit < 0) return -1;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 == 0) continue;
        out[bytes++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    return bytes;
}

/* Takes ranks in ascending order, as tiktoken writes them. */
static void take_rank(Tokenizer *t, const char *place, const char *line, int64_t n)
{
    char room[LONGEST_RANK + 4];
    const char *space = memchr(line, ' ', (size_t)n);
    bool fits = space && space - line <= LONGEST_RANK / 3 * 4;
    int64_t bytes = fits ? decode_base64(line, space - line, room) : -1, rank = 0;
    char *number = space ? text_of("%.*s", (int)(line + n - space - 1), space + 1) : NULL;
    if (bytes < 1 || !parse_count(number, &rank))
        fail(EXIT_DATA, place,
             "expected a token in base 64 and its rank, as in \"IHRoZQ== 279\"; is this a tokenizer?");
    if (rank != t->token.n || find_string(&t->token, room, bytes) >= 0)
        fail(EXIT_DATA, place, "expected %s, found rank %lld",
             rank != t->token.n ? text_of("rank %d, since ranks follow each other", (int)t->token.n) : "a new token",
             (long long)rank);
    add_string(&t->token, room, bytes, true);
    free(number);
}

static void take_known(Tokenizer *t)
{
    const Known *k = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].ranks == t->token.n) k = &known[i];
    take_published(t, k ? k->pattern : "gpt4");
    if (!k)
        note("%s: the vocabulary with %d ranks is unknown; text is cut by GPT-4's expression, and there are no special "
             "tokens",
             t->path, (int)t->token.n);
    for (int i = 0; k && i < 8 && k->special[i].text; i++) {
        while (t->token.n < k->special[i].id) add_string(&t->token, NULL, 0, false);
        add_string(&t->token, k->special[i].text, (int64_t)strlen(k->special[i].text), false);
        add_special(t, k->special[i].text, (int64_t)strlen(k->special[i].text), k->special[i].id, false, false);
    }
}

static Tokenizer *read_ranks(const char *path, const char *text, int64_t bytes)
{
    Tokenizer *t = new_tokenizer(TOKEN_BPE, path);
    const char *at = text;
    int64_t n, number = 0;
    t->whole = t->by_token = true;
    for (const char *line; (line = next_line(&at, text + bytes, &n));) {
        char *place = text_of("%s:%lld", path, (long long)++number);
        if (n) take_rank(t, place, line, n);
        free(place);
    }
    for (int b = 0; b < 256; b++)
        if (find_string(&t->token, (char[]){(char)b}, 1) < 0)
            fail(EXIT_DATA, path, "expected a token for each byte, and there is none for 0x%02x; is this a tokenizer?",
                 b);
    take_known(t);
    finish_tokens(t);
    return t;
}

/* ------------------------------------------------------------------ the kind of a path */

Tokenizer *tokenizer_of_json(const char *path, const char *text, int64_t n)
{
    json_t *all = parse_json(path, text, n), *value;
    const char *key;
    bool vocab = json_object_size(all) > 0;
    json_object_foreach(all, key, value) vocab = vocab && json_is_integer(value);
    if (vocab) {
        Tokenizer *t = read_vocab(path, all);
        json_decref(all);
        return t;
    }
    Tokenizer *t = new_tokenizer(TOKEN_BYTES, path);
    if (!take_plain(t, all) && !take_hf_plain(t, all)) {
        take_hf(t, all);
        while (n > 0 && is_blank(text[n - 1])) n--;
        t->text = text_of("%.*s", (int)n, text);
    }
    json_decref(all);
    return t;
}

/* BERT's pieces, a line each. */
static Tokenizer *read_pieces(const char *path)
{
    int64_t n, bytes;
    char *text = read_tokenizer_text(path, &n), *settings = beside(path, "tokenizer_config.json");
    char *said = is_there(settings) ? read_tokenizer_text(settings, &bytes) : NULL;
    char *more = beside(path, "added_tokens.json");
    json_t *config = said ? parse_json(settings, said, bytes) : json_object();
    if (is_there(more) && !json_object_get(config, "added_tokens_decoder"))
        fail(EXIT_DATA, more, "expected no tokens beside vocab.txt; save the tokenizer as tokenizer.json");
    char *json = json_of_pieces(path, text, n, config);
    Tokenizer *t = tokenizer_of_json(path, json, (int64_t)strlen(json));
    json_decref(config);
    free(text), free(settings), free(said), free(more), free(json);
    return t;
}

/* vocab.txt, or such as bert-base-vocab.txt */
static bool is_pieces(const char *path) { return ends_with(path, "vocab.txt"); }

static bool looks_like_json(const char *text, int64_t n)
{
    int64_t i = 0;
    while (i < n && is_blank(text[i])) i++;
    return i < n && text[i] == '{';
}

static Tokenizer *read_tokenizer(const char *path)
{
    if (is_pieces(path)) return read_pieces(path);
    if (ends_with(path, pairs[0][1]) || ends_with(path, pairs[1][1])) return read_merges(path);
    int64_t n;
    char *text = read_tokenizer_text(path, &n);
    Tokenizer *t = looks_like_json(text, n) || ends_with(path, ".json") ? tokenizer_of_json(path, text, n)
                                                                        : read_ranks(path, text, n);
    free(text);
    return t;
}

/* The only file *.tiktoken in a folder, or NULL; from malloc. */
static char *ranks_in(const char *folder)
{
    char *found = NULL;
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        if (!ends_with(e->d_name, ".tiktoken")) continue;
        if (found) fail(EXIT_DATA, folder, "holds several files *.tiktoken; name one of them");
        found = text_of("%s/%s", folder, e->d_name);
    }
    if (d) closedir(d);
    return found;
}

static char *file_in(const char *folder)
{
    static const char *const names[] = {"tokenizer.json", "vocab.json", "encoder.json", "vocab.txt"};
    for (int i = 0; i < 4; i++) {
        char *path = text_of("%s/%s", folder, names[i]);
        char *merges = i == 1 || i == 2 ? text_of("%s/%s", folder, pairs[i - 1][1]) : NULL;
        bool there = is_there(path) && (!merges || is_there(merges));
        free(merges);
        if (there) return path;
        free(path);
    }
    return ranks_in(folder);
}

Tokenizer *saved_tokenizer(const char *folder)
{
    char *path = file_in(folder);
    Tokenizer *t = path ? read_tokenizer(path) : NULL;
    free(path);
    return t;
}

Tokenizer *saved_plain(const char *folder, Token_kind kind)
{
    char *path = text_of("%s/tokenizer.json", folder);
    int64_t n = 0;
    char *text = is_there(path) ? read_tokenizer_text(path, &n) : NULL;
    json_t *all = text ? parse_json(path, text, n) : NULL;
    Tokenizer *t = new_tokenizer(TOKEN_BYTES, path);
    bool plain = all && (take_plain(t, all) || take_hf_plain(t, all)) && t->kind == kind;
    json_decref(all);
    free(text);
    free(path);
    if (plain) return t;
    free_tokenizer(t);
    return NULL;
}

Tokenizer *load_tokenizer(const char *path)
{
    struct stat about;
    bool folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    Tokenizer *t = folder ? saved_tokenizer(path) : read_tokenizer(path);
    if (!t)
        fail(EXIT_DATA, path,
             "expected a tokenizer in this folder: tokenizer.json, vocab.json and merges.txt, encoder.json and "
             "vocab.bpe, vocab.txt, or one file *.tiktoken");
    if (t->other)
        fail(EXIT_DATA, t->path,
             "expected bytes, characters, words, a byte-level BPE, WordPiece or a Unigram, found %s, which is not read "
             "here",
             t->other);
    return t;
}
