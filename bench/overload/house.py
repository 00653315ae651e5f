"""A `kvasir serve` of the benchmark's own, with tiers, tenants and keys in a data folder that is thrown away."""

import asyncio
import contextlib
import json
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

import kvasir_server

from .figures import Slo
from .load import Tenant

UNLIMITED = "requests_per_minute = 0\ntokens_per_minute = 0\nmax_concurrent = 0\ntokens_per_day = 0\n"
# The built-in tiers without limits of their own, so that nothing but the scheduler and admission decides, and two that
# differ in their weight alone.
TIERS = "".join(f'[[tiers]]\nname = "{name}"\n{more}{UNLIMITED}\n' for name, more in (
    ("free", ""), ("pro", ""), ("enterprise", ""),
    ("one", "weight = 1\npriority = 1\n"), ("three", "weight = 3\npriority = 1\n")))


class House:
    """A data folder and what is made in it. One server runs on it at a time."""

    def __init__(self, kvasir, model, flags):
        self.kvasir = kvasir
        self.model = model
        self.flags = flags
        self.folder = tempfile.TemporaryDirectory(prefix="kvasir-overload-")
        self.config = pathlib.Path(self.folder.name) / "kvasir.toml"
        self.config.write_text(TIERS)
        self.data = pathlib.Path(self.folder.name) / "data"
        self.tenants = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def run(self, *words):
        command = [self.kvasir, *words, "--config", self.config, "--data-dir", self.data]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"kvasir {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def tenant(self, name, tier):
        if name not in self.tenants:
            self.run("tenant", "create", name, "--tier", tier)
            self.tenants[name] = Tenant(name, json.loads(self.run("key", "create", "--tenant", name, "--json"))["key"])
        return self.tenants[name]

    @contextlib.contextmanager
    def serving(self, *flags):
        """A server that ends with the block."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        log = pathlib.Path(self.folder.name) / f"{port}.log"
        command = [self.kvasir, "serve", "--port", port, "--model", self.model, "--config", self.config, "--data-dir", self.data,
                   "--offline", *self.flags, *flags]
        with log.open("w") as out:
            process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + 60
            while not kvasir_server.is_ready(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"the server did not start:\n{log.read_text()[-2000:]}")
                time.sleep(0.05)
            yield Server(process, port, log)
        finally:
            end(process)


def end(process):
    """Asks twice to stop, which cuts running answers off, and then makes sure."""
    for _ in range(2):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Server:
    def __init__(self, process, port, log):
        self.process = process
        self.port = port
        self.log = log

    def slo(self):
        """What the server says that it aims at."""
        found = re.search(r" slo .*?ttft_ms=([\d.]+) tpot_ms=([\d.]+)", self.log.read_text())
        if not found:
            raise RuntimeError("the server's log has no line 'slo'")
        return Slo(float(found[1]) / 1000, float(found[2]) / 1000)

    def rss_mb(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0.0

    async def watch_rss(self, samples, begin):
        """Appends (seconds since `begin`, MiB) four times a second until cancelled."""
        while True:
            samples.append((time.monotonic() - begin, self.rss_mb()))
            await asyncio.sleep(0.25)
