/* json.c: reads tokenizer.json of Hugging Face's tokenizers: byte-level BPE and words; json_unigram.c and
 * json_characters.c read the others.  A file is not trusted: a damaged one ends the program, and another kind is
 * reported (Tokenizer.other). */
#include "base/utf8.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

enum { MOST_IDS = 1 << 21 };

/* ------------------------------------------------------------------ letters for bytes */

/* The bytes of GPT-2's letters; -1 if there are others.  out: room for n. */
static int64_t bytes_of_letters(const char *at, int64_t n, char *out)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < n;) {
        uint32_t letter;
        int length = decode_utf8((const unsigned char *)at + i, n - i, &letter);
        int byte = length ? byte_of_letter(letter) : -1;
        if (byte < 0) return -1;
        out[bytes++] = (char)byte;
        i += length;
    }
    return bytes;
}

/* ------------------------------------------------------------------ the vocabulary */

static int64_t id_in(const Tokenizer *t, const json_t *id, const char *where, const char *name)
{
    json_int_t i = json_is_integer(id) ? json_integer_value(id) : -1;
    if (i < 0 || i >= MOST_IDS)
        fail(EXIT_DATA, t->path, "%s: \"%.100s\": expected an id from 0 to %d", where, name, MOST_IDS - 1);
    return i;
}

static int64_t largest_id(const Tokenizer *t, json_t *vocab, const json_t *added)
{
    int64_t most = (int64_t)json_array_size(vocab) - 1;
    const char *word;
    json_t *id, *token;
    size_t i;
    json_object_foreach(vocab, word, id)
    {
        int64_t k = id_in(t, id, "\"vocab\"", word);
        if (k > most) most = k;
    }
    json_array_foreach(added, i, token)
    {
        const char *content = json_string_value(json_object_get(token, "content"));
        int64_t k = id_in(t, json_object_get(token, "id"), "\"added_tokens\"", content ? content : "?");
        if (k > most) most = k;
    }
    return most;
}

static void take_name(Tokenizer *t, const char *word, size_t bytes, int64_t id, Name *name)
{
    if (name[id].at)
        fail(EXIT_DATA, t->path, "\"vocab\": \"%.100s\" and \"%.100s\" are both token %lld", name[id].at, word,
             (long long)id);
    if (bytes > LONGEST_TOKEN)
        fail(EXIT_DATA, t->path, "\"vocab\": token %lld has %zu bytes; at most %d are read", (long long)id, bytes,
             LONGEST_TOKEN);
    name[id] = (Name){word, (int64_t)bytes, false};
}

static void take_names(Tokenizer *t, json_t *vocab, Name *name)
{
    const char *word;
    size_t bytes, i;
    json_t *id, *piece;
    json_object_keylen_foreach(vocab, word, bytes, id) take_name(t, word, bytes, json_integer_value(id), name);
    json_array_foreach(vocab, i, piece)
    {
        const json_t *text = json_array_get(piece, 0);
        if (json_array_size(piece) != 2 || !json_is_string(text) || !json_is_number(json_array_get(piece, 1)))
            fail(EXIT_DATA, t->path, "\"vocab\"[%zu]: expected [token, log probability]; the file is damaged", i);
        take_name(t, json_string_value(text), json_string_length(text), (int64_t)i, name);
    }
}

static void take_added(Tokenizer *t, json_t *vocab, const json_t *added, Name *name)
{
    json_t *token;
    size_t i;
    json_array_foreach(added, i, token)
    {
        const json_t *content = json_object_get(token, "content");
        const char *text = json_string_value(content);
        int64_t bytes = (int64_t)json_string_length(content), id = json_integer_value(json_object_get(token, "id"));
        if (!text || !bytes || bytes > LONGEST_TOKEN)
            fail(EXIT_DATA, t->path, "\"added_tokens\"[%zu]: expected a content of 1 to %d bytes", i, LONGEST_TOKEN);
        const json_t *there = json_object_getn(vocab, text, (size_t)bytes);
        bool same = name[id].at && name[id].bytes == bytes && memcmp(name[id].at, text, (size_t)bytes) == 0;
        if (there ? json_integer_value(there) != id : name[id].at && !same)
            fail(EXIT_DATA, t->path, "\"added_tokens\"[%zu]: \"%.100s\" is token %lld, and %s", i, text, (long long)id,
                 there ? "another one in \"vocab\"" : "so is another one");
        name[id] = (Name){text, bytes, true};
        add_special(t, text, bytes, (int32_t)id, json_is_true(json_object_get(token, "lstrip")),
                    json_is_true(json_object_get(token, "rstrip")));
    }
}

