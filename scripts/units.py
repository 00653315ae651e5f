#!/usr/bin/env python3
"""Decides which sources of src/ are compiled together: `units.py FOLDER` writes the units and `units.cmake` there.

Most of a compiler's time goes into headers and into code that many files share, so the files of a folder are compiled as
a few units. Files that define the same private name are kept apart, so nobody has to think of units when naming things.
Units that have not changed are not rewritten, so that the next build compiles no more than it must.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
# The most lines of a unit. Changing a source costs at most one unit, about 12 s. Coroutines take twice as
# long to compile.
MAX_LINES = 2000
MAX_COROUTINE_LINES = 1100
COROUTINES = {"api", "gateway", "net", "tool"}
# Sources that have flags, macros or conditions of their own.
ALONE = re.compile(r"/(cpu_(?!kernels)\w+|boost_\w+|main|no_cuda|panel_test)\.cc$|/cuda/")
PRIVATE = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.M | re.S)
TYPE = re.compile(r"^(?:class|struct|enum(?: class)?) (\w+)|^using (\w+) =", re.M)
OTHER = re.compile(r"^(?!namespace|template|class|struct|enum|using|return|TEST|INSTANTIATE|RC_)[A-Za-z][^\n(={;]*?(?<![:~\w])(\w+)(?:\[\w*\])?(?: = |\(| \{|\{|;)", re.M)


def private_names(text):
    """The names that a file defines at the left margin of anonymous namespaces, and its types and aliases anywhere."""
    return {a or b for a, b in TYPE.findall(text)} | set(OTHER.findall("".join(PRIVATE.findall(text))))


class Unit:
    def __init__(self):
        self.sources, self.names, self.num_lines = [], set(), 0

    def takes(self, names, num_lines, max_lines):
        return not self.names & names and self.num_lines + num_lines <= max_lines

    def add(self, source, names, num_lines):
        self.sources.append(source)
        self.names |= names
        self.num_lines += num_lines


def group(sources, max_lines):
    units = []
    for source in sources:
        text = source.read_text()
        names, num_lines = private_names(text), text.count("\n")
        unit = next((unit for unit in units if unit.takes(names, num_lines, max_lines)), None)
        if unit is None:
            units.append(unit := Unit())
        unit.add(source, names, num_lines)
    return [unit.sources for unit in units]


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    lists, files = [], {"units.cmake"}
    for layer in sorted(path for path in SRC.iterdir() if path.is_dir()):
        sources = sorted(layer.rglob("*.cc"))
        max_lines = MAX_COROUTINE_LINES if layer.name in COROUTINES else MAX_LINES
        alone = [source for source in sources if ALONE.search(str(source))]
        for kind, is_test in (("units", False), ("test_units", True)):
            wanted = [source for source in sources if source not in alone and source.name.endswith("_test.cc") == is_test]
            names = []
            for number, members in enumerate(group(wanted, max_lines)):
                names.append(f"{layer.name}_{kind}_{number}.cc".replace("_units", "").replace("test_units", "test"))
                write(folder / names[-1], "".join(f'#include "{source.relative_to(SRC)}"\n' for source in members))
            files |= set(names)
            lists.append(f"set(KVASIR_{kind.upper()}_{layer.name} {' '.join(f'${{CMAKE_CURRENT_LIST_DIR}}/{name}' for name in names)})")
        lists.append(f"set(KVASIR_ALONE_{layer.name} {' '.join(f'${{PROJECT_SOURCE_DIR}}/src/{source.relative_to(SRC)}' for source in alone)})")
    write(folder / "units.cmake", "\n".join(lists) + "\n")
    for stale in folder.iterdir():
        if stale.name not in files:
            stale.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
