"""Workers that die, hang, leave or cannot be reached, under clients that must not notice more than a pause."""

import concurrent.futures
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import threading
import time

import pytest

from conftest import BIN, DATA, free_port, wait_until
from fleet_processes import Gateway, Process, Proxy, Worker

LONG_SCHEMA = {
    "type": "object",
    "properties": {"numbers": {"type": "array", "items": {"type": "integer", "maximum": 999999}, "minItems": 40, "maxItems": 60}},
    "required": ["numbers"],
    "additionalProperties": False,
}
TOOL = {
    "type": "function",
    "function": {
        "name": "note",
        "description": "Writes a long note.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string", "minLength": 300, "maxLength": 400}}, "required": ["text"]},
    },
}
CHAT = {"model": "smollm2", "messages": [{"role": "user", "content": "Tell me a long story."}]}
KINDS = {
    "greedy": {**CHAT, "max_tokens": 120, "temperature": 0, "extra_body": {"ignore_eos": True}},
    "seeded": {**CHAT, "max_tokens": 120, "temperature": 1, "seed": 5, "top_p": 0.9, "presence_penalty": 0.5, "extra_body": {"ignore_eos": True}},
    "schema": {**CHAT, "max_tokens": 160, "temperature": 0.8, "seed": 6,
               "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": LONG_SCHEMA}}},
    "tools": {**CHAT, "max_tokens": 200, "temperature": 0, "tools": [TOOL], "tool_choice": "required"},
    "choices": {**CHAT, "max_tokens": 80, "temperature": 1, "seed": 7, "n": 3, "logprobs": True, "extra_body": {"ignore_eos": True}},
}


def read(stream, seen=None):
    """All that a stream says, by choice, however it was cut into chunks. `seen` is called with the number of each chunk."""
    said = {}
    for number, chunk in enumerate(stream):
        for choice in chunk.choices:
            text = choice.delta.content or ""
            for call in choice.delta.tool_calls or []:
                text += f"<{call.function.name}>" if call.function.name else ""
                text += call.function.arguments or ""
            lines = [(line.token, line.logprob) for line in choice.logprobs.content or []] if choice.logprobs else []
            whole = said.setdefault(choice.index, ["", [], None])
            whole[0] += text
            whole[1] += lines
            whole[2] = choice.finish_reason or whole[2]
        if seen:
            seen(number)
    return said


def busy(workers):
    return [worker for worker in workers if worker.metric("llm_sequences_running") > 0]


@contextlib.contextmanager
def fleet(tmp_path, num_workers, args=(), ports=None):
    workers = [Worker(args=args) for _ in range(num_workers)]
    gateway = None
    try:
        for worker in workers:
            worker.wait_ready()
        gateway = Gateway(tmp_path, workers, ports=ports(workers) if ports else ())
        gateway.wait_ready("smollm2")
        wait_until(lambda: gateway.output().count("worker_joined") == num_workers, 30, "all workers in the pool")
        yield workers, gateway
    finally:
        for worker in workers:
            worker.end(signal.SIGKILL)  # one that is stopped, too
        if gateway:
            gateway.terminate()


