"""Kvasir's tokenizers beside Hugging Face's native `tokenizers`: the same files, the same texts, one core.

    python bench/tokenizer_speed.py --kvasir build/release/bin/kvasir [--rounds 5] [--check]

Called by scripts/bench_tokenizer.sh, which makes everything that it needs. The two take turns, each time in a new
process, and the figures are medians. The peer is timed on the whole text and on the text in pieces of 4,000 characters, without
offsets; the ratio is to the better of them. --check fails below 20 MB/s or 5 times the peer on English and code, or
if the two do not make the same number of tokens.
"""

import argparse
import json
import os
import pathlib
import pydoc_data.topics
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/conformance"))
from tokenizer_packages import DIRECTORIES  # noqa: E402

MEASURED = ("llama3", "qwen")
LOADED = ("llama3", "qwen", "qwen3", "gemma", "t5")
PIECE = 4000
TIMEOUT_S = 20
NATURAL = ("English", "code")


def make_texts(folder):
    """Files by name: texts that people write, and some that nobody writes."""
    choose = random.Random(1)
    million = 1_000_000
    texts = {
        "English": "\n".join(pydoc_data.topics.topics[t] for t in sorted(pydoc_data.topics.topics)) * 3,
        "code": "".join(p.read_text() for p in sorted((HERE.parent / "src").rglob("*.[ch]*")) if p.suffix in (".cc", ".h")),
        "one letter": "a" * million,
        "spaces": " " * million,
        "combining marks": "e" + "\u0301" * (million // 2),
        "random letters": "".join(choose.choices("abcdefghijklmnopqrstuvwxyz", k=million)),
    }
    files = {}
    for name, text in texts.items():
        files[name] = folder / (name.replace(" ", "_") + ".txt")
        files[name].write_text(text)
    return files


def native(directory, files):
    """Runs one turn of the peer and prints the result as JSON."""
    import tokenizers

    def timed(call):
        start = time.perf_counter()
        result = call()
        return time.perf_counter() - start, result

    load_s, tokenizer = timed(lambda: tokenizers.Tokenizer.from_file(str(pathlib.Path(directory) / "tokenizer.json")))
    rows = []
    for file in files:
        text = pathlib.Path(file).read_text()
        size = len(text.encode()) / 1e6
        whole_s, encodings = timed(lambda: tokenizer.encode_batch_fast([text], add_special_tokens=False))
        pieces = [text[i : i + PIECE] for i in range(0, len(text), PIECE)]
        pieces_s, _ = timed(lambda: tokenizer.encode_batch_fast(pieces, add_special_tokens=False))
        rows.append({"whole": size / whole_s, "pieces": size / pieces_s, "tokens": len(encodings[0].ids)})
    print(json.dumps({"load_ms": 1e3 * load_s, "texts": rows}))


def run(command):
    """What the command prints, or None if it takes too long."""
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stderr}")
    return json.loads(done.stdout)


def turn(kvasir, directory, file):
    ours = run([kvasir, "bench", "tokenizer", directory, file, "--rounds", "1", "--json"])
    theirs = run([sys.executable, __file__, "--native", directory, file])
    return ours, theirs


def median(values):
    return statistics.median(values)


def measure(kvasir, rounds, files, names):
    rows = []
    for name in names:
        for text, file in files.items():
            turns = []
            for _ in range(rounds if text in NATURAL else min(rounds, 3)):
                turns.append(turn(kvasir, str(DIRECTORIES[name]), str(file)))
                if turns[-1][1] is None:
                    break
            ours = [t[0]["texts"][0] for t in turns]
            theirs = [t[1]["texts"][0] for t in turns if t[1] is not None]
            row = {"tokenizer": name, "text": text, "mb": file.stat().st_size / 1e6,
                   "kvasir": median([o["mb_per_s"] for o in ours]), "tokens": ours[0]["tokens"]}
            if theirs:
                row |= {key: median([t[key] for t in theirs]) for key in ("whole", "pieces")}
                row["peer_tokens"] = theirs[0]["tokens"]
            rows.append(row)
            print(shown(row), flush=True)
    return rows


def shown(row):
    line = f"| {row['tokenizer']} | {row['text']}, {row['mb']:.1f} MB | {row['kvasir']:.1f} | "
    if "whole" not in row:
        return line + f"over {TIMEOUT_S} s | |"
    return line + f"{row['whole']:.2f} / {row['pieces']:.2f} | {ratio(row):.0f}x |"


def ratio(row):
    return row["kvasir"] / max(row["whole"], row["pieces"])


def measure_loads(kvasir, rounds, file):
    print("\n| loading | file | Kvasir | prepared | tokenizers |\n|---|---|---|---|---|")
    for name in LOADED:
        turns = [turn(kvasir, str(DIRECTORIES[name]), str(file)) for _ in range(rounds)]
        size = (DIRECTORIES[name] / "tokenizer.json").stat().st_size / 1e6
        load, prepared = (median([t[0][key] for t in turns]) for key in ("load_ms", "prepared_load_ms"))
        peer = median([t[1]["load_ms"] for t in turns])
        print(f"| {name} | {size:.1f} MB | {load:.0f} ms | {prepared:.1f} ms | {peer:.0f} ms |", flush=True)


def failures(rows):
    for row in rows:
        name = f"{row['tokenizer']}, {row['text']}"
        if row.get("peer_tokens", row["tokens"]) != row["tokens"]:
            yield f"{name}: {row['tokens']} tokens, the peer has {row['peer_tokens']}"
        if row["text"] in NATURAL and (row["kvasir"] < 20 or ratio(row) < 5):
            yield f"{name}: {row['kvasir']:.1f} MB/s, {ratio(row):.1f} times the peer"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kvasir")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=MEASURED, default=MEASURED, help="these tokenizers")
    parser.add_argument("--texts", nargs="+", help="these texts, by name")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--native", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.native:
        return native(arguments.native[0], arguments.native[1:])
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        files = make_texts(pathlib.Path(folder))
        print("| tokenizer | text | Kvasir MB/s | tokenizers MB/s, whole / pieces | ratio |\n|---|---|---|---|---|")
        if arguments.texts:
            files = {name: files[name] for name in arguments.texts}
        rows = measure(arguments.kvasir, arguments.rounds, files, arguments.only)
        short = pathlib.Path(folder) / "short.txt"
        short.write_text("Hello")
        if not arguments.texts:
            measure_loads(arguments.kvasir, arguments.rounds, short)
    failed = list(failures(rows)) if arguments.check else []
    for line in failed:
        print("MISSED", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
