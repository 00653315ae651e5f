"""Aborts release everything that a request holds."""

import concurrent.futures
import random
import socket

import httpx

from conftest import lines_of, wait_until


def blocks_back(server):
    total = server.metric("llm_kv_blocks", model="smollm2")
    free = total - server.metric("llm_kv_blocks", model="smollm2", state="used")
    return total == free and total > 0


def idle(server):
    return all(server.metric(name, model="smollm2") == 0 for name in ("llm_sequences_running", "llm_queue_depth"))


def test_64_streams_with_random_aborts(small_server):
    server = small_server("--kv-memory-mb", "64", "--max-batch-sequences", "16")
    assert blocks_back(server)

    def one(i):
        rng = random.Random(i)
        body = {
            "model": "smollm2",
            "stream": True,
            "messages": [{"role": "user", "content": f"Story number {i % 7}: " + "once upon a time " * rng.randrange(60)}],
            "max_tokens": rng.randrange(1, 80),
            "ignore_eos": True,
        }
        leave_after = rng.choice([0, 1, 3, 10, 10_000])
        with httpx.stream("POST", server.url + "/v1/chat/completions", json=body, timeout=240) as response:
            assert response.status_code == 200
            seen = 0
            for line in lines_of(response):
                seen += line.startswith("data: ")
                if seen >= leave_after:
                    return False
            return "[DONE]" in line or seen > 0

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        finished = list(pool.map(one, range(64)))
    assert any(finished) and not all(finished)
    wait_until(lambda: idle(server), 20, "idle")
    assert blocks_back(server)
    assert server.metric("llm_request_aborts_total", model="smollm2") > 0


def test_abort_in_queue_and_in_prefill(small_server):
    """A client that leaves before its first token costs nothing more."""
    server = small_server("--max-batch-sequences", "1")
    long = {"model": "smollm2", "prompt": "word " * 6000, "max_tokens": 1000, "ignore_eos": True}

    def post(body):
        payload = httpx.Request("POST", server.url, json=body).content
        s = socket.create_connection(("127.0.0.1", server.port))
        s.sendall(
            b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(payload) + payload
        )
        return s

    prefilling = post(long)
    wait_until(lambda: server.metric("llm_sequences_running", model="smollm2") == 1, 20, "prefill")
    queued = post({**long, "prompt": "other " * 3000})
    wait_until(lambda: server.metric("llm_queue_depth", model="smollm2") == 1, 20, "queue")
    queued.close()
    wait_until(lambda: server.metric("llm_queue_depth", model="smollm2") == 0, 20, "the queued abort")
    assert server.metric("llm_sequences_running", model="smollm2") == 1
    prefilling.close()
    wait_until(lambda: idle(server), 20, "the abort in prefill")
    assert blocks_back(server)
