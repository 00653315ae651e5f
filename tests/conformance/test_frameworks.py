"""Frameworks whose packages want other versions than the rest of the tests: they have an environment of their own
(scripts/test_clients.sh). A pytest in it runs each file of Python's."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import ROOT, run_node

HOME = ROOT / "build/test-frameworks"


@pytest.mark.parametrize("name, num_tests", [("langchain_calls.py", 5), ("llama_index_calls.py", 4)])
def test_chains_and_agents(server, tmp_path, name, num_tests):
    run_pytest(server, tmp_path, name, num_tests)


def test_lm_eval(small_server, tmp_path):
    run_pytest(small_server(), tmp_path, "lm_eval_calls.py", 2)  # its remote tokenizer names no model


def test_continue(server, tmp_path):
    run_node(server, tmp_path, "continue.mjs", 5, HOME / "npm/node_modules")


def run_pytest(server, tmp_path, name, num_tests):
    script = shutil.copy(pathlib.Path(__file__).parent / name, tmp_path / f"test_{name}")
    env = {**os.environ, "KVASIR_URL": server.url, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf"), "OPENAI_API_KEY": "none"}
    command = [HOME / "bin/python", "-m", "pytest", "-q", "--rootdir", tmp_path, "-p", "no:cacheprovider", script]
    run = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(rf"\b{num_tests} passed", run.stdout), run.stdout
