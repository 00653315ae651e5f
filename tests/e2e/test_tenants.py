"""Keys and tenants, with the real clients: every way in without a valid key, and what ends with a key."""

import json
import os
import pathlib
import socket
import subprocess
import threading
import time

import anthropic
import httpx
import openai
import pytest

from conftest import BIN, Server, wait_until

MODEL = "smollm2"


class House:
    """A data folder, the command line on it, and a running server."""

    def __init__(self, folder):
        self.data = pathlib.Path(folder)
        self.server = None

    def kvasir(self, *words, fails=False):
        run = subprocess.run([BIN, *words, "--data-dir", str(self.data)], capture_output=True, text=True, timeout=60)
        assert (run.returncode != 0) == fails, run.stdout + run.stderr
        return run.stderr if fails else run.stdout.strip()

    def key(self, *words):
        """(text, id) of a new key."""
        made = json.loads(self.kvasir("key", "create", "--json", *words))
        return made["key"], made["id"]

    def serve(self, *args):
        self.server = Server(MODEL, args=["--data-dir", str(self.data), "--log-level", "trace", *args])
        wait_until(lambda: self.server.get("/health/ready")[0] == 200, 120, "ready\n" + self.server.output())
        return self.server

    def openai(self, key):
        return openai.OpenAI(base_url=self.server.url + "/v1", api_key=key, max_retries=0)

    def http(self, key=None):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(base_url=self.server.url, headers=headers, timeout=60)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    h = House(tmp_path_factory.mktemp("house"))
    h.kvasir("tenant", "create", "acme", "--tier", "pro")
    h.kvasir("tenant", "create", "beta", "--tier", "free")
    h.acme, h.acme_id = h.key("--tenant", "acme")
    h.beta, _ = h.key("--tenant", "beta")
    h.admin, _ = h.key("--tenant", "acme", "--scope", "admin")
    h.metrics, _ = h.key("--tenant", "acme", "--scope", "metrics")
    h.serve()
    try:
        yield h
    finally:
        h.server.terminate()


def wait_refused(house, key):
    with house.http(key) as http:
        wait_until(lambda: http.get("/v1/models").status_code == 401, 5, "401")


def test_no_key_and_a_wrong_one(house):
    for client in (house.openai("none"), house.openai("kv-" + "x" * 44)):
        with pytest.raises(openai.AuthenticationError) as refused:
            client.models.list()
        assert refused.value.code == "invalid_api_key"
        assert refused.value.type == "invalid_request_error"
    claude = anthropic.Anthropic(base_url=house.server.url, api_key="wrong", max_retries=0)
    with pytest.raises(anthropic.AuthenticationError) as refused:
        claude.messages.create(model=MODEL, max_tokens=4, messages=[{"role": "user", "content": "hi"}])
    assert refused.value.body["error"]["type"] == "authentication_error"
    with house.http() as http:
        for path in ("/v1/models", "/metrics", "/v1/files", "/v1/admin/tenants", "/openapi.json", "/v1/nothing"):
            assert http.get(path).status_code == 401, path
        assert http.post("/v1/chat/completions", content=b"x" * 1_000_000).status_code == 401
        for path in ("/health/live", "/health/ready", "/health/progress"):
            assert http.get(path).status_code == 200, path


def test_a_key_lets_both_clients_in(house):
    answer = house.openai(house.acme).chat.completions.create(
        model=MODEL, max_tokens=4, messages=[{"role": "user", "content": "hi"}]
    )
    assert answer.choices[0].message.content is not None
    claude = anthropic.Anthropic(base_url=house.server.url, api_key=house.acme, max_retries=0)
    assert claude.messages.create(model=MODEL, max_tokens=4, messages=[{"role": "user", "content": "hi"}]).content


def test_wrong_scopes(house):
    for key, path in ((house.acme, "/metrics"), (house.acme, "/v1/admin/keys"), (house.metrics, "/v1/models"),
                      (house.metrics, "/v1/admin/keys"), (house.admin, "/v1/models")):
        with house.http(key) as http:
            refused = http.get(path)
            assert refused.status_code == 403, path
            assert refused.json()["error"]["code"] == "insufficient_scope"
    for key, path in ((house.metrics, "/metrics"), (house.admin, "/metrics"), (house.admin, "/v1/admin/keys")):
        with house.http(key) as http:
            assert http.get(path).status_code == 200, path
    with pytest.raises(openai.PermissionDeniedError):
        house.openai(house.metrics).models.list()


