"""Draws what `gpu_table.py --json FIGURES` measured as a picture: `gpu_plot.py FIGURES > docs/gpu.svg`.

Each row is a bar: how many times vLLM's figure it is. A mark shows the goal.
"""

import argparse
import json
import pathlib

from gpu_table import CLIENTS_PEER, ENGINE_ROWS, LONG_ROWS

LEFT, UNIT, STEP, TOP = 290, 330, 22, 48  # pixels of the picture; UNIT is 1.0 times vLLM
NAMES = {"mixture": "30B-A3B, bf16"}


def rows(figures):
    """(name, value, vLLM's value, goal) of everything that both have."""
    for kind, values in figures["engine"].items():
        names = [name for name in values if name not in ("host_us", "whole")]
        for name, peer, aim in zip(names, *ENGINE_ROWS[kind]):
            words = name.replace("1 together", "1 stream").replace("together", "streams")
            yield f"{NAMES.get(kind, kind)}, {words}", values[name], peer, aim
    closed = figures["serve"]["bf16"]["closed"]["output_tokens_per_s"]
    yield "bf16, 256 clients through HTTP", closed, CLIENTS_PEER, None
    for kind, (peer, aim) in LONG_ROWS.items():
        yield f"{kind}, 512 × 1000/1000 through HTTP", figures["serve"][kind]["long"]["output_tokens_per_s"], peer, aim


def draw(shown):
    height = TOP + STEP * len(shown) + 12
    right = LEFT + 1.75 * UNIT
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{right + 20:.0f}" height="{height}" '
           'font-family="sans-serif" font-size="12">')
    yield f'<rect width="{right + 20:.0f}" height="{height}" fill="white"/>'
    yield '<text x="10" y="20" font-size="14">Tokens/s on one H200, as times vLLM 0.26; ◆ is the aim</text>'
    for i, (name, value, peer, aim) in enumerate(shown):
        y = TOP + STEP * i
        ratio = value / peer
        color = "#3a7d44" if ratio >= 1 else "#b5651d"
        yield f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{name}</text>'
        yield f'<rect x="{LEFT}" y="{y + 2}" width="{ratio * UNIT:.1f}" height="{STEP - 6}" fill="{color}"/>'
        yield f'<text x="{LEFT + 6}" y="{y + 14}" fill="white">{value:,.0f}: {ratio:.2f}</text>'
        if aim:
            yield f'<text x="{LEFT + aim / peer * UNIT:.1f}" y="{y + 15}" text-anchor="middle" font-size="14">◆</text>'
    yield (f'<line x1="{LEFT + UNIT}" x2="{LEFT + UNIT}" y1="{TOP - 8}" y2="{height - 8}" stroke="black" '
           'stroke-dasharray="3 3"/>')
    yield f'<text x="{LEFT + UNIT}" y="{TOP - 12}" text-anchor="middle">vLLM</text>'
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=pathlib.Path, help="what `gpu_table.py --json` wrote, of a whole run")
    figures = json.loads(parser.parse_args().figures.read_text())
    print("\n".join(draw([row for row in rows(figures) if row[2]])))


if __name__ == "__main__":
    main()
