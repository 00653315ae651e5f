#!/usr/bin/env bash
# Builds the libFuzzer programs of tests/fuzz and runs each from its corpus: `fuzz.sh [SECONDS each, 10] [NAME
# ...]`. Inputs that break a program are left in build/fuzz/found. Sources that were tried that long before
# are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/cache.sh
seconds=${1:-10}
shift || true
digest=$(content_of src/base src/text src/grammar tests/fuzz cmake CMakePresets.json)
if [ $# -eq 0 ] && seen fuzz "$seconds.$digest"; then echo "fuzz: these sources have passed before"; exit 0; fi
scripts/build.sh fuzz fuzz
mkdir -p build/fuzz/found
names=("$@")
[ ${#names[@]} -gt 0 ] || for source in tests/fuzz/*_fuzz.cc; do names+=("$(basename "$source" .cc)"); done
for name in "${names[@]}"; do
  corpus=build/fuzz/corpus/$name # what it finds out stays out of the repository
  mkdir -p "$corpus"
  log=build/fuzz/$name.log
  if ! "build/fuzz/bin/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 \
    -artifact_prefix=build/fuzz/found/ "$corpus" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
    tail -60 "$log" >&2
    exit 1
  fi
  echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs"
done
[ $# -gt 0 ] || passed fuzz "$seconds.$digest"