Name *names_of(Tokenizer *t, json_t *vocab, const json_t *added, int64_t *n)
{
    *n = largest_id(t, vocab, added) + 1;
    if (*n <= 0 || *n > MOST_IDS)
        fail(EXIT_DATA, t->path, "the vocabulary %s",
             *n ? text_of("has more than %d tokens", MOST_IDS) : text_of("is empty"));
    Name *name = must_alloc(sizeof *name * (size_t)*n);
    take_names(t, vocab, name);
    take_added(t, vocab, added, name);
    return name;
}

/* Fills token[] in the order of ids.  BPE writes bytes as letters; a token with other letters is kept unchanged, and
 * text never gives it. */
void take_vocab(Tokenizer *t, json_t *vocab, const json_t *added)
{
    if (!json_is_object(vocab)) fail(EXIT_DATA, t->path, "expected a \"vocab\" of {token: id, …}; the file is damaged");
    int64_t n;
    Name *name = names_of(t, vocab, added, &n);
    char *room = must_alloc(LONGEST_TOKEN);
    for (int64_t i = 0; i < n; i++) {
        const Name *own = &name[i];
        int64_t bytes =
            t->kind == TOKEN_BPE && own->at && !own->added ? bytes_of_letters(own->at, own->bytes, room) : -1;
        if (bytes > 0 && find_string(&t->token, room, bytes) < 0) add_string(&t->token, room, bytes, true);
        else
            add_string(&t->token, own->at, own->bytes,
                       (t->kind == TOKEN_WORDS && own->at && !own->added) || (t->kind == TOKEN_WORDPIECE && own->at));
    }
    free(room);
    free(name);
}

/* ------------------------------------------------------------------ merges */

static int32_t part_of_merge(const Tokenizer *t, const char *place, const char *at, int64_t n, char *room,
                             int64_t *bytes)
{
    *bytes = n > LONGEST_TOKEN ? -1
             : t->characters   ? blanks_in(&(Name){at, n, false}, room)
                               : bytes_of_letters(at, n, room);
    int32_t id = *bytes > 0 ? find_string(&t->token, room, *bytes) : -1;
    if (id < 0)
        fail(EXIT_DATA, place, "a merge of \"%.*s\", which is not in the vocabulary; are these of one tokenizer?",
             (int)(n < 100 ? n : 100), at);
    return id;
}

static void add_merge(Tokenizer *t, const char *place, const char *left, int64_t n, const char *right, int64_t m)
{
    char *room = must_alloc((size_t)(n + m));
    int64_t bytes, more;
    int32_t a = part_of_merge(t, place, left, n, room, &bytes);
    int32_t b = part_of_merge(t, place, right, m, room + bytes, &more);
    if (find_string(&t->token, room, bytes + more) < 0)
        fail(EXIT_DATA, place,
             "\"%.*s\" and \"%.*s\" merge to what is not in the vocabulary; are these of one tokenizer?",
             (int)(n < 100 ? n : 100), left, (int)(m < 100 ? m : 100), right);
    if ((t->merges & (t->merges - 1)) == 0)
        t->merge = must_grow(t->merge, sizeof *t->merge * (size_t)(t->merges ? 2 * t->merges : 1));
    t->merge[t->merges][0] = a;
    t->merge[t->merges++][1] = b;
    free(room);
}

void take_merge(Tokenizer *t, const char *place, const char *pair, int64_t n)
{
    const char *space = memchr(pair, ' ', (size_t)n);
    int64_t left = space ? space - pair : 0;
    if (!left || left + 1 == n || memchr(space + 1, ' ', (size_t)(n - left - 1)))
        fail(EXIT_DATA, place, "expected two tokens with a space between them, found \"%.*s\"",
             (int)(n < 100 ? n : 100), pair);
    add_merge(t, place, pair, left, space + 1, n - left - 1);
}

void take_merges(Tokenizer *t, const json_t *merges)
{
    size_t i;
    json_t *pair;
    if (!json_is_array(merges)) fail(EXIT_DATA, t->path, "expected \"merges\", a list of pairs; the file is damaged");
    json_array_foreach(merges, i, pair)
    {
        const json_t *a = json_array_get(pair, 0), *b = json_array_get(pair, 1);
        char *place = text_of("%s: merges[%zu]", t->path, i);
        if (json_is_string(pair)) take_merge(t, place, json_string_value(pair), (int64_t)json_string_length(pair));
        else if (json_array_size(pair) == 2 && json_is_string(a) && json_is_string(b))
            add_merge(t, place, json_string_value(a), (int64_t)json_string_length(a), json_string_value(b),
                      (int64_t)json_string_length(b));
        else fail(EXIT_DATA, place, "expected \"a b\" or [\"a\", \"b\"]; the file is damaged");
        free(place);
    }
}

