"""Bad input gets a clear answer while another client's stream goes on undisturbed."""

import contextlib
import json
import socket
import threading

import pytest

from conftest import wait_until


def exchange(server, data, pieces=None):
    """Sends raw bytes, and reads until the server closes or a whole answer is there."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        with contextlib.suppress(ConnectionError):
            s.sendall(data)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while True:
                part = s.recv(65536)
                if not part:
                    break
                answer += part
                head, _, body = answer.partition(b"\r\n\r\n")
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:") and len(body) >= int(line.split(b":")[1]):
                        return answer
        return answer


def post(body, headers=b""):
    return (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + headers
        + b"Content-Length: %d\r\n\r\n" % len(body)
        + body
    )


def parse(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert error["message"] and error["type"]
    return int(head.split()[1]), error


@pytest.fixture(scope="module")
def guarded():
    from conftest import Server

    s = Server("smollm2", args=["--header-timeout-s", "1", "--max-header-bytes", "8192"])
    yield s.wait_ready("smollm2")
    s.terminate()


@pytest.fixture
def bystander(guarded):
    """Another client's stream that runs during the test; at the end it is compared with an undisturbed one."""

    def stream():
        chunks = guarded.client().chat.completions.create(
            model="smollm2",
            messages=[{"role": "user", "content": "Tell me a long story."}],
            temperature=0,
            max_tokens=400,
            stream=True,
            extra_body={"ignore_eos": True},
        )
        for chunk in chunks:
            if chunk.choices:
                texts.append(chunk.choices[0].delta.content or "")

    texts = []
    thread = threading.Thread(target=stream)
    thread.start()
    wait_until(lambda: len(texts) > 3, 30, "the stream's first tokens")
    yield
    assert thread.is_alive() or len(texts) > 100
    thread.join(120)
    assert not thread.is_alive()
    stories.add("".join(texts))
    assert len(stories) == 1 and len("".join(texts)) > 400


stories = set()


def test_nested_json(guarded, bystander):
    status, error = parse(exchange(guarded, post(b"[" * 10_000_000)))
    assert status == 400 and "deep" in error["message"]


def test_invalid_utf8(guarded, bystander):
    body = b'{"model":"smollm2","messages":[{"role":"user","content":"\xff\xfe"}]}'
    status, error = parse(exchange(guarded, post(body)))
    assert status == 400 and "UTF-8" in error["message"]


def test_body_too_large(guarded, bystander):
    status, _ = parse(exchange(guarded, post(b"", b"Content-Length: 99999999999\r\n")[:-22] + b"\r\n"))
    assert status in (400, 413)
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"
    status, error = parse(exchange(guarded, head))
    assert status == 413 and "16777216" in error["message"]


def test_headers_too_large(guarded, bystander):
    status, error = parse(exchange(guarded, b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20000 + b"\r\n\r\n"))
    assert status == 431 and "8192" in error["message"]


def test_not_http(guarded, bystander):
    status, _ = parse(exchange(guarded, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n"))
    assert status == 400


def test_slow_loris(guarded, bystander):
    """Many connections never finish their headers: each gets an error and is closed, and none disturbs others."""
    sockets = [socket.create_connection(("127.0.0.1", guarded.port), timeout=30) for _ in range(50)]
    for s in sockets:
        s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-A: ")
    for s in sockets:
        answer = b""
        with contextlib.suppress(ConnectionError):
            while part := s.recv(4096):
                answer += part
        assert answer.split()[1] == b"408"
        s.close()


def test_byte_at_a_time_reader_gets_it_all(guarded, bystander):
    request = {
        "model": "smollm2",
        "messages": [{"role": "user", "content": "Count to ten."}],
        "temperature": 0,
        "max_tokens": 40,
        "stream": True,
    }
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        s.settimeout(60)
        s.connect(("127.0.0.1", guarded.port))
        s.sendall(post(json.dumps(request).encode()))
        answer = b""
        while not answer.endswith(b"0\r\n\r\n"):
            byte = s.recv(1)
            assert byte, answer
            answer += byte
    text = "".join(
        (json.loads(line[6:])["choices"] or [{"delta": {}}])[0]["delta"].get("content") or ""
        for line in answer.decode().splitlines()
        if line.startswith("data: {")
    )
    whole = guarded.client().chat.completions.create(**{**request, "stream": False})
    assert text == whole.choices[0].message.content


def test_byte_at_a_time_writer_is_served(guarded, bystander):
    body = json.dumps({"model": "smollm2", "prompt": "1, 2, 3,", "max_tokens": 4, "temperature": 0}).encode()
    data = post(body).replace(b"/v1/chat/completions", b"/v1/completions")
    with socket.create_connection(("127.0.0.1", guarded.port), timeout=60) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(len(data)):
            s.sendall(data[i : i + 1])
        assert s.recv(65536).startswith(b"HTTP/1.1 200")


def test_reader_that_stops_costs_only_itself(guarded, bystander):
    """A client reads the headers and nothing more. Others go on, and its sequence does not grow without bound."""
    request = {
        "model": "smollm2",
        "prompt": "x",
        "max_tokens": 4000,
        "stream": True,
        "ignore_eos": True,
        "n": 1,
    }
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        s.connect(("127.0.0.1", guarded.port))
        s.sendall(post(json.dumps(request).encode()).replace(b"/v1/chat/completions", b"/v1/completions"))
        assert s.recv(8).startswith(b"HTTP")
        answer = guarded.client().completions.create(model="smollm2", prompt="1, 2,", max_tokens=4, temperature=0)
        assert answer.choices[0].text


def test_large_text_of_others_delays_nobody(guarded):
    """Texts that no context could hold are refused at once, and those of clients that left are dropped."""
    body = json.dumps({"model": "smollm2", "prompt": " " * 6_000_000, "max_tokens": 1}).encode()
    status, error = parse(exchange(guarded, post(body).replace(b"/v1/chat/completions", b"/v1/completions")))
    assert status == 400 and error["code"] == "context_length_exceeded"
    held = json.dumps({"model": "smollm2", "prompt": " " * 100_000, "max_tokens": 1}).encode()
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", guarded.port)) as s:
            s.sendall(post(held).replace(b"/v1/chat/completions", b"/v1/completions"))
    large = {"model": "smollm2", "messages": [{"role": "user", "content": "hello there " * 700}], "stream": True}
    with socket.create_connection(("127.0.0.1", guarded.port), timeout=10) as s:
        s.sendall(post(json.dumps(large).encode()))
        assert s.recv(100).startswith(b"HTTP/1.1 200")
    wait_until(lambda: guarded.metric("kvasir_http_requests_active") == 1, 20, "only the metrics' own request")


def test_sending_far_ahead_does_not_hide_the_end(guarded):
    request = {"model": "smollm2", "prompt": "x", "max_tokens": 4000, "ignore_eos": True}
    data = post(json.dumps(request).encode()).replace(b"/v1/chat/completions", b"/v1/completions") + b"A" * 40_000
    with socket.create_connection(("127.0.0.1", guarded.port), timeout=60) as s:
        s.sendall(data)
        assert s.recv(100).startswith(b"HTTP/1.1 400")
    wait_until(lambda: guarded.metric("llm_sequences_running", model="smollm2") == 0, 20, "idle")
