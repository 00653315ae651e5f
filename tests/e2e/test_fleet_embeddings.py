"""Embeddings through a gateway, by workers that hold an encoder: the same numbers as one process gives."""

import base64
import signal

import httpx
import openai
import pytest

from conftest import Server, wait_until
from fleet_processes import Gateway, Worker

TEXTS = [f"Text number {i}. " + "It goes on for a while. " * (i % 7) for i in range(40)]


@pytest.fixture(scope="module")
def alone():
    server = Server("minilm", args=["--compute-threads", "1"])
    try:
        yield server.wait_ready("minilm")
    finally:
        server.terminate()


@pytest.fixture
def fleet(tmp_path):
    workers, gateway = [Worker(model="minilm") for _ in range(2)], None
    try:
        for worker in workers:
            worker.wait_ready()
        gateway = Gateway(tmp_path, workers).wait_ready("minilm")
        wait_until(lambda: gateway.output().count("worker_joined") == 2, 30, "two workers")
        yield workers, gateway
    finally:
        if gateway:
            gateway.terminate()
        for worker in workers:
            worker.end(signal.SIGKILL)


def embed(server, texts, **more):
    return server.client(timeout=120).embeddings.create(model="minilm", input=texts, **more)


def rerank(server):
    body = {"model": "minilm", "query": "Which animal barks?", "documents": ["A cat.", "A dog.", "A stone."]}
    answer = httpx.post(server.url + "/v1/rerank", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


def test_vectors_are_those_of_one_process(alone, fleet):
    workers, gateway = fleet
    expected = embed(alone, TEXTS)
    for _ in range(2):
        found = embed(gateway, TEXTS)
        assert [one.embedding for one in found.data] == [one.embedding for one in expected.data]
        assert found.usage == expected.usage
    for server in (alone, gateway):
        one = embed(server, "Hello", encoding_format="base64", dimensions=16).data[0].embedding
        assert len(one) == 16 if isinstance(one, list) else len(base64.b64decode(one)) == 64
    assert rerank(gateway) == rerank(alone)
    assert gateway.client().models.retrieve("minilm").id == "minilm"


@pytest.mark.parametrize("ask", [
    lambda client: client.embeddings.create(model="minilm", input="word " * 2000),
    lambda client: client.embeddings.create(model="minilm", input=[[1, 99999999]]),
    lambda client: client.embeddings.create(model="minilm", input="x", dimensions=100000),
    lambda client: client.chat.completions.create(model="minilm", messages=[{"role": "user", "content": "Hi"}]),
])
def test_errors_are_those_of_one_process(alone, fleet, ask):
    said = []
    for server in (alone, fleet[1]):
        with pytest.raises(openai.APIStatusError) as refused:
            ask(server.client())
        said.append((refused.value.status_code, refused.value.body))
    assert said[0] == said[1]


def test_workers_may_die(fleet):
    workers, gateway = fleet
    before = embed(gateway, TEXTS[:3])
    workers[0].end(signal.SIGKILL)
    for _ in range(6):  # whoever is chosen first
        assert [one.embedding for one in embed(gateway, TEXTS[:3]).data] == [one.embedding for one in before.data]
    workers[1].end(signal.SIGKILL)
    with pytest.raises(openai.InternalServerError) as refused:
        embed(gateway, "Hello")
    assert refused.value.status_code == 503 and refused.value.body["code"] in ("no_worker", "worker_lost")
    workers[1] = workers[1].again().wait_ready()

    def answers():
        try:
            return embed(gateway, TEXTS[:3])
        except openai.InternalServerError:
            return None

    found = wait_until(answers, 30, "an answer after the worker's return")
    assert [one.embedding for one in found.data] == [one.embedding for one in before.data]


def test_an_embedding_worker_drains(fleet):
    workers, gateway = fleet
    assert workers[0].end() == 0, workers[0].output()
    wait_until(lambda: "worker_left" in gateway.output(), 30, "it has left")
    assert embed(gateway, "Hello").data
