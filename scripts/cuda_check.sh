#!/usr/bin/env bash
# Compiles every source file of the CUDA device, its tests included: what can be checked of it without a GPU.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ ! -f build/cuda/build.ninja ]; then
  log=$(mktemp)
  cmake --preset cuda -DKVASIR_TESTS=ON >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
  rm -f "$log"
fi
ninja -C build/cuda -t targets all | sed -n 's/: .*//p' | grep -E '(^|/)cuda/.*\.o$' | xargs ninja -C build/cuda --quiet
