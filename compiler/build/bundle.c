/* bundle.c: what a generated folder needs to be built without Lathe: CMakeLists.txt, and with --bundle the
 * runtime. */
#include "desc/target.h"
#include "build/sources.h"
#include "emit/emit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ CMakeLists.txt */

/* %s: a compiler's; its language; what else it needs; the sources; more libraries. */
static const char build_text[] =
    "# Builds the trainer with cmake and %s alone; Lathe itself is not needed:\n"
    "#     cmake -S . -B build && cmake --build build        ->  build/trainer\n"
    "# The runtime is in runtime/ beside this file (lathe build --bundle), or in -DLATHE_RUNTIME=DIR.\n"
    "cmake_minimum_required(VERSION 3.20)\n"
    "%s"
    "set(LATHE_RUNTIME \"${CMAKE_CURRENT_SOURCE_DIR}/runtime\" CACHE PATH \"the folder runtime/ of Lathe\")\n"
    "if(NOT EXISTS \"${LATHE_RUNTIME}/lathe_rt.h\")\n"
    "  message(FATAL_ERROR \"no runtime in ${LATHE_RUNTIME}: give the folder runtime/ of Lathe with "
    "-DLATHE_RUNTIME=DIR, \"\n"
    "    \"or write this folder again with lathe build --bundle\")\n"
    "endif()\n"
    "\n"
    "find_package(OpenMP REQUIRED COMPONENTS C)\n"
    "find_library(JANSSON jansson)\n"
    "find_path(JANSSON_INCLUDE jansson.h)\n"
    "if(NOT JANSSON OR NOT JANSSON_INCLUDE)\n"
    "  message(FATAL_ERROR \"the library jansson (JSON) is missing; Debian, Ubuntu: apt install libjansson-dev\")\n"
    "endif()\n"
    "\n"
    "file(GLOB_RECURSE RUNTIME %s)\n"
    "list(FILTER RUNTIME EXCLUDE REGEX \"/library/[^/]*$\") # of models as libraries\n"
    "include(${LATHE_RUNTIME}/look/embed.cmake)\n"
    "embed_page(${CMAKE_CURRENT_BINARY_DIR}/look_page.c)\n"
    "list(APPEND RUNTIME ${CMAKE_CURRENT_BINARY_DIR}/look_page.c)\n"
    "add_executable(trainer %s ${RUNTIME})\n"
    "target_include_directories(trainer PRIVATE ${LATHE_RUNTIME} ${JANSSON_INCLUDE})\n"
    "target_link_libraries(trainer PRIVATE OpenMP::OpenMP_C ${JANSSON} m ${CMAKE_DL_LIBS}%s)\n"
    "\n"
    "# What the trainer can do without.\n"
    "function(optional NAME LIBRARY HEADER PACKAGE WHAT)\n"
    "  find_library(${NAME} ${LIBRARY})\n"
    "  find_path(${NAME}_INCLUDE ${HEADER})\n"
    "  if(NOT ${NAME} OR NOT ${NAME}_INCLUDE)\n"
    "    message(STATUS \"no ${WHAT}: ${HEADER} is missing (Debian, Ubuntu: apt install ${PACKAGE})\")\n"
    "    return()\n"
    "  endif()\n"
    "  target_compile_definitions(trainer PRIVATE LATHE_WITH_${NAME})\n"
    "  target_include_directories(trainer PRIVATE ${${NAME}_INCLUDE})\n"
    "  target_link_libraries(trainer PRIVATE ${${NAME}})\n"
    "endfunction()\n"
    "optional(PCRE2 pcre2-8 pcre2.h libpcre2-dev \"byte pair encoding\")\n"
    "optional(UTF8PROC utf8proc utf8proc.h libutf8proc-dev \"Unicode's normal forms\")\n"
    "optional(MICROHTTPD microhttpd microhttpd.h libmicrohttpd-dev \"trainer serve\")\n"
    "optional(ZSTD zstd zstd.h libzstd-dev \"files packed as .zst\")\n"
    "optional(ZLIB z zlib.h zlib1g-dev \"files packed as .gz\")\n"
    "optional(JPEG jpeg jpeglib.h libjpeg-dev \"JPEG pictures\")\n"
    "optional(PNG png png.h libpng-dev \"PNG pictures\")\n"
    "optional(SNDFILE sndfile sndfile.h libsndfile1-dev \"recordings: WAV, FLAC, OGG, MP3\")\n"
    "if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64) # it looks whether the processor is one to run on\n"
    "  set_source_files_properties(${LATHE_RUNTIME}/math/cpu.c PROPERTIES COMPILE_OPTIONS -march=x86-64)\n"
    "endif()\n";

