#!/usr/bin/env bash
# Builds a preset. `build.sh PRESET` builds only the program, `build.sh PRESET tests` the program and the C++
# tests, and `build.sh PRESET TARGET` one target, which may be a test.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
target=${2:-kvasir}
configure=()
case $target in
  tests | *_test | grammar_walk)
    target=${target/#tests/all}
    grep -qs '^KVASIR_TESTS:BOOL=ON' "build/$preset/CMakeCache.txt" || configure=(-DKVASIR_TESTS=ON) ;;
  *) [ -f "build/$preset/build.ninja" ] || configure=(-DKVASIR_TESTS=OFF) ;;
esac
# What the compiler of kernels fetches is shown, which cmake's output below is not.
[ "$preset" != cuda ] || scripts/cuda_toolkit.sh >/dev/null
if [ ${#configure[@]} -gt 0 ] || [ ! -f "build/$preset/build.ninja" ]; then
  log=$(mktemp)
  cmake --preset "$preset" "${configure[@]}" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
  rm -f "$log"
fi
python3 scripts/units.py "build/$preset/units"
jobs=${JOBS:+-j$JOBS}
if [ -t 1 ]; then
  exec ninja -C "build/$preset" ${jobs:+"$jobs"} --quiet "$target"
fi
# Without a terminal, prints one line every ten seconds instead of one for each file.
last=-10
ninja -C "build/$preset" ${jobs:+"$jobs"} "$target" | while IFS= read -r line; do
  case $line in
    *'no work to do'* | *'Entering directory'*) ;;
    '['*) if ((SECONDS - last >= 10)); then echo "$line"; last=$SECONDS; fi ;;
    *) echo "$line" ;;
  esac
done
