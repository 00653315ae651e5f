#!/usr/bin/env python3
"""Runs clang-tidy over every source file, on all cores, in the units of the release build.

A unit that has passed, in this checkout or another one, is checked again only when its sources, a header or the checks
have changed.
"""
import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SEEN = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kvasir/checks"
LEFT_OUT = re.compile(r"_test(_\d+)?\.cc$|/boost_\w+\.cc$|\.pb\.cc$|/(docs_page|web_assets)\.cc$|^bench/")  # the boost_ files are Boost's sources, the .pb ones are generated
INCLUDE = re.compile(r'^#include "(.*\.cc)"$', re.M)


def tracked(*patterns):
    names = subprocess.run(["git", "ls-files", *patterns], check=True, capture_output=True, text=True).stdout
    return sorted(names.split())


def sources_of(unit):
    """The files of a unit; a file that is no unit is its own source."""
    members = INCLUDE.findall(unit.read_text()) if "/units/" in str(unit) else []
    return [Path("src") / member for member in members] or [unit]


def check(unit, command, shared):
    sources = sources_of(unit)
    digest = hashlib.sha256(shared + b"".join(source.read_bytes() for source in sources))
    stamp = SEEN / f"tidy.{digest.hexdigest()[:24]}"
    if stamp.exists():
        stamp.touch()  # cache.sh deletes those that are no longer used
        return True
    begin = time.monotonic()
    flags = shlex.split(command[: command.index(" -o ")])
    flags = flags[next(i for i, flag in enumerate(flags) if flag.endswith("c++")) + 1:]
    run = subprocess.run(["clang-tidy-19", "--quiet", f"--config-file={Path('.clang-tidy').resolve()}", str(unit), "--", *flags, "-Wno-unused-command-line-argument"],
                         capture_output=True, text=True)
    print(f"  {unit.name}: {len(sources)} files, {time.monotonic() - begin:.0f} s", flush=True)
    if run.returncode == 0:
        stamp.touch()
        return True
    sys.stdout.write(run.stdout)
    return False


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    SEEN.mkdir(parents=True, exist_ok=True)
    database = json.loads(Path("build/release/compile_commands.json").read_text())
    root = Path.cwd()
    commands = {Path(entry["file"]): entry["command"] for entry in database}
    units = [unit for unit in commands if not LEFT_OUT.search(str(unit.relative_to(root)))]
    units.sort(key=lambda unit: -sum(source.stat().st_size for source in sources_of(unit)))  # the longest first
    shared = b"".join(Path(name).read_bytes() for name in tracked("src/*.h", "src/*.inc", ".clang-tidy"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = list(pool.map(lambda unit: check(unit, commands[unit], shared), units))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
