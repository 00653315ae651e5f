"""The default models answer, and agree with the reference on its own tokens."""

import pathlib
import subprocess

import pytest

from conftest import BIN

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


def test_capital_of_france(client):
    answer = client.chat.completions.create(
        model="qwen2.5-coder",
        messages=[{"role": "user", "content": "What is the capital of France?"}],
        temperature=0,
        max_tokens=30,
    )
    assert "Paris" in answer.choices[0].message.content


def test_two_and_two(client):
    answer = client.chat.completions.create(
        model="smollm2", messages=[{"role": "user", "content": "What is 2+2?"}], temperature=0, max_tokens=30
    )
    assert "4" in answer.choices[0].message.content


@pytest.mark.parametrize("name", ["smollm2", "qwen2.5-coder"])
def test_check_chat(name):
    run = subprocess.run(
        [BIN, "check", "chat", name, GOLDEN / f"real/{name}.json"], capture_output=True, text=True, timeout=280
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_check_drift():
    """The fast kernels against float32, over prose and code."""
    run = subprocess.run(
        [BIN, "check", "drift", "smollm2", *sorted((GOLDEN / "real").glob("*.txt"))],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_check_model():
    cases = sorted((GOLDEN / "models").iterdir())
    assert {"llama", "llama_tied", "llama3_rope", "llama_yarn", "llama_bias_heads", "qwen2"} <= {c.name for c in cases}
    run = subprocess.run([BIN, "check", "model", *cases], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr


def test_check_model_sees_a_wrong_answer(tmp_path):
    """The check can fail: it sees the same weights with another rope base."""
    for file in (GOLDEN / "models/llama").iterdir():
        text = file.read_bytes()
        if file.name == "config.json":
            assert b"10000.0" in text
            text = text.replace(b"10000.0", b"11000.0")
        (tmp_path / file.name).write_bytes(text)
    run = subprocess.run([BIN, "check", "model", tmp_path], capture_output=True, text=True, timeout=120)
    assert run.returncode == 1, run.stdout + run.stderr


def test_cached_tokens_are_told_when_a_stop_string_ends_the_answer(client):
    ask = {
        "model": "smollm2",
        "messages": [{"role": "user", "content": "Tell me a long story about a dog and a boat. " * 8}],
        "temperature": 0,
        "max_tokens": 40,
        "extra_body": {"ignore_eos": True},
    }
    text = client.chat.completions.create(**ask).choices[0].message.content
    stop = text[20:26]
    answer = client.chat.completions.create(**ask, stop=stop)
    assert answer.choices[0].finish_reason == "stop"
    assert 0 < answer.usage.prompt_tokens_details.cached_tokens < answer.usage.prompt_tokens
    *_, last = client.chat.completions.create(**ask, stop=stop, stream=True, stream_options={"include_usage": True})
    assert last.usage == answer.usage


def test_a_tool_call_without_content(client):
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": 2}'}}
    answer = client.chat.completions.create(
        model="smollm2",
        messages=[
            {"role": "user", "content": "What is 2+2?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "4"},
        ],
        max_tokens=5,
    )
    assert answer.usage.completion_tokens > 0
