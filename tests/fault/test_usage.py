"""Usage is counted exactly once: through kill -9, a drain that cuts streams off, and a client that leaves."""

import itertools
import json
import pathlib
import random
import sys
import threading

import httpx
import pytest

from conftest import Server, wait_until

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from tiny_model import write_tokenizer, write_weights  # noqa: E402

NUM_CLIENTS = 6
PRICES = '[[prices]]\nprompt = 0.5\ncompletion = 1.5\ncurrency = "EUR"\n'


@pytest.fixture
def start(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    write_weights(folder, 8192)
    write_tokenizer(folder)
    (tmp_path / "kvasir.toml").write_text(PRICES)
    started = []

    def one(*args):
        s = Server(folder, args=("--data-dir", str(tmp_path / "data"), "--config", str(tmp_path / "kvasir.toml"), *args))
        started.append(s)
        return s.wait_ready("tiny")

    yield one
    for s in started:
        if s.process.poll() is None:
            s.process.kill()
        s.process.wait()


def totals(server):
    status, body = server.get("/v1/usage")
    assert status == 200, body
    rows = json.loads(body)["data"]
    assert len(rows) <= 1, "one currency"
    return rows[0] if rows else {"requests": 0, "prompt_tokens": 0, "completion_tokens": 0, "cost_nano": 0}


def ask(server, length, stream, max_tokens=3):
    """True: the client saw the end. The prompt has one token a letter."""
    body = {"model": "tiny", "prompt": "a" * length, "max_tokens": max_tokens, "ignore_eos": True, "stream": stream}
    try:
        with httpx.stream("POST", f"{server.url}/v1/completions", json=body, timeout=60) as response:
            text = response.read().decode()
    except httpx.HTTPError:
        return False
    if stream:
        return text.endswith("data: [DONE]\n\n")
    return response.status_code == 200 and json.loads(text)["usage"]["prompt_tokens"] == length


def test_kill_at_any_point_counts_every_end_that_a_client_saw_once(start):
    rng = random.Random(11)
    server = start()
    before = totals(server)
    lengths = rng.sample(range(20, 8000), 4000)  # so that sums tell which requests were counted
    for _ in range(6):
        seen, unseen = [], []
        stop = threading.Event()

        def work(server=server, seen=seen, unseen=unseen, stop=stop):
            while not stop.is_set():
                length = lengths.pop()
                ended = ask(server, length, stream=length % 2 == 0)
                (seen if ended else unseen).append(length)
                if not ended:
                    return

        clients = [threading.Thread(target=work) for _ in range(NUM_CLIENTS)]
        for client in clients:
            client.start()
        enough = rng.randint(1, 80)
        wait_until(lambda: len(seen) >= enough, 120, "answers")
        server.process.kill()
        stop.set()
        for client in clients:
            client.join()
        server.process.wait()
        possible = {
            (len(seen) + len(more), sum(seen) + sum(more))
            for n in range(len(unseen) + 1)
            for more in itertools.combinations(unseen, n)
        }
        server = start()

        def counted(server=server, before=before):
            now = totals(server)
            return now["requests"] - before["requests"], now["prompt_tokens"] - before["prompt_tokens"]

        wait_until(lambda: counted() in possible, 20, f"totals of {len(seen)} ends and some of {unseen}")
        before = totals(server)
        # What is left of the log is not counted again, however often the server starts.
        server.process.kill()
        server.process.wait()
        server = start()
        assert totals(server) == before
    priced = before["prompt_tokens"] * 500 + before["completion_tokens"] * 1500
    assert before["cost_nano"] == priced


def test_what_a_drain_cuts_off_and_who_leaves_are_counted(start):
    server = start("--drain-timeout-s", "0.1")
    clients = [
        threading.Thread(target=ask, args=(server, 100 + i, i % 2 == 0), kwargs={"max_tokens": 6000}) for i in range(4)
    ]
    for client in clients:
        client.start()
    body = {"model": "tiny", "prompt": "a" * 50, "max_tokens": 6000, "ignore_eos": True, "stream": True}
    with httpx.stream("POST", f"{server.url}/v1/completions", json=body, timeout=60) as response:
        next(response.iter_lines())
    wait_until(lambda: totals(server)["requests"] == 1, 20, "the one who left")
    assert totals(server)["cancelled"] == 1
    wait_until(lambda: server.metric("llm_sequences_running") == 4, 60, "all of them run")
    server.terminate()
    for client in clients:
        client.join()
    again = start()
    now = totals(again)
    assert now["requests"] == 5
    assert now["prompt_tokens"] == 50 + sum(range(100, 104))
    assert now["cancelled"] + now["failed"] == 5
