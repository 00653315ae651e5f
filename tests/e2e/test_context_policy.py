"""Chats that have outgrown a small context are refused, cut to a window, or summarized; the client is always told."""

import httpx
import pytest

from conftest import Server

CONTEXT = 384
MAX_TOKENS = 16


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    flags = ["--max-context", str(CONTEXT), "--data-dir", str(tmp_path_factory.mktemp("data"))]
    s = Server("smollm2", args=flags)
    try:
        yield s.wait_ready("smollm2")
    finally:
        s.terminate()


def chat(num_turns):
    """Turns of about 40 tokens; the last asks for the capital of France."""
    messages = [{"role": "system", "content": "You are brief."}]
    for i in range(num_turns - 1):
        text = f"I tell you fact number {i}: " + f"box {i} holds a red ball, a blue cup and a green book. " * 2
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "I see."}]
    return messages + [{"role": "user", "content": "What is the capital of France?"}]


def ask(server, messages, policy, **fields):
    body = {"model": "smollm2", "messages": messages, "context_policy": policy, "max_tokens": MAX_TOKENS, "temperature": 0}
    return httpx.post(f"{server.url}/v1/chat/completions", json={**body, **fields}, timeout=240)


def output_tokens(server):
    return server.metric("llm_tokens_total", model="smollm2", kind="output")


def test_without_a_policy_it_is_an_error(server):
    refused = ask(server, chat(20), "error")
    assert refused.status_code == 400 and refused.json()["error"]["code"] == "context_length_exceeded"


def test_a_window_keeps_the_system_prompt_and_the_last_turns(server):
    answer = ask(server, chat(20), "sliding_window").raise_for_status()
    context = answer.json()["context"]
    assert 20 > context["dropped_turns"] > 5 and context["dropped_messages"] == 2 * context["dropped_turns"]
    assert f"dropped_messages={context['dropped_messages']}" in answer.headers["x-kvasir-context"]
    assert answer.json()["usage"]["prompt_tokens"] + MAX_TOKENS <= CONTEXT
    # Messages that were left out do not influence the answer.
    messages = chat(20)
    kept = messages[:1] + messages[1 + context["dropped_messages"] :]
    same = ask(server, kept, "error").raise_for_status().json()
    assert same["choices"][0]["message"] == answer.json()["choices"][0]["message"]
    assert same["usage"]["prompt_tokens"] == answer.json()["usage"]["prompt_tokens"]


def test_a_summary_is_made_once_and_used_again(server):
    first = ask(server, chat(12), "summarize").raise_for_status().json()
    context = first["context"]
    assert context["summarized_turns"] > 2 and context["dropped_messages"] == 0 and context["summary"]
    assert first["usage"]["prompt_tokens"] + MAX_TOKENS <= CONTEXT
    before = output_tokens(server)
    again = ask(server, chat(12), "summarize").raise_for_status().json()
    assert again["context"]["summary"] == context["summary"]
    assert again["choices"][0]["message"] == first["choices"][0]["message"]
    assert output_tokens(server) - before <= MAX_TOKENS  # the summary was not written again


def test_a_stream_tells_it_too(server):
    answer = ask(server, chat(20), "sliding_window", stream=True).raise_for_status()
    assert "policy=sliding_window" in answer.headers["x-kvasir-context"]
    assert "dropped_turns" in answer.text and answer.text.rstrip().endswith("data: [DONE]")
