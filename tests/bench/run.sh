#!/bin/sh
# run.sh: how long training steps take: Lathe, the step's matrix products alone (gemm_floor.c), and PyTorch where there is one.
#
#   tests/bench/run.sh [--rows char,small,large,stream,gpt2,llama,char_rnn,mu,diffusion,convnet,vit,pointer] [--quick] [options: --help]
#
# PyTorch: that of $LATHE_TORCH_PYTHON, or of python3.  Needs, beyond what builds Lathe, python3; BLAS libraries other than
# Lathe's own (Debian: libopenblas0-pthread, libopenblas0-serial, libblis4-openmp, libblis4-pthread) take part in the floor
# where they are installed.
set -eu
cd "$(dirname "$0")/../.."
. tests/setup.sh
need_compiler_packages
need python3 python3
install_wanted
build_lathe lathe
mkdir -p build/bench
${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -fopenmp tests/bench/gemm_floor.c -o build/bench/gemm_floor -ldl
exec python3 tests/bench/bench.py --lathe build/lathe --work build/bench "$@"
