"""The page as a newcomer finds it: two models were named, and the larger one is still on its way."""

import hashlib
import pathlib
import subprocess
import sys
import threading

import pytest

from conftest import BIN, ROOT, Server, wait_until
from test_web import run_browser, tools  # noqa: F401

sys.path.insert(0, str(ROOT / "tests/e2e"))
from test_pull import Hub  # noqa: E402

PART = 0.4  # of the larger model's file, which is there before the rest may follow


@pytest.fixture
def small_file():
    """The file of the small model. The larger one is the same under another name: how it answers is not asked here."""
    printed = subprocess.run([BIN, "pull", "smollm2"], capture_output=True, text=True, check=True).stdout
    return pathlib.Path(printed.strip().splitlines()[-1])


def slow(content, release):
    """Sends a part of a file, and the rest once `release` is there."""
    def behave(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        cut = int(len(content) * PART)
        handler.wfile.write(content[:cut])
        handler.wfile.flush()
        while not release.exists():
            threading.Event().wait(0.05)
        handler.wfile.write(content[cut:])

    return behave


@pytest.fixture
def hub_with_a_slow_model(tmp_path, monkeypatch, small_file):
    """Where the model `larger` comes from; its file of the name `release` lets it come in."""
    content, release = small_file.read_bytes(), tmp_path / "release"
    hub = Hub(tmp_path)
    hub.behave = slow(content, release)
    (tmp_path / "config/kvasir").mkdir(parents=True)
    (tmp_path / "config/kvasir/models.toml").write_text(f"""
[[model]]
name = "larger"
title = "A larger one"
description = "The same under another name"
licence = "Apache-2.0"
[[model.file]]
path = "larger.gguf"
size = {len(content)}
sha256 = "{hashlib.sha256(content).hexdigest()}"
sources = ["hf:org/repo:larger.gguf"]
""")
    (tmp_path / "models").mkdir()
    (tmp_path / "models/smollm2").symlink_to(small_file.parent)
    for name, value in (("XDG_CONFIG_HOME", tmp_path / "config"), ("KVASIR_MODEL_DIR", tmp_path / "models"),
                        ("KVASIR_HF_ENDPOINT", f"https://localhost:{hub.port}"), ("SSL_CERT_FILE", hub.ca)):
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("KVASIR_OFFLINE", raising=False)
    yield release
    release.touch()
    hub.close()


def test_a_newcomer(tmp_path, hub_with_a_slow_model):
    release = hub_with_a_slow_model
    server = Server("smollm2", "larger", args=["--data-dir", str(tmp_path / "data")])
    try:
        run_browser(server.wait_ready("smollm2").url, "newcomer.test.mjs", 1, KVASIR_RELEASE=str(release))
    finally:
        release.touch()
        server.terminate()


def test_somebody_who_cannot_wait(tmp_path, hub_with_a_slow_model):
    release = hub_with_a_slow_model
    server = Server("larger", args=["--data-dir", str(tmp_path / "data")])
    try:
        wait_until(lambda: server.get("/v1/models")[0] == 200, 60, "listening")
        run_browser(server.url, "impatient.test.mjs", 1, KVASIR_RELEASE=str(release))
    finally:
        release.touch()
        server.terminate()
