"""The coding agents themselves, as npm has them, work with the server: they read and edit a file through their own tools.
The model is a tiny one of random weights with a large context, and a proxy decides what it calls."""

import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from conftest import ROOT, Server  # noqa: E402
from forcing_proxy import ForcingProxy  # noqa: E402
from tiny_model import write_tokenizer, write_weights  # noqa: E402

WINDOW = 128 * 1024
AGENTS = ROOT / "build/test-agents/node_modules/.bin"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny"
    folder.mkdir()
    write_weights(folder, WINDOW)
    write_tokenizer(folder)
    server = Server(folder, args=["--max-context", str(WINDOW), "--kv-memory-mb", "512"])
    try:
        yield server.wait_ready("tiny")
    finally:
        server.terminate()


@pytest.fixture
def work(tmp_path):
    """A project with one file, and a home without settings of anybody."""
    (tmp_path / "home").mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes.txt").write_text("an old line\n")
    return project


def run_agent(work, command, **variables):
    bin_dir = pathlib.Path(sys.executable).parent
    env = {"PATH": f"{bin_dir}:{os.environ['PATH']}", "HOME": str(work.parent / "home"), **variables}
    run = subprocess.run(command, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.timeout(300)
def test_codex_edits_a_file(tiny, work):
    mend = ("exec_command", {"cmd": "cat notes.txt && sed -i s/old/new/ notes.txt"})
    proxy = ForcingProxy(tiny, [mend, mend])  # the second time there is nothing left to mend
    home = work.parent / "home/.codex"
    home.mkdir()
    (home / "config.toml").write_text(
        'model = "tiny"\nmodel_provider = "kvasir"\n'
        f'[model_providers.kvasir]\nname = "Kvasir"\nbase_url = "{proxy.url}/v1"\nwire_api = "responses"\n'
    )
    try:
        run_agent(
            work, [AGENTS / "codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Mend it."],
            CODEX_HOME=str(home),
        )
    finally:
        proxy.close()
    assert (work / "notes.txt").read_text() == "an new line\n"
    first, second, _ = proxy.requests
    kinds = {tool["type"] for tool in first["tools"]}
    assert {"function", "namespace", "web_search"} <= kinds  # what Codex really sends
    outputs = [item["output"] for item in second["input"] if item["type"] == "function_call_output"]
    assert len(outputs) == 1 and "an old line" in str(outputs[0])
    assert [events[-1]["type"] for events in proxy.answers] == ["response.completed"] * 3
    assert any("web_search" in warning for warning in proxy.answers[0][-1]["response"]["warnings"])
    usage = proxy.answers[1][-1]["response"]["usage"]
    assert usage["input_tokens_details"]["cached_tokens"] > 0.9 * usage["input_tokens"]


@pytest.mark.timeout(300)
def test_claude_code_edits_a_file(tiny, work):
    path = str(work / "notes.txt")
    proxy = ForcingProxy(tiny, [
        ("Read", {"file_path": path}),
        ("Edit", {"file_path": path, "old_string": "old", "new_string": "new"}),
    ])
    try:
        said = run_agent(
            work, [AGENTS / "claude", "-p", "--model", "tiny", "--permission-mode", "acceptEdits", "Mend it."],
            ANTHROPIC_BASE_URL=proxy.url, ANTHROPIC_AUTH_TOKEN="none", DISABLE_AUTOUPDATER="1",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        )
    finally:
        proxy.close()
    assert (work / "notes.txt").read_text() == "an new line\n"
    assert "done" in said
    first = proxy.requests[0]
    assert first["output_config"]["effort"] and first["context_management"]  # what Claude Code really sends
    ends = [next(e for e in events if e["type"] == "message_delta") for events in proxy.answers]
    assert [end["delta"]["stop_reason"] for end in ends] == ["tool_use", "tool_use", "end_turn"]
    prompts = [end["usage"]["input_tokens"] + end["usage"]["cache_read_input_tokens"] for end in ends]
    assert prompts[0] > 18_000
    assert ends[1]["usage"]["cache_read_input_tokens"] > 0.9 * prompts[1]
