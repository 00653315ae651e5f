"""Prompts that one worker computes and another answers: the answers are those of one process, whatever happens to the
blocks on their way."""

import contextlib
import itertools
import os
import re
import signal
import threading
import time

import pytest

from conftest import Server, free_port, wait_until
from fleet_processes import Gateway, Process, Proxy, Worker

# Prompts need not hurry and streams may pause: whether a prompt goes elsewhere then hardly depends on how fast the machine
# happened to be when the workers measured it.
PATIENT = {"KVASIR_SLO_TTFT_MS": "20000", "KVASIR_SLO_TPOT_MS": "500"}
WORDS = "river stone lamp green walks under seven quiet doors because morning never counts paper birds".split()


def long_chat(number, num_words=1100):
    """A question with a text before it that no other question has."""
    text = " ".join(WORDS[(i * i + i * number + number) % len(WORDS)] for i in range(num_words))
    return {"model": "smollm2", "messages": [{"role": "user", "content": f"{number}: {text}. What is this about?"}],
            "max_tokens": 24, "temperature": 0, "extra_body": {"ignore_eos": True}}


def said_by(stream):
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def moved_in(worker):
    rows = [line for line in worker.status("/metrics")[1].splitlines()
            if line.startswith('kvasir_kv_transfer_bytes_total{direction="in"')]
    return sum(float(row.split()[-1]) for row in rows)


def failures(worker, reason):
    rows = [line for line in worker.status("/metrics")[1].splitlines()
            if line.startswith(f'kvasir_kv_transfer_failures_total{{reason="{reason}"')]
    return sum(float(row.split()[-1]) for row in rows)


def told_chat(gateway, begun):
    """A stream without an end, and the thread that reads it. `begun` is released after so many tokens that the gateway knows of it."""
    stream = gateway.client(timeout=300).chat.completions.create(
        model="smollm2", messages=[{"role": "user", "content": "Tell me a very long story."}], max_tokens=6000, stream=True,
        extra_body={"ignore_eos": True})

    def read():
        with contextlib.suppress(Exception):  # it is closed by the test
            for number, _ in enumerate(stream):
                if number == 40:
                    begun.release()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    return stream, reader


@contextlib.contextmanager
def beside_chats(gateway, count=3):
    """While this lasts, the workers that answer have streams to look after, so that long prompts are computed elsewhere."""
    begun = threading.Semaphore(0)
    chats = [told_chat(gateway, begun) for _ in range(count)]
    try:
        for _ in chats:
            assert begun.acquire(timeout=60)
        yield
    finally:
        for stream, reader in chats:
            stream.close()
            reader.join(60)


@pytest.fixture(scope="module")
def expected():
    """What one process answers."""
    server = Server("smollm2", args=["--kv-memory-mb", "512", "--compute-threads", "2"])
    try:
        client = server.wait_ready("smollm2").client(timeout=300)
        known = {}

        def answer(number):
            if number not in known:
                known[number] = said_by(client.chat.completions.create(**long_chat(number), stream=True))
            return known[number]

        yield answer
    finally:
        server.terminate()


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    for name, value in PATIENT.items():
        monkeypatch.setenv(name, value)


@contextlib.contextmanager
def apart(tmp_path, proxied=False, args=()):
    """A worker that computes prompts, one that answers, and a gateway; and what stands between the first and the others."""
    prefill, decode, gateway = Worker(args=["--role", "prefill", *args]), None, None
    try:
        prefill.wait_ready()  # one after the other, since they measure how fast they are
        decode = Worker(args=["--role", "decode", *args]).wait_ready()
        proxy = Proxy(prefill.port) if proxied else None
        gateway = Gateway(tmp_path, ports=[proxy.port if proxy else prefill.port, decode.port], args=["--route-prefill", "always"])
        gateway.wait_ready("smollm2")
        wait_until(lambda: gateway.output().count("worker_joined") == 2, 30, "both workers")
        yield prefill, decode, gateway, proxy
    finally:
        for worker in filter(None, (prefill, decode)):
            worker.end(signal.SIGKILL)  # one that is stopped, too
        if gateway:
            gateway.terminate()


def asked(gateway, number):
    """The answer as it comes, from another thread, and when it was there."""
    found = {}

    def ask():
        found["said"] = said_by(gateway.client(timeout=300).chat.completions.create(**long_chat(number), stream=True))
        found["at"] = time.monotonic()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    return thread, found


