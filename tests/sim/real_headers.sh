# real_headers.sh: the headers of the simulator agree with CUDA's own where those are installed: every enumerator's value, every
# function's type, the sizes of the structs.
set -eu
CXX=${CXX:-g++}
command -v "${CXX%% *}" >/dev/null || { echo "no C++ compiler: ${CXX%% *} is not here"; exit 77; }
nvcc=$(command -v nvcc) || { echo "nvcc is not here: its headers were not compared"; exit 77; }
real=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include
[ -e "$real/cublasLt.h" ] || { echo "cublasLt.h is not in $real: not compared"; exit 77; }

# One program that prints what the simulator's headers name, compiled with these and with the real ones.
ours=tests/sim/include
words() { cat $ours/cublasLt.h $ours/library_types.h $ours/cuda_runtime.h $ours/sim_runtime.h; }
enumerators=$(words | grep -oE '\b(CUBLAS|CUDA_R_|cuda[A-Z])[A-Za-z0-9_]*( = |,$|, |$| \})' | grep -oE '^[A-Za-z0-9_]+' |
    grep -vE '_H$|_t$|^cudaError$|^cudaMemcpyKind$|^cudaFuncAttribute$|^cudaDataType$|^cudaLaunchKernelEx$' | sort -u)
functions=$(words | sed -n '/^extern "C" {/,/^}/p' | grep -oE '^[a-z][A-Za-z_ ]*[ *]cu[a-z]+(Lt)?[A-Z][A-Za-z0-9]*\(' |
    grep -oE 'cu[A-Za-z0-9]*\($' | tr -d '(' | sort -u)
structs=$(words | grep -oE '^\} cu[A-Za-z]*_t;' | grep -oE 'cu[A-Za-z_]*' | sort -u)
{
    cat <<'HEAD'
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cxxabi.h>
#include <stddef.h>
#include <stdio.h>
#include <typeinfo>
#ifdef SIM_CUDA_RUNTIME_H
Sim_file::Sim_file(char *const (&)[2], char *const (&)[2], char *const (&)[2]) {}
#endif
template <class T> struct Type {};
static const char *words_of(const std::type_info &t)
{
    int status;
    return abi::__cxa_demangle(t.name(), NULL, NULL, &status);
}
#define VALUE(x)  printf("%s = %d\n", #x, (int)x);
#define TYPE(x)   printf("%s: %s\n", #x, words_of(typeid(Type<decltype(&x)>)));
#define SIZE(x)   printf("%s: %zu bytes\n", #x, sizeof(x));
#define PLACE(x, y) printf("%s.%s: %zu\n", #x, #y, offsetof(x, y));
int main()
{
HEAD
    for name in $enumerators; do echo "    VALUE($name)"; done
    for name in $functions; do
        case $name in   # of these C++ has several
        cudaMalloc | cudaFuncSetAttribute | cudaFuncGetAttributes | cudaMallocHost | cudaHostAlloc | cudaGraphInstantiate | cudaEventCreate | cudaGetDeviceProperties) ;;
        *) echo "    TYPE($name)" ;;
        esac
    done
    for name in $structs; do echo "    SIZE($name)"; done
    for name in workspaceSize state wavesCount; do echo "    PLACE(cublasLtMatmulHeuristicResult_t, $name)"; done
    echo "}"
} >"$TMP/words.cc"
$CXX -std=gnu++17 -I$ours "$TMP/words.cc" -o "$TMP/ours"
$CXX -std=gnu++17 -I"$real" "$TMP/words.cc" -o "$TMP/theirs"
"$TMP/ours" >"$TMP/ours.txt"
"$TMP/theirs" >"$TMP/theirs.txt"
diff -u "$TMP/ours.txt" "$TMP/theirs.txt" >"$TMP/diff" || { echo "failed: - ours, + theirs"; grep '^[-+]' "$TMP/diff"; exit 1; }
lines=$(wc -l <"$TMP/ours.txt")
[ "$lines" -gt 90 ] || { echo "failed: $lines values, types and sizes are too few"; exit 1; }
echo "note: $lines values, types and sizes are those of CUDA's headers"
