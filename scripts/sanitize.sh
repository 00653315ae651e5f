#!/usr/bin/env bash
# Builds and runs the C++ tests under a sanitizer: sanitize.sh asan|tsan
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh "$1" tests
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
ctest --test-dir "build/$1" --output-on-failure --timeout 3600
