#!/usr/bin/env bash
# clang-tidy, all cores: `tidy.sh` over the sources that the last commits changed (minutes for the whole tree, so that
# is for `tidy.sh all`). A file that passed is looked at again only when it, a header or the checks have changed.
set -euo pipefail
cd "$(dirname "$0")/.."
passed=build/tidy
mkdir -p "$passed"
headers=$(git ls-files -z 'src/*.h' .clang-tidy | sort -z | xargs -0 cat | sha256sum)
check() {
  local file=$1 stamp
  stamp=$passed/$(printf '%s' "$file $headers" "$(sha256sum <"$file")" | sha256sum | cut -c1-32)
  [ -e "$stamp" ] && return 0
  clang-tidy-19 --quiet -p build/release "$file" 2> >(grep -vE 'warnings? (generated|treated)|^Suppressed|^Use -header' >&2) && touch "$stamp"
}
export -f check
export passed headers
if [ "${1:-}" = all ]; then
  git ls-files 'src/*.cc'
else
  git log -8 --name-only --format= --diff-filter=d -- 'src/*.cc' | sort -u | while read -r file; do
    if [ -e "$file" ]; then echo "$file"; fi
  done
fi | { grep -v '_test\.cc$' || true; } | xargs -r -P "$(nproc)" -I{} bash -c 'check {}'
