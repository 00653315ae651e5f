#!/usr/bin/env bash
# Everything that CI runs, in order of how soon it can fail; prints how long each part took.
set -euo pipefail
cd "$(dirname "$0")/.."
export KVASIR_BIN=$PWD/build/release/bin/kvasir

part() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@" || { echo "== $name FAILED after $((SECONDS - start)) s" >&2; exit 1; }
  echo "== $name: $((SECONDS - start)) s"
}
format() { git ls-files 'src/*.cc' 'src/*.h' 'src/*.cu' 'src/*.cuh' 'bench/*.cc' | xargs clang-format-19 --dry-run --Werror; }

part layers python3 scripts/check_layers.py
part format format
part build scripts/build.sh release tests
part unit ctest --test-dir build/release --output-on-failure --timeout 300
part tidy python3 scripts/tidy.py
part fuzz scripts/fuzz.sh 6
if [ "$(uname -m)" = x86_64 ]; then part cuda scripts/cuda_check.sh; fi  # its compiler is fetched
part models "$KVASIR_BIN" pull smollm2 qwen2.5-coder minilm
part clients scripts/test_clients.sh
part end-to-end build/test-venv/bin/python -m pytest -q -x --durations=12 tests
echo "== all passed in $SECONDS s"
