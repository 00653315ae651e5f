#!/usr/bin/env bash
# Builds a preset: `build.sh PRESET` the program alone, `build.sh PRESET tests` the program and the C++ tests,
# `build.sh PRESET TARGET` one target, which may be a test.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
target=kvasir
configure=()
if [ -n "${2:-}" ]; then
  target=${2/#tests/all}
  grep -qs '^KVASIR_TESTS:BOOL=ON' "build/$preset/CMakeCache.txt" || configure=(-DKVASIR_TESTS=ON)
elif [ ! -f "build/$preset/build.ninja" ]; then
  configure=(-DKVASIR_TESTS=OFF)
fi
if [ ${#configure[@]} -gt 0 ] || [ ! -f "build/$preset/build.ninja" ]; then
  log=$(mktemp)
  cmake --preset "$preset" "${configure[@]}" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
  rm -f "$log"
fi
if [ -t 1 ]; then
  exec ninja -C "build/$preset" --quiet "$target"
fi
# Without a terminal: a line every ten seconds instead of one a file.
last=-10
ninja -C "build/$preset" "$target" | while IFS= read -r line; do
  case $line in
    *'no work to do'* | *'Entering directory'*) ;;
    '['*) if ((SECONDS - last >= 10)); then echo "$line"; last=$SECONDS; fi ;;
    *) echo "$line" ;;
  esac
done
