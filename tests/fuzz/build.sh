# build.sh FOLDER: sourced by tests/long.sh: the fuzz targets as libFuzzer programs FOLDER/NAME, with AddressSanitizer and
# UBSan, from the top folder; build/ must be there.  Needs clang and its runtime library.

fuzz_flags="-g -O1 -std=gnu11 -w -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
fuzz_runtime="rt_words rt_hash rt_file train_safetensors data_vocab" # of runtime/: what reads files, without threads

# Allocations are engine.c's, in the code under test and in the targets.
fuzz_compile() {    # SOURCE OBJECT [FLAG…]
    source=$1 object=$2
    shift 2
    # shellcheck disable=SC2086
    clang $fuzz_flags "$@" -Dmalloc=fuzz_malloc -Dcalloc=fuzz_calloc -Drealloc=fuzz_realloc -Dfree=fuzz_free -Icompiler \
        -Iruntime $(pkg-config --cflags lua5.4 jansson) -c "$source" -o "$object"
}

# The code under test: its static variables lie in sections of their own.
fuzz_object() {     # SOURCE OBJECT
    fuzz_compile "$1" "$2" -fsanitize=fuzzer-no-link &&
        objcopy --rename-section .data=under_data --rename-section .bss=under_bss "$2"
}

fuzz_build() {      # FOLDER
    mkdir -p "$1/c" "$1/r"
    for source in compiler/*.c build/lua_library.c; do
        [ "$source" = compiler/main.c ] || echo "$source $1/c/$(basename "$source" .c).o"
    done | xargs -P 2 -n 2 sh -c '. tests/fuzz/build.sh && fuzz_object "$1" "$2"' sh || return 1
    for name in $fuzz_runtime; do fuzz_object "runtime/$name.c" "$1/r/$name.o" || return 1; done
    for target in tests/fuzz/fuzz_*.c; do
        name=$(basename "$target" .c) && name=${name#fuzz_}
        under=c
        ! grep -q trainer.h "$target" || under=r
        fuzz_compile "$target" "$1/$name.o" || return 1
        # dtype_size is for writers, which are not called.
        # shellcheck disable=SC2086
        clang $fuzz_flags -fsanitize=fuzzer -Wl,--wrap=exit -Wl,--defsym=dtype_size=0 tests/fuzz/engine.c "$1/$name.o" \
            "$1"/$under/*.o $(pkg-config --libs lua5.4 jansson) -lm -o "$1/$name" || return 1
    done
}
