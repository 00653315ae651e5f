"""Frameworks whose packages want other versions than the rest of the tests: they have an environment of their own
(scripts/test_clients.sh), and a pytest in it runs each file."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import ROOT

PYTHON = ROOT / "build/test-frameworks/bin/python"
FILES = [("langchain_calls.py", 5), ("llama_index_calls.py", 4), ("lm_eval_calls.py", 2)]


@pytest.mark.parametrize("name, num_tests", FILES)
def test_frameworks_from_pypi(server, tmp_path, name, num_tests):
    script = shutil.copy(pathlib.Path(__file__).parent / name, tmp_path / f"test_{name}")
    env = {**os.environ, "KVASIR_URL": server.url, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf"), "OPENAI_API_KEY": "none"}
    command = [PYTHON, "-m", "pytest", "-q", "--rootdir", tmp_path, "-p", "no:cacheprovider", script]
    run = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(rf"\b{num_tests} passed", run.stdout), run.stdout
