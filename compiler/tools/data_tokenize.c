/* data_tokenize.c: `lathe tokenize train|encode|decode`. */
#include "model/origin.h"
#include "tools/data_command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ files */

static Stretch map_text(const char *path)
{
    struct stat about;
    int fd = open_to_read(path);
    if (fd < 0 || fstat(fd, &about) != 0)
        fail(EXIT_DATA, path, "expected a file, but it cannot be read: %s", error_text(errno));
    if (!S_ISREG(about.st_mode)) fail(EXIT_DATA, path, "expected a regular file");
    Stretch s = {"", path, about.st_size};
    if (s.bytes) s.at = mmap(NULL, (size_t)s.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (s.at == MAP_FAILED) fail(EXIT_DATA, path, "cannot be mapped into memory: %s", error_text(errno));
    close(fd);
    return s;
}

static void unmap_text(Stretch s)
{
    if (s.bytes) munmap((void *)s.at, (size_t)s.bytes);
}

void need_inputs(const Command_line *c, const Words *inputs)
{
    if (inputs->n == 0) fail(EXIT_USAGE, NULL, "%s needs files to read: lathe %s %s", c->name, c->name, c->usage);
}

_Noreturn void refuse_fault(const Fault *f) { fail(EXIT_DATA, f->path, "%s", f->text); }

void need_text(const Source_file *f)
{
    if (f->format == FORMAT_SHARD || f->format == FORMAT_NPY)
        fail(EXIT_DATA, f->path, "expected text, found %s; take it out, or say --format text", format_name(f->format));
}

/* ------------------------------------------------------------------ train */

enum { LEARNT_PART = 1 << 22 };

static Token_kind kind_named(const char *name)
{
    static const char *const names[] = {[TOKEN_BYTES] = "bytes",
                                        [TOKEN_CHARS] = "chars",
                                        [TOKEN_WORDS] = "words",
                                        [TOKEN_BPE] = "bpe",
                                        [TOKEN_UNIGRAM] = "unigram"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return (Token_kind)i;
    fail(EXIT_USAGE, NULL, "--kind %s: expected bpe, unigram, words, chars or bytes", name);
}

static void check_learning(const Learning *l)
{
    if (l->kind == TOKEN_BPE && (l->size < 257 || l->size > 1 << 20))
        fail(EXIT_USAGE, NULL, "--size %lld: a BPE has 257 to 1048576 tokens: the 256 bytes, and what is made of them",
             (long long)l->size);
    if (l->kind == TOKEN_UNIGRAM && (l->size < 300 || l->size > 1 << 20))
        fail(EXIT_USAGE, NULL,
             "--size %lld: a unigram model has 300 to 1048576 tokens: <unk>, the 256 bytes, and what is found",
             (long long)l->size);
    if (l->kind < TOKEN_BPE && l->pattern) fail(EXIT_USAGE, NULL, "--pattern is for --kind bpe and unigram");
    if (l->kind != TOKEN_WORDS && (l->lower || l->punctuation))
        fail(EXIT_USAGE, NULL, "--lower and --punctuation are for --kind words");
    if (l->kind < TOKEN_WORDS && (l->size || l->special->n))
        fail(EXIT_USAGE, NULL, "--size and --special are for --kind bpe, unigram and words");
}

static void write_tokenizer(const Tokenizer *t, const char *folder)
{
    Fault fault = {0};
    char *path = text_of("%s/tokenizer.json", folder), *text = tokenizer_text(t), *line = text_of("%s\n", text);
    if (!make_folders(folder, &fault) || !replace_text(path, line, &fault)) refuse_fault(&fault);
    show(stdout, "%s: %s\n", path, tokenizer_words(t));
    free(path);
    free(text);
    free(line);
}

/* Long documents come in parts, cut before a blank. */
static void learn_files(Learner *s, const Words *inputs, const Source_options *o)
{
    Document d;
    Sources *files = open_sources(inputs, o);
    Reader *r = open_reader(files, LEARNT_PART, NULL, NULL);
    for (int i = 0; i < files->n; i++) {
        need_text(&files->file[i]);
        for (reader_file(r, i, NULL); next_document(r, &d);) {
            learn_from(s, d.text, d.bytes);
            if (d.target) learn_from(s, d.target, d.target_bytes);
        }
    }
    close_reader(r);
    close_sources(files);
}

static int train(int argc, char **argv)
{
    Words inputs = {0}, special = {0};
    Source_words words = {0};
    const char *kind = "bpe", *out = NULL;
    Learning l = {.special = (struct Words *)&special};
    const Flag flags[] = {
        {"--kind", FLAG_TEXT, &kind, "KIND", "bpe (default), unigram, words, chars or bytes"},
        {"--size", FLAG_COUNT, &l.size, "N", "tokens, special ones included (bpe, unigram: default 16384; words: all)"},
        {"--out", FLAG_TEXT, &out, "DIR", "folder for tokenizer.json"},
        {"--least", FLAG_COUNT, &l.least, "N", "bpe, words: pairs and words that occur less often are left out (2)"},
        {"--pattern", FLAG_TEXT, &l.pattern, "NAME|REGEX",
         "bpe, unigram: how text is cut: gpt2 (default), gpt4, llama3, qwen2, o200k, or a regular expression"},
        {"--special", FLAG_TEXTS, &special, "TEXT", "a token of its own, such as '<|endoftext|>'; may be repeated"},
        {"--lower", FLAG_ON, &l.lower, "", "words: in lower case"},
        {"--punctuation", FLAG_ON, &l.punctuation, "", "words: punctuation marks are words"},
        SOURCE_FLAGS(words, "keep"),
    };
    const Command_line c = {
        "tokenize train", "--out DIR [options] FILE…",
        "Makes a tokenizer from text (files, globs, folders, - for standard input), and writes tokenizer.json.", flags,
        sizeof flags / sizeof *flags};
    take_command_line(&c, argc, argv, 2, &inputs);
    need_flag(&c, "--out DIR", out);
    l.kind = kind_named(kind);
    if (l.kind >= TOKEN_BPE && !l.size) l.size = 16384;
    check_learning(&l);
    if (!l.least) l.least = 2;
    if (l.kind != TOKEN_BYTES) need_inputs(&c, &inputs);
    Learner *s = open_learner(&l);
    const Source_options o = source_options(&words, UTF8_KEEP, 0);
    if (l.kind != TOKEN_BYTES) learn_files(s, &inputs, &o);
    Tokenizer *t = close_learner(s);
    if (tokenizer_size(t) < l.size)
        note("the text gives %lld tokens, not %lld: no further pair or word occurs %lld times",
             (long long)tokenizer_size(t), (long long)l.size, (long long)l.least);
    write_tokenizer(t, out);
    free_tokenizer(t);
    return 0;
}

/* ------------------------------------------------------------------ decode */

static void put_token(const Tokenizer *t, const char *path, int64_t place, int64_t id, FILE *out)
{
    const char *at;
    if (id < 0 || id >= tokenizer_size(t))
        fail(EXIT_DATA, text_of("%s: token %lld", path, (long long)place), "is id %lld, and %s has %lld", (long long)id,
             tokenizer_path(t), (long long)tokenizer_size(t));
    int64_t n = token_bytes(t, (int32_t)id, &at), left_out = place == 0 && n && at[0] == ' ' && adds_blank(t);
    if (n > left_out) show_raw(out, at + left_out, (size_t)(n - left_out));
}

static void decode_shard(const Tokenizer *t, Stretch s, int64_t n, int size, FILE *out)
{
    Token_list l = {s.at + 1024, n, size, 0};
    for (int64_t i = 0; i < n; i++) put_token(t, s.name, i, list_id(&l, i), out);
}

/* A list of ids a line; a line each. */
static void decode_lines(const Tokenizer *t, Stretch s, FILE *out)
{
    int64_t line = 1;
    for (const char *at = s.at, *end = s.at + s.bytes, *stop; at < end; at = stop + 1, line++) {
        json_error_t error;
        size_t i;
        json_t *id;
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        json_t *list = json_loadb(at, (size_t)(stop - at), 0, &error);
        char *place = text_of("%s:%lld", s.name, (long long)line);
        if (!json_is_array(list))
            fail(EXIT_DATA, place, "expected a token shard, or lines of JSON such as [464, 3290]");
        json_array_foreach(list, i, id)
        {
            if (!json_is_integer(id)) fail(EXIT_DATA, place, "expected ids, whole numbers");
            put_token(t, place, (int64_t)i, json_integer_value(id), out);
        }
        fputc('\n', out);
        json_decref(list);
        free(place);
    }
}

static int decode(int argc, char **argv)
{
    Words inputs = {0};
    const char *path = NULL, *to = NULL;
    const Flag flags[] = {
        {"--tokenizer", FLAG_TEXT, &path, "FILE|DIR",
         "tokenizer.json, vocab.json, encoder.json, vocab.txt, *.tiktoken, *.gguf, or the folder of one"},
        {"--out", FLAG_TEXT, &to, "FILE", "instead of standard output"},
    };
    const Command_line c = {"tokenize decode", "--tokenizer FILE|DIR [--out FILE] INPUT…",
                            "Text of token shards, or of lines of JSON lists of ids (a line each).", flags,
                            sizeof flags / sizeof *flags};
    take_command_line(&c, argc, argv, 2, &inputs);
    Tokenizer *t = tokenizer_named(need_flag(&c, "--tokenizer FILE|DIR", path));
    need_inputs(&c, &inputs);
    FILE *out = to ? fopen(to, "wb") : stdout;
    if (!out) fail(EXIT_DATA, to, "cannot be written: %s", error_text(errno));
    for (int i = 0; i < inputs.n; i++) {
        int size;
        Stretch s = map_text(inputs.at[i]);
        int64_t n = shard_ids(s.at, s.bytes, &size);
        if (n >= 0) decode_shard(t, s, n, size, out);
        else decode_lines(t, s, out);
        unmap_text(s);
    }
    if (fflush(out) != 0 || ferror(out))
        fail(EXIT_DATA, to ? to : "standard output", "cannot be written: %s", error_text(errno));
    return 0;
}

/* ------------------------------------------------------------------ which */

int tokenize_command(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } commands[] = {{"train", train}, {"encode", encode_command}, {"decode", decode}};
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc, argv);
    bool help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    if (!help)
        fail(EXIT_USAGE, NULL, "tokenize: expected train, encode or decode%s%s", argc > 1 ? ", found " : "",
             argc > 1 ? argv[1] : "");
    show(stdout, "usage: lathe tokenize train|encode|decode …\n\n"
                 "  train   makes a tokenizer from text\n  encode  token ids of text\n  decode  text of token ids\n\n"
                 "`lathe tokenize train --help` lists the options.\n");
    return 0;
}
