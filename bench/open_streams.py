"""How many open streams a server holds. Many clients at once stream tokens from a tiny model; beside them, one client
after the other measures the time to its first token.

`open_streams.py --kvasir BINARY [--streams N]`. Everything stays on this machine; it ends within --limit seconds.
"""

import argparse
import http.client
import json
import pathlib
import resource
import shutil
import statistics
import string
import subprocess
import sys
import tempfile
import threading
import time

from kvasir_server import served

ROOT = pathlib.Path(__file__).resolve().parent.parent
INPUT_TOKENS = 16
OUTPUT_TOKENS = 64


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kvasir", required=True, help="the kvasir binary")
    parser.add_argument("--streams", type=int, default=10000)
    parser.add_argument("--kv-memory-mb", type=int, default=128)
    parser.add_argument("--limit", type=float, default=300, help="seconds for everything")
    return parser.parse_args()


def write_tiny_model(folder):
    """Random weights, and a vocabulary in which every token is text, so that every token is a chunk."""
    for name in ("config.json", "model.safetensors"):
        shutil.copy(ROOT / "tests/golden/models/llama" / name, folder)
    size = json.loads((folder / "config.json").read_text())["vocab_size"]
    letters = ["Ġ", *string.ascii_letters, *string.digits, *".,:;!?-'"]
    pairs = [a + b for a in string.ascii_lowercase for b in string.ascii_lowercase]
    pieces = (letters + pairs)[:size]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    merges = [f"{piece[0]} {piece[1]}" for piece in pieces if len(piece) == 2]
    model = {"type": "BPE", "vocab": {piece: i for i, piece in enumerate(pieces)}, "merges": merges}
    tokenizer = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": byte_level,
                 "post_processor": None, "decoder": byte_level, "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text("{}")


def serve(options, folder):
    most = options.streams + 200
    return served(options.kvasir, "--model", folder, "--max-connections", most, "--max-queue", most,
                  "--max-batch-sequences", most, "--max-batch-tokens", options.streams + 2000, "--kv-type", "int8",
                  "--kv-memory-mb", options.kv_memory_mb)


def first_token_ms(port):
    """Sends one short request; returns the milliseconds until its first token."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = {"model": "tiny", "prompt": "abc", "max_tokens": 2, "stream": True, "ignore_eos": True}
    start = time.monotonic()
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(f"{response.status}: {response.read()[:200]}")
    for line in response:
        if line.startswith(b"data: {"):
            took = time.monotonic() - start
            response.read()
            return 1000 * took
    raise RuntimeError("a stream without a token")


def memory_mb(process, row):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(row):
            return int(line.split()[1]) / 1024
    return 0


class Prober(threading.Thread):
    """Asks one short question after the other until told to end."""

    def __init__(self, port, pause_s):
        super().__init__(daemon=True)
        self.port = port
        self.pause_s = pause_s
        self.times = []
        self.failures = []
        self.end = threading.Event()

    def run(self):
        while not self.end.wait(self.pause_s):
            try:
                self.times.append((time.monotonic(), first_token_ms(self.port)))
            except (OSError, RuntimeError) as failure:
                self.failures.append(str(failure))


def load(options, port):
    command = [options.kvasir, "bench", "serve", "--url", f"http://127.0.0.1:{port}", "--endpoint", "completions",
               "--concurrency", str(options.streams), "--requests", str(options.streams), "--warmup", "1", "--seed", "1",
               "--input-tokens", str(INPUT_TOKENS), "--output-tokens", str(OUTPUT_TOKENS), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=options.limit)
    return json.loads(done.stdout)["phases"][0]


def quantiles(times):
    ordered = sorted(times)
    return f"{statistics.median(ordered):.0f} / {ordered[int(0.95 * (len(ordered) - 1))]:.0f} ms of {len(ordered)}"


def main():
    options = arguments()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < options.streams + 400:
        sys.exit(f"open_streams: {options.streams} streams need more open files than the {most} that the system allows")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory) / "tiny"
        folder.mkdir()
        write_tiny_model(folder)
        with serve(options, folder) as (process, port, _):
            alone = [first_token_ms(port) for _ in range(50)]
            before_mb = memory_mb(process, "VmRSS")
            prober = Prober(port, 0.2)
            prober.start()
            phase = load(options, port)
            prober.end.set()
            prober.join()
            peak_mb = memory_mb(process, "VmHWM")
    beside = [ms for _, ms in prober.times]
    print(f"{options.streams} streams of {OUTPUT_TOKENS} tokens, most in flight {phase['peak_in_flight']}, "
          f"failed {phase['failed']} {phase['failures'] or ''}")
    print(f"resident: {before_mb:.0f} MB before, {peak_mb:.0f} MB at the peak, {options.kv_memory_mb} MB of it KV cache")
    print(f"tokens/s: {phase['output_tokens_per_s']:.0f}; gaps p50/p95 {phase['itl_ms']['p50']:.0f} / {phase['itl_ms']['p95']:.0f} ms, "
          f"longest {phase['longest_gap_ms']:.0f} ms")
    print(f"another client's first token p50/p95: {quantiles(alone)} alone, {quantiles(beside)} beside them, "
          f"{len(prober.failures)} failed {prober.failures[:1] or ''}")
    return 1 if phase["failed"] or prober.failures else 0


if __name__ == "__main__":
    sys.exit(main())
