"""Kvasir beside llama.cpp on this machine, in one run: the same GGUF, the same threads, alternating rounds.

Called by scripts/bench.sh, which makes everything that it needs. Prints a table of medians and ratios. Stops at the time
limit, and says what was left out.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
QUESTION = "What is the capital of France?"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kvasir", required=True, help="the kvasir binary")
    parser.add_argument("--node", required=True, help="the node binary")
    parser.add_argument("--modules", required=True, help="the folder with node-llama-cpp in node_modules")
    parser.add_argument("--model", action="append", required=True, help="NAME=FILE.gguf; may be given again")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--prompt", default="512")
    parser.add_argument("--batch", default="1,2,8,32")
    parser.add_argument("--gen", default="24")
    parser.add_argument("--depth", default="128")
    parser.add_argument("--clients", default="8,32")
    parser.add_argument("--limit", type=float, default=1500, help="seconds for everything")
    parser.add_argument("--json", help="also write everything measured here")
    return parser.parse_args()


class Run:
    """One comparison: its flags, its deadline, and its measurements by model, figure and engine."""

    def __init__(self, options):
        self.options = options
        self.deadline = time.monotonic() + options.limit
        self.figures = {}
        self.notes = []

    def left(self):
        return self.deadline - time.monotonic()

    def add(self, model, figure, engine, value):
        self.figures.setdefault(model, {}).setdefault(figure, {}).setdefault(engine, []).append(value)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def say(self, text):
        done = self.options.limit - self.left()
        print(f"[{done:4.0f} of at most {self.options.limit:.0f} s] {text}", file=sys.stderr, flush=True)

    def lines_of(self, command):
        """The JSON lines that a program prints within its share of the time."""
        name = " ".join(pathlib.Path(str(part)).name for part in command[:3])
        limit = max(1.0, min(self.left(), self.options.limit / 3))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
            output = done.stdout
            if done.returncode != 0:
                self.note(f"failed: {name}: {done.stderr.strip()[-300:]}")
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode()
            self.note(f"ended after {limit:.0f} s, before it was done: {name}")
        return [json.loads(line) for line in output.splitlines() if line.startswith("{") and line.endswith("}")]


def bench_engines(run, model, path):
    o = run.options
    shape = ["--prompt", o.prompt, "--batch", o.batch, "--gen", o.gen, "--depth", o.depth, "--threads", str(o.threads)]
    for number in range(o.rounds):
        for engine in ("kvasir", "llama.cpp"):
            if run.left() < 30:
                return run.note(f"{model}: the time was over after {number} of {o.rounds} rounds of the engines")
            run.say(f"{model}: engine round {number + 1} of {o.rounds}, {engine}")
            if engine == "kvasir":
                reports = run.lines_of([o.kvasir, "bench", "engine", "--model", path, *shape, "--json"])
                take_kvasir(run, model, reports)
            else:
                program = pathlib.Path(o.modules) / "llama_engine.mjs"
                take_llama(run, model, run.lines_of([o.node, program, "--model", path, *shape]))


def take_prefill(run, model, engine, p):
    run.add(model, f"prefill of {p['tokens']}, tokens/s", engine, p["tokens_per_s"])


def take_decode(run, model, engine, d):
    run.add(model, f"decode, {d['batch']} together, tokens/s", engine, d["tokens_per_s"])


def take_kvasir(run, model, reports):
    for report in reports:
        run.machine = report["machine"]
        for p in report["prefill"]:
            take_prefill(run, model, "kvasir", p)
        for d in report["decode"]:
            take_decode(run, model, "kvasir", d)
            if d["batch"] == 1:
                run.add(model, "decode, 1 alone, % of read bandwidth", "kvasir", 100 * d["bandwidth_share"])
            run.add(model, f"decode, {d['batch']} together, us outside the kernels", "kvasir", d["outside_us"])


def take_llama(run, model, figures):
    for figure in figures:
        if "answer" in figure and "Paris" not in figure["answer"]:
            run.note(f"{model}: llama.cpp's answer to \"{QUESTION}\" is WRONG: {figure['answer']!r}")
        if "prefill" in figure:
            take_prefill(run, model, "llama.cpp", figure["prefill"])
        if "decode" in figure:
            take_decode(run, model, "llama.cpp", figure["decode"])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def served(run, engine, path, most_clients):
    """Starts a server of this engine and gives its address."""
    o = run.options
    port = free_port()
    if engine == "kvasir":
        command = [o.kvasir, "serve", "--model", path, "--port", str(port), "--compute-threads", str(o.threads)]
    else:
        program = pathlib.Path(o.modules) / "llama_server.mjs"
        command = [o.node, program, "--model", path, "--port", str(port), "--threads", str(o.threads),
                   "--sequences", str(most_clients), "--context", "512"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        while not is_ready(url):
            if process.poll() is not None or run.left() < 5:
                raise RuntimeError(f"{engine} did not come up")
            time.sleep(0.2)
        yield url
    finally:
        process.send_signal(signal.SIGKILL if engine != "kvasir" else signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def is_ready(url):
    try:
        with urllib.request.urlopen(url + "/v1/models", timeout=5) as response:
            models = json.loads(response.read())["data"]
            return bool(models) and models[0].get("ready", True)
    except (OSError, ValueError, KeyError):
        return False


def right_answer(url):
    """Whether the server's answer to the question holds the right word."""
    body = {"messages": [{"role": "user", "content": QUESTION}], "max_tokens": 24, "temperature": 0, "stream": True}
    with urllib.request.urlopen(url + "/v1/models", timeout=30) as response:
        body["model"] = json.loads(response.read())["data"][0]["id"]
    request = urllib.request.Request(url + "/v1/chat/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    text = ""
    with urllib.request.urlopen(request, timeout=120) as response:
        for line in response:
            if line.startswith(b"data: {"):
                choices = json.loads(line[6:])["choices"]
                text += (choices[0].get("delta", {}).get("content") or "") if choices else ""
    return "Paris" in text


def bench_servers(run, model, path):
    o = run.options
    clients = [int(c) for c in o.clients.split(",") if c]
    for engine in ("kvasir", "llama.cpp"):
        for count in clients:
            if run.left() < 45:
                run.note(f"{model}: no time was left for {engine}'s server with {count} clients")
                continue
            run.say(f"{model}: server, {engine}, {count} clients")
            try:
                with served(run, engine, path, max(clients)) as url:
                    if not right_answer(url):
                        run.note(f"{model}: {engine}'s server answers \"{QUESTION}\" WRONGLY")
                    reports = run.lines_of([
                        o.kvasir, "bench", "serve", "--url", url, "--concurrency", str(count), "--requests", str(max(count, 16)),
                        "--input-tokens", "200", "--output-tokens", "64", "--warmup", "1", "--seed", "1", "--json"])
            except RuntimeError as failure:
                run.note(f"{model}: {failure}")
                continue
            if not reports:
                continue
            phase = reports[0]["phases"][0]
            what = f"server, {count} clients: "
            if phase["failed"]:
                run.note(f"{model}: {engine}'s server failed {phase['failed']} of {phase['requests']} requests: {phase['failures']}")
            if not phase["ok"]:
                continue
            run.add(model, what + "output tokens/s", engine, phase["output_tokens_per_s"])
            run.add(model, what + "TTFT p95, ms", engine, phase["ttft_ms"]["p95"])
            run.add(model, what + "longest gap, ms", engine, phase["longest_gap_ms"])


def table(run):
    lines = []
    machine = getattr(run, "machine", None)
    if machine:
        peak = max(machine["peaks"], key=lambda p: p["ops_per_s"], default=None)
        lines.append(f"{machine['cpu']}, {run.options.threads} threads: reads {machine['read_bytes_per_s'] / 1e9:.1f} GB/s"
                     + (f", {peak['instruction']} {peak['ops_per_s'] / 1e9:.0f} Gop/s" if peak else ""))
    for model, figures in run.figures.items():
        lines += ["", f"{model:<44} {'Kvasir':>12} {'llama.cpp':>12} {'ratio':>8}"]
        for figure, engines in figures.items():
            medians = {engine: statistics.median(values) for engine, values in engines.items()}
            cells = [f"{medians[e]:.1f}" if e in medians else "-" for e in ("kvasir", "llama.cpp")]
            ratio = "-"
            if len(medians) == 2 and medians["llama.cpp"] > 0:
                ratio = f"{medians['kvasir'] / medians['llama.cpp']:.2f}"
            lines.append(f"  {figure:<42} {cells[0]:>12} {cells[1]:>12} {ratio:>8}")
    lines.append("")
    lines.append("Medians of alternating rounds; a ratio above 1 is Kvasir's favour for tokens/s, below 1 for times.")
    lines += [f"note: {note}" for note in run.notes]
    return "\n".join(lines)


def main():
    run = Run(arguments())
    models = [model.split("=", 1) for model in run.options.model]
    for name, path in models:
        bench_engines(run, name, path)
    for name, path in models:
        bench_servers(run, name, path)
    print(table(run))
    if run.options.json:
        pathlib.Path(run.options.json).write_text(json.dumps({"figures": run.figures, "notes": run.notes}, indent=1))
    return 0 if run.figures else 1


if __name__ == "__main__":
    sys.exit(main())
