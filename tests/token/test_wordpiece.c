/* test_wordpiece.c: WordPiece gives the ids that Hugging Face's tokenizers give (tests/reference/wordpiece.py), also
 * from vocab.txt, and rows of one text or two with what stands around them, cut as they cut them; cuts of a text change
 * no ids. */
#include "tokenizers.h"

#include <sys/stat.h>
#include <unistd.h>

static void add_ids(const json_t *list, Ids *to)
{
    size_t i;
    json_t *id;
    to->at = realloc(to->at, sizeof *to->at * (json_array_size(list) + 1));
    to->n = 0;
    json_array_foreach(list, i, id) to->at[to->n++] = (int32_t)json_integer_value(id);
}

static void encode_json(Encoder *e, const json_t *text, Ids *out)
{
    out->n = 0;
    encode_bytes(e, json_string_value(text), (int64_t)json_string_length(text), out);
}

static void check_ids(const Tokenizer *t, const char *folder, const char *name)
{
    char *path = text_of("%s/ids.jsonl", folder), line[1 << 14];
    Encoder *e = open_encoder(t);
    FILE *f = fopen(path, "r");
    int lines = 0;
    for (; f && fgets(line, sizeof line, f); lines++) {
        Ids ids = {0}, want = {0};
        json_t *all = json_loads(line, JSON_ALLOW_NUL, NULL);
        encode_json(e, json_object_get(all, "text"), &ids);
        add_ids(json_object_get(all, "ids"), &want);
        expect(same_ids(&ids, &want), "%s: other ids: %s", name, line);
        free_ids(&ids);
        free_ids(&want);
        json_decref(all);
    }
    expect(lines == 150, "%s: %d lines", path, lines);
    if (f) fclose(f);
    close_encoder(e);
}

static void check_folder(const char *name)
{
    char *folder = text_of("tests/reference/wordpiece/%s", name);
    Tokenizer *t = load_tokenizer(folder);
    check_ids(t, folder, name);
    int64_t cuts = check_cuts(t, name);
    expect(cuts > 100, "%s: %lld cuts", name, (long long)cuts);
    expect(tokenizer_kind(t) == TOKEN_WORDPIECE && special_id(t, "[MASK]") == 4, "%s: its special tokens", name);
    free_tokenizer(t);
}

/* ------------------------------------------------------------------ vocab.txt */

/* The pieces of a tokenizer.json, a line each, some with white space at the end, which is none of them. */
static void write_pieces(const char *from, const char *to)
{
    json_t *all = json_load_file(from, JSON_ALLOW_NUL, NULL), *id;
    const json_t *vocab = json_object_get(json_object_get(all, "model"), "vocab");
    const char *line[1024] = {0}, *piece;
    static const char *const end[] = {"\r\n", "\n", " \n", "\t \n", "\xc2\xa0\n", "\xe3\x80\x80 \r\n"};
    json_object_foreach((json_t *)vocab, piece, id) line[json_integer_value(id)] = piece;
    FILE *f = fopen(to, "wb");
    for (size_t i = 0; i < json_object_size(vocab); i++) fprintf(f, "%s%s", line[i], end[i % 6]);
    fclose(f);
    json_decref(all);
}

/* A folder with the pieces alone, and what tokenizer_config.json says of them, is the same tokenizer. */
static void check_pieces(const char *name, const char *settings)
{
    char *own = text_of("tests/reference/wordpiece/%s", name), *folder = text_of("%s/%s", getenv("TMP"), name);
    bug_if(mkdir(folder, 0777) != 0);
    write_pieces(text_of("%s/tokenizer.json", own), text_of("%s/vocab.txt", folder));
    write_pieces(text_of("%s/tokenizer.json", own), text_of("%s/bert-vocab.txt", folder));
    if (settings) must(write_file(text_of("%s/tokenizer_config.json", folder), settings, strlen(settings)));
    Tokenizer *t = load_tokenizer(text_of("%s/bert-vocab.txt", folder)), *whole = load_tokenizer(own);
    check_ids(t, own, name);
    free_tokenizer(t);
    t = load_tokenizer(folder);
    check_ids(t, own, name);
    expect(tokenizer_size(t) == tokenizer_size(whole), "%s: other pieces", folder);
    for (int two = 0; two < 2; two++) {
        Ids text[2] = {{(int32_t[]){7, 8, 9}, 3, 3}, {(int32_t[]){6}, 1, 1}};
        int32_t id[2][16], type[2][16];
        int64_t n = frame_texts(t, text, two, 16, id[0], type[0]);
        expect(n == frame_texts(whole, text, two, 16, id[1], type[1]) && !memcmp(id[0], id[1], 4 * (size_t)n) &&
                   !memcmp(type[0], type[1], 4 * (size_t)n),
               "%s: other tokens around a text", name);
    }
    free_tokenizer(t);
    free_tokenizer(whole);
}

/* ------------------------------------------------------------------ rows */

static void check_row(const Tokenizer *t, Encoder *e, const json_t *all, const char *line)
{
    const json_t *texts = json_object_get(all, "texts");
    Ids text[2] = {{0}, {0}}, want = {0}, types = {0};
    int64_t most = json_integer_value(json_object_get(all, "most"));
    bool two = json_array_size(texts) == 2;
    int32_t id[64], type[64];
    for (size_t k = 0; k < json_array_size(texts); k++) encode_json(e, json_array_get(texts, k), &text[k]);
    add_ids(json_object_get(all, "ids"), &want);
    add_ids(json_object_get(all, "types"), &types);
    int64_t n = frame_texts(t, text, two, most, id, type);
    Ids row = {id, n < 0 ? -n : n, 64}, of = {type, row.n, 64};
    expect(same_ids(&row, &want), "other ids of a row: %s", line);
    expect(same_ids(&of, &types), "other types: %s", line);
    for (int k = 0; k < 2; k++) free_ids(&text[k]);
    free_ids(&want);
    free_ids(&types);
}

static void check_rows(const char *around, const char *path)
{
    char line[1 << 14];
    Tokenizer *t = load_tokenizer(path);
    Encoder *e = open_encoder(t);
    FILE *f = fopen("tests/reference/wordpiece/rows.jsonl", "r");
    int lines = 0;
    while (f && fgets(line, sizeof line, f)) {
        json_t *all = json_loads(line, JSON_ALLOW_NUL, NULL);
        if (strcmp(json_string_value(json_object_get(all, "around")), around) == 0) check_row(t, e, all, line), lines++;
        json_decref(all);
    }
    expect(lines == 60, "%s: %d lines", around, lines);
    if (f) fclose(f);
    close_encoder(e);
    free_tokenizer(t);
}

int main(void)
{
    check_folder("uncased");
    check_folder("cased");
    check_folder("accents");
    check_folder("plain");
    check_pieces("uncased", NULL);
    check_pieces(
        "cased",
        "{\"do_lower_case\": false, \"tokenizer_class\": \"BertTokenizer\", \"unk_token\": {\"content\": \"[UNK]\"}}");
    check_pieces("accents", "{\"strip_accents\": false, \"tokenizer_class\": \"DistilBertTokenizer\"}");
    check_rows("template", "tests/reference/wordpiece/uncased");
    check_rows("bert", "tests/reference/wordpiece/bert.json");
    check_rows("roberta", "tests/reference/wordpiece/roberta.json");
    return finish();
}
