/* test_source_bad.c: everything that can be wrong with a file ends the program with code 3, naming the file and the
 * place, or is skipped and counted, as the user chose. */
#include "data/array.h"
#include "sources.h"

#include <sys/stat.h>

/* ------------------------------------------------------------------ a file that is read to its end */

typedef struct Reading {
    const char *path;
    Source_options o;
    int64_t part;
    const char *meanwhile; /* a shell command after the first part; "found": … before the file is opened */
    bool before;
    Counts counts; /* of a reading in this process */
    char first_bad[300], text[300];
} Reading;

static void read_through(void *arg)
{
    Reading *x = arg;
    Document d;
    Words paths = one_path(x->path);
    Sources *s = open_sources(&paths, &x->o);
    Reader *r = open_reader(s, x->part ? x->part : 1 << 16, NULL, NULL);
    if (x->meanwhile && x->before && system(x->meanwhile) != 0) abort();
    x->text[0] = 0;
    for (int i = 0; i < s->n; i++)
        for (reader_file(r, i, NULL); next_document(r, &d);) {
            if (strlen(x->text) < 200 && d.text)
                sprintf(x->text + strlen(x->text), "[%.*s]", (int)(d.bytes < 50 ? d.bytes : 50), d.text);
            if (x->meanwhile && !x->before && system(x->meanwhile) != 0) abort();
        }
    x->counts = *reader_counts(r);
    snprintf(x->first_bad, sizeof x->first_bad, "%s", x->counts.first_bad ? x->counts.first_bad : "");
    close_reader(r);
    close_sources(s);
}

static void refuses(Reading x, const char *message)
{
    Ended e = run_apart(read_through, &x);
    expect(e.code == EXIT_DATA && strstr(e.text, message), "expected \"%s\", exit code %d and:\n%s", message, e.code,
           e.text);
}

static Reading takes(Reading x, const char *text)
{
    read_through(&x);
    expect(strcmp(x.text, text) == 0, "expected %s, found %s", text, x.text);
    return x;
}

static char *file_of(const char *name, const char *text, int64_t n)
{
    char *path = in_folder(name);
    write_bytes(path, text, n < 0 ? (int64_t)strlen(text) : n);
    return path;
}

/* ------------------------------------------------------------------ text */

static void check_text(void)
{
    char *bad = file_of("bad.txt", "fine\nna\xefve \xff\n", -1);
    refuses((Reading){.path = bad, .o = {.bad_utf8 = UTF8_STOP}},
            "bad.txt:2: error: expected UTF-8, found byte 0xef at offset 7");
    Reading x = takes((Reading){.path = bad, .o = {.split = SPLIT_LINE}}, "[fine][na\xef\xbf\xbdve \xef\xbf\xbd]");
    expect(x.counts.replaced == 2, "two bytes replaced, counted %lld", (long long)x.counts.replaced);
    x = takes((Reading){.path = bad, .o = {.split = SPLIT_LINE, .bad_utf8 = UTF8_KEEP}}, "[fine][na\xefve \xff]");
    expect(x.counts.replaced == 0, "none replaced");

    x = takes((Reading){.path = file_of("zero.txt", "a\0b\nc\0\n", 7), .o = {.split = SPLIT_LINE}},
              "[a][c]"); /* as printf sees them */
    expect(x.counts.zero_bytes == 2 && x.counts.bytes == 5, "zero bytes are kept and counted");
    takes((Reading){.path = file_of("mark.txt", "\xef\xbb\xbftext", -1)}, "[text]");
    x = takes((Reading){.path = file_of("empty.txt", "", 0)}, "");
    expect(x.counts.empty_files == 1 && x.counts.documents == 0, "an empty file is counted");

    refuses((Reading){.path = file_of("wide.txt",
                                      "\xff\xfe"
                                      "a\0b\0",
                                      6)},
            "wide.txt: error: is UTF-16 text: convert it to UTF-8");
    refuses((Reading){.path = file_of("table.parquet", "PAR1xxxx", 8)}, "table.parquet: error: is a Parquet file");
    refuses((Reading){.path = in_folder("nothing.txt")},
            "nothing.txt: error: expected a file, but there is none of that name");
    refuses((Reading){.path = in_folder("*.nothing")}, "error: no file matches; check the pattern");
    refuses((Reading){.path = "/etc/hostname/x"}, "expected a file, but there is none of that name");
    if (mkdir(in_folder("void"), 0700) != 0) abort();
    refuses((Reading){.path = in_folder("void")}, "void: error: expected files to read, found none");
    if (symlink(".", in_folder("void/loop")) != 0) abort();
    refuses((Reading){.path = in_folder("void")}, "error: ");
}

