#!/usr/bin/env bash
# Kvasir's tokenizers beside PyPI's native `tokenizers`, on one core: `bench_tokenizer.sh [--rounds N] [--check]`. The peer
# and the tokenizers come from the tests' own environment under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/test_clients.sh
scripts/build.sh release >/dev/null
exec build/test-venv/bin/python bench/tokenizer_speed.py --kvasir "$PWD/build/release/bin/kvasir" "$@"
