"""Upstreams that fail in every way: each ends in a clear error that names the upstream, and harms nobody else."""

import json
import threading
import time

import httpx
import openai
import pytest

from conftest import Server, wait_until
from scripted_upstream import GOOD, HEAD, Upstream, chunk, reply

KEY = "sk-of-the-tests-0123456789"
QUESTION = {"model": "up", "messages": [{"role": "user", "content": "hi"}]}


class House:
    """A server whose model "up" is answered by scripted upstreams, with short timeouts."""

    def __init__(self, folder, num, extra="", args=()):
        self.upstreams = [Upstream() for _ in range(num)]
        (folder / "key").write_text(KEY + "\n")
        rows = [
            f'[[upstream]]\nname = "up"\nurl = "{u.url}"\nmodel = "theirs"\napi_key_file = "{folder / "key"}"\n'
            "connect_timeout_s = 2\n"
            f"first_token_timeout_s = 2\nread_timeout_s = 1\ncheck_interval_s = 0.2\n{extra}\n"
            for u in self.upstreams
        ]
        self.config = folder / "kvasir.toml"
        self.config.write_text("\n".join(rows))
        self.server = Server(args=["--config", str(self.config), "--data-dir", str(folder / "data"), *args])
        self.http = httpx.Client(base_url=self.server.url, timeout=60)

    def wait_up(self, num=None):
        num = len(self.upstreams) if num is None else num
        wait_until(lambda: self.server.get("/health/live")[0] == 200, 60, "live")
        wait_until(lambda: self.server.metric("llm_upstream_up") == num, 30, "upstreams up\n" + self.server.output())
        return self

    def ask(self, **more):
        return self.http.post("/v1/chat/completions", json={**QUESTION, **more})

    def stop(self):
        self.http.close()
        for upstream in self.upstreams:
            upstream.close()
        assert self.server.terminate() == 0
        assert "ERROR" not in self.server.output()
        assert "sk-o" not in self.server.output(), "the key is in the log"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    h = House(tmp_path_factory.mktemp("upstreams"), 1)
    h.server.wait_ready("up")
    yield h
    h.stop()


@pytest.fixture(autouse=True)
def healthy(request):
    """The shared upstream takes requests again before each test: a test before may have had it ejected."""
    if "house" in request.fixturenames:
        h = request.getfixturevalue("house")
        h.upstreams[0].answer = lambda connection, _: connection.sendall((HEAD + GOOD).encode())
        wait_until(lambda: h.ask().status_code == 200, 90, "an answer")
        h.upstreams[0].closed_early.clear()
    yield


def says(text):
    return lambda connection, request: connection.sendall(text.encode())