void finish_tokens(Tokenizer *t)
{
    t->n = t->token.n;
    for (int b = 0; b < 256; b++) t->byte_id[b] = find_string(&t->token, (char[]){(char)b}, 1);
    if (t->kind == TOKEN_BPE && t->by_token) set_token_pairs(t);
    else if (t->kind == TOKEN_BPE) set_pairs(t);
    for (int32_t i = 0; t->kind == TOKEN_WORDS && i < t->n; i++) {
        int64_t n;
        const char *at = string_at(&t->token, i, &n);
        char *word = text_of("%.*s ", (int)n, at);
        add_string(&t->shown, word, (int64_t)strlen(word), false);
        free(word);
    }
}

/* ------------------------------------------------------------------ how text is cut */

const char *type_of(const json_t *part)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    return type ? type : "an unknown expression";
}

void set_other(Tokenizer *t, char *what)
{
    if (t->other) free(what);
    else t->other = what;
}

const char *kind_word(const Tokenizer *t) { return t->kind == TOKEN_UNIGRAM ? "a Unigram" : "BPE"; }

void take_pattern(Tokenizer *t, const char *pattern, bool only, bool digits)
{
    char *fault = NULL;
    if (t->stages == MAX_STAGES) {
        set_other(t, text_of("%s that cuts text in more than %d ways", kind_word(t), MAX_STAGES));
        return;
    }
    if (!add_split(t, pattern, only, digits, &fault)) fail(EXIT_DATA, t->path, "\"pre_tokenizer\": %s", fault);
}

/* An expression that matches the string. */
static char *quoted(const char *s)
{
    char *out = must_alloc(2 * strlen(s) + 1), *to = out;
    for (; *s; s++) {
        if ((unsigned char)*s < 0x80 && strchr("\\^$.|?*+()[]{}", *s)) *to++ = '\\';
        *to++ = *s;
    }
    return out;
}

