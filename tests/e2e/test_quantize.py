"""`kvasir quantize` as its user sees it."""

import pathlib
import subprocess

from conftest import BIN

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


def run(*args):
    return subprocess.run([BIN, *args], capture_output=True, text=True, timeout=200)


def test_a_quantised_model_still_agrees_with_the_reference(tmp_path):
    source = run("pull", "smollm2").stdout.strip()
    small = tmp_path / "small.gguf"
    done = run("quantize", source, str(small), "--type", "q8_0")
    assert done.returncode == 0, done.stderr
    assert str(small) in done.stdout and "MB" in done.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["small.gguf"]
    check = run("check", "chat", str(small), str(GOLDEN / "real/smollm2.json"))
    assert check.returncode == 0, check.stdout + check.stderr


def test_errors_name_the_file_or_the_flag_and_leave_nothing(tmp_path):
    out = tmp_path / "out.gguf"
    missing = run("quantize", str(tmp_path / "none.gguf"), str(out))
    assert missing.returncode == 1 and "none.gguf" in missing.stderr
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF" + b"\xff" * 100)
    refused = run("quantize", str(damaged), str(out))
    assert refused.returncode == 1 and "damaged.gguf" in refused.stderr
    wrong = run("quantize", str(damaged), str(out), "--type", "q3_7")
    assert wrong.returncode == 2 and "--type" in wrong.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["damaged.gguf"]
