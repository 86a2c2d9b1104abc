# weights.sh: safetensors files that are damaged, hostile or of another model; grad and its inputs.
. tests/trainer/common
some_text t.txt 100
works "$toy" init --out w.safetensors --seed 3
works "$toy" init --out again.safetensors --seed 3
same w.safetensors again.safetensors
works "$toy" init --out other.safetensors --seed 4
differs w.safetensors other.safetensors
head -c 400 w.safetensors | tr '\0' ' ' >head.txt
says '"format":"pt"' head.txt
says '"h.1.bias":{"dtype":"F32","shape":\[24\],"data_offsets":\[96,192\]}' head.txt

bad() {
    words=$1
    shift
    store bad.safetensors "$@"
    refuses 3 "bad.safetensors: error: $words" "$toy" eval --data t.txt --weights bad.safetensors
}
refuses 3 'none.safetensors: error: expected a safetensors file, but it cannot be read' "$toy" eval --data t.txt --weights none.safetensors
refuses 3 './model.safetensors: error: expected a safetensors file, but it cannot be read' "$toy" eval --data t.txt --weights .
mkdir folder.safetensors
refuses 3 'folder.safetensors/model.safetensors: error: expected a safetensors file' "$toy" eval --data t.txt --weights folder.safetensors
head -c 5 w.safetensors >cut.safetensors
refuses 3 'found only 5 bytes; it is cut off' "$toy" eval --data t.txt --weights cut.safetensors
head -c 100 w.safetensors >cut.safetensors
refuses 3 'does not fit a file of 100 bytes' "$toy" eval --data t.txt --weights cut.safetensors
head -c 1000 w.safetensors >cut.safetensors
refuses 3 'is at .* bytes of data; the file is cut off' "$toy" eval --data t.txt --weights cut.safetensors
{ cat w.safetensors; echo; } >long.safetensors
refuses 3 '1 bytes at the end belong to no tensor' "$toy" eval --data t.txt --weights long.safetensors
printf '\377\377\377\377\377\377\377\377{}' >huge.safetensors
refuses 3 'does not fit a file' "$toy" eval --data t.txt --weights huge.safetensors
bad 'the header is not valid JSON' '{"a": nonsense}'
bad 'the header is not a JSON object' '[1, 2, 3]'
bad 'the header is not valid JSON.*duplicate' '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' 4
bad 'tensor a is not described by an object' '{"a":7}'
bad 'tensor a: dtype F99' '{"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}}' 4
bad 'tensor a has no shape' '{"a":{"dtype":"F32","data_offsets":[0,4]}}' 4
bad 'tensor a has 9 axes' '{"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}}' 4
bad 'tensor a: expected whole numbers in shape' '{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}' 4
bad 'tensor a: expected whole numbers in shape' '{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}' 4
bad 'tensor a: its shape is larger than any file' '{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}' 4
bad 'tensor a has no data_offsets' '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}}' 4
bad 'tensor a is at bytes 4 to 0' '{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}' 4
bad 'tensor a is at bytes 0 to 9223372036854775807' '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,9223372036854775807]}}' 4
bad 'tensor a: its shape needs 8 bytes, its data_offsets give 4' '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}' 4
bad 'tensor b overlaps another' '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}}' 6
bad 'tensor b has a hole before it' '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}' 12

bias='"h.0.bias":{"dtype":"F32","shape":[24],"data_offsets":[0,96]},"h.1.bias":{"dtype":"F32","shape":[24],"data_offsets":[96,192]}'
bad 'does not hold the parameters of toy tiny; 1 tensors do not fit' "{$bias}" 192
says 'table.weight: missing; expected \[24, 24\] (toy.lua:4)' err
bad 'does not hold' "{$bias,\"table.weight\":{\"dtype\":\"F32\",\"shape\":[24,25],\"data_offsets\":[192,2592]}}" 2592
says 'table.weight: expected \[24, 24\], found \[24, 25\]' err
bad 'does not hold' "{$bias,\"table.weight\":{\"dtype\":\"I32\",\"shape\":[24,24],\"data_offsets\":[192,2496]}}" 2496
says 'table.weight: expected F32, F64, BF16, Q8_0 or Q4_0, found I32' err
bad 'does not hold' "{$bias,\"table.weight\":{\"dtype\":\"F32\",\"shape\":[24,24],\"data_offsets\":[192,2496]},\"more\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[2496,2498]}}" 2498
says 'more: not a parameter of this model' err
store f64.safetensors '{"h.0.bias":{"dtype":"F64","shape":[24],"data_offsets":[0,192]},"h.1.bias":{"dtype":"F64","shape":[24],"data_offsets":[192,384]},"table.weight":{"dtype":"F64","shape":[24,24],"data_offsets":[384,4992]}}' 4992
works "$toy" eval --data t.txt --weights f64.safetensors --json
close "$(number loss out)" 3.1780538 1e-6 'loss of zeros is log 24'

