#!/usr/bin/env bash
# Compares Kvasir's tokenizers with PyPI's native `tokenizers` on one core: `bench_tokenizer.sh [--rounds N]
# [--check]`. The latter and the tokenizer files come from the tests' environment under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/test_clients.sh
scripts/build.sh release >/dev/null
exec build/test-venv/bin/python bench/tokenizer_speed.py --kvasir "$PWD/build/release/bin/kvasir" "$@"
