"""What a fleet costs: the token events that a gateway relays on one core, and what it adds to the time to the first token
of a tiny model, beside one `kvasir serve`.

`fleet.py --kvasir BINARY --relay BINARY`. Everything stays on this machine. Requests to both servers alternate.
"""

import argparse
import contextlib
import http.client
import json
import pathlib
import signal
import socket
import statistics
import subprocess
import tempfile
import time

from kvasir_server import is_ready, served
from open_streams import write_tiny_model

RELAY_AIM = 300_000  # events for each second of processor time
P50_AIM_MS, P99_AIM_MS = 0.5, 2.0


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def running(*command):
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def wait_for(port, model=None):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if is_ready(port):
            return
        time.sleep(0.02)
    raise SystemExit("a process was not ready in time")


def first_token_ms(connection, model):
    body = json.dumps({"model": model, "prompt": "a b c", "max_tokens": 2, "stream": True, "temperature": 0, "ignore_eos": True})
    begin = time.perf_counter()
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    while not answer.readline().startswith(b"data: {"):
        pass
    spent = time.perf_counter() - begin
    answer.read()
    return spent * 1000


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def compare(options, folder):
    flags = ("--kv-memory-mb", 64, "--compute-threads", 1, "--log-level", "off", "--admission", "off")
    name = folder.name
    worker_port, health_port, gateway_port = free_port(), free_port(), free_port()
    listed = folder.parent / "fleet.toml"
    listed.write_text(f'[[worker]]\naddress = "127.0.0.1:{worker_port}"\n')
    with contextlib.ExitStack() as stack:
        _, direct_port, _ = stack.enter_context(served(options.kvasir, "--model", folder, *flags, "--data-dir", folder.parent / "direct"))
        stack.enter_context(running(options.kvasir, "worker", "--model", folder, *flags, "--listen", f"127.0.0.1:{worker_port}",
                                    "--health-listen", f"127.0.0.1:{health_port}"))
        wait_for(health_port)
        stack.enter_context(running(options.kvasir, "gateway", "--workers", listed, "--port", gateway_port, "--log-level", "off", "--admission", "off",
                                    "--data-dir", folder.parent / "gateway", "--model-dir", folder.parent / "models"))
        wait_for(gateway_port)
        connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=30) for port in (direct_port, gateway_port)]
        times = ([], [])
        for i in range(options.requests + 50):
            for which in (0, 1) if i % 2 else (1, 0):
                spent = first_token_ms(connections[which], name)
                if i >= 50:
                    times[which].append(spent)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kvasir", required=True)
    parser.add_argument("--relay", required=True)
    parser.add_argument("--requests", type=int, default=1000)
    options = parser.parse_args()
    runs = [json.loads(subprocess.run([options.relay, "256", "4000"], check=True, capture_output=True, text=True).stdout) for _ in range(3)]
    relayed = statistics.median(run["events_per_cpu_s"] for run in runs)
    print(f"relayed        {relayed:>10,.0f} events for each second of processor time (aim {RELAY_AIM:,}), {statistics.median(run['events_per_s'] for run in runs):,.0f}/s")
    with tempfile.TemporaryDirectory(prefix="kvasir-fleet-") as folder:
        model = pathlib.Path(folder) / "tiny"
        model.mkdir()
        write_tiny_model(model)
        direct, through = compare(options, model)
    for part, aim in ((0.5, P50_AIM_MS), (0.99, P99_AIM_MS)):
        a, b = percentile(direct, part), percentile(through, part)
        print(f"first token p{100 * part:<3.0f} {a:8.2f} ms direct, {b:8.2f} ms through a gateway: {b - a:+.2f} ms (aim {aim})")


if __name__ == "__main__":
    main()
