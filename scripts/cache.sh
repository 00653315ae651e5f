# Sourced: where what is expensive and the same for every checkout is kept. Results of checks are kept by the content
# that they are about; so a second checkout on the same machine repeats nothing.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kvasir
mkdir -p "$cache/checks"
find "$cache/checks" -type f -mtime +60 -delete  # of content that nobody has checked for long

# Waits for whoever else makes the same thing: `locked NAME COMMAND...`. Not for shell functions.
locked() { flock "$cache/$1.lock" "${@:2}"; }

# A digest of these files and folders, as they are now: `content_of PATH...`.
content_of() { git ls-files -co --exclude-standard -- "$@" | sort | xargs -d '\n' sha256sum | sha256sum | cut -c1-24; }

# Whether a check has passed for this content before: `seen KIND DIGEST`; `passed KIND DIGEST` says that it has.
seen() { [ -e "$cache/checks/$1.$2" ] && passed "$@"; }
passed() { touch "$cache/checks/$1.$2"; }
