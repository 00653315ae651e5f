"""What a fleet costs and gains: the token events that a gateway relays on one core, what it adds to the time to the first token
of a tiny model beside one `kvasir serve`, and what its router gains over taking workers in turns.

`fleet.py --kvasir BINARY --relay BINARY`. Everything stays on this machine.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import fleet_policies
from fleet_servers import gateway_of, percentile, worker_of
from kvasir_server import served
from open_streams import write_tiny_model

RELAY_AIM = 300_000  # events for each second of processor time
P50_AIM_MS, P99_AIM_MS = 0.5, 2.0
NOT_COUNTED = 50  # requests at first


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


def compare(options, model):
    """First tokens directly and through a gateway, whose requests alternate."""
    flags = ("--kv-memory-mb", 64, "--compute-threads", 1, "--log-level", "off")
    with contextlib.ExitStack() as stack:
        _, direct_port, _ = stack.enter_context(
            served(options.kvasir, "--model", model, *flags, "--admission", "off", "--data-dir", model.parent / "direct", stderr=subprocess.DEVNULL))
        address = stack.enter_context(worker_of(options.kvasir, model, *flags))
        gateway_port = stack.enter_context(gateway_of(options.kvasir, model.parent / "gateway", [address], "--admission", "off"))
        connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=30) for port in (direct_port, gateway_port)]
        times = ([], [])
        for i in range(options.requests + NOT_COUNTED):
            for which in (0, 1) if i % 2 else (1, 0):
                spent = first_token_ms(connections[which], model.name)
                if i >= NOT_COUNTED:
                    times[which].append(spent)
    return times


def relay(options):
    runs = [json.loads(subprocess.run([options.relay, "256", "4000"], check=True, capture_output=True, text=True).stdout) for _ in range(3)]
    cpu, wall = (statistics.median(run[name] for run in runs) for name in ("events_per_cpu_s", "events_per_s"))
    print(f"relayed         {cpu:>9,.0f} events for each second of processor time (aim {RELAY_AIM:,}), {wall:,.0f}/s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kvasir", required=True)
    parser.add_argument("--relay", required=True)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--skip-policies", action="store_true", help="only what a gateway costs")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before", flush=True)
    relay(options)
    with tempfile.TemporaryDirectory(prefix="kvasir-fleet-") as folder:
        model = pathlib.Path(folder) / "tiny"
        model.mkdir()
        write_tiny_model(model)
        direct, through = compare(options, model)
    for part, aim in ((0.5, P50_AIM_MS), (0.99, P99_AIM_MS)):
        a, b = percentile(direct, part), percentile(through, part)
        print(f"first token p{100 * part:<3.0f}{a:8.2f} ms direct, {b:.2f} ms through a gateway: {b - a:+.2f} ms (aim {aim})", flush=True)
    if not options.skip_policies:
        fleet_policies.compare(options.kvasir)


if __name__ == "__main__":
    main()
