#!/usr/bin/env bash
# Compares the token masks of Kvasir, llguidance and xgrammar: `bench_grammar.sh [--corpus] [--check]`. The other two
# come from PyPI into build/.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/grammar-venv
# xgrammar's own list of dependencies includes torch. The parts that are used here need only these packages.
packages=(llguidance==1.9.1 xgrammar==0.2.8 apache-tvm-ffi numpy pydantic pydantic-core annotated-types typing-inspection typing-extensions)
if [ "$(cat "$venv/.made" 2>/dev/null)" != "${packages[*]}" ]; then
  echo "bench_grammar: fetching llguidance and xgrammar" >&2
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check --no-deps "${packages[@]}"
  echo "${packages[*]}" >"$venv/.made"
fi
scripts/build.sh release grammar_walk >/dev/null
scripts/build.sh release >/dev/null
build/release/bin/kvasir pull qwen2.5-coder >/dev/null
model=$(build/release/bin/kvasir models --json | /usr/bin/python3 -c 'import json, sys
print(next(m["path"] for m in json.load(sys.stdin) if m["name"] == "qwen2.5-coder"))')
exec "$venv/bin/python" bench/grammar_masks.py --walk build/release/bin/grammar_walk --vocabulary "$model" "$@"