void take_split(Tokenizer *t, const json_t *part)
{
    const json_t *pattern = json_object_get(part, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    const char *string = json_string_value(json_object_get(pattern, "String"));
    const char *behavior = json_string_value(json_object_get(part, "behavior"));
    bool invert = json_is_true(json_object_get(part, "invert"));
    bool isolated = behavior && strcmp(behavior, "Isolated") == 0;
    if ((!regex && !(string && *string)) || !behavior)
        fail(EXIT_DATA, t->path, "\"pre_tokenizer\": expected Split with pattern and behavior; the file is damaged");
    if (!isolated && !(strcmp(behavior, "Removed") == 0 && invert)) {
        set_other(t, text_of("%s that cuts text by Split with the behavior %.40s", kind_word(t), behavior));
        return;
    }
    char *own = regex ? text_of("%s", regex) : quoted(string);
    if (strlen(own)) take_pattern(t, own, !isolated, false);
    free(own);
}

bool flag_of(const json_t *part, const char *name, bool absent)
{
    const json_t *value = json_object_get(part, name);
    return value ? json_is_true(value) : absent;
}

/* bytes: ByteLevel has occurred; after it, text is letters for bytes. */
static void take_part(Tokenizer *t, const json_t *part, bool *bytes)
{
    const char *type = type_of(part);
    if (*bytes) {
        set_other(t, text_of("BPE that cuts text by %.40s after ByteLevel", type));
    } else if (strcmp(type, "ByteLevel") == 0) {
        *bytes = true;
        t->prefix_space = flag_of(part, "add_prefix_space", true);
        if (t->prefix_space && t->stages) set_other(t, text_of("BPE with a blank before each piece"));
        if (flag_of(part, "use_regex", true)) take_pattern(t, "gpt2", false, false);
    } else if (strcmp(type, "Split") == 0) {
        take_split(t, part);
    } else if (strcmp(type, "Digits") == 0) {
        take_pattern(t, flag_of(part, "individual_digits", false) ? "\\p{N}" : "\\p{N}+", false, true);
    } else {
        set_other(t, text_of("BPE that cuts text by %.40s", type));
    }
}

static void take_pre_tokenizer(Tokenizer *t, const json_t *pre)
{
    bool bytes = false;
    size_t i;
    json_t *part;
    if (strcmp(type_of(pre), "Sequence") != 0) take_part(t, pre, &bytes);
    else json_array_foreach(json_object_get(pre, "pretokenizers"), i, part) take_part(t, part, &bytes);
    if (!bytes) set_other(t, text_of("BPE that is not of bytes"));
}

/* ------------------------------------------------------------------ the kinds */

bool is_nothing(const json_t *value)
{
    return !value || json_is_null(value) || json_is_false(value) ||
           (json_is_string(value) && !json_string_length(value)) ||
           (json_is_number(value) && json_number_value(value) == 0);
}

static void take_unknown(Tokenizer *t, const json_t *model)
{
    const json_t *token = json_object_get(model, "unk_token");
    if (is_nothing(token)) return;
    const char *text = json_string_value(token);
    t->unknown = text ? special_id(t, text) : -1;
    if (t->unknown < 0)
        fail(EXIT_DATA, t->path, "\"unk_token\": expected a token of the vocabulary; the file is damaged");
}

static void take_bpe(Tokenizer *t, json_t *all, json_t *model)
{
    static const char *const absent[] = {"dropout", "continuing_subword_prefix", "end_of_word_suffix"};
    const json_t *normalizer = json_object_get(all, "normalizer");
    t->kind = TOKEN_BPE;
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (!is_nothing(json_object_get(model, absent[i]))) set_other(t, text_of("BPE with %s", absent[i]));
    bool cuts = is_nothing(normalizer) || take_normalizer(t, normalizer);
    if (changes_text(t->normals) && !t->other && !only_form(t->normals))
        set_other(t, text_of("BPE with the normalizer %.40s", type_of(normalizer)));
    if (!t->other) take_pre_tokenizer(t, json_object_get(all, "pre_tokenizer"));
    if (t->other) return;
    t->whole = json_is_true(json_object_get(model, "ignore_merges"));
    t->by_token = json_is_true(json_object_get(model, "by_token"));
    take_vocab(t, json_object_get(model, "vocab"), json_object_get(all, "added_tokens"));
    take_unknown(t, model);
    if (!t->by_token) take_merges(t, json_object_get(model, "merges"));
    t->letters_end = t->letters_end && cuts;
    t->marks_begin = t->marks_begin && !t->normals;
    finish_tokens(t);
}

static bool cuts_words(Tokenizer *t, const json_t *pre)
{
    const json_t *parts = json_object_get(pre, "pretokenizers"), *marks = json_array_get(parts, 1);
    const char *behavior = json_string_value(json_object_get(marks, "behavior"));
    if (strcmp(type_of(pre), "WhitespaceSplit") == 0) return true;
    t->punctuation = strcmp(type_of(pre), "Sequence") == 0 && json_array_size(parts) == 2 &&
                     strcmp(type_of(json_array_get(parts, 0)), "WhitespaceSplit") == 0 &&
                     strcmp(type_of(marks), "Punctuation") == 0 && (!behavior || strcmp(behavior, "Isolated") == 0);
    return t->punctuation;
}

static void take_words(Tokenizer *t, json_t *all, json_t *model)
{
    const json_t *normalizer = json_object_get(all, "normalizer"), *pre = json_object_get(all, "pre_tokenizer");
    bool lower = strcmp(type_of(normalizer), "Lowercase") == 0;
    t->kind = TOKEN_WORDS;
    if (!cuts_words(t, pre)) set_other(t, text_of("words that are cut by %.40s", type_of(pre)));
    if (!lower && !is_nothing(normalizer))
        set_other(t, text_of("words with the normalizer %.40s", type_of(normalizer)));
    if (t->other) return;
    t->lower = lower;
    take_vocab(t, json_object_get(model, "vocab"), json_object_get(all, "added_tokens"));
    take_unknown(t, model);
    if (t->unknown < 0)
        fail(EXIT_DATA, t->path, "words need an \"unk_token\" for those that are not in the vocabulary");
    finish_tokens(t);
}

void take_hf(Tokenizer *t, json_t *all)
{
    json_t *model = json_object_get(all, "model"), *token;
    const char *type = json_string_value(json_object_get(model, "type"));
    size_t i;
    if (!json_is_object(model))
        fail(EXIT_DATA, t->path,
             "expected {\"type\": \"bytes\"} or {\"type\": \"chars\", \"characters\": […]}, as train writes it, or "
             "a tokenizer of Hugging Face's");
    if (!type && json_object_get(model, "merges")) type = "BPE";
    json_array_foreach(json_object_get(all, "added_tokens"), i,
                       token) if (json_is_true(json_object_get(token, "single_word")))
        set_other(t, text_of("one with added tokens of single words"));
    if (type && strcmp(type, "BPE") == 0 && flag_of(model, "byte_fallback", false)) take_sentencepiece(t, all, model);
    else if (type && strcmp(type, "BPE") == 0) take_bpe(t, all, model);
    else if (type && strcmp(type, "WordLevel") == 0) take_words(t, all, model);
    else if (type && strcmp(type, "WordPiece") == 0) take_wordpiece(t, all, model);
    else if (type && strcmp(type, "Unigram") == 0) take_unigram(t, all, model);
    else
        set_other(t, text_of("%.40s of %zu tokens", type ? type : "an unknown kind",
                             json_is_array(json_object_get(model, "vocab"))
                                 ? json_array_size(json_object_get(model, "vocab"))
                                 : json_object_size(json_object_get(model, "vocab"))));
    if (!t->other) take_post_processor(t, json_object_get(all, "post_processor"));
    if (!t->other) take_frame(t, json_object_get(all, "post_processor"));
}
