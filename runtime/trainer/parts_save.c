/* parts_save.c: a checkpoint that ranks on processors write together.
 *
 * Rank 0 makes the files, with their headers and of full size.  Each rank writes the elements that it owns at their
 * places (trainer/parts_file.c), syncs them, and tells rank 0 by a note (ranks/courier.h): notes need no order among
 * exchanges, so this goes on in the background.  What the next step changes before its update is written at once.
 * Rank 0 then reads the files: for their checksums, which cannot be put together from those of parts, and to see that
 * what each rank says it has written is there.  It completes the checkpoint, and nothing is renamed before.
 *
 * A rank that does not see the files sends its bytes to rank 0 instead, while the step waits, through the room in which
 * gradients arrive.  The file whose name is a random number tells whether a folder is rank 0's. */
#include "trainer/parts_save.h"
#include "base/thread.h"
#include "base/words.h"
#include "ranks/courier.h"
#include "trainer/ranks.h"
#include "trainer/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, LATE = 5, AT_ONCE = 1 << 20 }; /* s: shared file systems may show new files later elsewhere */

typedef struct Asked_save { /* by rank 0, of all */
    char folder[PATH_ROOM];
    uint64_t number;            /* random; 0: the files could not be made */
    int64_t header[PART_FILES]; /* bytes; 0: there is no such file */
} Asked_save;

typedef struct Part_note { /* a note */
    uint64_t number;       /* of the save */
    uint64_t sum[PART_FILES];
    int32_t fault; /* errno; 0: none */
    char host[64], path[1200], text[500];
} Part_note;
static_assert(sizeof(Part_note) <= LATHE_NOTE_BYTES, "a note");

static struct Parts_save {
    Part_arrays a;
    Asked_save *asked;
    char *seen;  /* [ranks]: whether it sees the files */
    bool unseen; /* this rank has not, and does not look again */
    Placed_out *out[PART_FILES];
    uint64_t sum[PART_FILES]; /* of what this rank has written */
    Part_note *note;          /* [ranks] */
    Fault fault;              /* of this rank, but for rank 0 */
    pthread_t thread;
    sem_t copied;
    bool running, waited;
} save;

static int own_rank(void) { return save.a.t->rank; }
static int all_ranks(void) { return gpus_of(save.a.t); }
bool is_written_in_parts(Part_file file) { return save.asked && save.asked->header[file] > 0; }

static char *path_of_part(Part_file file) { return text_of("%s/%s", save.asked->folder, part_file_names[file]); }
static char *sign_path(void)
{
    return text_of("%s/parts-%016llx", save.asked->folder, (unsigned long long)save.asked->number);
}

/* ------------------------------------------------------------------ the files */

static uint64_t random_number(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t of[] = {now.tv_sec, now.tv_nsec, getpid()};
    return hash_of(of, sizeof of) | 1;
}

static void make_part_files(const char *folder, Fault *f)
{
    Asked_save *asked = save.asked;
    char *real = NULL;
    (void)remove_folder(folder);
    if (mkdir(folder, 0777) != 0 || !(real = realpath(folder, NULL))) {
        set_fault(f, folder, "made");
        return;
    }
    snprintf(asked->folder, PATH_ROOM, "%s", real);
    free(real);
    for (Part_file k = PARTS_MODEL; k < PART_FILES; k++) {
        char *path = path_of_part(k);
        if (has_part_file(&save.a, k)) asked->header[k] = start_part_file(&save.a, k, path, f);
        free(path);
    }
    asked->number = random_number();
    char *sign = sign_path();
    const int fd = f->path ? -1 : open(sign, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 && !f->path) set_fault(f, sign, "made");
    if (fd >= 0) close(fd);
    if (f->path) asked->number = 0;
    free(sign);
}

static void open_part_files(Fault *f)
{
    for (Part_file k = PARTS_MODEL; k < PART_FILES; k++) {
        char *path = path_of_part(k);
        save.out[k] = is_written_in_parts(k) ? open_placed(path, f) : NULL;
        save.sum[k] = 0;
        free(path);
    }
}

static void close_part_files(void)
{
    for (Part_file k = PARTS_MODEL; k < PART_FILES; k++) {
        if (save.out[k]) close_placed(save.out[k]);
        save.out[k] = NULL;
    }
}

