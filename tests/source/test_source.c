/* test_source.c: whatever the limit of parts, the size of reads, the packing and the place where reading is taken up
 * again, documents put together are those that a naive reader of the whole file finds; a shard's ids by number too. */
#include "base/hash.h"
#include "sources.h"

/* ------------------------------------------------------------------ what should come out */

typedef struct Wanted { /* documents, each one's text and target */
    Bytes text[400], target[400];
    int n;
    bool pairs;
} Wanted;

static Wanted wanted;
static Bytes file, packed;
static bool dirty; /* bytes that are not UTF-8 may be in the file */

static void want_document(const char *at, int64_t n)
{
    if (wanted.n == 400) abort();
    empty(&wanted.text[wanted.n]);
    empty(&wanted.target[wanted.n]);
    put(&wanted.text[wanted.n++], at, n);
}

/* ------------------------------------------------------------------ UTF-8 by its definition */

static const int64_t beyond = 0x10ffff;

/* Whether some character begins with these k bytes; *whole: they are one. */
static bool begins_one(const unsigned char *at, int k, bool *whole)
{
    static const int64_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    int length = at[0] < 0x80             ? 1
                 : (at[0] & 0xe0) == 0xc0 ? 2
                 : (at[0] & 0xf0) == 0xe0 ? 3
                 : (at[0] & 0xf8) == 0xf0 ? 4
                                          : 0;
    if (length == 0 || k > length) return false;
    int64_t low = length == 1 ? at[0] : at[0] & (0x7f >> length), high = low;
    for (int i = 1; i < length; i++) {
        if (i < k && (at[i] & 0xc0) != 0x80) return false;
        low = low << 6 | (i < k ? at[i] & 0x3f : 0);
        high = high << 6 | (i < k ? at[i] & 0x3f : 0x3f);
    }
    if (low < least[length]) low = least[length];
    if (high > beyond) high = beyond;
    *whole = k == length;
    return low <= high && !(low >= 0xd800 && high <= 0xdfff);
}

static void repair(const char *text, int64_t n, Bytes *out)
{
    const unsigned char *at = (const unsigned char *)text;
    empty(out);
    for (int64_t i = 0; i < n;) {
        int k = 0;
        bool whole = false, is_whole = false;
        while (!is_whole && i + k < n && begins_one(at + i, k + 1, &whole)) k++, is_whole = whole;
        if (is_whole) put(out, text + i, k);
        else puts_to(out, "\xef\xbf\xbd");
        i += k ? k : 1;
    }
}

/* ------------------------------------------------------------------ plain text */