def disturbed(gateway, request, disturb, after=6):
    """What a stream says whose worker is disturbed after so many chunks, and its longest pause in seconds."""
    last, longest = [time.monotonic()], [0.0]

    def seen(number):
        now = time.monotonic()
        longest[0] = max(longest[0], now - last[0])
        last[0] = now
        if number == after:
            disturb()

    said = read(gateway.client(timeout=120).chat.completions.create(**request, stream=True), seen)
    return said, longest[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_is_killed_in_mid_stream(tmp_path, kind):
    with fleet(tmp_path, 2) as (workers, gateway):
        whole = read(gateway.client().chat.completions.create(**KINDS[kind], stream=True))
        killed = []

        def kill():
            killed.extend(busy(workers))
            for worker in killed:
                worker.end(signal.SIGKILL)

        said, pause_s = disturbed(gateway, KINDS[kind], kill)
        assert said == whole
        assert len(killed) == 1, "the stream had ended before"
        assert pause_s < 10
        assert gateway.metric("llm_failovers_total", outcome="moved") >= 1


def test_a_worker_that_hangs_is_left(tmp_path):
    with fleet(tmp_path, 2) as (workers, gateway):
        whole = read(gateway.client().chat.completions.create(**KINDS["greedy"], stream=True))
        stopped = []

        def stop():
            stopped.extend(busy(workers))
            for worker in stopped:
                worker.process.send_signal(signal.SIGSTOP)

        said, pause_s = disturbed(gateway, KINDS["greedy"], stop)
        assert said == whole
        assert len(stopped) == 1 and pause_s < 12
        stopped[0].process.send_signal(signal.SIGCONT)
        wait_until(lambda: gateway.output().count("worker_joined") == 3, 30, "the worker is back")


@pytest.mark.parametrize("how", ["cut", "swallow", "garble", "delay"])
def test_the_network_fails(tmp_path, how):
    proxies = []

    def ports(workers):
        proxies.extend(Proxy(worker.port) for worker in workers)
        return [proxy.port for proxy in proxies]

    with fleet(tmp_path, 2, ports=ports) as (workers, gateway):
        whole = read(gateway.client().chat.completions.create(**KINDS["seeded"], stream=True))

        def disturb():
            for worker in busy(workers):
                proxy = proxies[workers.index(worker)]
                if how == "cut":
                    proxy.cut()
                else:
                    proxy.mode = how

        said, pause_s = disturbed(gateway, KINDS["seeded"], disturb)
        assert said == whole
        assert pause_s < 12
        moved = gateway.metric("llm_failovers_total", outcome="moved")
        assert moved == (0 if how == "delay" else 1), "a slow link is no reason to move"


def test_a_rolling_restart_under_load_loses_no_stream(tmp_path):
    with fleet(tmp_path, 3, args=["--drain-timeout-s", "1"]) as (workers, gateway):
        kinds = ["greedy", "seeded", "schema"]
        whole = {kind: read(gateway.client().chat.completions.create(**KINDS[kind], stream=True)) for kind in kinds}
        over = threading.Event()
        ended = []

        def load(kind):
            while not over.is_set():
                said = read(gateway.client(timeout=120).chat.completions.create(**KINDS[kind], stream=True))
                ended.append(said == whole[kind])

        with concurrent.futures.ThreadPoolExecutor() as pool:
            clients = [pool.submit(load, kind) for kind in kinds]
            try:
                wait_until(lambda: len(ended) >= 3 or any(c.done() for c in clients), 60, "streams")
                for i, worker in enumerate(workers):
                    joined = gateway.output().count("worker_joined")
                    assert worker.end(signal.SIGTERM) == 0, worker.output()
                    workers[i] = worker.again()
                    workers[i].wait_ready()
                    wait_until(lambda: gateway.output().count("worker_joined") > joined, 30, "it joined again")
            finally:
                over.set()
            for client in clients:
                client.result(timeout=120)
        assert ended and all(ended)
        assert gateway.metric("llm_failovers_total", outcome="moved") > 0


def test_a_fleet_comes_up_and_goes_down():
    port = free_port()
    up = Process("up", "--workers", "2", "--model", "smollm2", "--port", port)
    server = Gateway.__new__(Gateway)
    server.port, server.url, server.log, server.process = port, f"http://127.0.0.1:{port}", up.log, up.process
    try:
        server.wait_ready("smollm2")
        wait_until(lambda: up.output().count("worker_joined") == 2, 60, "two workers")
        pids = {name: int(pid) for name, pid in re.findall(r"kvasir: (\w+) is process (\d+)$", up.output(), re.M)}
        assert set(pids) == {"worker1", "worker2", "gateway"}
        whole = read(server.client().chat.completions.create(**KINDS["greedy"], stream=True))
        said, _ = disturbed(server, KINDS["greedy"], lambda: os.kill(pids["worker1"], signal.SIGKILL))
        assert said == whole
        wait_until(lambda: "worker1 is process" in up.output().split("was killed by signal 9")[-1], 30, "another worker1")
        wait_until(lambda: up.output().count("worker_joined") == 3, 60, "it joined")
        listed = re.search(r"--workers (\S+)'", up.output()).group(1)
        drained = subprocess.run([BIN, "drain", "worker2", "--workers", listed], capture_output=True, text=True, timeout=60)
        assert drained.returncode == 0, drained.stderr
        wait_until(lambda: re.search(r"worker2 \(process \d+\) ended with status 0", up.output()), 60, "worker2 ended")
        wait_until(lambda: up.output().count("worker_joined") == 4, 60, "it joined again")
        pids |= {name: int(pid) for name, pid in re.findall(r"kvasir: (\w+) is process (\d+) now$", up.output(), re.M)}
        assert up.end(signal.SIGINT) == 0, up.output()
        for pid in pids.values():
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
    finally:
        up.end(signal.SIGKILL)
    unknown = subprocess.run([BIN, "drain", "nobody"], capture_output=True, text=True, timeout=60)
    assert unknown.returncode == 1 and "no worker is called 'nobody'" in unknown.stderr


def test_workers_that_register_are_found(tmp_path):
    url, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    folder = tempfile.TemporaryDirectory()

    def start_etcd():
        return subprocess.Popen(
            ["etcd", "--data-dir", folder.name, "--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peer,
             "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    etcd, workers, gateway = start_etcd(), [], None
    try:
        gateway = Gateway(tmp_path, args=["--etcd", url])
        workers.append(Worker(args=["--etcd", url, "--worker-id", "a"]))
        workers[-1].wait_ready()
        gateway.wait_ready("smollm2")
        workers.append(Worker(args=["--etcd", url, "--worker-id", "b"]))
        workers[-1].wait_ready()
        wait_until(lambda: gateway.output().count("worker_joined") == 2, 30, "two workers")
        etcd.kill()
        etcd.wait()
        whole = read(gateway.client().chat.completions.create(**KINDS["greedy"], stream=True))
        said, _ = disturbed(gateway, KINDS["greedy"], lambda: [w.end(signal.SIGKILL) for w in busy(workers)])
        assert said == whole  # with etcd gone, and one worker too
        etcd = start_etcd()
        workers.append(Worker(args=["--etcd", url, "--worker-id", "c"]))
        workers[-1].wait_ready()
        wait_until(lambda: gateway.output().count("worker_joined") == 3, 60, "a third worker")
    finally:
        for worker in workers:
            worker.end(signal.SIGKILL)
        etcd.kill()
        etcd.wait()
        if gateway:
            gateway.terminate()
        folder.cleanup()
