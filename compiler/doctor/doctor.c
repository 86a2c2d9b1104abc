/* doctor.c: `lathe doctor`: the machine: processors, memory, disk, compiler, BLAS, and what they do at their
 * best. */
#include "doctor/doctor.h"
#include "emit/emit.h"
#include "front/clang.h"
#include "runtime/base/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

void finding(Doctor *d, Health h, const char *topic, char *found, const char *remedy)
{
    push(&d->findings, ((Finding){h, topic, found, h == FINE ? NULL : remedy}));
}

/* The first line of a file or of what a command says, from `key` on; NULL where there is none. */
static char *line_of(FILE *f, const char *key)
{
    char text[4096], *found = NULL;
    if (!f) return NULL;
    while (!found && fgets(text, sizeof text, f)) {
        char *at = strstr(text, key);
        if (at) found = copy_bytes_as_string(at + strlen(key), strcspn(at + strlen(key), "\n"));
    }
    return found;
}

static char *line_in(const char *path, const char *key)
{
    FILE *f = fopen(path, "r");
    char *s = line_of(f, key);
    if (f) fclose(f);
    return s;
}

static char *said_by(const char *command, const char *key)
{
    FILE *f = popen(command, "r");
    char *s = line_of(f, key);
    return f && pclose(f) == 0 ? s : NULL;
}

static char *in_gb(double bytes) { return format("%.1f GB", bytes * 1e-9); }

/* ------------------------------------------------------------------ processors and memory */