static void put_word(Bytes *b, bool with_bad)
{
    static const char *const words[] = {"a", "the",  " ",     "  ", "Ünïcödé", "日本語",
                                        "😀", "x\ty", "\"q\"", ",",  "'",       "\xef\xbf\xbd"};
    static const char *const bad[] = {"\xff",         "\xc3",     "\xe2\x82",         "\xf0\x9f\x98",
                                      "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "\x80"};
    if (with_bad && below(4) == 0) puts_to(b, bad[below(8)]);
    else puts_to(b, words[below(12)]);
    if (below(40) == 0) put(b, "", 1); /* a zero byte */
}

static void put_run(Bytes *b, bool with_bad)
{
    for (int64_t n = below(3) ? below(6) : below(60); n > 0; n--) put_word(b, with_bad);
}

static void make_plain(void)
{
    static const char *const ends[] = {"\n", "\r\n", "\n\n", "\n\r\n", "\n\n\n", "\r", "\r\r\n"};
    empty(&file);
    for (int64_t n = below(30); n > 0; n--) {
        put_run(&file, dirty);
        puts_to(&file, ends[below(below(2) ? 2 : 7)]);
    }
    if (below(2)) put_run(&file, dirty);
}

/* The line that starts at `at`, without its end; *next: where the next one starts. */
static int64_t line_length(const Bytes *t, int64_t at, int64_t *next)
{
    int64_t end = at;
    while (end < t->n && t->at[end] != '\n') end++;
    *next = end + 1;
    return end > at && t->at[end - 1] == '\r' ? end - at - 1 : end - at;
}

static void split_lines(const Bytes *t, bool blank)
{
    int64_t begin = -1, end = 0, next, length;
    for (int64_t at = 0; at < t->n; at = next) {
        length = line_length(t, at, &next);
        if (!blank && length) want_document(t->at + at, length);
        if (!blank) continue;
        if (length && begin < 0) begin = at;
        if (length) end = at + length;
        if ((!length || next >= t->n) && begin >= 0) want_document(t->at + begin, end - begin), begin = -1;
    }
}

static void split_plain(const Source_options *o)
{
    static Bytes clean;
    wanted.n = 0;
    wanted.pairs = false;
    if (o->bad_utf8 == UTF8_KEEP) empty(&clean), put(&clean, file.at, file.n);
    else repair(file.at, file.n, &clean);
    if (o->split == SPLIT_FILE || o->split == SPLIT_WHOLE) {
        if (clean.n) want_document(clean.at, clean.n);
    } else {
        split_lines(&clean, o->split == SPLIT_BLANK);
    }
}

/* ------------------------------------------------------------------ JSON lines, written by jansson */

static json_t *random_value(int depth)
{
    Bytes b = {0};
    json_t *v;
    switch (below(depth > 3 ? 5 : 7)) {
    case 0: return json_integer(below(1000) - 500);
    case 1: return json_real((double)below(1000) / 7 - 50);
    case 2: return json_boolean(below(2));
    case 3: return json_null();
    case 4:
        empty(&b), put_run(&b, false);
        v = json_stringn(b.at, (size_t)b.n);
        free(b.at);
        return v;
    case 5:
        v = json_array();
        for (int64_t n = below(4); n > 0; n--) json_array_append_new(v, random_value(depth + 1));
        return v;
    default:
        v = json_object();
        for (int64_t n = below(4); n > 0; n--)
            json_object_set_new(v, (const char *[]){"text", "a", "", "é"}[below(4)], random_value(depth + 1));
        return v;
    }
}

/* A string, or a list of strings; what it should become goes to `to`. */
static json_t *random_field(Bytes *to, const char *join)
{
    Bytes b = {0};
    if (below(3)) {
        put_run(to, false);
        return json_stringn(to->at, (size_t)to->n);
    }
    json_t *list = json_array();
    for (int64_t i = 0, n = below(5); i < n; i++) {
        empty(&b);
        put_run(&b, false);
        json_array_append_new(list, json_stringn(b.at, (size_t)b.n));
        if (i) puts_to(to, join);
        put(to, b.at, b.n);
    }
    free(b.at);
    return list;
}

static void make_json(const Source_options *o, bool pairs)
{
    const char *join = o->join ? o->join : " ", *text = o->text ? o->text : pairs ? "source" : "text";
    empty(&file);
    wanted.n = 0;
    wanted.pairs = pairs;
    for (int64_t n = below(20); n > 0; n--) {
        json_t *record = json_object();
        want_document("", 0);
        for (int64_t k = below(3); k > 0; k--)
            json_object_set_new(record, (const char *[]){"id", "meta", "title"}[below(3)], random_value(0));
        json_object_set_new(record, text, random_field(&wanted.text[wanted.n - 1], join));
        if (below(2)) json_object_set_new(record, "after", random_value(0));
        if (pairs)
            json_object_set_new(record, o->target ? o->target : "target",
                                random_field(&wanted.target[wanted.n - 1], join));
        if (!wanted.text[wanted.n - 1].n && !wanted.target[wanted.n - 1].n) wanted.n--;
        char *line =
            json_dumps(record, below(2) ? JSON_COMPACT : JSON_ENSURE_ASCII | (below(2) ? JSON_ESCAPE_SLASH : 0));
        puts_to(&file, line);
        puts_to(&file, (const char *[]){"\n", "\r\n", "\n\n", " \t\n"}[below(4)]);
        free(line);
        json_decref(record);
    }
    if (file.n && file.at[file.n - 1] == '\n' && below(2)) file.n--;
}

/* ------------------------------------------------------------------ tables */

static void put_field(const Bytes *value, bool quoting)
{
    bool needs = memchr(value->at, '"', (size_t)value->n) || memchr(value->at, ',', (size_t)value->n) ||
                 memchr(value->at, '\n', (size_t)value->n) || memchr(value->at, '\r', (size_t)value->n);
    if (!quoting || (!needs && below(2))) {
        put(&file, value->at, value->n);
        return;
    }
    puts_to(&file, "\"");
    for (int64_t i = 0; i < value->n; i++)
        put(&file, value->at[i] == '"' ? "\"\"" : value->at + i, value->at[i] == '"' ? 2 : 1);
    puts_to(&file, "\"");
}

/* For TSV without what cannot be written there. */
static void random_cell(Bytes *b, bool quoting)
{
    empty(b);
    put_run(b, false);
    if (quoting && below(3) == 0)
        puts_to(b, (const char *[]){"\n", "\r\n", "\r", "\"\"", ",\","}[below(5)]), put_run(b, false);
    for (int64_t i = 0; !quoting && i < b->n; i++)
        if (b->at[i] == '\t') b->at[i] = ' ';
}

static void make_table(bool csv, bool pairs)
{
    static Bytes cell;
    const char *end = below(2) ? "\n" : "\r\n", *between = csv ? "," : "\t";
    empty(&file);
    puts_to(&file,
            pairs ? (csv ? "id,\"source\",target" : "id\tsource\ttarget") : (csv ? "id,text,more" : "id\ttext\tmore"));
    puts_to(&file, end);
    wanted.n = 0;
    wanted.pairs = pairs;
    for (int64_t n = below(20); n > 0; n--) {
        want_document("", 0);
        puts_to(&file, "7");
        puts_to(&file, between);
        random_cell(&wanted.text[wanted.n - 1], csv);
        put_field(&wanted.text[wanted.n - 1], csv);
        puts_to(&file, between);
        random_cell(pairs ? &wanted.target[wanted.n - 1] : &cell, csv);
        put_field(pairs ? &wanted.target[wanted.n - 1] : &cell, csv);
        puts_to(&file, end);
        if (!wanted.text[wanted.n - 1].n && !wanted.target[wanted.n - 1].n) wanted.n--;
    }
}

/* ------------------------------------------------------------------ shards */

static int id_size;

static void make_shard(bool headed, bool separated)
{
    int32_t head[256] = {id_size == 2 ? 20240520 : 20240801, id_size == 2 ? 1 : 7};
    int64_t n = below(3) ? below(300) : below(30);
    Bytes *d = NULL;
    empty(&file);
    head[2] = (int32_t)n;
    if (headed) put(&file, head, sizeof head);
    wanted.n = 0;
    wanted.pairs = false;
    for (int64_t i = 0; i < n; i++) {
        uint32_t id = below(5) ? (uint32_t)below(50000) : 7;
        if (i == 0 || (separated && id == 7)) want_document("", 0);
        d = &wanted.text[wanted.n - 1];
        put(d, &id, id_size);
        put(&file, &id, id_size);
    }
}

/* ------------------------------------------------------------------ what does come out */

typedef struct Seen {
    Place at;
    uint64_t hash; /* of its bytes */
    bool first, last;
} Seen;

static Seen *part;
static int64_t parts, part_room;

/* A cut like a tokenizer's: somewhere, or nowhere, as the text says. */
static int64_t any_cut(void *arg, const char *text, int64_t n)
{
    (void)arg;
    uint64_t h = hash_of(text, (size_t)n);
    return h % 5 == 0 ? 0 : 1 + (int64_t)(h / 8 % (uint64_t)n);
}

static Seen part_of(const Document *d)
{
    uint64_t h = d->text ? hash_of(d->text, (size_t)d->bytes) : hash_of(d->ids, (size_t)(d->n_ids * d->id_size));
    if (d->target) h ^= 3 * hash_of(d->target, (size_t)d->target_bytes);
    return (Seen){d->at, h, d->first, d->last};
}

static bool same_part(const Seen *a, const Seen *b)
{
    return a->hash == b->hash && a->first == b->first && a->last == b->last && a->at.offset == b->at.offset &&
           a->at.record == b->at.record && a->at.line == b->at.line && a->at.inside == b->at.inside &&
           a->at.hash == b->at.hash;
}

static void check_part(const Document *d, int64_t limit, int64_t inside, const char *what)
{
    int64_t n = d->text ? d->bytes : d->n_ids * d->id_size;
    expect(n <= limit && (n > 0 || (d->target && d->first && d->last)), "%s: a part of %lld bytes, limit %lld", what,
           (long long)n, (long long)limit);
    expect(d->first == (inside == 0) && d->at.inside == (d->text ? inside : inside / d->id_size),
           "%s: inside of the document", what);
    expect((d->target != NULL) == wanted.pairs, "%s: a target is there", what);
}

static void check_document(int64_t k, const Bytes *text, const Document *d, const char *what)
{
    if (!expect(k < wanted.n, "%s: more than the %d documents that were wanted", what, wanted.n)) return;
    expect(text->n == wanted.text[k].n && !memcmp(text->at, wanted.text[k].at, (size_t)text->n),
           "%s: document %lld of %d: %lld bytes, wanted %lld", what, (long long)k, wanted.n, (long long)text->n,
           (long long)wanted.text[k].n);
    if (wanted.pairs)
        expect(d->target_bytes == wanted.target[k].n &&
                   !memcmp(d->target, wanted.target[k].at, (size_t)d->target_bytes),
               "%s: target %lld", what, (long long)k);
}

static void keep_part(const Document *d)
{
    if (parts == part_room) part = realloc(part, sizeof *part * (size_t)(part_room = 2 * part_room + 64));
    part[parts++] = part_of(d);
}

static void read_all(Reader *r, int64_t limit, const char *what)
{
    static Bytes text;
    Document d;
    int64_t k = 0, inside = 0;
    parts = 0;
    empty(&text);
    for (reader_file(r, 0, NULL); next_document(r, &d);) {
        check_part(&d, limit, inside, what);
        if (d.text) put(&text, d.text, d.bytes);
        else put(&text, d.ids, d.n_ids * d.id_size);
        inside = d.last ? 0 : text.n;
        keep_part(&d);
        if (!d.last) continue;
        check_document(k++, &text, &d, what);
        empty(&text);
    }
    expect(k == wanted.n, "%s: %lld documents, wanted %d", what, (long long)k, wanted.n);
    expect(reader_counts(r)->documents == k && reader_counts(r)->bad_records == 0, "%s: counts", what);
}

/* From a place that was given, the same parts follow. */
static void read_again(Reader *r, const char *what)
{
    Document d;
    if (!parts) return;
    int64_t k = below(parts);
    for (reader_file(r, 0, &part[k].at); next_document(r, &d); k++) {
        Seen p = part_of(&d);
        if (!expect(k < parts && same_part(&p, &part[k]), "%s: taken up again, part %lld of %lld", what, (long long)k,
                    (long long)parts))
            return;
    }
    expect(k == parts, "%s: taken up again, %lld parts of %lld", what, (long long)k, (long long)parts);
}

static void check_file(const char *path, const Source_options *o)
{
    static const int64_t limits[] = {16, 17, 23, 64, 500, 100000}, reads[] = {4, 7, 64, 1000, 0};
    Source_options options = *o;
    int64_t limit = wanted.pairs ? 100000 : limits[below(6)];
    options.read_bytes = reads[below(5)];
    Words paths = one_path(path);
    Sources *s = open_sources(&paths, &options);
    Reader *r = open_reader(s, limit, below(2) ? any_cut : NULL, NULL);
    char *what = text_of("%s, %s, split %d, limit %lld, read %lld", path, format_name(s->file[0].format), (int)o->split,
                         (long long)limit, (long long)options.read_bytes);
    read_all(r, limit, what);
    read_again(r, what);
    read_again(r, what);
    close_reader(r);
    close_sources(s);
    free(what);
    free(paths.at);
}

/* The file under all three packings. */
static void check_packed(const char *name, const Source_options *o)
{
    static const char *const endings[] = {"", ".gz", ".zst"};
    for (int how = NOT_PACKED; how <= PACKED_ZST; how++) {
        if (!pack_bytes((Packed)how, file.at, file.n, &packed)) continue;
        char *path = text_of("%s/%s%s", folder, name, endings[how]);
        write_bytes(path, packed.at, packed.n);
        check_file(path, o);
        unlink(path);
        free(path);
    }
}

/* ------------------------------------------------------------------ rounds */

static void round_of_plain(void)
{
    Source_options o = {.split = (Split_text)below(4), .bad_utf8 = below(3) ? UTF8_REPLACE : UTF8_KEEP};
    dirty = below(2);
    make_plain();
    split_plain(&o);
    check_packed("plain.txt", &o);
}

static void round_of_records(void)
{
    bool pairs = below(2), csv = below(2);
    Source_options o = {.join = below(2) ? NULL : " | "};
    if (below(2)) o.text = "body", o.target = pairs ? "summary" : NULL;
    make_json(&o, pairs);
    check_packed("records.jsonl", &o);
    make_table(csv, pairs);
    check_packed(csv ? "table.csv" : "table.tsv", &(Source_options){0});
}

static void round_of_shards(void)
{
    bool headed = below(2), separated = below(2);
    id_size = below(2) ? 2 : 4;
    make_shard(headed, separated);
    Source_options o = {
        .separated = separated, .separator = 7, .ids_below = 50000, .raw_id_size = headed ? 0 : id_size};
    check_packed("shard.bin", &o);
}

/* ------------------------------------------------------------------ ids by number */

static void check_ids_by_number(void)
{
    int32_t out[300];
    for (id_size = 2; id_size <= 4; id_size += 2) {
        make_shard(true, false);
        char *path = in_folder("ids.bin");
        write_bytes(path, file.at, file.n);
        Words paths = one_path(path);
        Sources *s = open_sources(&paths, &(Source_options){0});
        int64_t n = s->file[0].ids, first = below(n + 1);
        int fd = open_shard(s, 0);
        read_shard(s, 0, fd, first, n - first, out);
        close(fd);
        bool same = n == (file.n - 1024) / id_size;
        for (int64_t i = first; i < n; i++) {
            uint32_t id = 0;
            memcpy(&id, file.at + 1024 + i * id_size, (size_t)id_size);
            same &= out[i - first] == (int32_t)id;
        }
        expect(same, "ids by number");
        close_sources(s);
    }
}

int main(void)
{
    int64_t rounds = getenv("LATHE_LONG") ? 5000 : 300;
    make_test_folder();
    for (int64_t i = 0; i < rounds && failures < 20; i++) {
        round_of_plain();
        round_of_records();
        round_of_shards();
    }
    check_ids_by_number();
    return finish();
}