/* LATHE_RANKS_APART=K: ranks from K on do not see them; for tests. */
static bool sees_files(void)
{
    const char *apart = getenv("LATHE_RANKS_APART");
    if (own_rank() == 0) return true;
    if (save.unseen) return false;
    char *sign = sign_path();
    const double from = seconds_now();
    const bool hidden = apart && own_rank() >= atoi(apart);
    while (!hidden && access(sign, F_OK) != 0 && seconds_now() - from < LATE)
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    if (!hidden && access(sign, F_OK) == 0) open_part_files(&save.fault);
    else {
        save.unseen = true;
        note("this rank does not see %s: it sends its parts of checkpoints to rank 0", save.asked->folder);
    }
    free(sign);
    if (!save.unseen && !save.fault.path) return true;
    close_part_files();
    clear_fault(&save.fault);
    return false;
}

static void share_what_is_seen(void)
{
    char *seen = save.seen;
    Piece *piece = must_alloc((size_t)all_ranks() * sizeof *piece);
    seen[own_rank()] = sees_files();
    for (int k = 0; k < all_ranks(); k++) piece[k] = (Piece){&seen[own_rank()], &seen[k], 1, 1};
    must_go_on(exchange(piece));
    free(piece);
}

/* ------------------------------------------------------------------ writing */

/* Of 8 bytes each: it tells whether bytes have come, and costs next to nothing. */
static uint64_t sum_of_words(const char *at, int64_t bytes)
{
    uint64_t sum = 0, word;
    for (int64_t i = 0; i + 8 <= bytes; i += 8) memcpy(&word, at + i, 8), sum += word;
    word = 0;
    memcpy(&word, at + bytes / 8 * 8, (size_t)(bytes % 8));
    return sum + word;
}

typedef struct Part_writing {
    Part_file file;
    int64_t place;
} Part_writing;

static void write_bytes(void *with, const void *at, int64_t bytes)
{
    Part_writing *w = with;
    save.sum[w->file] += sum_of_words(at, bytes);
    put_placed(save.out[w->file], save.asked->header[w->file] + w->place, at, bytes);
    w->place += bytes;
}

static void write_piece(void *with, const Part_piece *p)
{
    Part_writing *w = with;
    if (p->rank != own_rank()) return;
    w->place = p->place;
    bytes_of_piece(&save.a, p, write_bytes, w);
}

static void write_part_file(Part_file file)
{
    Part_writing w = {file, 0};
    if (!is_written_in_parts(file)) return;
    each_part_piece(&save.a, file, write_piece, &w);
    flush_placed(save.out[file]);
}

static void write_unchanged(void)
{
    for (Part_file k = PARTS_MODEL; k < PARTS_RANKS; k++) write_part_file(k);
}

static void tell_first(void)
{
    Part_note w = {.number = save.asked->number, .fault = save.fault.path ? save.fault.number : 0};
    for (Part_file k = PARTS_MODEL; k < PART_FILES; k++) w.sum[k] = save.sum[k];
    snprintf(w.host, sizeof w.host, "%s", host_name());
    if (save.fault.path) {
        if (!w.fault) w.fault = EIO;
        snprintf(w.path, sizeof w.path, "%s", save.fault.path);
        snprintf(w.text, sizeof w.text, "%s", save.fault.text);
    }
    give_note(&w, sizeof w);
}

static void *write_in_background(void *unused)
{
    write_unchanged();
    sem_post(&save.copied);
    close_part_files();
    tell_first();
    return unused;
}

static void start_writing(void)
{
    sem_init(&save.copied, 0, 0);
    save.waited = false;
    save.running = start_thread(&save.thread, write_in_background, NULL);
    if (save.running) return;
    save.waited = true;
    write_in_background(NULL);
}

void wait_until_parts_written(void)
{
    if (!save.running || save.waited) return;
    while (sem_wait(&save.copied) != 0) continue; /* interrupted by a signal */
    save.waited = true;
}

void end_parts(void)
{
    if (!save.running) return;
    pthread_join(save.thread, NULL);
    sem_destroy(&save.copied);
    save.running = false;
}

void write_own_parts(Fault *f)
{
    if (!f->path) write_unchanged();
}

/* ------------------------------------------------------------------ by messages */

