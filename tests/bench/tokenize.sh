#!/bin/sh
# tokenize.sh: how fast tokenizers are made and encode, on one core and on all; beside Hugging Face's tokenizers on one
# thread, where Python has them (pip install tokenizers), with the ids compared.  Figures, no test.
#
#   tests/bench/tokenize.sh [SIZE]      tokens of the BPE that is made (16384)
set -u
cd "$(dirname "$0")/../.."
size=${1:-16384} build=${BUILD:-build} data=${LATHE_DATA:-../shared/data}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
set -- "$data"/gutenberg/*.txt
[ -e "$1" ] || { echo "no texts in $data/gutenberg"; exit 77; }
lathe() { "$build/lathe" tokenize "$@"; }

begin=$(date +%s%N)
OMP_NUM_THREADS=1 lathe train --size "$size" --out "$work/own" "$@" || exit 1
awk "BEGIN { printf \"%d merges learnt from $(cat "$@" | wc -c) bytes in %.1f s\n\", $size - 256, ($(date +%s%N) - $begin) / 1e9 }"
for tokenizer in "$work/own" "$data/gpt2-bpe"; do
    for threads in 1 $(nproc); do
        printf '%s, %s threads: ' "${tokenizer##*/}" "$threads"
        OMP_NUM_THREADS=$threads lathe encode --tokenizer "$tokenizer" --out "$work/ids.bin" "$@" 2>&1
    done
done
python3 - "$work" "$size" "$@" <<'END'
import sys, time
try:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
except ImportError:
    sys.exit("Hugging Face's tokenizers are not installed: nothing to compare with")
import json, os, subprocess
os.environ["TOKENIZERS_PARALLELISM"] = "false"
work, size, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
theirs = Tokenizer.from_file(work + "/own/tokenizer.json")
texts = [open(f, encoding="utf-8", newline="").read() for f in files]
begin = time.time()
ids = [theirs.encode(t).ids for t in texts]
seconds = time.time() - begin
print("Hugging Face, 1 thread: %.1f MB/s" % (sum(len(t.encode()) for t in texts) / seconds / 1e6))
out = subprocess.run([os.environ.get("BUILD", "build") + "/lathe", "tokenize", "encode", "--json", "--tokenizer", work + "/own"] + files,
                     capture_output=True, text=True).stdout
ours = [json.loads(line) for line in out.splitlines()]
print("the same ids" if ours == ids else "OTHER ids")
learnt = Tokenizer(models.BPE())
learnt.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
begin = time.time()
learnt.train(files, trainers.BpeTrainer(vocab_size=size, min_frequency=2, show_progress=False,
                                        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
print("Hugging Face learns them in %.1f s" % (time.time() - begin))
merges = [m if isinstance(m, str) else " ".join(m) for m in json.loads(learnt.to_str())["model"]["merges"]]
own = json.load(open(work + "/own/tokenizer.json"))["model"]["merges"]
print("the same merges" if merges == own else "OTHER merges, from number %d on" % next(i for i in range(len(own)) if i >= len(merges) or merges[i] != own[i]))
END