def test_revoked_rotated_and_expired_keys(house):
    key, key_id = house.key("--tenant", "acme")
    wait_until(lambda: house.http(key).get("/v1/models").status_code == 200, 5, "the new key")
    rotated = json.loads(house.kvasir("key", "rotate", key_id, "--json"))
    wait_refused(house, key)
    assert house.http(rotated["key"]).get("/v1/models").status_code == 200
    house.kvasir("key", "revoke", rotated["id"])
    wait_refused(house, rotated["key"])
    # The command line does not make a key that has expired; the admin API makes one that soon will.
    assert "--expires" in house.kvasir("key", "create", "--tenant", "acme", "--expires", "2020-01-01", fails=True)
    with house.http(house.admin) as admin:
        made = admin.post("/v1/admin/keys", json={"tenant": "acme", "expires_at": int(time.time()) + 2}).json()
        with house.http(made["key"]) as http:
            assert http.get("/v1/models").status_code == 200
        wait_refused(house, made["key"])
        assert admin.get("/v1/admin/keys/" + made["id"]).json()["status"] == "expired"


def test_what_is_anothers_is_not_there(house):
    acme, beta = house.openai(house.acme), house.openai(house.beta)
    line = {"custom_id": "1", "method": "POST", "url": "/v1/completions",
            "body": {"model": MODEL, "prompt": "hi", "max_tokens": 1}}
    file = acme.files.create(file=("in.jsonl", json.dumps(line).encode()), purpose="batch")
    batch = acme.batches.create(input_file_id=file.id, endpoint="/v1/completions", completion_window="24h")
    response = acme.responses.create(model=MODEL, input="hi", max_output_tokens=1)
    with house.http(house.acme) as http:
        conversation = http.post("/v1/conversations", json={}).json()["id"]
        with http.stream("POST", "/v1/completions", json={
                "model": MODEL, "prompt": "hi", "max_tokens": 2, "stream": True,
                "stream_options": {"resumable": True}}) as stream:
            stream_id = stream.headers["x-stream-id"]
            stream.read()
    paths = {
        f"/v1/files/{file.id}": file.id, f"/v1/files/{file.id}/content": file.id, f"/v1/batches/{batch.id}": batch.id,
        f"/v1/responses/{response.id}": response.id, f"/v1/responses/{response.id}?stream=true": response.id,
        f"/v1/responses/{response.id}/input_items": response.id, f"/v1/conversations/{conversation}": conversation,
        f"/v1/conversations/{conversation}/messages": conversation, f"/v1/streams/{stream_id}": stream_id,
    }
    with house.http(house.acme) as mine, house.http(house.beta) as theirs:
        for path, thing in paths.items():
            assert mine.get(path).status_code == 200, path
            missing = thing[:-1] + ("x" if thing[-1] != "x" else "y")
            hidden, nobodys = theirs.get(path), theirs.get(path.replace(thing, missing))
            assert hidden.status_code == nobodys.status_code == 404, path
            assert hidden.text == nobodys.text.replace(missing, thing), path
        for path in (f"/v1/files/{file.id}", f"/v1/responses/{response.id}", f"/v1/conversations/{conversation}"):
            assert theirs.delete(path).status_code == 404, path
        assert theirs.post(f"/v1/batches/{batch.id}/cancel").status_code == 404
        sent = theirs.post(f"/v1/conversations/{conversation}/messages", json={"role": "user", "content": "hi"})
        assert sent.status_code == 404
    with pytest.raises(openai.BadRequestError) as refused:
        beta.responses.create(model=MODEL, input="hi", previous_response_id=response.id)
    assert refused.value.code == "previous_response_not_found"
    with pytest.raises(openai.APIStatusError):
        beta.batches.create(input_file_id=file.id, endpoint="/v1/completions", completion_window="24h")
    assert not beta.files.list().data and not beta.batches.list().data


def start_stream(house, key, **more):
    """Streams a long answer; gives its lines, and the moment of its end."""
    lines, ended = [], []
    body = {"model": MODEL, "prompt": "Once", "max_tokens": 4000, "stream": True, "ignore_eos": True, **more}

    def run():
        try:
            with house.http(key) as http, http.stream("POST", "/v1/completions", json=body) as stream:
                lines.append(stream.headers["x-stream-id"])
                lines.extend(line for line in stream.iter_lines())
        finally:
            ended.append(time.monotonic())

    threading.Thread(target=run, daemon=True).start()
    wait_until(lambda: len(lines) > 6, 60, "the stream's start")
    return lines, ended


def test_revoking_a_key_ends_its_stream_within_a_second(house):
    key, key_id = house.key("--tenant", "acme")
    wait_until(lambda: house.http(key).get("/v1/models").status_code == 200, 5, "the new key")
    lines, ended = start_stream(house, key)
    with house.http(house.admin) as admin:
        assert admin.delete("/v1/admin/keys/" + key_id).status_code == 200
    revoked = time.monotonic()
    wait_until(lambda: ended, 10, "the stream's end")
    assert ended[0] - revoked < 1
    last = json.loads([line for line in lines if line.startswith("data:")][-1][5:])
    assert last["error"]["code"] == "key_revoked"


