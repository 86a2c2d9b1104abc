/* cuda.c: makes a trainer for GPUs of a generated folder: model.cu and the runtime's .cu by nvcc, each a file of
 * its own that is compiled again when it has changed, tables.c by the C compiler; several at a time.
 */
#include "build/jobs.h"
#include "build/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------ nvcc */

#define USUAL_NVCC "/usr/local/cuda/bin/nvcc"

/* $NVCC, or what the machine has; NULL: none. */
const char *cuda_compiler(void)
{
    const char *own = getenv("NVCC");
    if (own && *own) return in_path(own);
    const char *found = in_path("nvcc");
    return found ? found : in_path(USUAL_NVCC);
}

static const char *needed_nvcc(const char *dir)
{
    const char *found = cuda_compiler(), *own = getenv("NVCC");
    if (found) return found;
    if (own && *own)
        err((Where){0}, "NVCC=%s: there is no such command; the source is in %s\n  unset NVCC, or set it to nvcc", own,
            dir);
    err((Where){0},
        "no nvcc to compile the trainer with: looked for it in PATH and for " USUAL_NVCC "; the source is in %s\n"
        "  install NVIDIA's CUDA toolkit, 12 or newer (developer.nvidia.com/cuda-downloads), or set NVCC; with "
        "--bundle\n"
        "  the folder can be built by cmake on a machine that has it; --source only writes the source",
        dir);
}

/* Arithmetic as the C has it: nothing contracted. */
static const char *const flags[] = {"-std=c++20", "-O3", "-fmad=false"};

const char *nvcc_flags(void)
{
    Text t = {0};
    for (int i = 0; i < COUNT_OF(flags); i++) say(&t, "%s%s", i ? " " : "", flags[i]);
    return t.at;
}

/* The GPUs that kernels are compiled for: sm_80, sm_90 and later ones; or $LATHE_CUDA_ARCH alone, which is faster. */
static void add_architectures(Words *w)
{
    static const char *const all[] = {"arch=compute_80,code=sm_80", "arch=compute_90,code=[sm_90,compute_90]"};
    const char *own = getenv("LATHE_CUDA_ARCH");
    if (own && *own && strspn(own, "0123456789") != strlen(own))
        err((Where){0}, "LATHE_CUDA_ARCH=%s: expected a number, as 90 for sm_90", own);
    for (int i = 0; i < COUNT_OF(all); i++) {
        if (own && *own && i > 0) break;
        push(w, "-gencode");
        push(w, own && *own ? format("arch=compute_%s,code=sm_%s", own, own) : all[i]);
    }
}

/* ------------------------------------------------------------------ files */

static bool is_cuda(const char *name) { return ends_in(name, ".cu"); }

/* ------------------------------------------------------------------ jobs */

static void add_cuda_job(Jobs *all, const char *compiler, const char *dir, const char *source, const char *name,
                         uint64_t headers)
{
    Words w = {0};
    push(&w, compiler);
    for (int i = 0; i < COUNT_OF(flags); i++) push(&w, flags[i]);
    add_architectures(&w);
    push(&w, format("-I%s", runtime_dir()));
    add_object(all, dir, source, name, w, headers);
}

/* The slowest to compile comes first. */
static Jobs jobs_of(const char *compiler, const char *dir)
{
    Jobs all = {0};
    Words c = {0};
    Files runtime = files_below(runtime_dir(), is_cuda);
    uint64_t headers = hash_file(format("%s/model.h", dir), hash_file(format("%s/model.plan.h", dir), 1));
    push(&c, needed_compiler());
    headers = hash_command(&c, hash_of_headers(headers)); /* nvcc runs that one */
    add_cuda_job(&all, compiler, dir, format("%s/model.cu", dir), "model", headers);
    for (int i = 0; i < runtime.n; i++) {
        const char *file = runtime.at[i], *base = file_name(file);
        char *name = copy_bytes_as_string(base, strlen(base) - strlen(".cu"));
        add_cuda_job(&all, compiler, dir, format("%s/%s", runtime_dir(), file), name, headers);
    }
    add_c_flags(&c);
    add_object(&all, dir, format("%s/tables.c", dir), "tables", c, headers);
    return all;
}

/* ------------------------------------------------------------------ the program */

/* The folder of the toolkit's libraries; the program also looks there for cuBLASLt when it starts. NULL: the system's
 * folders. */
static const char *library_folder(const char *compiler)
{
    static const char *const places[] = {"lib64", "lib"};
    char *real = realpath(compiler, NULL);
    for (int up = 0; real && up < 2; up++)
        if (strrchr(real, '/')) *strrchr(real, '/') = 0;
    for (int i = 0; real && i < COUNT_OF(places); i++) {
        const char *dir = format("%s/%s", real, places[i]);
        if (access(format("%s/libcublasLt.so", dir), R_OK) == 0) return free(real), dir;
    }
    free(real);
    return NULL;
}

/* The C compiler links: no kernel calls a function of another file, so nvcc has nothing to link. */
static Words link_line(const char *compiler, const Jobs *jobs, const char *to)
{
    static const char *const cuda[] = {"-lcudart_static", "-lrt", "-lpthread", "-lstdc++"};
    Words w = {0};
    const char *libraries = library_folder(compiler);
    push(&w, needed_compiler());
    push(&w, "-fopenmp");
    push(&w, "-o");
    push(&w, to);
    for (int i = 0; i < jobs->n; i++) push(&w, jobs->at[i].object);
    push(&w, runtime_library());
    if (libraries) push(&w, format("-L%s", libraries));
    if (libraries) push(&w, format("-Wl,-rpath,%s", libraries));
    for (int i = 0; i < COUNT_OF(cuda); i++) push(&w, cuda[i]);
    add_libraries(&w);
    return w;
}

const char *build_cuda(const char *dir)
{
    const char *compiler = needed_nvcc(dir);
    char *trainer = format("%s/trainer", dir), *fresh = format("%s/trainer.new", dir),
         *log = format("%s/build.log", dir);
    int status;
    need_runtime_library();
    Jobs jobs = jobs_of(compiler, dir);
    Words words = link_line(compiler, &jobs, fresh);
    uint64_t hash = hash_file(runtime_library(), hash_command(&words, 1));
    for (int i = 0; i < jobs.n; i++) hash = hash_bytes(&jobs.at[i].hash, sizeof hash, hash);
    if (has_hash(trainer, hash)) return trainer;
    run_jobs(&jobs);
    pid_t child = start_logged(&words, log);
    if (waitpid(child, &status, 0) < 0 || exit_of(status) != 0)
        err((Where){0}, "the trainer cannot be linked: is the CUDA toolkit whole (libcudart_static)?\n%.2000s",
            read_file(log, NULL) ? read_file(log, NULL) : "");
    if (rename(fresh, trainer) != 0) err((Where){0}, "cannot write %s: %s", trainer, strerror(errno));
    keep_hash(trainer, hash);
    return trainer;
}