def test_the_answer_is_that_of_one_process(tmp_path, expected):
    with apart(tmp_path) as (prefill, decode, gateway, _):
        with beside_chats(gateway):
            chat = long_chat(1)
            first = gateway.client(timeout=300).chat.completions.with_raw_response.create(
                **chat, extra_headers={"x-kvasir-explain": "route"})
            assert "member=w1" in first.headers["x-kvasir-route"] and "prefill=w0" in first.headers["x-kvasir-route"]
            assert first.parse().choices[0].message.content == expected(1)
            assert first.parse().usage.prompt_tokens_details.cached_tokens < 64, "it was computed for this request"
            moved = moved_in(decode)
            assert moved > 1e6
            assert prefill.metric("kvasir_kv_transfer_bytes_total") == moved
            # Sampled answers, and those that begin with what came, need nothing more.
            again = gateway.client(timeout=300).chat.completions.create(**{**chat, "temperature": 1, "seed": 3})
            assert again.usage.prompt_tokens_details.cached_tokens > 1000
            assert moved_in(decode) == moved
            # A short one stays.
            gateway.client().chat.completions.create(model="smollm2", messages=[{"role": "user", "content": "Hi"}], max_tokens=2)
            assert moved_in(decode) == moved
        assert decode.metric("kvasir_kv_transfer_failures_total") == 0
        assert decode.metric("kvasir_kv_transfers_total") == 1


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_the_prefill_worker_is_lost_in_mid_transfer(tmp_path, expected, how):
    with apart(tmp_path, args=["--max-batch-tokens", "64"]) as (prefill, decode, gateway, _):
        with beside_chats(gateway):
            thread, found = asked(gateway, 2)
            wait_until(lambda: moved_in(decode) > 0, 60, "the first blocks")
            prefill.process.send_signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
            lost_at = time.monotonic()
            wait_until(lambda: decode.metric("kvasir_kv_transfer_failures_total") == 1, 40, "the blocks are given up")
            assert time.monotonic() - lost_at < (5 if how == "killed" else 30)
            thread.join(120)
        assert found["said"] == expected(2)
        assert failures(decode, "lost") + failures(decode, "late") == 1
        # The next one does not go there.
        with beside_chats(gateway):
            wait_until(lambda: gateway.output().count("worker_left") == 1, 30, "the gateway knows")
            stream = gateway.client(timeout=300).chat.completions.create(**long_chat(3), stream=True)
            assert said_by(stream) == expected(3)
        assert decode.metric("kvasir_kv_transfer_failures_total") == 1


def test_blocks_that_are_changed_on_their_way_are_not_used(tmp_path, expected):
    with apart(tmp_path, proxied=True) as (_, decode, gateway, proxy):
        with beside_chats(gateway):
            proxy.mode = "flip"
            thread, found = asked(gateway, 4)
            thread.join(200)
        assert found["said"] == expected(4)
        assert failures(decode, "corrupt") == 1
        with beside_chats(gateway):  # and nothing else was harmed
            proxy.mode = "pass"
            moved = moved_in(decode)
            assert said_by(gateway.client(timeout=300).chat.completions.create(**long_chat(5), stream=True)) == expected(5)
            assert moved_in(decode) > moved


def route_of(gateway, number):
    """Where a long prompt went, and what the answer was."""
    answer = gateway.client(timeout=300).chat.completions.with_raw_response.create(
        **long_chat(number, 300), extra_headers={"x-kvasir-explain": "route"})
    return answer.headers["x-kvasir-route"]


def test_a_worker_whose_blocks_keep_failing_rests_until_one_prompt_has_tried_it(tmp_path):
    with apart(tmp_path, proxied=True) as (prefill, decode, gateway, proxy):
        proxy.mode = "flip"
        failed = 0
        while "prefill=w0" in route_of(gateway, 20 + failed):
            failed += 1
            assert failed <= 3, "it is asked again and again"
        assert failed == 3
        assert decode.metric("kvasir_kv_transfer_failures_total") == 3
        assert gateway.metric("llm_prefill_ejections_total", member="w0") == 1
        # Prompts that try it find it as it was, and the pauses grow.
        numbers = itertools.count(30)
        wait_until(lambda: "prefill=w0" in route_of(gateway, next(numbers)), 30, "a trial")
        wait_until(lambda: decode.metric("kvasir_kv_transfer_failures_total") == 4, 10, "it fails")
        assert "prefill" not in route_of(gateway, next(numbers))
        assert gateway.metric("llm_prefill_ejections_total", member="w0") == 2
        # Mended, it is back after the next trial, without a restart.
        proxy.mode = "pass"
        wait_until(lambda: "prefill=w0" in route_of(gateway, next(numbers)), 30, "the next trial")
        assert "prefill=w0" in route_of(gateway, next(numbers)) and "prefill=w0" in route_of(gateway, next(numbers))
        assert prefill.process.poll() is None and decode.metric("kvasir_kv_transfers_total") == 3


