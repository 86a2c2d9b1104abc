/* stream_drive.c: rows from files to nowhere: what the stream's threads do, without a trainer: for ThreadSanitizer and
 * for measuring (stream_races.sh, stream_memory.sh).
 *
 *     stream_drive READERS BLOCK-TOKENS ROWS PACK PATH…      ROWS 0: one epoch */
#include "base/hash.h"
#include "base/words.h"
#include "data/data.h"
#include "data/stream.h"
#include "source/source.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <sys/resource.h>

enum { SEQ = 128, BATCH = 16 };

static int64_t number(const char *word)
{
    int64_t n;
    if (!parse_count(word, &n)) fail(EXIT_USAGE, NULL, "expected a number, found %s", word);
    return n;
}

int main(int argc, char **argv)
{
    static int32_t tokens[BATCH * SEQ], targets[BATCH * SEQ];
    if (argc < 6) return EXIT_USAGE;
    Words paths = {0};
    for (int i = 5; i < argc; i++) add_word(&paths, argv[i]);
    int64_t rows = number(argv[3]), taken = 0;
    Order o = {.seq = SEQ,
               .stride = SEQ,
               .block_tokens = number(argv[2]),
               .pack = number(argv[4]),
               .shuffle = true,
               .once = rows == 0,
               .seed = 1,
               .bos = -1,
               .begin = -1,
               .eos = 0,
               .end = 0,
               .ids = 65536};
    Sources *from = open_sources(&paths, &(Source_options){.raw_id_size = 2});
    Tokenizer *bytes = open_tokenizer(TOKEN_BYTES);
    limit_bytes(bytes, 256);
    double begin = seconds_now();
    Row_stream *s = open_stream(from, bytes, &o, (int)number(argv[1]), NULL);
    Hash h;
    hash_start(&h);
    const Rows to = {.n = BATCH, .tokens = tokens, .targets = targets};
    for (; (rows == 0 || taken < rows) && stream_rows(s, &to); taken += BATCH) hash_add(&h, tokens, sizeof tokens);
    double seconds = seconds_now() - begin;
    int code;
    const char *failure = stream_failure(s, &code);
    if (failure) end_program(code, failure);
    int64_t bound = stream_bytes(&o, bytes, (int)number(argv[1]));
    close_stream(s);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("rows %lld, hash %016llx, %.2f s, %.0f MB of ids a second, bound %lld KB, peak %ld KB\n", (long long)taken,
           (unsigned long long)hash_end(&h), seconds, (double)taken * SEQ * 4e-6 / seconds, (long long)bound / 1024,
           usage.ru_maxrss);
    return 0;
}
