"""The page for browsers, in headless Chromium."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

import pytest

from conftest import BIN, ROOT, Server, free_port, model_dir, wait_until
from fleet_processes import Process

HERE = pathlib.Path(__file__).parent
sys.path.append(str(ROOT / "tests/e2e"))
import tiny_model  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def tools():
    """playwright-core and axe, beside the page's sources."""
    subprocess.run([ROOT / "scripts/web.sh", "tools"], check=True)


def run_browser(url, name, num_tests, **environment):
    node = pathlib.Path(sys.executable).parent / "node"
    run = subprocess.run([node, "--test", "--test-reporter=spec", HERE / name], capture_output=True, text=True, timeout=280,
                         env={**os.environ, "KVASIR_URL": url, **environment})
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"pass {num_tests}" in run.stdout, run.stdout


def test_chat(small_server):
    server = small_server()
    run_browser(server.url, "chat.test.mjs", 8)
    run_browser(server.url, "cut.test.mjs", 2)


def test_machine_and_playground(small_server, tmp_path):
    (tmp_path / "sprout").mkdir()
    tiny_model.write_weights(tmp_path / "sprout", 512)
    tiny_model.write_tokenizer(tmp_path / "sprout")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF and nothing more")
    (tmp_path / "smollm2").symlink_to(model_dir() / "smollm2")
    run_browser(small_server("--model-dir", str(tmp_path)).url, "machine.test.mjs", 4)


def test_a_model_that_is_not_there(tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF and nothing more")
    server = Server("smollm2", broken)
    try:
        run_browser(server.wait_ready("smollm2").url, "states.test.mjs", 1)
    finally:
        server.terminate()


def test_a_fleet(tmp_path, monkeypatch):
    config = tmp_path / "kvasir.toml"
    config.write_text(f'[[upstream]]\nname = "far"\nlabel = "nobody"\nurl = "http://127.0.0.1:{free_port()}/v1"\n')
    monkeypatch.setenv("KVASIR_CONFIG", str(config))
    monkeypatch.setenv("KVASIR_KV_MEMORY_MB", "256")
    monkeypatch.setenv("KVASIR_ROUTE_POLICY", "round_robin")  # both workers get requests
    up = Process("up", "--workers", "2", "--port", port := free_port())
    try:
        wait_until(lambda: up.output().count("worker_joined") == 2 or up.process.poll() is not None, 120, "two workers")
        (worker,) = re.findall(r"worker1 is process (\d+)", up.output())
        run_browser(f"http://127.0.0.1:{port}", "fleet.test.mjs", 2, KVASIR_WORKER=worker)
    finally:
        assert up.end() == 0, up.output()


def test_keys(tmp_path):
    def kvasir(*words):
        return subprocess.run([BIN, *words, "--data-dir", tmp_path], capture_output=True, text=True, check=True).stdout

    def key(*words):
        return json.loads(kvasir("key", "create", "--json", "--tenant", "acme", *words))["key"]

    kvasir("tenant", "create", "acme", "--tier", "pro")
    tenant, admin = key(), key("--scope", "admin")
    settings = tmp_path / "kvasir.toml"
    settings.write_text('[[prices]]\nprompt = 100.0\ncompletion = 200.0\ncurrency = "USD"\n')
    server = Server("smollm2", args=["--data-dir", str(tmp_path), "--config", str(settings)])
    try:
        wait_until(lambda: server.get("/health/ready")[0] == 200, 120, "ready")
        run_browser(server.url, "keys.test.mjs", 2, KVASIR_TENANT_KEY=tenant, KVASIR_ADMIN_KEY=admin)
        run_browser(server.url, "tenants.test.mjs", 2, KVASIR_ADMIN_KEY=admin)
    finally:
        server.terminate()


def test_the_first_keys(small_server, tmp_path):
    server = small_server("--data-dir", str(tmp_path))
    run_browser(server.url, "first_keys.test.mjs", 1, KVASIR_BIN=str(BIN), KVASIR_DATA=str(tmp_path))


def test_a_small_context(small_server, tmp_path):
    server = small_server("--max-context", "384", "--data-dir", str(tmp_path))
    run_browser(server.url, "context.test.mjs", 1)


def cpu_seconds(pid):
    """What the process has taken of the processor, in user and kernel."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_watching_costs_little(small_server):
    """Under 1 % of a core for a watcher of a server that has nothing to do, over ten looks."""
    server = small_server()
    with urllib.request.urlopen(server.url + "/v1/machine/events", timeout=30) as events:
        def next_look():
            while not events.readline().startswith(b"event: look"):
                pass

        next_look()
        started, cpu = time.monotonic(), cpu_seconds(server.process.pid)
        for _ in range(10):
            next_look()
        share = (cpu_seconds(server.process.pid) - cpu) / (time.monotonic() - started)
    assert share < 0.01 + 0.01, share  # the kernel's clock ticks ten times in that time
