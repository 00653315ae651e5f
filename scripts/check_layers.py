#!/usr/bin/env python3
"""Fails when a file of src/ includes a header that src/LAYERS does not allow."""
import pathlib
import re
import sys

src = pathlib.Path(__file__).resolve().parent.parent / "src"
rows = [line.split() for line in (src / "LAYERS").read_text().splitlines() if line and not line.startswith("#")]
layer = {folder: len(rows) - i for i, row in enumerate(rows) for folder in row}
bad = []
for path in sorted(src.rglob("*")):
    if path.suffix not in {".cc", ".h", ".cu", ".cuh"}:
        continue
    own = path.relative_to(src).parts[0]
    if own not in layer:
        bad.append(f"{path.relative_to(src)}: folder '{own}' is not in src/LAYERS")
        continue
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#include "([^"]+)"', line)
        if not match:
            continue
        other = match.group(1).split("/")[0]
        where = f"{path.relative_to(src)}:{number}"
        if not (src / match.group(1)).exists():
            bad.append(f"{where}: include {match.group(1)} by its path from src/")
        elif other != own and layer[other] >= layer[own]:
            bad.append(f"{where}: {own}/ (layer {layer[own]}) may not include {other}/ (layer {layer[other]})")
print("\n".join(bad) if bad else f"layers: {len(layer)} folders, every include goes down")
sys.exit(1 if bad else 0)
