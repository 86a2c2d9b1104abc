# llmc.sh: llm.c's files of a GPT-2, as tests/reference/llmc.py wrote them from the folder hf_gpt2: their weights are the
# folder's, they are written byte by byte as they were read, and what llm.c does not compute is refused.
set -eu
. tests/models/common
top=$PWD
case $LATHE in /*) ;; *) LATHE=$PWD/$LATHE ;; esac
recorded=$top/tests/reference/llmc
cd "$TMP"
gpt="$top/models/gpt.lua --set layers=2 --set heads=2 --set width=16 --set vocab=61 --set seq=12 --set batch=2"
build() { # FOLDER DESCRIPTION…
    out=$1
    shift
    must "$LATHE" build "$@" -o "$out"
}
# shellcheck disable=SC2086
build tanh $gpt --set gelu=tanh
must tanh/trainer init --init "$top/tests/reference/hf_gpt2" --out folder.safetensors
must tanh/trainer init --init "$recorded/fp32.bin" --out w.safetensors
cmp folder.safetensors w.safetensors || tell "other weights than the folder's"
must tanh/trainer export --to llmc --weights w.safetensors --ids 61 --out fp32.bin
cmp fp32.bin "$recorded/fp32.bin" || tell "fp32.bin differs"
must tanh/trainer init --init "$recorded/bf16.bin" --out short.safetensors
must tanh/trainer export --to llmc --type bf16 --weights short.safetensors --out bf16.bin
cmp bf16.bin "$recorded/bf16.bin" || tell "bf16.bin differs"
must tanh/trainer export --to llmc --weights "$recorded/fp32.bin" --out fp32.bin # over the old one

to_llmc() { "$1/trainer" export --to llmc --weights "$2" --out "$3"; }
refuse 2 'is there and no file of llm.c' to_llmc tanh "$recorded/fp32.bin" w.safetensors
refuse 2 'is the file that the weights are in' to_llmc tanh fp32.bin fp32.bin
refuse 2 'f32 or bf16 with --to llmc' tanh/trainer export --to llmc --type q8_0 --weights w.safetensors --out new.bin
refuse 3 'cannot be' to_llmc tanh w.safetensors none/new.bin
head -c 20000 fp32.bin >cut.bin
refuse 3 'expected 36352 bytes' tanh/trainer init --init cut.bin --out new.safetensors
# shellcheck disable=SC2086
build deep $gpt --set gelu=tanh --set layers=3
refuse 3 'n_layer: expected 3, found 2' deep/trainer init --init fp32.bin --out new.safetensors
# shellcheck disable=SC2086
build erf $gpt --set layers=1
must erf/trainer init --out erf.safetensors
refuse 3 'llm.c computes gelu by tanh' to_llmc erf erf.safetensors new.bin
# shellcheck disable=SC2086
build untied $gpt --set layers=1 --set gelu=tanh --set tied=false
must untied/trainer init --out untied.safetensors
refuse 3 'llm.c'"'"'s head is the embedding' to_llmc untied untied.safetensors new.bin
build llama "$top/models/llama.lua" --set layers=1 --set width=16 --set heads=2 --set kv_heads=1 --set hidden=24 --set vocab=40 --set seq=8 --set batch=2
must llama/trainer init --out llama.safetensors
refuse 3 'llm.c computes GPT-2 alone, and this is llama' to_llmc llama llama.safetensors new.bin
[ ! -e new.bin ] && [ ! -e new.bin.part ] || tell "a refused export left a file"
