#!/usr/bin/env python3
"""Fails when a file of src/ includes a header that the LAYERS files do not allow.

src/LAYERS lists the floors of the house: folders, highest first. A folder with rooms (subfolders) has its own LAYERS, which
also names the rooms of a room ("answer/encode"); the files in the folder itself are above its rooms. Tests may include from every room of their own folder. Asio, Beast and
OpenSSL (except its SHA-256) count as headers of net/.
"""
import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parent.parent / "src"
SOURCES = {".cc", ".h", ".cu", ".cuh", ".inc"}
OF_NET = re.compile(r"\s*#include <((?:boost/asio|boost/beast|openssl(?!/sha\.h))[/.].*)>")
TEST = re.compile(r"_(test|fixture|contract)$|^(golden|scripted)_|^loopback_client$")


def read_layers(folder):
    """The level of each folder or room that the file names; None if there is no file."""
    path = folder / "LAYERS"
    if not path.exists():
        return None
    rows = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {name: len(rows) - i for i, row in enumerate(rows) for name in row}


def rooms():
    """The rooms of each folder that has any."""
    return {folder.name: layers for folder in sorted(SRC.iterdir()) if folder.is_dir() and (layers := read_layers(folder))}


def room_of(parts):
    """The room of a file, "answer" or "answer/encode"; None for a file above the rooms."""
    return "/".join(parts[1:-1]) or None


def check_rooms(own, other, layers):
    """The fault of an include inside a folder with rooms, or None."""
    if own == other or own is None:
        return None
    if own not in layers:
        return f"room '{own}' is not in the folder's LAYERS"
    if other not in layers or layers[other] >= layers[own]:
        return f"{own}/ may not include {other or 'the files above the rooms'}"
    return None


def check(path, floors, all_rooms):
    parts = path.relative_to(SRC).parts
    folder = parts[0]
    if folder not in floors:
        yield f"{path.relative_to(SRC)}: folder '{folder}' is not in src/LAYERS"
        return
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.relative_to(SRC)}:{number}"
        if (library := OF_NET.match(line)) and folder != "net" and floors["net"] >= floors[folder]:
            yield f"{where}: {folder}/ (layer {floors[folder]}) may not include {library.group(1)}, which is for net/ and above"
        match = re.match(r'\s*#include "([^"]+)"', line)
        if not match:
            continue
        included = match.group(1).split("/")
        if not (SRC / match.group(1)).exists():
            yield f"{where}: include {match.group(1)} by its path from src/"
        elif included[0] != folder and floors[included[0]] >= floors[folder]:
            yield f"{where}: {folder}/ (layer {floors[folder]}) may not include {included[0]}/ (layer {floors[included[0]]})"
        elif included[0] == folder and folder in all_rooms and not TEST.search(path.stem):
            wrong = check_rooms(room_of(parts), room_of(included), all_rooms[folder])
            if wrong:
                yield f"{where}: {wrong}"


def main():
    floors, all_rooms = read_layers(SRC), rooms()
    bad = [line for path in sorted(SRC.rglob("*")) if path.suffix in SOURCES for line in check(path, floors, all_rooms)]
    num_rooms = sum(len(layers) for layers in all_rooms.values())
    print("\n".join(bad) if bad else f"layers: {len(floors)} folders, {num_rooms} rooms, every include goes down")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
