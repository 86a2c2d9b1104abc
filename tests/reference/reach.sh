#!/bin/sh
# reach.sh: trains each model here for real data beside the same network in PyTorch, and tells what both reach.
#
#   PYTHON=python3 tests/reference/reach.sh FOLDER [PART …]
#
# FOLDER is where datasets.py has written its data, and where builds and runs go; build/lathe must be there.  PYTHON has torch,
# scipy, scikit-learn, pillow and pmdarima.  PARTs are forecast, gan, vae, unet, twotower, gnn, cars, cells, convnet, vit and speech;
# without any, all of them: three seeds each, about an hour on two cores (convnet has 1,000 steps there, not 7,000).  A part that fails is told, and the others go on.
set -u
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3} to=$1
shift
failed=0

# sized NAME MODEL DATA OPTION …: $to/NAME/trainer, with the sizes that lathe train finds in the data
sized() {
    name=$1 model=$2 data=$3
    shift 3
    build/lathe train "models/$model.lua" --data "$data" -o "$to/$name" --out "$to/$name-run" --steps 1 "$@" >"$to/$name.log" 2>&1 ||
        cat "$to/$name.log"
}

reference() { script=$1; shift; "$python" "tests/reference/$script.py" "$@"; }

forecast() {
    reference train_forecast data "$to/demand.csv"
    sized forecast forecast "$to/demand.csv" --set past=336 --set ahead=48 || return
    for seed in 1 2 3; do
        "$to/forecast/trainer" init --seed $seed --out "$to/forecast-$seed.safetensors" >"$to/forecast.log"
        "$to/forecast/trainer" train --data "$to/demand.csv" --seed $seed --out "$to/forecast-run$seed" >"$to/forecast.log" 2>&1 || return
        "$to/forecast/trainer" eval --data "$to/demand.csv" --weights "$to/forecast-run$seed" || return
    done
    reference train_forecast train "$to/forecast/trainer" "$to/demand.csv" "$to/forecast-{}.safetensors" 1 2 3 || return
    "$to/forecast/trainer" predict --every-window --data "$to/demand.csv" --weights "$to/forecast-run3" --out "$to/forecasts.npy" || return
    reference train_forecast same "$to/forecast/trainer" "$to/demand.csv" "$to/forecast-run3/model.safetensors" "$to/forecasts.npy"
}

gan() {
    "$python" tests/bench/torch_gan.py data "$to/gan.npz" && sized gan gan "$to/gan.npz" || return
    for seed in 1 2 3; do
        "$to/gan/trainer" train --data "$to/gan.npz" --seed $seed --out "$to/gan-run$seed" >"$to/gan.log" 2>&1 || return
        "$to/gan/trainer" generate --out "$to/gan-run$seed" --seed $seed --samples 1024 --json >"$to/gan-$seed.json" || return
        "$python" tests/bench/torch_gan.py train "$to/gan.npz" $seed "$to/gan-$seed.npy" || return
    done
    "$python" tests/bench/torch_gan.py judge "$to/gan.npz" "$to"/gan-[123].json "$to"/gan-[123].npy
}

arrays() { sized "$1" "$1" "$to/$2.npz" && reference train_models "$to/$1/trainer" "$to/$2.npz"; }
vae() { arrays vae digits; }
unet() { arrays unet brain; }
twotower() { arrays twotower names; }
gnn() { arrays gnn solubility; }
table() { sized "$1" tabular "$to/$1.csv" --set "target=$2" && reference train_table "$to/$1/trainer" "$to/$1.csv"; }
cars() { table cars Miles_per_Gallon; }
cells() { table cells kind; }

pictures() {
    sized "$1" "$1" "$to/scenes/train" --config pictures --val-data "$to/scenes/test" --set "steps=$2" &&
        reference train_pictures "$to/$1/trainer" "$to/scenes"
}
convnet() { pictures convnet 1000; }
vit() { pictures vit 1200; }

speech() { sized speech speech "$to/prompts.csv" --set steps=1000 && reference train_speech "$to/speech/trainer" "$to/prompts.csv"; }

for part in ${*:-forecast gan vae unet twotower gnn cars cells convnet vit speech}; do
    echo "== $part"
    "$part" || { echo "reach.sh: $part failed"; failed=1; }
done
exit $failed
