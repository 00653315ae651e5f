"""An engine whose device fails: answers end with an error, and the server comes back by itself."""

import json
import threading

import httpx
import pytest

from conftest import Server, lines_of, wait_until


@pytest.fixture
def failing_server(tmp_path):
    """Starts servers whose engine fails at a step; ends them after the test."""
    started = []

    def start(step, *args):
        s = Server("smollm2", args=("--data-dir", str(tmp_path), "--fail-at-step", str(step), *args))
        started.append(s)
        return s.wait_ready("smollm2")

    yield start
    for s in started:
        s.process.kill() if s.process.poll() is None else None
        s.process.wait()


def ask(server, max_tokens, **fields):
    body = {"model": "smollm2", "prompt": "Once", "max_tokens": max_tokens, "ignore_eos": True, **fields}
    return httpx.post(f"{server.url}/v1/completions", json=body, timeout=60)


def restarts(server):
    try:
        return server.metric("kvasir_restarts_total")
    except AssertionError:
        return -1  # nothing listens at the moment


def test_answers_end_with_an_error_and_the_server_comes_back(failing_server):
    server = failing_server(150)
    conversation = httpx.post(f"{server.url}/v1/conversations", json={"model": "smollm2"}).json()["id"]
    url = f"{server.url}/v1/conversations/{conversation}/messages"
    httpx.post(url, json={"content": "Remember me.", "generate": False}).raise_for_status()
    other = []
    body = {"model": "smollm2", "prompt": "Once", "max_tokens": 4000, "ignore_eos": True, "stream": True}
    with httpx.stream("POST", f"{server.url}/v1/completions", json=body, timeout=60) as response:
        lines = (line for line in lines_of(response) if line.startswith("data: "))
        events = [next(lines)]
        asking = threading.Thread(target=lambda: other.append(ask(server, 4000)))
        asking.start()
        events += lines
    asking.join()
    error = json.loads(events[-1][6:])["error"]
    assert error["code"] == "engine_failed" and error["type"] == "server_error"
    assert len(events) > 50
    (refused,) = other
    assert refused.status_code == 503 and int(refused.headers["Retry-After"]) >= 1
    assert refused.json()["error"]["code"] == "engine_failed"
    server.wait_ready("smollm2")
    assert restarts(server) == 1
    stored = httpx.get(url).json()["data"]
    assert [message["content"] for message in stored] == ["Remember me."]
    assert ask(server, 5).json()["usage"]["completion_tokens"] == 5
    assert server.terminate() == 0


def test_a_batch_goes_on_behind_a_restart(failing_server):
    server = failing_server(20)
    assert ask(server, 14).status_code == 200
    client = server.client()
    lines = [
        {
            "custom_id": f"line-{i}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": "smollm2", "messages": [{"role": "user", "content": f"Say {i}"}], "max_tokens": 8},
        }
        for i in range(6)
    ]
    contents = "".join(json.dumps(line) + "\n" for line in lines).encode()
    file = client.files.create(file=("in.jsonl", contents), purpose="batch")
    batch = client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    )
    wait_until(lambda: restarts(server) >= 1, 15, "the restart, which waits for no line that waits for it")

    def completed():
        status, body = server.get(f"/v1/batches/{batch.id}")
        return status == 200 and json.loads(body)["status"] == "completed" and json.loads(body)

    assert wait_until(completed, 60, "the batch's end")["request_counts"] == {"total": 6, "completed": 6, "failed": 0}


def test_too_many_failures_end_it(failing_server):
    server = failing_server(2, "--max-restarts", "1")
    assert ask(server, 10).status_code == 503
    wait_until(lambda: restarts(server) == 1, 60, "the restart")
    server.wait_ready("smollm2")
    assert ask(server, 10).status_code == 503
    assert server.process.wait(30) == 1
    assert "after 1 restarts within 10 minutes" in server.output()
