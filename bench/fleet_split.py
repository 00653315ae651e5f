"""Prefill and decode apart or together: steady chats, and bursts of long prompts over them, on the same number of workers.

`fleet_split.py --kvasir BINARY [--model smollm2] [--lengths 256,1024,3072] [--svg FILE] [--json FILE]`. Everything stays on
this machine. The arrangements are
  whole     two workers that do both, and compute each prompt in one step
  together  two workers that do both, with steps whose length is chosen
  apart     a worker for prompts and one for streams
"""

import argparse
import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time

from kvasir_server import is_ready
from line_plot import line_plot

WORDS = "river stone lamp green walks under seven quiet doors because morning never counts paper birds light".split()
WHOLE = ("--max-batch-tokens", 8192, "--target-step-ms", 60_000)
ARRANGEMENTS = {
    "whole": [WHOLE, WHOLE],
    "together": [(), ()],
    "apart": [("--role", "prefill"), ("--role", "decode")],
}


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def running(*command):
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(90)


def wait_ready(port, process, what):
    deadline = time.monotonic() + 180
    while not is_ready(port):
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"{what} was not ready in time")
        time.sleep(0.05)


@contextlib.contextmanager
def fleet(options, kinds):
    """A gateway with workers of these kinds; gives its port and theirs for /metrics."""
    ports = free_ports(2 * len(kinds) + 1)
    with tempfile.TemporaryDirectory(prefix="kvasir-split-") as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        listed = folder / "fleet.toml"
        listed.write_text("".join(f'[[worker]]\naddress = "127.0.0.1:{port}"\n' for port in ports[: len(kinds)]))
        workers = []
        for i, flags in enumerate(kinds):
            workers.append(stack.enter_context(running(
                options.kvasir, "worker", "--model", options.model, "--compute-threads", options.threads, "--kv-memory-mb", options.kv_memory_mb,
                "--listen", f"127.0.0.1:{ports[i]}", "--health-listen", f"127.0.0.1:{ports[len(kinds) + i]}", *flags)))
        for port, worker in zip(ports[len(kinds) :], workers):
            wait_ready(port, worker, "a worker")
        gateway = stack.enter_context(running(options.kvasir, "gateway", "--workers", listed, "--port", ports[-1], "--admission", "off",
                                              "--data-dir", folder / "data", "--model-dir", folder / "models"))
        wait_ready(ports[-1], gateway, "the gateway")
        time.sleep(2)  # until reports have told what workers can do
        yield ports[-1], ports[len(kinds) : -1]


def moved_bytes(health_ports):
    total = 0.0
    for port in health_ports:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/metrics")
        for line in connection.getresponse().read().decode().splitlines():
            if line.startswith('kvasir_kv_transfer_bytes_total{direction="in"'):
                total += float(line.split()[-1])
    return total


def ask(port, model, prompt, max_tokens):
    """When the request went out and when each of its tokens came."""
    body = json.dumps({"model": model, "prompt": prompt, "max_tokens": max_tokens, "stream": True, "temperature": 0, "ignore_eos": True})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    sent, times = time.monotonic(), []
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    while line := answer.readline():
        if line.startswith(b"data: {") and b'"text":""' not in line:
            times.append(time.monotonic())
    connection.close()
    return sent, times


def text_of(rng, num_tokens):
    return " ".join(rng.choice(WORDS) for _ in range(num_tokens))


