#!/usr/bin/env bash
# clang-tidy, all cores: `tidy.sh` over the folders where a bug hurts everybody (what every request and every block goes
# through), `tidy.sh all` over the whole tree, which takes ten minutes more. A file that passed is looked at again only when it, a header or the checks have changed.
set -euo pipefail
cd "$(dirname "$0")/.."
passed=build/tidy
mkdir -p "$passed"
# Without the precompiled header: it is not clang's, and it would hide a missing include.
sed -E 's/-Winvalid-pch|-fpch-preprocess|-include [^ ]*cmake_pch\.hxx//g' build/release/compile_commands.json >"$passed/compile_commands.json"
headers=$(git ls-files -z 'src/*.h' .clang-tidy | sort -z | xargs -0 cat | sha256sum)
check() {
  local file=$1 stamp
  stamp=$passed/$(printf '%s' "$file $headers" "$(sha256sum <"$file")" | sha256sum | cut -c1-32)
  [ -e "$stamp" ] && return 0
  clang-tidy-19 --quiet -p build/tidy "$file" 2> >(grep -vE 'warnings? (generated|treated)|^Suppressed|^Use -header' >&2) && touch "$stamp"
}
export -f check
export passed headers
folders=(base wire kv sched sample engine tenancy router)
[ "${1:-}" = all ] && folders=(.)
git ls-files "${folders[@]/#/src/}" | grep '\.cc$' | { grep -v '_test\.cc$' || true; } |
  xargs -r -P "$(nproc)" -I{} bash -c 'check {}'
