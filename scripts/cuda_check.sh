#!/usr/bin/env bash
# Compiles every source file of the CUDA device, including tests and benchmarks, as a check that needs no GPU.
# Nothing is linked. Host code is only parsed, the files of a folder as one unit, since most of the time goes
# into headers. Sources that have passed before are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/cache.sh
digest=$(content_of 'src/*.h' 'src/*.cuh' 'src/*.inc' 'src/*/cuda/*' 'bench/gpu_*.cc' cmake scripts/cuda_check.sh scripts/cuda_toolkit.sh)
if seen cuda "$digest"; then echo "cuda: these sources have passed before"; exit 0; fi
root=$(scripts/cuda_toolkit.sh)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for source in $(git ls-files 'src/*/cuda/*.cc' 'bench/gpu_*.cc'); do
  kind=host
  [[ $source == *_test.cc ]] && kind=test
  echo "#include \"$PWD/$source\"" >>"$folder/$(cut -d/ -f2 <<<"${source%.cc}").$kind.cc"
done
export root folder
compile() {
  if [[ $1 == *.cu ]]; then
    # shellcheck disable=SC2046
    "$root/bin/nvcc" $(<cmake/nvcc_flags.txt) -arch=sm_90a -Isrc -c "$1" -o "$folder/$(basename "$1").o"
  else
    "${CXX:-g++}" -std=c++20 -fsyntax-only -Wall -Wextra -Wno-missing-field-initializers -Wno-subobject-linkage -Isrc -isystem"$root/include" \
      -DKVASIR_VERSION='"check"' "$1"
  fi
}
export -f compile
# The largest files come first.
{ ls -S "$folder"/*.cc; git ls-files 'src/*/cuda/*.cu' | xargs ls -S; } | xargs -P "$(nproc)" -I{} bash -c 'compile {}'
passed cuda "$digest"
