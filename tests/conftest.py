"""Starts the real binary for the tests. `KVASIR_BIN` names it; models come from `kvasir pull`."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import openai
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = os.environ.get("KVASIR_BIN", str(ROOT / "build/release/bin/kvasir"))
DATA = tempfile.TemporaryDirectory(prefix="kvasir-tests-")  # for servers that have no data folder of their own


def wait_until(condition, timeout_s=60, what="condition"):
    """Polls until condition() is true, and returns its last value."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not become true within {timeout_s} s")
        threading.Event().wait(0.02)


def lines_of(response):
    """The lines of a streamed httpx answer. httpx's own iter_lines also cuts at line separators inside of a text, which a
    model with random weights does write."""
    rest = b""
    for piece in response.iter_bytes():
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line.decode() for line in lines)
    if rest:
        yield rest.decode()


def model_dir():
    """Where the models are that `kvasir pull` has fetched."""
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(os.environ.get("KVASIR_MODEL_DIR", pathlib.Path(cache) / "kvasir/models"))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A running `kvasir serve`."""

    def __init__(self, *models, args=()):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = [BIN, "serve", "--port", str(self.port)]
        for model in models:
            command += ["--model", str(model)]
        self.log = []
        self.process = subprocess.Popen(
            command + list(args), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env={"KVASIR_DATA_DIR": DATA.name, **os.environ},
        )
        threading.Thread(target=self._read_log, daemon=True).start()

    def _read_log(self):
        for line in self.process.stdout:
            self.log.append(line)

    def output(self):
        return "".join(self.log)

    def get(self, path):
        """(status, body) of a GET."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=30) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def wait_ready(self, *models):
        def ready():
            assert self.process.poll() is None, "the server ended:\n" + self.output()
            status, body = self.get("/v1/models")
            if status != 200:
                return False
            listed = {m["id"]: m for m in json.loads(body)["data"]}
            return all(m in listed and listed[m].get("ready") for m in models)

        wait_until(ready, 120, f"ready: {models}\n{self.output()}")
        return self

    def metrics(self):
        """{'name{labels}': value} of /metrics."""
        status, body = self.get("/metrics")
        assert status == 200, body
        rows = (line.rsplit(" ", 1) for line in body.splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, value in rows}

    def metric(self, name, **labels):
        """The sum of a metric's rows that carry these labels."""
        rows = [
            value
            for key, value in self.metrics().items()
            if key.split("{")[0] == name and all(f'{k}="{v}"' in key for k, v in labels.items())
        ]
        assert rows, f"no metric {name} {labels}"
        return sum(rows)

    def client(self, **options):
        return openai.OpenAI(base_url=self.url + "/v1", api_key="none", max_retries=0, **options)

    def terminate(self, timeout_s=60):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("the server did not end after SIGTERM:\n" + self.output())


def run_node(server, tmp_path, name, num_tests, modules=None):
    """Runs an .mjs file of tests/conformance with the Node of the tests' environment, and with its packages or others."""
    bin_dir = pathlib.Path(sys.executable).parent
    script = shutil.copy(ROOT / "tests/conformance" / name, tmp_path)  # beside npm's node_modules
    (tmp_path / "node_modules").symlink_to(modules or bin_dir.parent / "npm/node_modules")
    run = subprocess.run(
        [bin_dir / "node", "--preserve-symlinks", "--test-reporter=spec", "--test", script],
        env={**os.environ, "KVASIR_URL": server.url},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"pass {num_tests}" in run.stdout, run.stdout


@pytest.fixture(scope="session")
def server():
    """Both default models."""
    s = Server("smollm2", "qwen2.5-coder")
    try:
        yield s.wait_ready("smollm2", "qwen2.5-coder")
    finally:
        s.terminate()


@pytest.fixture
def small_server():
    """Starts servers of SmolLM2 with given flags; ends them after the test."""
    started = []

    def start(*args):
        s = Server("smollm2", args=args)
        started.append(s)
        return s.wait_ready("smollm2")

    yield start
    for s in started:
        s.process.kill() if s.process.poll() is None else None
        s.process.wait()


@pytest.fixture
def client(server):
    return server.client()