def measure(options, port, length):
    """What chats and long prompts got while both ran."""
    over = threading.Event()
    chats, longs, lock = [], [], threading.Lock()

    def chat(number):
        rng = random.Random(f"chat {length} {number}")
        while not over.is_set():
            found = ask(port, options.model, text_of(rng, 24), options.chat_tokens)
            with lock:
                chats.append(found)

    def ask_long(number):
        found = ask(port, options.model, text_of(random.Random(f"long {length} {number}"), length), options.long_tokens)
        with lock:
            longs.append(found)

    with concurrent.futures.ThreadPoolExecutor(options.chats + 4 * options.burst) as pool:
        work = [pool.submit(chat, i) for i in range(options.chats)]
        begin = time.monotonic()
        number = 0
        while time.monotonic() - begin < options.duration:
            if length > 0:
                work += [pool.submit(ask_long, number + i) for i in range(options.burst)]
                number += options.burst
            time.sleep(options.every)
        over.set()
        for one in work:
            one.result()
        seconds = time.monotonic() - begin
    return figures(options, chats, longs, seconds)


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))] if values else float("nan")


def figures(options, chats, longs, seconds):
    tpots = [1e3 * (times[-1] - times[0]) / (len(times) - 1) for _, times in chats if len(times) > 1]
    gaps = [1e3 * (b - a) for _, times in chats for a, b in zip(times, times[1:])]
    ttfts = [1e3 * (times[0] - sent) for sent, times in longs if times]
    good = sum(t <= options.slo_tpot_ms for t in tpots) + sum(t <= options.slo_ttft_ms for t in ttfts)
    return {"tpot_p50_ms": percentile(tpots, 0.5), "tpot_p95_ms": percentile(tpots, 0.95), "gap_p95_ms": percentile(gaps, 0.95),
            "gap_max_ms": max(gaps, default=float("nan")), "ttft_p50_ms": percentile(ttfts, 0.5), "ttft_p95_ms": percentile(ttfts, 0.95),
            "goodput_per_s": good / seconds, "requests_per_s": (len(tpots) + len(ttfts)) / seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kvasir", required=True)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--lengths", default="256,1024,3072", help="words of the long prompts; 0: none")
    parser.add_argument("--arrangements", default=",".join(ARRANGEMENTS))
    parser.add_argument("--chats", type=int, default=4)
    parser.add_argument("--chat-tokens", type=int, default=80)
    parser.add_argument("--long-tokens", type=int, default=8)
    parser.add_argument("--burst", type=int, default=2, help="long prompts at once")
    parser.add_argument("--every", type=float, default=15, help="seconds between bursts")
    parser.add_argument("--duration", type=float, default=60)
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    parser.add_argument("--kv-memory-mb", type=int, default=1024)
    parser.add_argument("--slo-tpot-ms", type=float, default=150)
    parser.add_argument("--slo-ttft-ms", type=float, default=10_000)
    parser.add_argument("--svg", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    lengths = [int(length) for length in options.lengths.split(",")]
    found = {}
    print(f"{'':<10} {'words':>6} {'TPOT p50':>9} {'p95, ms':>8} {'gap p95':>8} {'max, ms':>9} {'TTFT p50':>9} {'p95, ms':>8} {'good/s':>7} {'all/s':>6} {'MB moved':>9}")
    for name in options.arrangements.split(","):
        with fleet(options, ARRANGEMENTS[name]) as (port, health_ports):
            ask(port, options.model, "Hello", 8)
            for length in lengths:
                before = moved_bytes(health_ports)
                one = found.setdefault(name, {})[length] = measure(options, port, length)
                one["moved_mb"] = (moved_bytes(health_ports) - before) / 1e6
                print(f"{name:<10} {length:>6} {one['tpot_p50_ms']:>9.1f} {one['tpot_p95_ms']:>8.1f} {one['gap_p95_ms']:>8.1f} {one['gap_max_ms']:>9.0f} "
                      f"{one['ttft_p50_ms']:>9.0f} {one['ttft_p95_ms']:>8.0f} {one['goodput_per_s']:>7.2f} {one['requests_per_s']:>6.2f} {one['moved_mb']:>9.1f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    if options.svg:
        lines = {name: [(length, rows[length]["tpot_p95_ms"]) for length in lengths] for name, rows in found.items()}
        options.svg.write_text(line_plot(lines, "Words of the long prompts", "p95 of the chats' ms a token"))


if __name__ == "__main__":
    main()
