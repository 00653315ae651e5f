"""A damaged checkpoint gives an error with its reason; nothing crashes, and other models go on."""

import json
import pathlib
import subprocess

import pytest

from conftest import BIN, Server, wait_until

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


@pytest.fixture(scope="module")
def gguf():
    listed = json.loads(subprocess.run([BIN, "models", "--json"], capture_output=True, text=True, check=True).stdout)
    path = next(m["path"] for m in listed if m["name"] == "smollm2")
    return pathlib.Path(path).read_bytes()


def failure(path):
    run = subprocess.run([BIN, "check", "model", path], capture_output=True, text=True, timeout=60)
    assert run.returncode in (1, 2), (run.returncode, run.stdout, run.stderr)
    return run.stdout + run.stderr


def damaged_llama(tmp_path, damage):
    for file in (GOLDEN / "models/llama").iterdir():
        data = file.read_bytes()
        (tmp_path / file.name).write_bytes(damage(data) if file.name == "model.safetensors" else data)
    return failure(tmp_path)


def test_truncated_safetensors(tmp_path):
    message = damaged_llama(tmp_path, lambda data: data[: len(data) // 2])
    assert "model.safetensors" in message and ("beyond" in message or "truncated" in message or "end" in message)


def test_safetensors_with_a_lying_header(tmp_path):
    assert "model.safetensors" in damaged_llama(tmp_path, lambda data: b"\xff" * 8 + data[8:])


@pytest.mark.parametrize("kind", ["truncated", "magic", "count", "empty"])
def test_corrupted_gguf_beside_a_good_model(tmp_path, gguf, kind):
    damaged = {
        "truncated": gguf[: len(gguf) // 2],
        "magic": b"XXXX" + gguf[4:],
        "count": gguf[:8] + b"\xff" * 7 + b"\x7f" + gguf[16:],
        "empty": b"",
    }[kind]
    path = tmp_path / "bad.gguf"
    path.write_bytes(damaged)
    server = Server("smollm2", path)
    try:
        server.wait_ready("smollm2")
        wait_until(lambda: "failed" in server.get("/health/ready")[1], 30, "the failure")
        assert "bad.gguf" in server.get("/health/ready")[1]
        answer = server.client().completions.create(model="smollm2", prompt="1, 2, 3,", max_tokens=4, temperature=0)
        assert "4" in answer.choices[0].text
    finally:
        assert server.terminate() == 0
