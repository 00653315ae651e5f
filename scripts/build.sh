#!/usr/bin/env bash
# Builds targets of a preset, configuring it first where needed: build.sh PRESET TARGET...
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
if [ ! -f "build/$preset/build.ninja" ]; then
  log=$(mktemp)
  cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
  rm -f "$log"
fi
if [ -t 1 ]; then
  exec ninja -C "build/$preset" --quiet "$@"
fi
# Without a terminal: a line every few seconds instead of one a file.
ninja -C "build/$preset" "$@" | awk '/^\[/ { if (systime() - last >= 10) { print; fflush(); last = systime() } next } { print; fflush() }'
