"""Two gateways over the same workers: each knows what the other sends, and they do not meet at one worker."""

import json
import threading
import urllib.request

import pytest

from conftest import wait_until
from fleet_processes import Gateway, Worker


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    workers, gateways = [Worker() for _ in range(3)], []
    try:
        for worker in workers:
            worker.wait_ready()
        for name in ("a", "b"):
            # The default policy weighs by how fast a worker has found itself, which a busy machine disturbs.
            gateways.append(Gateway(tmp_path_factory.mktemp(name), workers, args=["--route-policy", "least_loaded"]))
        for gateway in gateways:
            gateway.wait_ready("smollm2")
            wait_until(lambda: gateway.output().count("worker_joined") == 3, 30, "three workers")
        yield workers, gateways
    finally:
        for gateway in gateways:
            gateway.terminate()
        for worker in workers:
            assert worker.end() == 0, worker.output()


def members(gateway):
    """{worker: (requests of this gateway, requests that the worker reports)}, as the gateway knows it now."""
    with urllib.request.urlopen(gateway.url + "/v1/machine/events", timeout=30) as events:
        for line in events:
            if not line.startswith(b"data: "):
                continue
            workers = [worker for worker in json.loads(line[6:]).get("workers", []) if "leases" in worker]
            if len(workers) == 3:
                return {w["id"]: (w["leases"], w["report"]["running"] + w["report"]["waiting"]) for w in workers}
    raise AssertionError("the events have ended")


class Streams:
    """Answers that run until they are closed."""

    def __init__(self):
        self.open = []
        self.lock = threading.Lock()

    def begin(self, gateway, words):
        stream = gateway.client(timeout=120).chat.completions.create(
            model="smollm2", messages=[{"role": "user", "content": words}], max_tokens=4000, stream=True, extra_body={"ignore_eos": True})
        with self.lock:
            self.open.append(stream)
        next(iter(stream))

    def close(self):
        for stream in self.open:
            stream.close()


def running(workers):
    return [int(worker.metric("llm_sequences_running")) for worker in workers]


def test_each_gateway_sees_the_load_of_the_other(fleet):
    workers, (a, b) = fleet
    streams = Streams()
    try:
        for i in range(3):
            streams.begin(a, f"{i} is a number. Tell me a story about it.")
        wait_until(lambda: sum(running(workers)) == 3, 30, "three sequences")
        sent = {member: leases for member, (leases, _) in members(a).items()}
        assert sum(sent.values()) == 3
        seen = members(b)
        assert {member: load for member, (_, load) in seen.items()} == sent
        assert all(leases == 0 for leases, _ in seen.values())
        # What the other gateway sends goes where less is to do.
        for i in range(3):
            streams.begin(b, f"{i + 10} is a number. Tell me a story about it.")
        assert max(running(workers)) <= 3, running(workers)
    finally:
        streams.close()
        wait_until(lambda: sum(running(workers)) == 0, 60, "no sequence")
    wait_until(lambda: all(load == 0 for _, load in members(b).values()), 30, "the load is gone in the view, too")


def test_gateways_that_begin_at_once_form_no_herd(fleet):
    workers, gateways = fleet
    streams, start = Streams(), threading.Barrier(12)

    def begin(number):
        start.wait()
        streams.begin(gateways[number % 2], f"{number} is a number. Tell me about it.")

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(12)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        wait_until(lambda: sum(running(workers)) == 12, 60, "twelve sequences")
        # Even would be four each; all on one worker would be twelve.
        assert max(running(workers)) <= 6 and min(running(workers)) >= 2, running(workers)
    finally:
        streams.close()
        wait_until(lambda: sum(running(workers)) == 0, 60, "no sequence")