/* ------------------------------------------------------------------ packed */

static void unpack_all(void *arg)
{
    char room[1000];
    Input *in = open_input(arg, -1);
    while (read_input(in, room, sizeof room) > 0) continue;
    close_input(in);
}

static void check_packed(Packed how, const char *name, const char *word)
{
    Bytes plain = {0}, packed = {0};
    for (int i = 0; i < 3000; i++) put(&plain, (char[]){(char)('a' + below(26))}, 1);
    do {
        if (!pack_bytes(how, plain.at, plain.n, &packed)) return;
    } while ((how == PACKED_ZST && packed.at[0] != 0x28) ||
             packed.n < 1000); /* without a skippable frame at the start */
    char *path = in_folder(name);
    int refused = 0;
    for (int64_t n = 4; n < packed.n; n += 1 + below(100)) {
        write_bytes(path, packed.at, n);
        Ended e = run_apart(unpack_all, path);
        if (e.code == 0) continue; /* between frames */
        refused++;
        expect(e.code == EXIT_DATA && strstr(e.text, name) && strstr(e.text, "cut short") &&
                   strstr(e.text, "error: byte "),
               "%s cut to %lld of %lld: exit code %d and: %s", name, (long long)n, (long long)packed.n, e.code, e.text);
    }
    expect(refused > 10, "%s: %d cuts refused", name, refused);
    put(&packed, "garbage!", 8);
    write_bytes(path, packed.at, packed.n);
    Ended e = run_apart(unpack_all, path);
    expect(e.code == EXIT_DATA && strstr(e.text, text_of("of what it unpacks to): the %s data ", word)),
           "%s with garbage behind: exit code %d and: %s", name, e.code, e.text);
    for (int k = 0; k < 60; k++) {
        int64_t i = 4 + below(packed.n - 12);
        char was = packed.at[i];
        packed.at[i] ^= (char)(1 << below(8));
        write_bytes(path, packed.at, packed.n);
        packed.at[i] = was;
        e = run_apart(unpack_all, path);
        expect(e.code == EXIT_DATA, "%s damaged: exit code %d and: %s", name, e.code, e.text);
    }
    free(plain.at);
    free(packed.at);
}

/* ------------------------------------------------------------------ shards */

static char *shard(const char *name, int magic, int version, int claims, int has)
{
    int32_t head[256] = {magic, version, claims};
    uint16_t ids[100];
    Bytes b = {0};
    for (int i = 0; i < 100; i++) ids[i] = (uint16_t)(i == 77 ? 50257 : i);
    put(&b, head, sizeof head);
    put(&b, ids, has);
    char *path = file_of(name, b.at, b.n);
    for (int how = PACKED_GZ; how <= PACKED_ZST; how++) {
        Bytes packed = {0};
        char *other = text_of("%s%s", path, how == PACKED_GZ ? ".gz" : ".zst");
        unlink(other);
        if (pack_bytes((Packed)how, b.at, b.n, &packed)) write_bytes(other, packed.at, packed.n);
        free(packed.at);
    }
    free(b.at);
    return path;
}

static void refuses_shard(char *path, Source_options o, const char *plain, const char *packed)
{
    refuses((Reading){.path = path, .o = o}, plain);
    for (int how = PACKED_GZ; how <= PACKED_ZST; how++) {
        char *other = text_of("%s%s", path, how == PACKED_GZ ? ".gz" : ".zst");
        if (access(other, R_OK) == 0) refuses((Reading){.path = other, .o = o}, packed);
    }
}