typedef struct Window { /* of the bytes of each rank that does not see the files, in the order of a file */
    Part_file file;
    int64_t from, bytes, *at; /* at: [ranks], counted */
    char *room;               /* here bytes of rank k are at room + (k - 1) · each; of a follower at room */
    int64_t each;
} Window;

static void count_bytes_of_rank(void *with, const Part_piece *p)
{
    const Window *w = with;
    w->at[p->rank] += p->bytes;
}

/* Of bytes at …, those in the window: their first, and how many. */
static int64_t within(const Window *w, int64_t at, int64_t bytes, int64_t *first)
{
    const int64_t end = at + bytes < w->from + w->each ? at + bytes : w->from + w->each;
    *first = at > w->from ? at : w->from;
    return end - *first;
}

static void send_bytes(void *with, const void *at, int64_t bytes)
{
    const Window *w = with;
    int64_t first, *own = &w->at[own_rank()];
    const int64_t n = within(w, *own, bytes, &first);
    if (n > 0) memcpy(w->room + first - w->from, (const char *)at + first - *own, (size_t)n);
    *own += bytes;
}

static void send_piece(void *with, const Part_piece *p)
{
    if (p->rank == own_rank()) bytes_of_piece(&save.a, p, send_bytes, with);
}

static void receive_piece(void *with, const Part_piece *p)
{
    const Window *w = with;
    int64_t first;
    if (save.seen[p->rank]) return;
    const int64_t at = w->at[p->rank], n = within(w, at, p->bytes, &first);
    if (n > 0)
        put_placed(save.out[w->file], save.asked->header[w->file] + p->place + first - at,
                   w->room + (p->rank - 1) * w->each + first - w->from, n);
    w->at[p->rank] += p->bytes;
}

static void move_window(Window *w, const int64_t *all)
{
    const bool first = own_rank() == 0;
    Piece *piece = must_alloc((size_t)all_ranks() * sizeof *piece);
    memset(w->at, 0, (size_t)all_ranks() * sizeof *w->at);
    if (!first && !save.seen[own_rank()]) each_part_piece(&save.a, w->file, send_piece, w);
    for (int k = 0; k < all_ranks(); k++) {
        const int from = first ? k : own_rank();
        int64_t n = all[from] - w->from < w->each ? all[from] - w->from : w->each;
        if (n < 0 || save.seen[from] || (!first && k != 0)) n = 0;
        char *at = first ? w->room + (k - 1) * w->each * (k > 0) : w->room;
        piece[k] = (Piece){at, at, first ? 0 : n, first ? n : 0};
    }
    must_go_on(exchange(piece));
    if (first) each_part_piece(&save.a, w->file, receive_piece, w);
    free(piece);
}

static void move_file_by_messages(Part_file file)
{
    const int ranks = all_ranks();
    int64_t room, most = 0, *all = must_alloc((size_t)ranks * sizeof *all);
    Window w = {.file = file, .at = all, .room = room_of_messages(&room)};
    each_part_piece(&save.a, file, count_bytes_of_rank, &w);
    w.at = must_alloc((size_t)ranks * sizeof *w.at);
    w.each = room / (ranks - 1);
    for (int k = 1; k < ranks; k++)
        if (!save.seen[k] && all[k] > most) most = all[k];
    for (; w.from < most; w.from += w.each) move_window(&w, all);
    if (own_rank() == 0) flush_placed(save.out[file]);
    free(w.at);
    free(all);
}

static void move_by_messages(void)
{
    if (!memchr(save.seen, 0, (size_t)all_ranks())) return;
    for (Part_file k = PARTS_MODEL; k < PART_FILES; k++)
        if (is_written_in_parts(k)) move_file_by_messages(k);
}

/* ------------------------------------------------------------------ beginning */

static void make_room(const Part_arrays *a)
{
    const size_t ranks = (size_t)gpus_of(a->t);
    if (!save.asked) {
        save.asked = must_alloc(sizeof *save.asked);
        save.seen = must_alloc(ranks);
        save.note = must_alloc(ranks * sizeof *save.note);
    }
    save.a = *a;
    *save.asked = (Asked_save){0};
}

void begin_parts(const Trainer *t, const Optimizer *o, const Memory *m, const char *folder, Fault *f)
{
    end_parts();
    clear_fault(&save.fault);
    make_room(&(Part_arrays){t, m, o, deal_of(t)});
    if (folder) make_part_files(folder, f);
    from_first(save.asked, sizeof *save.asked);
    if (!save.asked->number) return;
    if (folder) open_part_files(f);
    share_what_is_seen();
    move_by_messages();
    if (!save.seen[t->rank]) return;
    write_part_file(PARTS_RANKS);
    if (!folder) start_writing();
}