def test_revoking_by_the_command_line_ends_a_stream_that_nobody_reads(house):
    key, key_id = house.key("--tenant", "acme")
    wait_until(lambda: house.http(key).get("/v1/models").status_code == 200, 5, "the new key")
    body = {"model": MODEL, "prompt": "Once", "max_tokens": 4000, "stream": True, "ignore_eos": True,
            "stream_options": {"resumable": True}}
    with house.http(key) as http, http.stream("POST", "/v1/completions", json=body) as stream:
        stream_id = stream.headers["x-stream-id"]
        next(stream.iter_lines())
    house.kvasir("key", "revoke", key_id)
    wait_refused(house, key)
    with house.http(house.acme) as other, other.stream("GET", f"/v1/streams/{stream_id}") as rest:
        assert rest.status_code == 200
        assert "key_revoked" in [line for line in rest.iter_lines() if line.startswith("data:")][-1]


def test_no_key_is_in_the_log(house):
    everything = house.server.output()
    assert "request" in everything
    for key in (house.acme, house.beta, house.admin, house.metrics):
        assert key not in everything and key[3:20] not in everything
    for path in house.data.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert house.acme.encode() not in content, path


def test_the_command_line(house):
    assert "there is no tenant 'nobody'" in house.kvasir("key", "create", "--tenant", "nobody", fails=True)
    assert "there is no tier 'gold'" in house.kvasir("tenant", "create", "x", "--tier", "gold", fails=True)
    assert "there is a tenant 'acme' already" in house.kvasir("tenant", "create", "acme", fails=True)
    assert house.acme_id in house.kvasir("key", "list", "--tenant", "acme")
    assert house.acme not in house.kvasir("key", "list", "--json")
    house.kvasir("tenant", "create", "gone", "--system-prompt", "Be brief.")
    assert json.loads(house.kvasir("tenant", "set", "gone", "--tier", "pro", "--json"))["system_prompt"] == "Be brief."
    assert "--yes" in house.kvasir("tenant", "delete", "gone", fails=True)
    house.kvasir("tenant", "delete", "gone", "--yes")
    assert "there is no tenant 'gone'" in house.kvasir("tenant", "show", "gone", fails=True)
    text = house.kvasir("key", "create", "--tenant", "acme", "--name", "for a script")
    assert text.startswith("kv-") and len(text.split()) == 1


def test_kvasir_chat_shows_a_key(house):
    def chat(**env):
        return subprocess.run([BIN, "chat", "--url", house.server.url, "--temperature", "0"], input="What is 2+2?\n",
                              env={**os.environ, **env}, capture_output=True, text=True, timeout=120)

    assert chat().returncode == 1
    assert "401" in chat().stderr
    answered = chat(KVASIR_API_KEY=house.acme)
    assert answered.returncode == 0 and answered.stdout.strip()


def other_address():
    """An address of this machine other than loopback."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect(("192.0.2.1", 9))
            return s.getsockname()[0]
    except OSError:
        pass
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def reachable(address, port):
    with socket.socket() as s:
        s.settimeout(5)
        return s.connect_ex((address, port)) == 0


def test_a_server_without_keys_listens_on_loopback_alone(tmp_path):
    address = other_address()
    if address.startswith("127."):
        pytest.skip("this machine has no other address")
    empty = House(tmp_path)
    server = empty.serve("--host", "0.0.0.0")
    try:
        assert reachable("127.0.0.1", server.port) and not reachable(address, server.port)
        assert "no API keys" in server.output()
        with empty.http("anything") as http:
            assert http.get("/v1/models").status_code == 200
            assert http.get("/v1/admin/tenants").status_code == 401
        # The first key is required at once, and lets the next server listen everywhere.
        empty.kvasir("tenant", "create", "acme")
        key, key_id = empty.key("--tenant", "acme")
        wait_refused(empty, None)
        assert empty.http(key).get("/v1/models").status_code == 200
        empty.kvasir("key", "revoke", key_id)
        wait_refused(empty, key)
    finally:
        server.terminate()
    empty.key("--tenant", "acme")
    server = empty.serve("--host", "0.0.0.0")
    try:
        assert reachable(address, server.port)
    finally:
        server.terminate()


def test_everybody_may_ask_where_the_settings_want_it(tmp_path):
    address = other_address()
    if address.startswith("127."):
        pytest.skip("this machine has no other address")
    server = House(tmp_path).serve("--host", "0.0.0.0", "--allow-anonymous")
    try:
        assert reachable(address, server.port)
        assert "--allow-anonymous" in server.output()
    finally:
        server.terminate()
