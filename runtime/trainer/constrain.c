/* constrain.c: the grammar that texts must follow: of --grammar, --json-schema, or of a request to a server. */
#include "base/file.h"
#include "model/tables.h"
#include "serve/request.h"
#include "trainer/constrain.h"
#include "trainer/trainer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ files */

static Passage read_rules(const char *path)
{
    char *text = must_alloc(GRAMMAR_TEXT + 2);
    FILE *f = open_stream_to_read(path);
    size_t n = f ? fread(text, 1, GRAMMAR_TEXT + 1, f) : 0;
    if (!f || ferror(f)) fail(EXIT_DATA, path, "cannot be read: %s", error_text(errno));
    if (n > GRAMMAR_TEXT)
        fail(EXIT_DATA, path, "is larger than the limit for a grammar or a schema, %s", bytes_text(GRAMMAR_TEXT));
    fclose(f);
    return (Passage){text, (int64_t)n};
}

static Grammar *grammar_of_file(const char *path)
{
    Grammar_fault wrong;
    const Passage text = read_rules(path);
    Grammar *g = read_gbnf(text.at, text.bytes, &wrong);
    if (!g && wrong.line) fail(EXIT_DATA, text_of("%s:%d:%d", path, wrong.line, wrong.column), "%s", wrong.words);
    if (!g) fail(EXIT_DATA, path, "%s", wrong.words);
    free((char *)(uintptr_t)text.at);
    return g;
}

static Grammar *grammar_of_schema_file(const char *path)
{
    Grammar_fault wrong;
    json_error_t at;
    const Passage text = read_rules(path);
    json_t *schema = json_loadb(text.at, (size_t)text.bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &at);
    if (!schema) fail(EXIT_DATA, text_of("%s:%d:%d", path, at.line, at.column), "is not JSON: %s", at.text);
    Grammar *g = schema_grammar(schema, &wrong);
    if (!g) fail(EXIT_DATA, path, "%s", wrong.words);
    json_decref(schema);
    free((char *)(uintptr_t)text.at);
    return g;
}

void allow_grammars(Trainer *t, const Tokenizer *k)
{
    const Lathe_entry *decode = find_entry(t->model, ENTRY_decode), *slots = find_entry(t->model, ENTRY_slots);
    t->vocabulary = open_vocabulary(k);
    t->beside = constraint_bytes(t->vocabulary, (decode ? decode->rows : 1) + (slots ? slots->rows : 0));
}

void take_grammar(Trainer *t, const Tokenizer *k)
{
    if (!t->grammar_file && !t->schema_file) return;
    if (t->grammar_file && t->schema_file)
        fail(EXIT_USAGE, NULL, "--grammar and --json-schema both say what texts may be; give one");
    t->grammar = t->grammar_file ? grammar_of_file(t->grammar_file) : grammar_of_schema_file(t->schema_file);
    allow_grammars(t, k);
}

void check_constrained(const Written *w)
{
    if (w->stuck) fail(EXIT_DATA, NULL, "%s, but the text is not whole", w->stuck);
    if (w->unfinished)
        note("the text ends before its grammar does: it has all of its tokens, or a stop; give more with --tokens");
}

/* ------------------------------------------------------------------ requests */

bool grammar_of_request(const Request *r, Grammar **g, Refusal *f)
{
    Grammar_fault wrong;
    *g = NULL;
    if (!r->grammar.at && !r->schema && !r->any_object) return true;
    *g = r->grammar.at ? read_gbnf(r->grammar.at, r->grammar.bytes, &wrong)
         : r->schema   ? schema_grammar(r->schema, &wrong)
                       : any_object_grammar();
    if (*g) return true;
    f->field = r->grammar.at ? "grammar" : "response_format";
    if (wrong.line) snprintf(f->words, sizeof f->words, "grammar:%d:%d: %.200s", wrong.line, wrong.column, wrong.words);
    else snprintf(f->words, sizeof f->words, "%s: %.200s", f->field, wrong.words);
    return false;
}
