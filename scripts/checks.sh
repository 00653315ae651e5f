#!/usr/bin/env bash
# The slow checks that need only the sources and a compiler, one after the other: clang-tidy, fuzzers, CUDA.
# `checks.sh TIMES` writes a line for each into that file: its name and its seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
times=$1

check() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "$name $((SECONDS - start))" >>"$times"
}

: >"$times"
check tidy python3 scripts/tidy.py
check fuzz scripts/fuzz.sh 6
if [ "$(uname -m)" = x86_64 ]; then check cuda scripts/cuda_check.sh; fi
