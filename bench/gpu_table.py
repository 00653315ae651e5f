"""The GPU's figures in one run: the engine alone (gpu_bench) and through HTTP (`kvasir serve` under `kvasir bench serve`),
with random weights of real models' shapes, beside the figures of vLLM 0.26 on an H200 and beside our goals.

`gpu_table.py --bin FOLDER [--engine bf16,fp8,...] [--serve bf16,...] [--scratch FOLDER]`. Everything stays on this machine.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import kvasir_server
from kvasir_server import served

SHAPE = "llama-3.1-8b"
MIXTURE = "qwen3-30b-a3b"
BATCHES = ["1", "32", "128", "256"]
# vLLM's figures and our goals: decode for each of BATCHES, then prefill
ENGINE_ROWS = {
    "bf16": ([205, 5586, 14911, 18599, 43300], [235, 6200, 16000, 20000, 45000]),
    "fp8": ([285, None, 18145, 22224, 66644], [400, None, None, None, None]),
    "fp8 + KV": ([None, None, None, 23752, None], [None] * 5),
    "int4": ([None] * 5, [None] * 5),
    "mixture": ([244, 1974, 6481, 10853, 70288], [300, 3000, 9000, 14000, None]),
}
ENGINE_FLAGS = {"bf16": [], "fp8": ["--fp8"], "fp8 + KV": ["--fp8", "--fp8-kv"], "int4": ["--int4"], "mixture": []}
# vLLM's tokens/s with each kind of drawing, of its greedy ones: 128 clients, through HTTP
DRAWS_PEER = {"top-p 0.95": 0.976, "top-k 40": 0.976, "frequency penalty": 0.947, "5 logprobs": 0.786, "one in 16 with a penalty": 0.975,
              "temperature 2, top-p 0.95": 0.875}
DRAWS_AIM = {"5 logprobs": 0.90, "20 logprobs, top-p": 0.90, "grammar": 0.90}  # of greedy; 0.95 for others
FIRST_LOAD_PEER = 6840  # tokens/s of the first 256 clients after the start, lognormal lengths
CLIENTS_PEER = 10083  # 256 clients, 512/256: vLLM's Rust front end; its Python front end has 9,771
LONG_ROWS = {"bf16": (9629, 11500), "fp8": (12224, 14500), "fp8 + KV": (14228, 18000)}
SERVE_FLAGS = {"bf16": [], "fp8": ["--gpu-weights", "fp8"],
               "fp8 + KV": ["--gpu-weights", "fp8", "--gpu-kv", "fp8"]}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/cuda/bin"))
    parser.add_argument("--engine", default=",".join(ENGINE_ROWS), help="kinds of the engine's part")
    parser.add_argument("--draws", choices=["yes", "no"], default="yes", help="whether to measure the kinds of drawing")
    parser.add_argument("--serve", default=",".join(LONG_ROWS), help="kinds of the part through HTTP")
    parser.add_argument("--scratch", help="where the random model is kept meanwhile; 9 GB (default: a temporary folder)")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures there")
    options = parser.parse_args()
    options.engine = [kind for kind in options.engine.split(",") if kind]
    options.serve = [kind for kind in options.serve.split(",") if kind]
    return options


def show(label, value, peer, aim, unit=""):
    def number(x):
        return f"{x:,.0f}" if x >= 10 else f"{x:.3f}"

    parts = [f"{label:<44} {value:>10,.1f}{unit}" if value >= 10 else f"{label:<44} {value:>10.3f}{unit}"]
    if peer:
        parts.append(f"vLLM {number(peer)}: {value / peer:.2f}")
    if aim:
        parts.append(f"aim {number(aim)}: {value / aim:.2f}")
    print("   ".join(parts), flush=True)


def measure_engine(options, kind):
    """Decode tokens/s by batch, and prefill tokens/s of the largest."""
    command = [options.bin / "gpu_bench", *ENGINE_FLAGS[kind], MIXTURE if kind == "mixture" else SHAPE, *BATCHES]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split() for line in lines[2:]]
    values = [float(row[3]) for row in rows] + [float(rows[-1][2])]
    names = [f"{batch} together" for batch in BATCHES] + ["prefill"]
    for name, value, peer, aim in zip(names, values, *ENGINE_ROWS[kind]):
        show(f"{kind}, {name}", value, peer, aim)
    print(f"{kind}, host µs a step at {BATCHES[-1]}: {rows[-1][7]}", flush=True)
    return dict(zip(names, values), host_us=float(rows[-1][7]), whole=float(rows[-1][4]))


def measure_draws(options, lengths, batches, flags):
    """Each kind of drawing, as a share of greedy's tokens/s."""
    command = [options.bin / "gpu_bench", "--draws", *flags, SHAPE, *batches]
    shares = {}
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[3:]:
        name, numbers = line[:28].strip(), line[28:].split()
        if len(numbers) < 4:  # the first load
            continue
        again = " again" if name == "greedy" and f"greedy, {numbers[0]}" in shares else ""
        share = float(numbers[2])
        shares[f"{name}{again}, {numbers[0]}"] = share
        aim = None if name == "greedy" else DRAWS_AIM.get(name, 0.95)
        show(f"{name}{again}, {numbers[0]} {lengths}, of greedy", share, DRAWS_PEER.get(name), aim)
    return shares


