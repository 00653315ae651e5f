"""What the command line says about typing mistakes, and how it ends."""

import os
import pathlib
import signal
import socket
import subprocess
import urllib.request

import pytest

from conftest import BIN, free_port, wait_until


def kvasir(*args, **options):
    return subprocess.run([BIN, *map(str, args)], capture_output=True, text=True, timeout=60, **options)


@pytest.mark.parametrize(
    "args, said",
    [
        (["nonsense"], "there is no command 'nonsense'"),
        (["check", "nonsense"], "there is no command 'check nonsense'"),
        (["help", "nonsense"], "there is no command 'nonsense'"),
        (["serve", "--prot", "1"], "there is no flag --prot; did you mean --port?"),
        (["serve", "--prot=1"], "did you mean --port?"),
        (["serve", "--utterly-unknown"], "there is no flag --utterly-unknown\n"),
        (["serve", "--offline=maybe"], "--offline: expected true or false, and got 'maybe'"),
        (["settings", "--prefix-cache=maybe"], "--prefix-cache: expected true or false"),
        (["chat", "--url", "foo"], "--url: 'foo' is not an address"),
    ],
)
def test_wrong_usage(args, said):
    run = kvasir(*args)
    assert run.returncode == 2, run.stderr
    assert said in run.stderr


def test_help_is_a_command():
    assert kvasir("help").stdout == kvasir("--help").stdout
    run = kvasir("help", "serve")
    assert run.returncode == 0
    assert run.stdout == kvasir("serve", "--help").stdout and "--port" in run.stdout
    assert kvasir("help", "check", "chat").stdout == kvasir("check", "chat", "--help").stdout


def test_models_that_are_not_for_serving():
    lines = {line.split()[0]: line for line in kvasir("models").stdout.splitlines()}
    assert "not served" in lines["stories15m"] and "llama2.c" in lines["stories15m"]
    assert "not served" not in lines["minilm"]
    assert "not served" not in lines["smollm2"]
    run = kvasir("serve", "--port", 0, "--model", "stories15m")
    assert run.returncode == 1 and "'stories15m' cannot be served" in run.stderr and "llama2.c" in run.stderr


def test_a_folder_without_its_dot(tmp_path):
    (tmp_path / "emptydir").mkdir()
    run = kvasir("serve", "--port", 0, "--model", "emptydir", cwd=tmp_path)
    assert run.returncode == 1 and "./emptydir" in run.stderr


def test_a_port_that_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        run = kvasir("serve", "--port", taken.getsockname()[1], "--model", "smollm2")
    assert run.returncode == 1 and "choose another with --port" in run.stderr


def test_serve_ends_when_no_model_could_be_loaded(tmp_path):
    (tmp_path / "bad.gguf").write_bytes(b"GGUF and nothing else")
    (tmp_path / "worse.gguf").write_bytes(b"what is this")
    run = kvasir("serve", "--port", free_port(), "--model", tmp_path / "bad.gguf", "--model", tmp_path / "worse.gguf")
    assert run.returncode == 1
    assert "bad: failed: " in run.stderr and "worse: failed: " in run.stderr
    assert run.stderr.splitlines()[-1] == "kvasir: no model could be loaded; there is nothing to serve"


def test_offline_does_not_speak_of_downloading(tmp_path):
    run = kvasir("serve", "--port", 0, "--offline", "--model", "smollm2", "--model-dir", tmp_path)
    assert run.returncode == 1
    assert "downloading" not in run.stdout + run.stderr


def test_a_bad_model_beside_a_good_one(small_server, tmp_path):
    bad = pathlib.Path(tmp_path / "bad.gguf")
    bad.write_bytes(b"what is this")
    server = small_server("--model", str(bad), "--max-context", "100000", "--log-level", "debug")
    assert server.get("/health/live")[0] == 200
    assert "instead of 100000" in server.output()
    answer = server.client().chat.completions.create(
        model="smollm2", messages=[{"role": "user", "content": "What is 2+2?"}], temperature=0, max_tokens=5
    )
    assert server.terminate() == 0
    line = next(line for line in server.log if " request id=" in line and "chat/completions" in line)
    assert "status=200" in line and f"output_tokens={answer.usage.completion_tokens}" in line


def test_nobody_reads_what_serve_says(tmp_path):
    """A closed pipe, as in `kvasir serve | head -1`, loses the output but not the server."""
    bad = pathlib.Path(tmp_path / "bad.gguf")
    bad.write_bytes(b"what is this")
    port = free_port()
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        [BIN, "serve", "--port", str(port), "--model", "smollm2", "--model", bad, "--log-level", "debug"],
        stdout=writer,
        stderr=writer,
    )
    os.close(writer)

    def ready():
        assert process.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=10) as answer:
                return answer.status == 200
        except OSError:
            return False

    try:
        wait_until(ready, 60, "ready")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
