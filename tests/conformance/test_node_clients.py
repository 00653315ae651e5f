"""Runs the .mjs tests with the Node of the tests' own environment."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent


@pytest.mark.parametrize("name, num_tests", [("openai.mjs", 6), ("tools.mjs", 5), ("anthropic.mjs", 7), ("responses.mjs", 5)])
def test_clients_from_npm(server, tmp_path, name, num_tests):
    bin_dir = pathlib.Path(sys.executable).parent
    script = shutil.copy(HERE / name, tmp_path)  # beside a node_modules that npm filled
    (tmp_path / "node_modules").symlink_to(bin_dir.parent / "npm/node_modules")
    run = subprocess.run(
        [bin_dir / "node", "--preserve-symlinks", "--test-reporter=spec", "--test", script],
        env={**os.environ, "KVASIR_URL": server.url},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"pass {num_tests}" in run.stdout, run.stdout
