"""On SIGTERM or a hangup, the server finishes running requests, refuses new ones, and ends."""

import contextlib
import signal
import threading

import httpx
import openai
import pytest

from conftest import wait_until


def start_stream(server, max_tokens):
    texts, done = [], threading.Event()

    def run():
        try:
            for chunk in server.client().completions.create(
                model="smollm2", prompt="Once", max_tokens=max_tokens, stream=True, extra_body={"ignore_eos": True}
            ):
                if chunk.choices:
                    texts.append(chunk.choices[0])
        except openai.APIError as error:
            texts.append(error)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True).start()
    wait_until(lambda: len(texts) > 2, 30, "the stream's start")
    return texts, done


def test_running_streams_finish_and_new_ones_are_refused(small_server):
    server = small_server()
    open_connection = httpx.Client(base_url=server.url)
    assert open_connection.get("/health/ready").status_code == 200
    texts, done = start_stream(server, 600)
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "drain" in server.output().lower(), 10, "the drain's line in the log")
    refused = open_connection.post("/v1/completions", json={"model": "smollm2", "prompt": "x", "max_tokens": 1})
    assert refused.status_code == 503 and "error" in refused.json()
    assert not done.is_set()
    assert server.process.wait(60) == 0
    assert done.wait(10)
    assert texts[-1].finish_reason == "length"


def test_the_limit_cuts_what_runs_too_long(small_server):
    server = small_server("--drain-timeout-s", "0.5")
    texts, done = start_stream(server, 8000)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(20) == 0
    assert done.wait(10)
    assert isinstance(texts[-1], (openai.APIError, Exception)) or texts[-1].finish_reason != "length"


@contextlib.contextmanager
def hangups(action):
    """Sets how processes that are started meanwhile treat SIGHUP at first."""
    before = signal.signal(signal.SIGHUP, action)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_hangup_drains_too(small_server):
    with hangups(signal.SIG_DFL):
        server = small_server()
    texts, done = start_stream(server, 600)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "drain" in server.output().lower(), 10, "the drain's line in the log")
    assert not done.is_set()
    server.process.send_signal(signal.SIGHUP)  # the signals of the shell and of the system come together
    assert server.process.wait(60) == 0
    assert done.wait(10)
    assert texts[-1].finish_reason == "length"


def test_nohup_outlives_a_hangup(small_server):
    with hangups(signal.SIG_IGN):
        server = small_server()
    server.process.send_signal(signal.SIGHUP)
    texts, done = start_stream(server, 20)
    assert done.wait(60) and texts[-1].finish_reason == "length"
    assert "drain" not in server.output().lower()


def test_a_second_signal_ends_it_at_once(small_server):
    server = small_server()
    start_stream(server, 8000)
    server.process.send_signal(signal.SIGINT)
    wait_until(lambda: "drain" in server.output().lower(), 10, "the drain's line in the log")
    server.process.send_signal(signal.SIGINT)
    server.process.wait(10)
