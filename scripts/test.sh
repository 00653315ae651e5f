#!/usr/bin/env bash
# Runs everything that CI runs; the parts that can fail soonest come first. Ends with a table of how long each
# part took, and how long it took the last time on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/cache.sh
export KVASIR_BIN=$PWD/build/release/bin/kvasir
mkdir -p build
times=build/parts.txt
slowest=build/slowest.txt
: >"$times"
: >"$slowest"

part() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@" || { echo "== $name FAILED after $((SECONDS - start)) s" >&2; exit 1; }
  echo "== $name: $((SECONDS - start)) s"
  echo "$name $((SECONDS - start))" >>"$times"
}

# `ahead NAME COMMAND...` starts something that the compiler's work hides; `arrived NAME` waits for it.
declare -A ahead_of
ahead() { setsid "${@:2}" >"build/$1.log" 2>&1 & ahead_of[$1]=$!; }
# The same for what may take only time that nobody else needs. Where cores are divided between sessions first, a nice
# process is modest only inside its own.
aside() { ahead "$1" bash -c 'echo 19 2>/dev/null >/proc/self/autogroup || true; exec nice -n 19 "$@"' - "${@:2}"; }
arrived() { wait "${ahead_of[$1]}" || { cat "build/$1.log" >&2; return 1; }; }
end_ahead() { for leader in "${ahead_of[@]}"; do kill -- "-$leader" 2>/dev/null || true; done; }
trap end_ahead EXIT

format() { git ls-files 'src/*.cc' 'src/*.h' 'src/*.cu' 'src/*.cuh' 'bench/*.cc' | xargs clang-format-19 --dry-run --Werror; }
unit() {
  ctest --test-dir build/release -j "$JOBS" --output-on-failure --timeout 300 | tee build/unit.log || return 1
  sed -n 's/.*Test *#[0-9]*: \([a-z_]*\) .*Passed *\([0-9.]*\) sec/\2s C++ tests of \1/p' build/unit.log | sort -rn | head -5 >>"$slowest"
}
clients() { arrived clients; }
checks() {
  arrived checks || return 1
  cat build/checks.txt >>"$times"
}
end_to_end() {
  build/test-venv/bin/python -m pytest -q -x --durations=15 tests | tee build/end-to-end.log || return 1
  sed -n 's/^\([0-9.]*s\) \(call\|setup\) *\(.*\)/\1 \3 (\2)/p' build/end-to-end.log | head -15 >>"$slowest"
}

table() {
  local last=$cache/parts.txt name seconds before
  printf '\n%-12s %9s %10s\n' part seconds 'last time'
  while read -r name seconds; do
    before=$(sed -n "s/^$name //p" "$last" 2>/dev/null || true)
    printf '%-12s %9d %10s%s\n' "$name" "$seconds" "${before:--}" \
      "$([ -n "$before" ] && ((seconds > before + before / 4 + 5)) && echo '  longer' || true)"
  done <"$times"
  cp "$times" "$last"
  printf '\nslowest tests\n'
  cat "$slowest"
}

[ "$(uname -m)" = x86_64 ] && ahead cuda-toolkit scripts/cuda_toolkit.sh  # its compiler is fetched
ahead clients scripts/test_clients.sh
layers() { python3 scripts/check_layers.py && python3 scripts/house.py --check; }
part layers layers
part format format
part build scripts/build.sh release tests
part unit unit
aside checks scripts/checks.sh build/checks.txt
part models "$KVASIR_BIN" pull smollm2 qwen2.5-coder minilm
part clients clients
part web scripts/web.sh check
part end-to-end end_to_end
part checks checks
table
echo "== all passed in $SECONDS s"
