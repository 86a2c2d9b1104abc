# export.sh: `lathe export --to onnx` writes the files that onnxruntime was tried with (tests/reference/onnx_models.py
# records them), of a description with every operation too; bad graphs, places and weights are refused, and nothing is
# written over.
set -eu
. tests/models/common
top=$PWD
case $LATHE in /*) ;; *) LATHE=$PWD/$LATHE ;; esac
recorded=$top/tests/reference/onnx

# Operations that a description cannot write, or that are written by their definitions, have no output there.
"$LATHE" dump tests/onnx/operations.lua --after front >"$TMP/graphs" 2>/dev/null
for op in $("$LATHE" ops | awk '{ print $1 }'); do
    case $op in
    attention | attention_back | linear_cross_entropy | dot_by_ids | over_ranks | class_id | stop_gradient | loop_arg | state | gradient) continue ;;
    esac
    grep -qE "(^|[^a-z_0-9])$op([^a-z_0-9]|\$)" "$TMP/graphs" || { echo "failed: operations.lua has no $op"; exit 1; }
done

export_to() { "$LATHE" export "$model" -o "$TMP/built" --to onnx --weights "$TMP/w.safetensors" "$@"; }
make() {
    model=$1
    must "$LATHE" build "$model" -o "$TMP/built"
    must "$TMP/built/trainer" init --out "$TMP/w.safetensors"
}
again="is another file than was tried; try it with tests/reference/onnx_models.py, and record it"
make tests/onnx/operations.lua
must export_to --out "$TMP/operations.onnx"
[ "$(sha256sum <"$TMP/operations.onnx" | cut -d ' ' -f 1)" = "$(cat "$recorded/operations.onnx.sha256")" ] || tell "operations.onnx $again"
cp "$TMP/built/graph.onnx.part" "$TMP/others.part"
make models/mlp.lua
must export_to --out "$TMP/mlp.onnx"
cmp "$TMP/mlp.onnx" "$recorded/mlp.onnx" || tell "mlp.onnx $again"
must export_to --out "$TMP/mlp.onnx" # which is replaced
if command -v protoc >/dev/null; then
    protoc --decode_raw <"$TMP/operations.onnx" >"$TMP/raw" || tell "protoc does not read the file"
fi

trainer=$TMP/built/trainer
part=$TMP/built/graph.onnx.part
with() { "$trainer" export --to onnx --weights "$TMP/w.safetensors" --out "$TMP/new.onnx" --graph "$1"; }
refuse 2 'lathe export models/mlp.lua --to onnx' "$trainer" export --to onnx --weights "$TMP/w.safetensors" --out "$TMP/new.onnx"
refuse 2 'expected one that models/mlp.lua has: predict, eval' export_to --entry decode --out "$TMP/new.onnx"
refuse 2 '--entry is for export --to onnx' "$LATHE" export "$model" -o "$TMP/built" --to hf --entry eval --out "$TMP/new"
refuse 2 'is there and no ONNX file' export_to --out "$TMP/w.safetensors"
refuse 3 'cannot be' export_to --out "$TMP/none/new.onnx"
refuse 3 'cannot be read' with "$TMP/none.part"
refuse 3 'no graph that lathe wrote' with "$TMP/w.safetensors"
refuse 3 'of another description' with "$TMP/others.part"
bytes=$(wc -c <"$part")
for cut in 0 1 24 25 30 60 90 "$((bytes / 2))" "$((bytes - 1))"; do
    head -c "$cut" "$part" >"$TMP/cut.part"
    refuse 3 'lathe export MODEL.lua --to onnx' with "$TMP/cut.part"
done
printf 'x' | cat "$part" - >"$TMP/long.part"
refuse 3 'is not complete' with "$TMP/long.part"
sed '2s/^[0-9]*/99/' "$part" >"$TMP/more.part"
refuse 3 'is not complete' with "$TMP/more.part"
sed 's/up\.weight/up.weighs/' "$part" >"$TMP/name.part"
refuse 3 "which this trainer's model does not have" with "$TMP/name.part"
head -c -4 "$TMP/w.safetensors" >"$TMP/nan.safetensors"
printf '\000\000\300\177' >>"$TMP/nan.safetensors"
refuse 3 'not finite' "$LATHE" export "$model" -o "$TMP/built" --to onnx --weights "$TMP/nan.safetensors" --out "$TMP/new.onnx"
refuse 3 'cut.part' "$LATHE" export "$model" -o "$TMP/built" --to onnx --weights "$TMP/cut.part" --out "$TMP/new.onnx"
[ ! -e "$TMP/new.onnx" ] && [ ! -e "$TMP/new.onnx.part" ] || tell "a refused export left a file"

# A loop that is too long, with its line.
refuse 1 'more than 200000 operators' "$LATHE" export tests/models/nested.lua --set seq=30000 -o "$TMP/long" --to onnx --out "$TMP/new.onnx"
grep -q '^tests/models/nested.lua:[0-9]*: error' "$TMP/said" || tell "no line"