static void check_shards(void)
{
    refuses_shard(shard("long.bin", 20240520, 1, 99, 200), (Source_options){0},
                  "long.bin: error: its header says 99 tokens of 2 bytes, and there are 200 bytes after it (100 "
                  "tokens): the file is not what its header says",
                  "error: its header says 99 tokens, and it has more after 99 tokens");
    refuses_shard(shard("short.bin", 20240520, 1, 101, 200), (Source_options){0}, "(100 tokens): the file is cut short",
                  "error: its header says 101 tokens, and it ends after 100 tokens");
    refuses_shard(shard("odd.bin", 20240520, 1, 100, 199), (Source_options){0},
                  "(99 tokens and a part of one): the file is cut short", "error: ends in the middle of token 99");
    refuses_shard(shard("minus.bin", 20240520, 1, -1, 200), (Source_options){0},
                  "its header says -1 tokens: it is damaged", "its header says -1 tokens");
    refuses_shard(shard("beyond.bin", 20240520, 1, 100, 200), (Source_options){.ids_below = 50257},
                  "beyond.bin: token 77: error: expected ids below 50257, the size of the vocabulary, found 50257",
                  "token 77: error: expected ids below 50257");
    takes((Reading){.path = shard("good.bin", 20240520, 1, 100, 200), .o = {.ids_below = 50258}}, "");
    refuses((Reading){.path = file_of("raw.bin", "123456", 6)},
            "raw.bin: error: expected a token shard (llm.c's header");
    refuses((Reading){.path = file_of("raw.bin", "123456", 6), .o = {.raw_id_size = 4}},
            "raw.bin: error: has 6 bytes, which is no whole number of ids of 4 bytes");
    takes((Reading){.path = file_of("raw.bin", "123456", 6), .o = {.raw_id_size = 2}}, "");
    refuses((Reading){.path = file_of("head.bin", "\x88\xd8\x34\x01\1\0\0\0\1\0\0\0", 12)},
            "head.bin: error: ends within the header of a token shard");
}

/* ------------------------------------------------------------------ records */

static const struct {
    const char *line, *why;
} bad_json[] = {
    {"{\"text\": \"a\"", "expected ',' or '}', found the end of the line"},
    {"{\"text\": \"a", "expected \" at the end of a string, found the end of the line"},
    {"{\"text\": \"a\"} x", "expected the end of the line after the record, found 'x'"},
    {"{\"text\": 5}", "the field \"text\" is neither a string nor a list of strings"},
    {"{\"text\": [\"a\", 5]}", "expected a string of the list, found '5'"},
    {"{\"text\": [\"a\",]}", "expected a string of the list, found ']'"},
    {"{\"text\": \"a\", \"text\": \"b\"}", "there are two fields \"text\""},
    {"{\"text\": \"a\", \"source\": \"b\", \"target\": \"c\"}", "there are fields \"text\" and \"source\""},
    {"{\"body\": \"a\"}", "there is no field \"text\", nor \"messages\", nor \"source\" and \"target\"; say what the fields are called"},
    {"{\"source\": \"a\"}", "there is no field \"target\""},
    {"{\"target\": \"a\"}", "there is no field \"source\""},
    {"{}", "there is no field \"text\""},
    {"text", "expected '{', found 't'"},
    {"[{\"text\": \"a\"}]", "expected an object in each line, found a list"},
    {"{\"a\": 01, \"text\": \"a\"}", "expected a number"},
    {"{\"a\": 1., \"text\": \"a\"}", "expected digits after the point, found ','"},
    {"{\"a\": 1e, \"text\": \"a\"}", "expected digits of an exponent, found ','"},
    {"{\"a\": tru, \"text\": \"a\"}", "expected true"},
    {"{\"a\": [1, 2}, \"text\": \"a\"}", "expected ',' or ']', found '}'"},
    {"{\"a\": {\"b\" 1}, \"text\": \"a\"}", "expected ':' after a name, found '1'"},
    {"{\"a\": , \"text\": \"a\"}", "expected a value, found ','"},
    {"{\"text\": \"\\x\"}", "expected one of \"\\/bfnrtu after a backslash, found 'x'"},
    {"{\"text\": \"\\u12g4\"}", "expected four hexadecimal digits after \\u"},
    {"{\"messages\": \"a\"}", "expected '[', a list of messages, found '\"'"},
    {"{\"messages\": []}", "expected '{' of a message, found ']'"},
    {"{\"messages\": [{\"role\": \"assistant\"}]}", "a message has no content"},
    {"{\"messages\": [{\"content\": \"a\"}]}", "a message has no role"},
    {"{\"messages\": [{\"role\": \"gpt\", \"content\": \"a\"}]}",
     "expected the role system, developer, user, assistant or tool, found \"gpt\""},
    {"{\"messages\": [{\"role\": \"assistant\", \"content\": null}]}", "the content of a message is not a string"},
    {"{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}", "no message is the assistant's"},
    {"{\"prompt\": \"a\", \"target\": \"b\"}", "there are fields \"prompt\" and \"target\""},
    {"{\"text\": \"a\tb\"}", "expected \" at the end of a string, found byte 0x09"},
};

