# To be sourced. Sets the folder for results that are expensive and the same for every checkout. Results of
# checks are stored by a digest of the checked content, so a second checkout on the same machine repeats
# nothing.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kvasir
mkdir -p "$cache/checks"
find "$cache/checks" -type f -mtime +60 -delete  # of content that nobody has checked for long

# `locked NAME COMMAND...` waits for anybody else who makes the same thing. Not for shell functions.
locked() { flock "$cache/$1.lock" "${@:2}"; }

# `content_of PATH...` prints a digest of these files and folders as they are now.
content_of() { git ls-files -co --exclude-standard -- "$@" | sort | xargs -d '\n' sha256sum | sha256sum | cut -c1-24; }

# `seen KIND DIGEST` says whether a check has passed for this content before; `passed KIND DIGEST` records it.
seen() { [ -e "$cache/checks/$1.$2" ] && passed "$@"; }
passed() { touch "$cache/checks/$1.$2"; }
