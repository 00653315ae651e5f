"""Responses in the background, with the `openai` package: what was acknowledged is told after kill -9."""

import openai
import pytest

from conftest import Server, wait_until

ENDED = ("completed", "incomplete", "failed", "cancelled")


def start(folder):
    return Server("smollm2", args=("--data-dir", str(folder))).wait_ready("smollm2")


def begin(client, **more):
    return client.responses.create(model="smollm2", input="Count from 1 to 2000.", background=True, **more)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data"


def test_what_was_acknowledged_fails_with_its_server(folder):
    server = start(folder)
    client = server.client()
    long = {"max_output_tokens": 1900, "extra_body": {"ignore_eos": True}}
    running = [begin(client, **long) for _ in range(3)]
    assert all(response.status == "queued" and response.background for response in running)
    wait_until(lambda: client.responses.retrieve(running[0].id).status == "in_progress", 60, "a first token")
    ended = client.responses.create(model="smollm2", input="hi", background=True, max_output_tokens=4)
    wait_until(lambda: client.responses.retrieve(ended.id).status in ENDED, 60, "the end of a short one")
    server.process.kill()
    server.process.wait()
    server = start(folder)
    try:
        client = server.client()
        for response in running:
            after = client.responses.retrieve(response.id)
            assert after.status == "failed", after
            assert after.error.code == "server_error" and "server ended" in after.error.message
            with pytest.raises(openai.BadRequestError):
                list(client.responses.retrieve(response.id, stream=True, starting_after=10_000))
        assert client.responses.retrieve(ended.id).status in ("completed", "incomplete")
    finally:
        server.terminate()


def test_one_is_polled_cancelled_and_taken_up_again(folder):
    server = start(folder)
    try:
        client = server.client()
        polled = begin(client, max_output_tokens=16)
        wait_until(lambda: client.responses.retrieve(polled.id).status in ENDED, 60, "its end")
        assert client.responses.retrieve(polled.id).output_text

        long = begin(client, max_output_tokens=1900, extra_body={"ignore_eos": True})
        wait_until(lambda: client.responses.retrieve(long.id).status == "in_progress", 60, "a first token")
        cancelled = client.responses.cancel(long.id)
        assert cancelled.status == "cancelled" and cancelled.error is None
        assert client.responses.retrieve(long.id) == cancelled == client.responses.cancel(long.id)
    finally:
        server.terminate()


def test_a_stream_is_taken_up_where_it_was_left(folder):
    server = start(folder)
    try:
        client = server.client()
        with begin(client, stream=True, max_output_tokens=24, temperature=0) as stream:
            head = []
            for event in stream:
                head.append(event)
                if event.type == "response.output_text.delta":
                    break
        response = head[0].response.id
        with client.responses.retrieve(response, stream=True, starting_after=head[-1].sequence_number) as stream:
            rest = list(stream)
        events = head + rest
        assert [event.sequence_number for event in events] == list(range(len(events)))
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        assert text == events[-1].response.output_text == client.responses.retrieve(response).output_text
    finally:
        server.terminate()


def test_a_server_that_drains_waits_for_it(folder):
    server = start(folder)
    client = server.client()
    response = begin(client, max_output_tokens=64)
    assert server.terminate() == 0
    server = start(folder)
    try:
        after = server.client().responses.retrieve(response.id)
        assert after.status in ("completed", "incomplete") and after.output_text
    finally:
        server.terminate()
