"""`kvasir bench engine` on a tiny random model."""

import json
import subprocess

import pytest

from conftest import BIN


def run(*args):
    return subprocess.run([BIN, "bench", "engine", *args], capture_output=True, text=True, timeout=120)


def test_measures_the_machine_and_a_random_model(tmp_path):
    kept = tmp_path / "tiny.gguf"
    done = run(
        "--random", "tiny", "--type", "Q4_0", "--prompt", "16,64", "--gen", "4", "--batch", "1,2", "--depth", "32",
        "--threads", "2", "--write", str(kept), "--json",
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    machine = report["machine"]
    assert machine["threads"] == 2
    assert machine["read_bytes_per_s"] > 1e8
    assert {"f32", "int8"} <= {peak["arithmetic"] for peak in machine["peaks"]}
    assert all(peak["ops_per_s"] > 1e8 for peak in machine["peaks"])
    assert [p["tokens"] for p in report["prefill"]] == [16, 64]
    assert [d["batch"] for d in report["decode"]] == [1, 2]
    for d in report["decode"]:
        assert d["tokens_per_s"] > 0 and 0 < d["peak_share"] < 1
        assert d["outside_us"] == pytest.approx(d["sampling_us"] + d["rest_us"])
        assert d["bandwidth_share"] == pytest.approx(d["bytes_per_s"] / machine["read_bytes_per_s"])
    # The file that the benchmark wrote is an ordinary model.
    again = run("--model", str(kept), "--prompt", "16", "--gen", "2", "--batch", "1")
    assert again.returncode == 0, again.stderr
    assert "tokens/s" in again.stdout and "read bandwidth" in again.stdout


@pytest.mark.parametrize(
    "args, words",
    [
        ([], "--model or --random"),
        (["--random", "gpt-5"], "--random"),
        (["--random", "tiny", "--type", "Q9"], "--type"),
        (["--random", "smollm2-135m", "--type", "Q4_K"], "--type"),
        (["--random", "tiny", "--batch", "0"], "--batch"),
    ],
)
def test_wrong_usage_names_the_flag(args, words):
    done = run(*args)
    assert done.returncode == 2
    assert words in done.stderr