static void examine_processor(Doctor *d)
{
    char *name = line_in("/proc/cpuinfo", "model name\t: "), *flags = line_in("/proc/cpuinfo", "flags\t\t:");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    bool fma = flags && strstr(flags, " fma"), avx512 = flags && strstr(flags, " avx512f");
    const char *vectors = !flags ? "vectors not known" : avx512 ? "AVX-512" : fma ? "AVX2" : "no AVX2";
    finding(
        d, flags && !fma ? ODD : FINE, "processor",
        format("%s, %ld cores, %s", name ? name : "of unknown name", cores, vectors),
        "a step takes 13 to 24 times as long here: multiply-adds are computed in software; processors with AVX2 (since "
        "2013) have them");
    double quota = cores_of_groups("");
    int own = cores_of_process("", "self");
    if (quota < (double)cores)
        finding(d, ODD, "processor", format("a control group gives %.1f of %ld cores", quota, cores),
                format("a trainer has %d thread%s; for more, raise the CPU limit of the container or job", cores_here(),
                       cores_here() == 1 ? "" : "s"));
    if (own > 0 && own < cores)
        finding(d, ODD, "processor", format("this process may run on %d of %ld cores", own, cores),
                "a launcher, taskset or cpuset says so; trainers have no more threads");
    double load = 0;
    if (getloadavg(&load, 1) == 1)
        finding(d, load > 0.5 * (double)cores ? ODD : FINE, "load",
                format("%.1f on %ld cores over the last minute", load, cores),
                "other programs are running: what is measured here, and training, is slower by them");
    char *governor = line_in("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "");
    if (same(governor, "powersave"))
        finding(d, ODD, "clock", format("governor powersave"), "cpupower frequency-set -g performance, on mains");
    const char *threads = getenv("OMP_NUM_THREADS");
    if (threads && atol(threads) < cores)
        finding(d, ODD, "threads", format("OMP_NUM_THREADS=%s of %ld cores", threads, cores),
                "unset it, or say --threads N");
}

static void examine_memory(Doctor *d)
{
    char *all = line_in("/proc/meminfo", "MemTotal:");
    d->memory = available_bytes();
    finding(d, d->memory && d->memory < (int64_t)1 << 29 ? ODD : FINE, "memory",
            format("%s available of %s", in_gb((double)d->memory), in_gb(all ? 1024.0 * (double)atoll(all) : 0)),
            "end other programs, or give a budget with --memory");
    char *pages = line_in("/sys/kernel/mm/transparent_hugepage/enabled", "");
    finding(
        d, !pages || strstr(pages, "[never]") ? ODD : FINE, "huge pages", format("%s", pages ? pages : "not there"),
        "as root: echo madvise >/sys/kernel/mm/transparent_hugepage/enabled; without, every 4 KB is a page of its own");
}

/* ------------------------------------------------------------------ compilers, BLAS, GPU */

static void examine_compiler(Doctor *d)
{
    const char *cc = c_compiler();
    if (!cc) {
        finding(d, BAD, "compiler", format("none"), "apt install gcc libc6-dev, or set CC to a C compiler");
    } else {
        char *version = said_by(format("%s --version 2>/dev/null", shell_quoted(cc)), "");
        char *probe =
            format("echo 'int main(void){return 0;}' | %s %s -x c - -ljansson -lpcre2-8 -lzstd -ljpeg -lpng -lz "
                   "-o /dev/null 2>&1",
                   shell_quoted(cc), plain_c_flags());
        bool works = system(format("(%s) >/dev/null 2>&1", probe)) == 0;
        finding(d, works ? FINE : BAD, "compiler",
                format("%s: %s%s", cc, version ? version : "?",
                       works
                           ? ""
                           : "; it cannot build a program with OpenMP, jansson, PCRE2, zstd, libjpeg, libpng and zlib"),
                "apt install gcc libc6-dev libjansson-dev libpcre2-dev libzstd-dev libjpeg-dev libpng-dev "
                "zlib1g-dev (for clang also libomp-dev)");
    }
    bool runtime = access(format("%s/lathe_rt.h", runtime_dir()), R_OK) == 0;
    const char *misfit = misfit_of_runtime();
    finding(d, runtime && !misfit ? FINE : BAD, "runtime",
            misfit ? copy_string(misfit) : format("%s%s", runtime_dir(), runtime ? "" : ": not there"),
            misfit ? "remove Lathe's files, and install it again"
                   : "build Lathe again, or set LATHE_RUNTIME to its folder runtime/");
}

/* Lathe's own products are the default. */
static void examine_blas(Doctor *d)
{
    const char *path = blas_library(), *engine = getenv("LATHE_GEMM");
    const bool there = access(path, R_OK) == 0, openmp = strstr(path, "openmp") != NULL;
    const bool wanted = same(engine, "openblas");
    finding(d,
            there && openmp    ? FINE
            : there || !wanted ? ODD
                               : BAD,
            "BLAS",
            format("%s%s", path,
                   !there   ? ": not there"
                   : openmp ? ""
                            : ": not its OpenMP build"),
            wanted ? "apt install libopenblas0-openmp; its pthread build is several times slower under OpenMP"
                   : "only LATHE_GEMM=openblas needs it; apt install libopenblas0-openmp");
}

static void examine_clang(Doctor *d)
{
    const char *fault = clang_fault();
    finding(d, fault ? ODD : FINE, "libclang",
            format("%s", fault ? "none, or older than 17" : clang_text(clang.getClangVersion())),
            "only nn.cfunc needs it; apt install libclang1-19");
}

static void examine_gpu(Doctor *d)
{
    const char *gpu = said_by("nvidia-smi -L 2>/dev/null", ""), *nvcc = cuda_compiler();
    const char *version = nvcc ? said_by(format("'%s' --version 2>/dev/null", nvcc), "release ") : NULL;
    const char *means = gpu && nvcc ? "--target cuda"
                        : gpu       ? "trainers for it cannot be compiled here"
                        : nvcc      ? "trainers for GPUs are compiled here and run elsewhere"
                                    : "trainers run on the processor";
    finding(d, gpu && !nvcc ? ODD : FINE, "GPU",
            format("%s, %s%s: %s", gpu ? gpu : "none", nvcc ? "nvcc " : "no nvcc", version ? version : "", means),
            "install NVIDIA's CUDA toolkit, 12 or newer (developer.nvidia.com/cuda-downloads), or set NVCC");
}

static void measure_machine(Doctor *d)
{
    Rates r;
    if (!measure_rates(&r)) {
        finding(d, ODD, "speed", format("not measured: %s does not run", program_beside("lathe-measure")),
                "build Lathe again");
        return;
    }
    d->rates = r;
    finding(d, FINE, "products",
            format("%.0f GFLOP/s with %d threads (engine %s)", 2e-9 / r.seconds[PRODUCT], r.threads, r.engine), NULL);
    finding(d, FINE, "copies", format("%.1f GB/s", 1e-9 / r.seconds[BYTE]), NULL);
    finding(d, FINE, "small work",
            format("%.2f tanh a nanosecond; %.2g microseconds to wake the threads", 1e-9 / r.seconds[CURVE],
                   1e6 * r.seconds[CALL]),
            NULL);
}

/* ------------------------------------------------------------------ disk */

static double seconds_to_write(const char *path, size_t bytes)
{
    enum { PIECE = 1 << 20 };
    static char piece[PIECE];
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0;
    for (size_t at = 0; ok && at < bytes; at += PIECE) ok = write(fd, piece, PIECE) == PIECE;
    ok = ok && fsync(fd) == 0;
    int number = errno;
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    errno = number;
    clock_gettime(CLOCK_MONOTONIC, &b);
    return ok ? (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec) : -1;
}

/* The nearest folder above that is there: a run's own is made when it starts. */
static char *folder_that_is(const char *path)
{
    char *at = copy_string(path);
    while (access(at, F_OK) != 0) {
        char *slash = strrchr(at, '/');
        if (!slash) return ".";
        slash[slash == at] = 0;
        if (slash == at) break;
    }
    return at;
}

static void examine_disk(Doctor *d)
{
    enum { BYTES = 64 << 20 };
    char *folder = folder_that_is(d->out ? d->out : "runs");
    struct statvfs fs;
    double room = statvfs(folder, &fs) == 0 ? (double)fs.f_bavail * (double)fs.f_frsize : 0;
    double seconds =
        room < 2 * (double)BYTES ? -1 : seconds_to_write(format("%s/.lathe-doctor-%d", folder, (int)getpid()), BYTES);
    if (room >= 2 * (double)BYTES && seconds < 0)
        finding(d, BAD, "disk", format("%s: cannot be written: %s", folder, strerror(errno)),
                "choose another folder with --out");
    else if (seconds < 0)
        finding(d, BAD, "disk", format("%s: only %s free", folder, in_gb(room)),
                "free some space, or choose another folder with --out");
    else
        finding(d, FINE, "disk",
                format("%s: %s free, written and synced at %.0f MB/s", folder, in_gb(room), 1e-6 * BYTES / seconds),
                NULL);
}

void examine_machine(Doctor *d)
{
    examine_processor(d);
    examine_memory(d);
    examine_compiler(d);
    examine_blas(d);
    examine_clang(d);
    measure_machine(d);
    examine_gpu(d);
    examine_disk(d);
}

/* ------------------------------------------------------------------ saying it */

int tell_findings(const Doctor *d, bool json)
{
#define HEALTH_KEY(member, word, key) [member] = key,
    static const char *const words[] = {HEALTH_LIST(LIST_WORD)}, *const keys[] = {HEALTH_LIST(HEALTH_KEY)};
    bool bad = false;
    for (int i = 0; i < d->findings.n; i++) {
        const Finding *f = &d->findings.at[i];
        bad |= f->health == BAD;
        if (json) {
            printf("%s{\"topic\": %s, \"health\": \"%s\", \"found\": %s, \"remedy\": %s}%s\n", i ? " " : "[",
                   json_text(f->topic), keys[f->health], json_text(f->found), f->remedy ? json_text(f->remedy) : "null",
                   i + 1 < d->findings.n ? "," : "]");
            continue;
        }
        say_to(stdout, "%-3s %-11s %s\n", words[f->health], f->topic, f->found);
        if (f->remedy) say_to(stdout, "                -> %s\n", f->remedy);
    }
    return bad;
}
