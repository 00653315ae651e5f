"""Conversations outlive the server: what it acknowledged is there after kill -9."""

import json
import sqlite3
import subprocess
import threading

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from conftest import BIN, Server, free_port, lines_of, wait_until


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


def start(folder):
    return Server("smollm2", args=("--data-dir", str(folder))).wait_ready("smollm2")


@pytest.fixture(scope="module")
def server(folder):
    s = start(folder)
    yield s
    s.terminate()


def create(server, **fields):
    return httpx.post(f"{server.url}/v1/conversations", json={"model": "smollm2", **fields}).raise_for_status().json()


def say(server, conversation, text, **fields):
    url = f"{server.url}/v1/conversations/{conversation}/messages"
    return httpx.post(url, json={"content": text, "max_tokens": 8, "temperature": 0, **fields}, timeout=60)


def messages(server, conversation):
    url = f"{server.url}/v1/conversations/{conversation}/messages?limit=100"
    return httpx.get(url).raise_for_status().json()["data"]


def test_a_conversation_remembers(server):
    conversation = create(server, system_prompt="You are brief.", settings={"seed": 1})["id"]
    first = say(server, conversation, "My name is Ada. Hello!").raise_for_status().json()
    assert first["message"]["content"] == first["choices"][0]["message"]["content"]
    second = say(server, conversation, "What is my name?", max_tokens=20).raise_for_status().json()
    assert second["message"]["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    stored = messages(server, conversation)
    assert [m["role"] for m in stored] == ["user", "assistant", "user", "assistant"]
    assert stored[-1]["content"] == second["choices"][0]["message"]["content"]
    assert stored[-1]["timings"]["total_ms"] >= stored[-1]["timings"]["first_token_ms"] > 0
    title = httpx.get(f"{server.url}/v1/conversations/{conversation}").json()["title"]
    assert title == "My name is Ada. Hello!"


def test_openai_python_streams_a_turn(server):
    """The stream of a turn is a chat completion's: OpenAI's own client reads it."""
    conversation = create(server)["id"]
    client = server.client()
    assert client.conversations.retrieve(conversation).id == conversation
    chunks = client.post(
        f"/conversations/{conversation}/messages",
        body={"content": "Say hi.", "stream": True, "max_tokens": 8},
        cast_to=ChatCompletionChunk,
        stream=True,
        stream_cls=openai.Stream[ChatCompletionChunk],
    )
    text, last = "", None
    for last in chunks:
        text += "".join(choice.delta.content or "" for choice in last.choices)
    assert text and last.model_extra["message"]["content"] == text
    assert client.conversations.update(conversation, metadata={"a": "b"}).metadata == {"a": "b"}
    assert client.conversations.delete(conversation).deleted


def test_kill_in_the_middle_of_writes_and_of_a_stream(folder):
    server = start(folder)
    acknowledged = {}
    stop = threading.Event()

    def write(number):
        conversation = create(server)["id"]
        acknowledged[conversation] = []
        while not stop.is_set():
            text = f"message {number} {len(acknowledged[conversation])}"
            try:
                answer = say(server, conversation, text, generate=False)
            except httpx.HTTPError:
                return
            if answer.status_code == 200:
                acknowledged[conversation].append((answer.json()["data"][0]["id"], text))

    writers = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    for writer in writers:
        writer.start()
    streamed = create(server)["id"]
    seen = []

    def stream():
        body = {"content": "Count to a thousand.", "stream": True, "max_tokens": 4000, "ignore_eos": True}
        url = f"{server.url}/v1/conversations/{streamed}/messages"
        try:
            with httpx.stream("POST", url, json=body, timeout=60) as response:
                for line in lines_of(response):
                    if line.startswith("data: {"):
                        seen.append(json.loads(line[6:]))
        except httpx.HTTPError:
            pass

    reader = threading.Thread(target=stream)
    reader.start()
    path = f"/v1/conversations/{streamed}/messages"
    # The answer so far is stored every second.
    wait_until(lambda: any(m["content"] for m in json.loads(server.get(path)[1])["data"][1:]), 60, "a saved part")
    wait_until(lambda: sum(map(len, acknowledged.values())) > 100, 60, "many writes")
    server.process.kill()
    server.process.wait()
    stop.set()
    for thread in [*writers, reader]:
        thread.join()

    again = start(folder)
    try:
        for conversation, written in acknowledged.items():
            path = f"/v1/conversations/{conversation}/messages?limit=100"
            stored, after = [], ""
            while True:
                page = json.loads(again.get(path + after)[1])
                stored += [(m["id"], m["content"]) for m in page["data"]]
                if not page["has_more"]:
                    break
                after = "&after=" + page["last_id"]
            assert stored[: len(written)] == written
            assert len(stored) <= len(written) + 1  # one write may have happened without being acknowledged
        user, answer = messages(again, streamed)
        assert user["content"] == "Count to a thousand."
        assert (answer["status"], answer["finish_reason"]) == ("incomplete", "interrupted")
        text = "".join(e["choices"][0]["delta"].get("content") or "" for e in seen if e["choices"])
        assert answer["content"] and text.startswith(answer["content"])
        assert say(again, streamed, "Go on.").status_code == 200
    finally:
        again.terminate()


def test_two_servers_share_a_folder(folder, server):
    second = start(folder)
    try:
        conversation = create(server)["id"]
        assert say(second, conversation, "Hello").status_code == 200
        assert len(messages(server, conversation)) == 2
    finally:
        second.terminate()


@pytest.mark.parametrize("kind", ["garbage", "foreign"])
def test_a_wrong_file_is_named_at_the_start(tmp_path, kind):
    file = tmp_path / "kvasir.db"
    if kind == "garbage":
        file.write_bytes(b"not a database" * 1000)
    else:
        with sqlite3.connect(file) as database:
            database.execute("CREATE TABLE theirs (a)")
    command = [BIN, "serve", "--port", str(free_port()), "--model", "smollm2", "--data-dir", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert ended.returncode == 1
    assert "kvasir.db" in ended.stderr and "--data-dir" in ended.stderr