/* ------------------------------------------------------------------ completing */

static bool wait_for_note(int rank)
{
    int code;
    for (;;) {
        if (take_note(rank, &save.note[rank], sizeof *save.note) && save.note[rank].number == save.asked->number)
            return true;
        if (ranks_failure(&code)) return false;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
}

static void take_fault(int rank, Fault *f)
{
    const Part_note *w = &save.note[rank];
    if (f->path || !w->fault) return;
    *f = (Fault){text_of("%.*s", (int)sizeof w->path - 1, w->path),
                 text_of("%.*s, by rank %d of %d, on %.*s", (int)sizeof w->text - 1, w->text, rank, all_ranks(),
                         (int)sizeof w->host - 1, w->host),
                 w->fault};
}

void wait_for_parts(Fault *f)
{
    if (!save.asked->number) return;
    close_part_files();
    for (int k = 1; k < all_ranks(); k++) {
        if (!save.seen[k]) continue;
        if (wait_for_note(k)) take_fault(k, f);
        else if (!f->path) {
            errno = ECANCELED;
            set_fault(f, save.asked->folder, "completed");
        }
    }
    char *sign = sign_path();
    if (unlink(sign) != 0) set_fault(f, sign, "removed");
    free(sign);
}

typedef struct Part_reading {
    Part_file file;
    const char *map;      /* the file */
    int64_t header, left; /* bytes; before left, a multiple of AT_ONCE: no longer in memory */
    Hash all;
    uint64_t *sum; /* [ranks] */
} Part_reading;

/* Pieces come in the order of the file, and rank 0 has no room for all of it. */
static void leave_read(Part_reading *r, int64_t end)
{
    const int64_t to = end / AT_ONCE * AT_ONCE;
    if (to > r->left) drop_pages(r->map, r->left, to);
    if (to > r->left) r->left = to;
}

static void read_one_part(void *with, const Part_piece *p)
{
    Part_reading *r = with;
    for (int64_t i = 0, n; i < p->bytes; i += n) { /* in the processor's cache for both */
        n = p->bytes - i < AT_ONCE ? p->bytes - i : AT_ONCE;
        const char *at = r->map + r->header + p->place + i;
        hash_add(&r->all, at, (size_t)n);
        r->sum[p->rank] += sum_of_words(at, n);
        leave_read(r, r->header + p->place + i + n);
    }
}

static void read_part_file(Part_reading *r, const char *path, Fault *f)
{
    struct stat about;
    const int64_t header = save.asked->header[r->file];
    const int fd = open_to_read(path);
    if (fd < 0 || fstat(fd, &about) != 0) set_fault(f, path, "read");
    const size_t bytes = f->path ? 0 : (size_t)about.st_size;
    char *map = bytes ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (map == MAP_FAILED) set_fault(f, path, "read");
    else {
        r->map = map;
        r->header = header;
        hash_add(&r->all, map, (size_t)header);
        each_part_piece(&save.a, r->file, read_one_part, r);
        munmap(map, bytes);
    }
    if (fd >= 0) close(fd);
}

static void check_parts(Part_file file, const uint64_t *sum, const char *path, Fault *f)
{
    for (int k = 0; k < all_ranks() && !f->path; k++) {
        const Part_note *w = &save.note[k];
        if (!save.seen[k] || sum[k] == (k ? w->sum[file] : save.sum[file])) continue;
        *f = (Fault){text_of("%s", path),
                     text_of("does not hold what rank %d of %d, on %s, has written into it", k, all_ranks(),
                             k ? w->host : host_name()),
                     EIO};
    }
}

Mark mark_of_parts(Part_file file, Fault *f)
{
    if (f->path) return (Mark){0};
    char *path = path_of_part(file);
    Part_reading r = {.file = file, .sum = must_alloc((size_t)all_ranks() * sizeof *r.sum)};
    hash_start(&r.all);
    read_part_file(&r, path, f);
    check_parts(file, r.sum, path, f);
    free(r.sum);
    free(path);
    return (Mark){(int64_t)r.all.bytes, hash_end(&r.all)};
}