def test_a_client_that_leaves_ends_the_prefill(tmp_path):
    with apart(tmp_path, args=["--max-batch-tokens", "64"]) as (prefill, decode, gateway, _):
        with beside_chats(gateway):
            stream = gateway.client(timeout=300).chat.completions.create(**long_chat(6), stream=True)
            wait_until(lambda: moved_in(decode) > 0, 60, "the first blocks")
            stream.close()
            wait_until(lambda: prefill.metric("llm_sequences_running") == 0, 20, "the prefill worker is idle")
            wait_until(lambda: decode.metric("llm_sequences_running") == 3, 20, "only the chats are left")


def test_roles_follow_the_load(tmp_path, expected, monkeypatch):
    """Two workers that take any role: while long prompts come, one computes them for the other."""
    monkeypatch.setenv("KVASIR_ROUTE_ROLES_WINDOW_S", "4")
    workers, gateway, over = [], None, threading.Event()
    try:
        for _ in range(2):
            workers.append(Worker(args=["--role", "auto"]).wait_ready())
        gateway = Gateway(tmp_path, ports=[worker.port for worker in workers], args=["--route-prefill", "always"])
        gateway.wait_ready("smollm2")
        wait_until(lambda: gateway.output().count("worker_joined") == 2, 30, "both workers")
        client = gateway.client(timeout=300)
        apart = {}  # answers of prompts that were computed elsewhere, by their numbers

        def ask(numbers):
            for number in itertools.takewhile(lambda _: not over.is_set(), numbers):
                answer = client.chat.completions.with_raw_response.create(
                    **long_chat(number), extra_headers={"x-kvasir-explain": "route"})
                if "prefill=" in answer.headers["x-kvasir-route"]:
                    apart[number] = answer.parse().choices[0].message.content

        assert gateway.metric("llm_prefill_members") == 0
        with beside_chats(gateway, 2):
            readers = [threading.Thread(target=ask, args=(itertools.count(start, 2),), daemon=True) for start in (100, 101)]
            for reader in readers:
                reader.start()
            wait_until(lambda: apart, 120, "a prompt that another worker computes")
            over.set()
            for reader in readers:
                reader.join(60)
            number = next(iter(apart))
            assert apart[number] == expected(number)
            wait_until(lambda: gateway.client().chat.completions.create(
                model="smollm2", messages=[{"role": "user", "content": "Hi"}], max_tokens=1)
                and gateway.metric("llm_prefill_members") == 0, 120, "no worker for prompts, since none come")
    finally:
        over.set()
        for worker in workers:
            worker.end(signal.SIGKILL)
        if gateway:
            gateway.terminate()


def test_a_fleet_with_roles_comes_up(expected):
    port = free_port()
    up = Process("up", "--prefill", "1", "--decode", "2", "--model", "smollm2", "--port", port)
    server = Gateway.__new__(Gateway)
    server.port, server.url, server.log, server.process = port, f"http://127.0.0.1:{port}", up.log, up.process
    try:
        server.wait_ready("smollm2")
        wait_until(lambda: up.output().count("worker_joined") == 3, 60, "three workers")
        pids = {name: int(pid) for name, pid in re.findall(r"kvasir: (\w+) is process (\d+)$", up.output(), re.M)}
        assert set(pids) == {"prefill1", "decode1", "decode2", "gateway"}
        with beside_chats(server, 6):
            answer = server.client(timeout=300).chat.completions.with_raw_response.create(
                **long_chat(7), extra_headers={"x-kvasir-explain": "route"})
            assert answer.headers["x-kvasir-route"].startswith("member=decode"), "whoever computes the prompt"
            assert answer.parse().choices[0].message.content == expected(7)
        assert up.end(signal.SIGINT) == 0, up.output()
        for pid in pids.values():
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
    finally:
        up.end(signal.SIGKILL)
