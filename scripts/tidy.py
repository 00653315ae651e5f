#!/usr/bin/env python3
"""clang-tidy over every source file, all cores.

Most of its time goes into the headers, so files of a folder that define no name twice are read as one unit.
A unit that passed is looked at again only when its files, a header or the checks have changed.
"""
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

OUT = Path("build/tidy")
PRECOMPILED = re.compile(r"-Winvalid-pch|-fpch-preprocess|-include \S*cmake_pch\.hxx")
# Each kernel file defines the same macros for its own instruction set; the boost_ files are Boost's sources.
ALONE = re.compile(r"/cpu_\w+\.cc$")
BOOST = re.compile(r"/boost_\w+\.cc$")
DEFINED = re.compile(r"^(?!namespace|template|#|//|return)[A-Za-z][^\n(={;]*?(?<![:~\w])(\w+)(?:\[\w*\])?(?: = |\(| \{|\{|;)", re.M)


def tracked(*patterns):
    names = subprocess.run(["git", "ls-files", *patterns], check=True, capture_output=True, text=True).stdout
    return sorted(names.split())


def command_of(commands, source):
    """The flags of a source, without its precompiled header: it is not clang's."""
    command = PRECOMPILED.sub("", commands[str(Path(source).resolve())])
    return command[: command.index(" -o ")]


def names(source):
    """What a file defines at the left margin, so the names in its anonymous namespace too."""
    return set(DEFINED.findall(Path(source).read_text()))


def units(sources):
    """(name, sources) of each unit."""
    folders = {}
    for source in sources:
        folders.setdefault(Path(source).parts[1], []).append(source)
    for folder, members in folders.items():
        groups = []
        for source in members:
            mine = names(source)
            group = next((g for g in groups if not ALONE.search(source) and g[1] and not g[1] & mine), None)
            if group is None:
                groups.append(([source], set() if ALONE.search(source) else mine | {source}))
            else:
                group[0].append(source)
                group[1].update(mine)
        yield from ((f"{folder}.{i}", group[0]) for i, group in enumerate(groups))


def check(name, sources, commands, headers):
    unit = OUT / f"{name}.cc"
    text = "".join(f'#include "{Path(source).resolve()}"\n' for source in sources)
    digest = hashlib.sha256(headers + b"".join(Path(source).read_bytes() for source in sources))
    stamp = OUT / f"{name}.{digest.hexdigest()[:24]}"
    if stamp.exists():
        return True
    unit.write_text(text)
    begin = time.monotonic()
    flags = shlex.split(command_of(commands, sources[0]))[1:]
    run = subprocess.run(["clang-tidy-19", "--quiet", f"--config-file={Path('.clang-tidy').resolve()}", str(unit), "--", *flags, "-Wno-unused-command-line-argument"],
                         capture_output=True, text=True)
    print(f"  {name}: {time.monotonic() - begin:.0f} s", flush=True)
    if run.returncode == 0:
        stamp.touch()
        return True
    sys.stdout.write(run.stdout)
    return False


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    database = json.loads(Path("build/release/compile_commands.json").read_text())
    commands = {entry["file"]: entry["command"] for entry in database}
    headers = b"".join(Path(name).read_bytes() for name in tracked("src/*.h", "src/*.inc", ".clang-tidy"))
    # What is in a cuda/ is not in this build.
    sources = [name for name in tracked("src/*.cc")
               if not name.endswith("_test.cc") and not BOOST.search(name) and "/cuda/" not in name]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = list(pool.map(lambda unit: check(*unit, commands, headers), units(sources)))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