static void check_json(void)
{
    for (size_t k = 0; k < sizeof bad_json / sizeof *bad_json; k++) {
        char *path =
            file_of("bad.jsonl", text_of("{\"text\": \"one\"}\n\n%s\n{\"text\": \"two\"}\n", bad_json[k].line), -1);
        refuses((Reading){.path = path}, text_of("bad.jsonl:3: error: %s", bad_json[k].why));
        Reading x = takes((Reading){.path = path, .o = {.bad_records = 1}}, "[one][two]");
        expect(x.counts.bad_records == 1 && strstr(x.first_bad, text_of("bad.jsonl:3: %s", bad_json[k].why)),
               "skipped: %s", x.first_bad);
    }
    char *three =
        file_of("three.jsonl", "{\"text\": \"one\"}\n1\n{\"text\": \"two\"}\n2\n{\"text\": \"three\"}\n3", -1);
    takes((Reading){.path = three, .o = {.bad_records = 3}}, "[one][two][three]");
    refuses((Reading){.path = three, .o = {.bad_records = 2}},
            "three.jsonl:6: error: expected '{', found '3'; repair it, or let malformed records be skipped: bad_records=N (2 were "
            "allowed");

    char deep[2000] = "{\"a\": ";
    memset(deep + 6, '[', 600);
    strcpy(deep + 606, "\n");
    refuses((Reading){.path = file_of("deep.jsonl", deep, -1)},
            "deep.jsonl:1: error: lists and objects are nested more than 512 deep");
    Reading x = takes((Reading){.path = file_of("half.jsonl", "{\"text\": \"a\\ud800b\\udc00\\ud83d\\ude00\"}", -1)},
                      "[a\xef\xbf\xbd"
                      "b\xef\xbf\xbd\xf0\x9f\x98\x80]");
    expect(x.counts.replaced == 2, "halves of pairs are replaced and counted");
    refuses((Reading){.path = in_folder("half.jsonl"), .o = {.bad_utf8 = UTF8_STOP}},
            "half.jsonl:1: error: expected Unicode, found half of a surrogate pair (\\ud800)");
    char *pair = file_of("pair.jsonl", "{\"source\": \"0123456789abcdefg\", \"target\": \"a\"}", -1);
    refuses((Reading){.path = pair, .part = 16}, "pair.jsonl:1: error: a field of a pair has more than 16 bytes");
    takes((Reading){.path = pair, .part = 17}, "[0123456789abcdefg]");

    /* A text whose first part was handed out before the fault was met ends there. */
    x = takes((Reading){.path = file_of("late.jsonl", "{\"text\": \"aaaaaaaaaaaaaaaa bbb\n{\"text\": \"c\"}\n", -1),
                        .o = {.bad_records = 1},
                        .part = 16},
              "[aaaaaaaaaaaaaaaa][ bbb][c]");
    expect(x.counts.bad_records == 1 && x.counts.documents == 2 && x.counts.split == 1, "counted");
}

static void check_tables(void)
{
    char *path = file_of("bad.csv", "source,target\na,b\n\"c\"d,e\nf\ng,h,i\n\"j\nk\",l\n\"m,n\n", -1);
    refuses((Reading){.path = path},
            "bad.csv:3: error: expected a separator behind the closing \" of a field, found byte 0x64");
    refuses((Reading){.path = path, .o = {.bad_records = 1}},
            "bad.csv:4: error: expected 2 fields, as the first line has, found 1");
    refuses((Reading){.path = path, .o = {.bad_records = 2}},
            "bad.csv:5: error: expected 2 fields, as the first line has, found 3");
    refuses((Reading){.path = path, .o = {.bad_records = 3}},
            "bad.csv:8: error: expected a closing \" of a quoted field, found the end of the file");
    takes((Reading){.path = path, .o = {.bad_records = 4}}, "[a][j\nk]");
    refuses((Reading){.path = path, .o = {.text = "sauce"}},
            "bad.csv:1: error: there is no column \"sauce\" (did you mean "
            "\"source\"?); the first line names \"source\", \"target\"");
    refuses((Reading){.path = file_of("names.csv", "mr,ref\na,b\n", -1)},
            "names.csv:1: error: there is no column \"text\", nor \"source\" and \"target\"");
    takes((Reading){.path = in_folder("names.csv"), .o = {.text = "mr", .target = "ref"}}, "[a]");
    takes((Reading){.path = file_of("quotes.tsv", "source\ttarget\n\"Hi\" he said\t\"b\n", -1)}, "[\"Hi\" he said]");
}

/* ------------------------------------------------------------------ files that change */

