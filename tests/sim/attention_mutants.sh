# attention_mutants.sh: one mistake at a time put into the tensor core kernels of attention: the test sees each of them.
set -eu
sh tests/sim/compile simulator "$TMP" || exit
failed=0
mutant() {      # NAME FILE FROM TO WORD: the first FROM becomes TO, and the simulator or the comparison says WORD
    mkdir -p "$TMP/$1/cuda"
    awk -v from="$3" -v to="$4" '
        !done && (at = index($0, from)) { $0 = substr($0, 1, at - 1) to substr($0, at + length(from)); done = 1 }
        { print } END { exit !done }' "runtime/$2" >"$TMP/$1/$2" || { echo "$2 has no \"$3\""; exit 1; }
    for header in runtime/cuda/attention*.cuh; do    # they include each other by name
        [ -e "$TMP/$1/cuda/${header##*/}" ] || cp "$header" "$TMP/$1/cuda"
    done
    cp tests/sim/attention_mutant.cu "$TMP/$1/mutant.cu"
    rm -f "$TMP"/program_*.o
    SIM_FLAGS="-I$TMP/$1" sh tests/sim/compile program "$TMP" "$TMP/$1/mutant.cu"
    if timeout 60 "$TMP/program" >"$TMP/said" 2>&1; then word=nothing; else word=$(cat "$TMP/said"); fi
    case $word in
    *"$5"*) ;;
    *) echo "failed: $1 is not seen: $(echo "$word" | head -n 3)"; failed=1 ;;
    esac
}
kernels=cuda/attention_tensor.cuh tiles=cuda/attention_tiles.cuh
mutant none $kernels OWN OWN nothing
mutant missing_wait $kernels '1 - stage), copy_commit(), copy_wait<1>();' '1 - stage), copy_commit(), copy_wait<2>();' 'has not waited for a copy'
mutant missing_barrier $kernels '__syncthreads(); /* before the next copies overwrite it */' '' 'shared memory'
mutant wrong_lane $tiles '__shfl_xor_sync(ALL_LANES, x, 2)' '__shfl_xor_sync(ALL_LANES, x, 4)' 'off by'
mutant wrong_mask $tiles '__shfl_xor_sync(ALL_LANES, x, 1)' '__shfl_xor_sync(0x7fffffffu, x, 1)' 'leaves out its own lane'
mutant one_row_on $tiles 'lane / 8 % 2 * 8 + lane % 8][w' 'lane / 8 % 2 * 8 + lane % 8 + 1][w' 'failed: case'
mutant twice_met $kernels 'w += 32' 'w += 16' 'off by'
mutant odd_rows $kernels ' && in_pieces(g, o, g.o, g.E)' '' 'misaligned'
mutant one_key_on cuda/attention.cuh 'key > i' 'key >= i' 'off by'
exit $failed
