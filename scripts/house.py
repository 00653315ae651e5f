#!/usr/bin/env python3
"""Draws docs/house.svg from the LAYERS files: the floors from top to bottom, their folders, and the folders' rooms.

`house.py` writes the picture; `house.py --check` fails if it is out of date.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
PICTURE = ROOT / "docs" / "house.svg"
WIDTH, MARGIN, LINE, GAP = 1100, 12, 17, 8
FLOOR = {
    "app": "the program and its commands", "gateway": "roles: a server, a gateway, a worker; benchmarks, comparisons with references", "host": "models in this process", "api": "HTTP requests and their answers",
    "router": "which worker", "remote": "other processes: workers, who is there, other servers", "seam": "between the API and the engines; models by name, tools",
    "sched": "what a step computes; sockets", "wire": "the messages between the API and the engines",
    "text": "text, grammars, tenants, KV, kernels", "store": "the store, tensors",
    "config": "settings, logs, metrics", "base": "results, clocks, JSON",
}


def rows(path):
    return [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]


def folders_of(row):
    """Each folder of a floor with its rows of rooms, highest first."""
    return [(name, rows(SRC / name / "LAYERS") if (SRC / name / "LAYERS").exists() else []) for name in row]


def text(x, y, words, style):
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{style}">{words}</text>'


def box(x, y, width, height, style):
    return f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="5" class="{style}"/>'


def draw_rooms(x, y, width, room_rows):
    parts = []
    for row in room_rows:
        each = (width - GAP * (len(row) + 1)) / len(row)
        for i, room in enumerate(row):
            left = x + GAP + i * (each + GAP)
            parts += [box(left, y, each, LINE + 6, "room"), text(left + each / 2, y + LINE - 2, room, "small")]
        y += LINE + 6 + GAP
    return parts


def draw():
    parts, y = [], MARGIN
    for row in rows(SRC / "LAYERS"):
        folders = folders_of(row)
        shares = [1 + 0.9 * max((len(r) for r in room_rows), default=0) for _, room_rows in folders]
        height = LINE + 14 + max(len(room_rows) for _, room_rows in folders) * (LINE + 6 + GAP)
        parts.append(text(MARGIN, y + LINE, FLOOR.get(row[0], ""), "word"))
        y += LINE + 5
        x, whole = MARGIN, WIDTH - 2 * MARGIN - GAP * (len(row) - 1)
        for (name, room_rows), share in zip(folders, shares):
            width = whole * share / sum(shares)
            parts += [box(x, y, width, height, "folder"), text(x + width / 2, y + LINE + 2, name, "name")]
            parts += draw_rooms(x, y + LINE + 12, width, room_rows)
            x += width + GAP
        y += height + 2 * GAP
    style = ("text{font-family:sans-serif;fill:#222}.name{font-size:15px;font-weight:600;text-anchor:middle}.small{font-size:12px;text-anchor:middle}"
             ".word{font-size:12px;fill:#667}.folder{fill:#eef3fa;stroke:#7a94b8}.room{fill:#fff;stroke:#a9bbd3}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}">\n<style>{style}</style>\n'
            f'<rect width="{WIDTH}" height="{y}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n")


def main():
    if "--check" not in sys.argv[1:]:
        PICTURE.write_text(draw())
    elif not PICTURE.exists() or PICTURE.read_text() != draw():
        sys.exit("docs/house.svg is not what the LAYERS files give: run scripts/house.py")


if __name__ == "__main__":
    main()