static void check_moving(void)
{
    Bytes b = {0};
    for (int i = 0; i < 200000; i++) puts_to(&b, "lines");
    char *path = in_folder("moving.txt");
    write_bytes(path, b.at, b.n);
    Reading x = {.path = path, .part = 100000};
    x.meanwhile = text_of("rm -f %s", path), x.before = true;
    refuses(x,
            "moving.txt: error: was there when it was found, and cannot be read any more: no such file or directory");
    write_bytes(path, b.at, b.n);
    x.meanwhile = text_of("truncate -s 1000 %s", path);
    refuses(x, "moving.txt: error: shrank from 1000000 to 1000 bytes while it was in use");
    write_bytes(path, b.at, b.n);
    x.before = false;
    refuses(x, "it was cut short while it was read");
    write_bytes(path, b.at, b.n);
    x.meanwhile = text_of("test -e %s.done || { echo more >>%s; : >%s.done; }", path, path, path);
    read_through(&x);
    expect(x.counts.bytes == 1000000, "what was added is not read: %lld bytes", (long long)x.counts.bytes);
    x.meanwhile = NULL;
    read_through(&x);
    expect(x.counts.bytes == 1000005, "but the next time: %lld bytes", (long long)x.counts.bytes);
}

static void go_on_behind_the_end(void *arg)
{
    Document d;
    Words paths = one_path(arg);
    Sources *s = open_sources(&paths, &(Source_options){0});
    Reader *r = open_reader(s, 16, NULL, NULL);
    Place from = {.offset = 100, .line = 1, .inside = 50};
    reader_file(r, 0, &from);
    while (next_document(r, &d)) continue;
}

static void check_places(void)
{
    Ended e = run_apart(go_on_behind_the_end, file_of("small.txt", "small", -1));
    expect(e.code == EXIT_DATA && strstr(e.text, "small.txt: error: has 5 bytes, and was to be read from byte 100 on"),
           "behind the end: %s", e.text);
    e = run_apart(go_on_behind_the_end, file_of("large.jsonl", text_of("%99s\n{\"text\": \"a\"}\n", ""), -1));
    expect(e.code == EXIT_DATA &&
               strstr(e.text, "expected a record of more than 50 bytes: it is not the file that it was"),
           "another record: %s", e.text);
}

/* ------------------------------------------------------------------ arrays */

static void open_array(void *path) { close_array(open_npy(path)); }

static void refuses_array(const char *header, int64_t bytes, const char *message)
{
    Bytes b = {0};
    put(&b, "\x93NUMPY\1\0\x76\0", 10);
    put(&b, text_of("%-117s\n", header), 118);
    for (int64_t i = 0; i < bytes; i++) put(&b, "", 1);
    char *path = file_of("bad.npy", b.at, b.n);
    Ended e = run_apart(open_array, path);
    expect(e.code == EXIT_DATA && strstr(e.text, message) && strstr(e.text, "bad.npy: error: "),
           "expected \"%s\", exit code %d and: %s", message, e.code, e.text);
}

static void check_arrays(void)
{
    refuses_array("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", 23,
                  "its header says 24 bytes of elements, but 23 follow it");
    refuses_array("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", 25,
                  "its header says 24 bytes of elements, but 25 follow it");
    refuses_array("{'descr': '>f4', 'fortran_order': False, 'shape': (3, 2), }", 24,
                  "expected little-endian booleans, integers or floats, found '>f4'");
    refuses_array("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }", 24, "found Fortran's order");
    refuses_array("{'descr': '<f4', 'fortran_order': False, }", 24, "expected 'shape' in the header");
    refuses_array("{'descr': '<f4', 'fortran_order': False, 'shape': (3, -2), }", 24,
                  "expected at most 32 dimensions of 0 or more");
    refuses_array("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2", 24,
                  "expected at most 32 dimensions of 0 or more");
    refuses_array("{'descr': '<f8', 'fortran_order': False, 'shape': (9000000000, 9000000000), }", 24,
                  "more than 2^63");
    refuses((Reading){.path = in_folder("bad.npy")}, "bad.npy: error: is a NumPy array: numbers, not documents");
    Ended e = run_apart(open_array, file_of("not.npy", "\x93NUMPX\1\0\0\0xx", 12));
    expect(e.code == EXIT_DATA && strstr(e.text, "expected a NumPy array (.npy"), "%s", e.text);
}

int main(void)
{
    make_test_folder();
    check_text();
    check_packed(PACKED_GZ, "cut.gz", "gzip");
    check_packed(PACKED_ZST, "cut.zst", "zstd");
    check_shards();
    check_json();
    check_tables();
    check_moving();
    check_places();
    check_arrays();
    return finish();
}