FAILURES = {
    "garbage": ("\x00\xff nothing of HTTP\r\n\r\n", 502),
    "a page": (reply(200, "<html>", kind="text/html"), 502),
    "json in place of a stream": (reply(200, '{"choices":[]}'), 502),
    "a redirect": (reply(302, headers="Location: http://127.0.0.1:1/\r\n"), 502),
    "an unknown key": (reply(401, '{"error":{"message":"key ' + KEY + ' is wrong"}}'), 502),
    "no such model": (reply(404, "{}"), 502),
    "a crash": (reply(500, '{"error":"secret stack"}'), 502),
    "too busy": (reply(429, headers="Retry-After: 1\r\n"), 429),
    "overloaded": (reply(503, headers="Retry-After: 1\r\n"), 503),
    "nothing at all": ("", 502),
    "an empty stream": (HEAD, 502),
    "no event": (HEAD + "data: {nonsense\n\n", 502),
    "another choice": (HEAD + chunk("x", index=7), 502),
    "an endless head": ("HTTP/1.1 200 OK\r\n" + "X: " + "y" * 200_000, 502),
    "an error in the stream": (HEAD + 'data: {"error":{"message":"out of memory"}}\n\n', 502),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_before_the_first_word_has_a_status_of_its_own(house, name, stream):
    text, status = FAILURES[name]
    house.upstreams[0].answer = says(text)
    answer = house.ask(stream=stream)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert "up-1" in error["message"], error
    assert "127.0.0.1" not in answer.text and "sk-" not in answer.text and "stack" not in answer.text
    if status in (429, 503):
        assert answer.headers["retry-after"] == "1"


def test_what_the_client_did_wrong_comes_back_in_our_shape(house):
    house.upstreams[0].answer = says(
        reply(400, '{"error":{"message":"48 tokens are too many","code":"context_length_exceeded","param":"messages"}}')
    )
    with pytest.raises(openai.BadRequestError) as refused:
        house.server.client().chat.completions.create(**QUESTION)
    assert refused.value.code == "context_length_exceeded"
    assert "48 tokens are too many" in refused.value.message
    for _ in range(5):  # mistakes of clients do not eject an upstream
        assert house.ask().status_code == 400


REPEATS = {
    "a refusal": reply(400, json.dumps({"error": {"message": f"you sent '{KEY}'"}})),
    "a long refusal": reply(400, json.dumps({"error": {"message": "x" * 1990 + KEY}})),
    "a wrong key": reply(403, json.dumps({"error": {"message": f"{KEY[:12]}... is not known"}})),
    "a crash": reply(500, KEY),
    "another type": reply(200, "", kind=f"text/{KEY}"),
    "an event": HEAD + "data: " + json.dumps({"error": {"message": f"{KEY} and {KEY}"}}) + "\n\n",
    "a later event": HEAD + chunk("x") + "data: " + json.dumps({"error": KEY}) + "\n\n",
}


@pytest.mark.parametrize("name", REPEATS)
def test_a_key_that_the_upstream_repeats_is_struck_out(house, name):
    house.upstreams[0].answer = says(REPEATS[name])
    before = house.server.output().count("upstream_request_failed")
    answer = house.ask(stream=True)
    assert house.upstreams[0].requests[-1].headers["authorization"] == f"Bearer {KEY}"
    assert "up-1" in answer.text and "sk-o" not in answer.text
    wait_until(lambda: house.server.output().count("upstream_request_failed") > before, 10, "the log")
    assert "sk-o" not in house.server.output()


def test_a_huge_line_ends_the_answer(house):
    def endless(connection, request):
        connection.sendall((HEAD + "data: ").encode())
        for _ in range(64):
            connection.sendall(b"x" * 65536)
        house.upstreams[0].wait_for_close(connection)

    house.upstreams[0].answer = endless
    answer = house.ask()
    assert answer.status_code == 502 and "up-1" in answer.json()["error"]["message"]


@pytest.mark.parametrize("piece", [b"", b": ping\n\n", b"d", chunk("").encode()], ids=["silent", "pings", "drips", "roles"])
def test_a_first_word_that_does_not_come_has_a_bound(house, piece):
    def drip(connection, request):
        connection.sendall(HEAD.encode() if piece else b"")
        connection.settimeout(0.05)
        while True:
            if piece:
                connection.sendall(piece)
            try:
                if not connection.recv(100):
                    break
            except TimeoutError:
                continue

    house.upstreams[0].answer = drip
    before = time.monotonic()
    answer = house.ask()
    assert answer.status_code == 504, answer.text
    assert "up-1" in answer.json()["error"]["message"]
    assert 1.5 < time.monotonic() - before < 15


def events_of(response):
    return [json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: {")]


@pytest.mark.parametrize("end", ["closes", "hangs", "garbage"])
def test_a_failure_in_mid_stream_is_the_last_event(house, end):
    def answer(connection, request):
        connection.sendall((HEAD + chunk("Hello") + chunk(" there")).encode())
        if end == "garbage":
            connection.sendall(b"data: }}}\n\n")
        if end != "closes":
            house.upstreams[0].wait_for_close(connection)

    house.upstreams[0].answer = answer
    with house.http.stream("POST", "/v1/chat/completions", json={**QUESTION, "stream": True}) as response:
        assert response.status_code == 200
        events = events_of(response)
    texts = [e["choices"][0]["delta"].get("content", "") for e in events if e.get("choices")]
    assert "".join(texts) == "Hello there"
    assert "up-1" in events[-1]["error"]["message"]
    whole = house.ask()
    assert whole.status_code in (502, 504), whole.text


def test_a_client_that_leaves_closes_the_connection(house):
    upstream = house.upstreams[0]

    def forever(connection, request):
        connection.sendall((HEAD + chunk("Hello")).encode())
        upstream.wait_for_close(connection)

    for stream in (True, False):
        upstream.closed_early.clear()
        upstream.answer = forever
        client = httpx.Client(base_url=house.server.url, timeout=httpx.Timeout(60, read=0.7))
        with pytest.raises(httpx.ReadTimeout):
            if stream:
                with client.stream("POST", "/v1/chat/completions", json={**QUESTION, "stream": True}) as response:
                    for _ in response.iter_lines():
                        pass
            else:
                client.post("/v1/chat/completions", json=QUESTION)
        client.close()
        assert upstream.closed_early.wait(10)
    wait_until(lambda: house.server.metric("llm_upstream_in_flight") == 0, 10, "nothing in flight")


def test_a_slow_reader_holds_its_upstream_back(house):
    """What an upstream may send ahead of a client that does not read is bounded."""
    sent = []

    def flood(connection, request):
        connection.sendall(HEAD.encode())
        piece = chunk("x" * 60_000).encode()
        for _ in range(4000):
            connection.sendall(piece)
            sent.append(len(piece))

    house.upstreams[0].answer = flood
    with house.http.stream("POST", "/v1/chat/completions", json={**QUESTION, "stream": True}):
        last = -1

        def stands_still():
            nonlocal last
            last, before = len(sent), last
            threading.Event().wait(0.5)
            return last == before and last > 0

        wait_until(stands_still, 30, "the upstream blocks")
        assert sum(sent) < 100 << 20, "the whole would be 240 MB"


def test_a_retry_goes_to_another_upstream_and_says_nothing_twice(tmp_path):
    house = House(tmp_path, 2)
    try:
        house.wait_up()
        bad, good = house.upstreams
        bad.answer = says(reply(500))
        for i in range(12):
            answer = house.ask(messages=[{"role": "user", "content": f"conversation {i}"}])
            assert answer.json()["choices"][0]["message"]["content"] == "Hello there", answer.text
        assert 3 <= len(bad.requests) < 12, "tried, then ejected"
        assert len(good.requests) == 12
        assert house.server.metric("llm_upstream_up", upstream="up-1") == 0
        assert house.server.metric("llm_upstream_retries_total") == len(bad.requests)
        # After its pause one request tries it.
        bad.answer = good.answer
        wait_until(
            lambda: house.ask(messages=[{"role": "user", "content": str(time.monotonic())}]).status_code == 200
            and house.server.metric("llm_upstream_up", upstream="up-1") == 1,
            30,
            "the ejected one is back",
        )
    finally:
        house.stop()


def test_retries_have_a_budget(tmp_path):
    house = House(tmp_path, 2)
    try:
        house.wait_up()
        for upstream in house.upstreams:
            upstream.answer = says(reply(429))
        answers = [house.ask() for _ in range(40)]
        assert {a.status_code for a in answers} <= {429, 503}
        num = sum(len(u.requests) for u in house.upstreams)
        assert num <= 40 + 10 + 0.2 * 40
    finally:
        house.stop()


def test_an_upstream_that_is_down_takes_nothing_and_comes_back(tmp_path):
    house = House(tmp_path, 2)
    try:
        house.wait_up()
        first, second = house.upstreams
        first.health = reply(503)
        house.wait_up(1)
        first.requests.clear()
        for i in range(8):
            assert house.ask(messages=[{"role": "user", "content": str(i)}]).status_code == 200
        assert not first.requests
        second.health = reply(503)
        house.wait_up(0)
        refused = house.ask()
        assert refused.status_code == 503 and refused.json()["error"]["code"] == "model_not_ready"
        first.health = reply(200)
        wait_until(lambda: house.ask().status_code == 200, 10, "it is back")
    finally:
        house.stop()


def test_more_requests_than_places_wait_in_line(tmp_path):
    house = House(tmp_path, 1, extra="max_in_flight = 2")
    try:
        house.wait_up()
        go = threading.Event()
        running = []

        def wait(connection, request):
            running.append(1)
            assert len(running) <= 2
            assert go.wait(30)
            running.pop()
            connection.sendall((HEAD + GOOD).encode())

        house.upstreams[0].answer = wait
        statuses = []
        threads = [threading.Thread(target=lambda: statuses.append(house.ask().status_code)) for _ in range(6)]
        for t in threads:
            t.start()
        wait_until(lambda: house.server.metric("llm_upstream_in_flight") == 2, 1.5, "two run")
        go.set()
        for t in threads:
            t.join(30)
        assert statuses == [200] * 6
    finally:
        house.stop()


def test_the_end_of_the_server_ends_what_runs(tmp_path):
    house = House(tmp_path, 1, args=["--drain-timeout-s", "0.2"])
    house.wait_up()
    upstream = house.upstreams[0]

    def forever(connection, request):
        connection.sendall((HEAD + chunk("Hello")).encode())
        for _ in range(200):
            connection.sendall(chunk("!").encode())
            time.sleep(0.05)

    upstream.answer = forever
    with house.http.stream("POST", "/v1/chat/completions", json={**QUESTION, "stream": True}) as response:
        lines = response.iter_lines()
        next(lines)
        assert house.server.terminate(20) == 0
        assert any("server_draining" in line for line in lines)
    house.http.close()
    upstream.close()