static const char for_cuda[] = "if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)\n"
                               "  set(CMAKE_CUDA_ARCHITECTURES 80-real 90) # and whatever comes later\n"
                               "endif()\n"
                               "project(trainer C CXX CUDA)\n"
                               "find_package(CUDAToolkit REQUIRED)\n";

static void say_options(Text *t, const char *flags, const char *language)
{
    say(t,
        *language ? "target_compile_options(trainer PRIVATE\n  \"$<$<COMPILE_LANGUAGE:%s>:"
                  : "target_compile_options(trainer PRIVATE\n  ",
        language);
    for (const char *s = flags; *s; s++) say(t, "%c", *language && *s == ' ' ? ';' : *s);
    say(t, "%s)\n", *language ? ">\"" : "");
}

void write_build_file(const char *dir, bool cuda)
{
    Text t = {0};
    say(&t, build_text, cuda ? "CUDA's" : "a C compiler", cuda ? for_cuda : "project(trainer C)\n",
        cuda ? "${LATHE_RUNTIME}/*.c ${LATHE_RUNTIME}/*.cu" : "${LATHE_RUNTIME}/*.c",
        cuda ? "model.cu tables.c" : "model.c", cuda ? " CUDA::cudart_static" : "");
    say_options(&t, plain_c_flags(), cuda ? "C" : "");
    if (cuda) say_options(&t, nvcc_flags(), "CUDA");
    if (cuda)
        say(&t, "# where the trainer looks for cuBLASLt\nset_target_properties(trainer PROPERTIES BUILD_RPATH "
                "${CUDAToolkit_LIBRARY_DIR})\n");
    put_file(dir, "CMakeLists.txt", t.at, t.n);
}

/* ------------------------------------------------------------------ the runtime's sources */

typedef bool Wanted(const char *name);

/* The report's page (runtime/look). */
static bool is_of_page(const char *name)
{
    return ends_in(name, ".html") || ends_in(name, ".css") || ends_in(name, ".js") || ends_in(name, ".cmake");
}

static bool is_of_c(const char *name)
{
    return ends_in(name, ".c") || ends_in(name, ".h") || ends_in(name, ".def") || is_of_page(name);
}
static bool is_of_cuda(const char *name) { return is_of_c(name) || ends_in(name, ".cu") || ends_in(name, ".cuh"); }

/* The build file compiles every source in the folder. A file that is not ours may be the user's, so it is not removed
 * but refused. */
static void refuse_others(const char *to, const Files *ours, Wanted *wanted)
{
    Files there = files_below(to, wanted);
    for (int i = 0; i < there.n; i++)
        if (!bsearch(&there.at[i], ours->at, (size_t)ours->n, sizeof *ours->at, by_text))
            err((Where){0},
                "%s/%s is no file of this Lathe's runtime, and would be built with it\n"
                "  remove it, or give another folder with -o DIR",
                to, there.at[i]);
}

void write_runtime(const char *dir, bool cuda)
{
    Wanted *wanted = cuda ? is_of_cuda : is_of_c;
    const char *from = runtime_dir(), *to = format("%s/runtime", dir);
    Files names = files_below(from, wanted);
    if (access(format("%s/trainer/main.c", from), R_OK) != 0)
        err((Where){0},
            "--bundle copies the runtime's sources, and %s has none\n"
            "  set LATHE_RUNTIME to the folder runtime/ of Lathe's sources",
            from);
    make_folder(to);
    refuse_others(to, &names, wanted);
    for (int i = 0; i < names.n; i++) {
        size_t bytes;
        const char *room = strrchr(names.at[i], '/');
        if (room) make_folder(format("%s/%.*s", to, (int)(room - names.at[i]), names.at[i]));
        char *text = read_file(format("%s/%s", from, names.at[i]), &bytes);
        if (!text) err((Where){0}, "cannot read %s/%s: %s", from, names.at[i], strerror(errno));
        put_file(to, names.at[i], text, bytes);
    }
}