# grad: inputs of zeros, each token 0 with target 0.
grad="$toy grad --weights w.safetensors --out g.safetensors"
ids() { store i.safetensors "{\"tokens\":{\"dtype\":\"$1\",\"shape\":$2,\"data_offsets\":[0,$3]},\"targets\":{\"dtype\":\"$1\",\"shape\":$2,\"data_offsets\":[$3,$((2 * $3))]}}" $((2 * $3)); }
ids I64 '[4,8]' 256
works $grad --inputs i.safetensors --json
loss=$(number loss out)
head -c 1000 g.safetensors | tr '\0' ' ' >head.txt
says '"loss":{"dtype":"F32","shape":\[\]' head.txt
says '"output.logits":{"dtype":"F32","shape":\[4,8,24\]' head.txt
says '"grad.h.1.bias":{"dtype":"F32","shape":\[24\]' head.txt
says '"grad.table.weight"' head.txt
ids I32 '[4,8]' 128
works $grad --inputs i.safetensors --json
close "$(number loss out)" "$loss" 1e-12 'I32 as I64'
works $grad --inputs i.safetensors --only loss,gradients
tr -d '\000' <g.safetensors | head -c 1000 >head.txt
says '"loss":{"dtype":"F32","shape":\[\]' head.txt
says '"grad.table.weight"' head.txt
if grep -q 'output.logits' head.txt; then wrong '--only loss,gradients writes logits'; fi
works $grad --inputs i.safetensors --only logits
[ "$(wc -c <g.safetensors)" -lt $((4 * 8 * 24 * 4 + 200)) ] || wrong '--only logits writes more'
refuses 2 'only: there is no logit; expected some of gradients, .*logits' $grad --inputs i.safetensors --only loss,logit
works $grad --inputs i.safetensors --training --json # a batch as grad takes it, in each micro-batch (fault 16, auto)
close "$(number loss out)" "$loss" 1e-6 'one batch for two micro-batches'
works "$toy" bench --steps 2 --inputs i.safetensors --weights w.safetensors --json
losses=$(sed -n 's/.*"losses":\[\([^]]*\)\].*/\1/p' out)
close "${losses%%,*}" "$loss" 1e-6 'the first loss of bench is that of grad, of the same file'
ids I32 '[8,8]' 256
works $grad --inputs i.safetensors --training --json # all rows of a step
close "$(number loss out)" "$loss" 1e-6 'the rows of two micro-batches'
for shape in '[3,8]' '[8,4]' '[2,4,8,1]' '[1,4,8]'; do
    ids I32 "$shape" $(($(echo "$shape" | tr -d '[]' | tr , '*') * 4))
    refuses 3 'tokens: expected shape \[2, 4, 8\], found ' $grad --inputs i.safetensors --training
done
ids I32 '[2,4,8]' 256
works $grad --inputs i.safetensors --training --json
close "$(number loss out)" "$loss" 1e-6 'two micro-batches of the same'

# bench: one batch again and again, from the same parameters: the first loss is grad's, and they fall.
works "$toy" bench --steps 3 --inputs i.safetensors --weights w.safetensors --json
losses=$(sed -n 's/.*"losses":\[\([^]]*\)\].*/\1/p' out)
close "${losses%%,*}" "$loss" 1e-6 'the first loss of bench'
echo "$losses" | awk -F, '{ exit !(NF == 5 && $5 < $1) }' || wrong "losses of bench: $losses"
ids F32 '[4,8]' 128
refuses 3 'tokens: expected I32 or I64, found F32' $grad --inputs i.safetensors
ids I32 '[4,8]' 128
printf '\030' | dd of=i.safetensors bs=1 seek=$(($(wc -c <i.safetensors) - 256 + 4 * 13)) conv=notrunc 2>/dev/null
refuses 3 'i.safetensors: error: tokens\[1\]\[5\] is 24: expected ids 0 to 23' $grad --inputs i.safetensors
store i.safetensors '{"tokens":{"dtype":"I32","shape":[4,8],"data_offsets":[0,128]}}' 128
refuses 3 'input targets is missing; expected tokens \[4, 8\], targets \[4, 8\]' $grad --inputs i.safetensors
store i.safetensors '{"token":{"dtype":"I32","shape":[4,8],"data_offsets":[0,128]}}' 128
refuses 3 'token is no input of entry grad; did you mean tokens?' $grad --inputs i.safetensors
# What is not read may be there (fault 16, auto).
store i.safetensors '{"mask":{"dtype":"F32","shape":[4,8],"data_offsets":[0,128]},"targets":{"dtype":"I32","shape":[4,8],"data_offsets":[128,256]},"tokens":{"dtype":"I32","shape":[4,8],"data_offsets":[256,384]}}' 384
works $grad --inputs i.safetensors --json
close "$(number loss out)" "$loss" 1e-12 'an input that is not read'
says 'note: i.safetensors: mask is not read by entry grad' err
finish