def write_model(options, path):
    """Writes 8-bit weights, which are made quickly. The server converts them to the wanted type on the device."""
    command = [options.bin / "kvasir", "bench", "engine", "--random", SHAPE, "--type", "Q8_0", "--write", path, "--prompt",
               "1", "--gen", "1", "--batch", "1"]
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def load_flags(*flags):
    return ["--endpoint", "completions", *flags]


def load(options, port, *flags):
    return kvasir_server.load(options.bin / "kvasir", port, *load_flags(*flags))[-1]


def measure_short(options, port, engine):
    """Prompts of 512 tokens and answers of 256, from 256 clients and as they come."""
    drawn = ["--workload", "mixed", "--input-tokens", 200, "--output-tokens", 150, "--concurrency", 256, "--requests", 768]
    first = load(options, port, *drawn)
    second = load(options, port, *drawn)
    show("HTTP, the first load, 256 clients, 200/150", first["output_tokens_per_s"], FIRST_LOAD_PEER, None)
    show("  of the second", first["output_tokens_per_s"] / second["output_tokens_per_s"], None, 0.95)
    short = ["--input-tokens", 512, "--output-tokens", 256]
    load(options, port, *short, "--concurrency", 256, "--requests", 256)  # records the graphs of all buckets
    closed = load(options, port, *short, "--concurrency", 256, "--requests", 1024)
    show("HTTP, 256 clients, 512/256", closed["output_tokens_per_s"], CLIENTS_PEER, None)
    if engine:
        show("  over the engine alone", closed["output_tokens_per_s"] / engine["whole"], None, 0.97)
    arriving = load(options, port, *short, "--rate", f"{0.7 * closed['requests_per_s']:.2f}", "--duration", 30)
    for name, key, peer, aim in (("TTFT p50", ("ttft", "p50"), 79, None), ("TTFT p95", ("ttft", "p95"), 124, 100),
                                 ("ITL p50", ("itl", "p50"), 7.4, None), ("ITL p95", ("itl", "p95"), 31.7, 15)):
        show(f"HTTP, Poisson at 70 %, {name} ms", arriving[key[0] + "_ms"][key[1]], peer, aim)
    return {"first": first, "second": second, "closed": closed, "open": arriving}


def measure_long_prompt(options, port):
    """A prompt of 120,000 tokens that comes while 32 others are answered."""
    flags = ["--input-tokens", 512, "--output-tokens", 1500, "--concurrency", 32, "--requests", 32]
    others = subprocess.Popen(kvasir_server.load_command(options.bin / "kvasir", port, *load_flags(*flags)), stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    time.sleep(3)  # until the requests are running
    prompt = load(options, port, "--input-tokens", 120000, "--output-tokens", 16, "--concurrency", 1, "--requests", 1)
    beside = json.loads(others.communicate()[0])["phases"][-1]
    show("120,000 tokens beside 32 streams: TTFT s", prompt["ttft_ms"]["p50"] / 1e3, None, None)
    show("  the streams' TPOT p95 ms", beside["tpot_ms"]["p95"], None, 50)
    show("  the streams' ITL p95 ms", beside["itl_ms"]["p95"], None, None)
    return {"prompt": prompt, "beside": beside}


def measure_latency(options, flags, engine):
    """What users see of a server with default settings."""
    with served(options.bin / "kvasir", *flags) as (_, port, ready_s):
        show("seconds until ready, from 8 bits", ready_s, None, 10)
        return {"ready_s": ready_s, **measure_short(options, port, engine),
                "long prompt": measure_long_prompt(options, port)}


def measure_throughput(options, kind, flags):
    """A batch that nobody waits for: steps may take as long as they like."""
    with served(options.bin / "kvasir", *flags, "--target-step-ms", 1000) as (_, port, _):
        many = ["--concurrency", 512, "--requests", 512]
        load(options, port, "--input-tokens", 128, "--output-tokens", 32, *many)  # warms up: the server tunes its products
        figures = load(options, port, "--input-tokens", 1000, "--output-tokens", 1000, *many)
        show(f"HTTP, {kind}, 512 requests of 1000/1000", figures["output_tokens_per_s"], *LONG_ROWS[kind])
        return figures


def measure_serve(options, kind, model, engine):
    figures = {}
    flags = ["--device", "cuda", "--model", model, "--max-queue", 2048, *SERVE_FLAGS[kind]]
    if kind == "bf16":
        figures |= measure_latency(options, flags, engine)
    figures["long"] = measure_throughput(options, kind, flags)
    return figures


def main():
    options = arguments()
    begin = time.monotonic()
    figures = {"engine": {}, "serve": {}}
    for kind in options.engine:
        figures["engine"][kind] = measure_engine(options, kind)
    if options.draws == "yes":
        figures["draws"] = {"equal": measure_draws(options, "equal streams", ["128", "256"], ["--in=128", "--out=96"]),
                            "clients": measure_draws(options, "clients", ["128"], ["--clients", "--in=200", "--out=150"])}
    if options.serve:
        with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
            model = pathlib.Path(folder) / "random.gguf"
            write_model(options, model)
            for kind in options.serve:
                figures["serve"][kind] = measure_serve(options, kind, model, figures["engine"].get(kind))
    print(f"{time.monotonic() - begin:.0f} s")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
