# evaluation.sh: evaluations that ranks share have the scores of one process, digit for digit: a table with metrics by its
# task, a gpt on bytes, pairs with ROUGE, an LSTM that carries its state on; one more rank than batches; a signal in the midst.
set -eu
. tests/models/common
export OMP_NUM_THREADS=1

# build NAME MODEL…, into $trainer
build() { name=$1; shift; must "$LATHE" build "$@" -o "$TMP/$name.built"; trainer=$TMP/$name.built/trainer; }
# train RANKS RUN OPTION…
train() { ranks=$1 run=$TMP/$2; shift 2; must "$trainer" train --ranks "$ranks" --out "$run" "$@"; }
evals() { sed -n '/"split": *"val"/p' "$1/metrics.jsonl"; }
