"""Models are loaded and unloaded by name while the server runs."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import threading

import httpx
import pytest

import tiny_model
from conftest import BIN, Server, lines_of, wait_until

SMALL = ("--kv-memory-mb", "8", "--compute-threads", "2")
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "kvasir/models"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model folder of tiny models and a broken one; smollm2, if it is here, is the real one."""
    folder = tmp_path_factory.mktemp("models")
    for seed, name in enumerate(["pin", "alpha", "beta", "gamma"]):
        (folder / name).mkdir()
        tiny_model.write_weights(folder / name, 4096, seed)
        tiny_model.write_tokenizer(folder / name)
    (folder / "broken.gguf").write_bytes(b"GGUF and then nothing")
    if (CACHE / "smollm2").exists():
        (folder / "smollm2").symlink_to(CACHE / "smollm2")
    return folder


@pytest.fixture
def serve(folder, tmp_path):
    started = []

    def start(*args, headers=None):
        folders = ("--model-dir", str(folder), "--data-dir", str(tmp_path / "data"))
        server = Server("pin", args=(*folders, "--offline", *SMALL, *args))
        started.append(server)

        def is_ready():
            assert server.process.poll() is None, server.output()
            try:
                models = httpx.get(server.url + "/v1/models", headers=headers).json()["data"]
            except httpx.TransportError:
                return False
            return any(m["id"] == "pin" and m["ready"] for m in models)

        wait_until(is_ready, 60, "ready")
        return server

    yield start
    for server in started:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait()


def ask(server, path, body, **options):
    return httpx.post(server.url + path, json=body, timeout=120, **options)


def load(server, model, **options):
    return ask(server, "/v1/models/load", {"model": model}, **options)


def unload(server, model):
    return ask(server, "/v1/models/unload", {"model": model})


def complete(server, model, max_tokens=4, **more):
    return ask(server, "/v1/completions", {"model": model, "prompt": "ab", "max_tokens": max_tokens, "ignore_eos": True, **more})


def states(server):
    return {m["id"]: m["state"] for m in httpx.get(server.url + "/v1/models", timeout=30).json()["data"]}


def events_of(lines):
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def test_a_model_is_loaded_asked_and_unloaded(serve):
    server = serve()
    assert states(server) == {"pin": "ready"}
    assert complete(server, "alpha").status_code == 404
    loaded = load(server, "alpha")
    assert loaded.status_code == 200, loaded.text
    body = loaded.json()
    assert body["state"] == "ready" and body["pinned"] is False
    memory = body["memory"]
    assert memory["kv_bytes"] <= 8 << 20 and memory["weights_bytes"] > 0
    assert memory["bytes"] == memory["weights_bytes"] + memory["kv_bytes"] + memory["workspace_bytes"]
    assert complete(server, "alpha").status_code == 200
    assert load(server, "alpha").json()["state"] == "ready"  # at once
    assert server.metric("llm_model_memory_bytes", model="alpha") == memory["bytes"]
    assert server.metric("llm_model_loads_total", model="alpha", outcome="ready") == 1
    assert unload(server, "alpha").json()["state"] == "unloaded"
    assert unload(server, "alpha").status_code == 200
    assert states(server) == {"pin": "ready"}
    assert complete(server, "alpha").status_code == 404
    rows = [row for row in server.metrics() if 'model="alpha"' in row and row.startswith(("llm_steps", "llm_kv", "gpu_", "llm_model_memory"))]
    assert rows == []
    assert load(server, "alpha").status_code == 200 and complete(server, "alpha").status_code == 200


def test_the_last_model_may_leave_and_the_server_says_that_it_is_not_ready(serve):
    server = serve()
    assert unload(server, "pin").status_code == 200
    status, body = server.get("/health/ready")
    assert status == 503 and json.loads(body)["models"] == {}
    assert ask(server, "/v1/chat/completions", {"model": "auto", "messages": [{"role": "user", "content": "x"}]}).status_code == 404
    assert load(server, "pin").json()["pinned"] is True
    assert server.get("/health/ready")[0] == 200


def test_progress_comes_as_events(serve):
    server = serve()
    with httpx.stream("POST", server.url + "/v1/models/load", json={"model": "alpha", "stream": True}, timeout=60) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = list(lines_of(response))
    events = events_of(lines)
    assert events[-1]["id"] == "alpha" and events[-1]["state"] == "ready"
    assert {e["state"] for e in events[:-1]} <= {"queued", "loading", "measuring"}
    assert lines[-2] == "data: [DONE]" or "data: [DONE]" in lines
    failed = httpx.post(server.url + "/v1/models/load", json={"model": "broken", "stream": True}, timeout=60)
    assert failed.status_code == 200
    error = events_of(failed.text.splitlines())[-1]["error"]
    assert "broken.gguf" in error["message"] and error["code"] == "model_failed"


def test_names_are_names_and_errors_are_clear(serve, folder):
    server = serve()
    near = load(server, "alpa")
    assert near.status_code == 404 and "'alpha'" in near.json()["error"]["message"]
    assert near.json()["error"]["code"] == "model_not_found"
    for name in [str(folder / "alpha"), "../alpha", "./alpha", "alpha/", "", "x" * 100_000, "alpha\0", "stories15m"]:
        for path in ["load", "unload", "pull"]:
            answer = ask(server, f"/v1/models/{path}", {"model": name})
            assert answer.status_code in (400, 404), (name[:20], path, answer.text)
    assert ask(server, "/v1/models/load", {}).json()["error"]["param"] == "model"
    assert ask(server, "/v1/models/load", {"model": "alpha", "stream": "yes"}).json()["error"]["param"] == "stream"
    assert states(server) == {"pin": "ready"}
    offline = ask(server, "/v1/models/pull", {"model": "minilm"})
    assert offline.status_code >= 400 and "error" in offline.json()
    assert complete(server, "pin").status_code == 200


def test_a_corrupt_file_harms_nobody(serve):
    server = serve()
    for _ in range(2):
        failed = load(server, "broken")
        assert failed.status_code in (400, 500) and failed.json()["error"]["code"] == "model_failed"
        assert "broken.gguf" in failed.json()["error"]["message"]
        assert states(server) == {"pin": "ready", "broken": "failed"}
    assert complete(server, "pin").status_code == 200
    assert complete(server, "broken").status_code == 503
    assert server.get("/health/ready")[0] == 200
    assert unload(server, "broken").status_code == 200
    assert states(server) == {"pin": "ready"}


def test_simultaneous_loads_are_one_load(serve):
    server = serve()
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(load(server, "alpha"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [a.json()["state"] for a in answers] == ["ready"] * 8
    assert server.metric("llm_model_loads_total", model="alpha") == 1


def test_what_runs_ends_before_its_model_leaves(serve):
    server = serve()
    load(server, "alpha")
    tokens, status = [], []

    def run():
        body = {"model": "alpha", "prompt": "ab", "max_tokens": 3000, "ignore_eos": True, "stream": True}
        with httpx.stream("POST", server.url + "/v1/completions", json=body, timeout=120) as response:
            for line in lines_of(response):
                tokens.append(line)
        status.append(response.status_code)

    running = threading.Thread(target=run)
    running.start()
    wait_until(lambda: len(tokens) > 4, 30, "the stream")
    answer = []
    leaving = threading.Thread(target=lambda: answer.append(unload(server, "alpha")))
    leaving.start()
    wait_until(lambda: states(server).get("alpha") == "leaving" or answer, 30, "leaving")
    if not answer:  # it still runs
        refused = complete(server, "alpha")
        assert refused.status_code in (404, 503), refused.text
    running.join()
    leaving.join()
    assert status == [200]
    finish = [e["choices"][0]["finish_reason"] for e in events_of(tokens) if e["choices"]]
    assert finish[-1] == "length"
    assert answer[0].json()["state"] == "unloaded" and states(server) == {"pin": "ready"}


def test_what_does_not_fit_is_said_with_numbers(serve):
    server = serve("--model-memory-mb", "20")
    assert load(server, "alpha").status_code == 200
    full = load(server, "beta")
    assert full.status_code == 409 and full.json()["error"]["code"] == "model_memory_full"
    for word in ["pin 9 MiB", "alpha 9 MiB", "20 MiB"]:
        assert word in full.json()["error"]["message"], full.text
    tight = serve("--model-memory-mb", "4")
    large = load(tight, "alpha")
    assert large.status_code == 400 and large.json()["error"]["code"] == "model_too_large"
    assert "8 MiB" in large.json()["error"]["message"] and "4 MiB" in large.json()["error"]["message"]
    assert unload(server, "alpha").status_code == 200
    assert load(server, "beta").status_code == 200


def test_a_model_of_the_start_comes_back_though_it_is_larger_than_the_budget(serve):
    server = serve("--model-memory-mb", "4")
    assert unload(server, "pin").status_code == 200
    back = load(server, "pin")
    assert back.status_code == 200 and back.json()["state"] == "ready", back.text
    assert complete(server, "pin").status_code == 200


def test_models_that_come_bring_places_for_requests(serve):
    server = serve("--max-queue", "1", "--max-batch-sequences", "1")  # two places for each model
    assert load(server, "alpha").status_code == 200
    with contextlib.ExitStack() as streams:
        for model in ["pin", "alpha"] * 2:
            body = {"model": model, "prompt": "ab", "max_tokens": 3000, "ignore_eos": True, "stream": True}
            stream = streams.enter_context(httpx.stream("POST", server.url + "/v1/completions", json=body, timeout=60))
            assert stream.status_code == 200, (model, stream.read())
            wait_until(lambda: server.metric("llm_sequences_running", model=model) == 1, 30, "the first runs")
        assert complete(server, "alpha").status_code == 429
    wait_until(lambda: complete(server, "alpha").status_code == 200, 30, "places are free again")


def test_what_could_be_loaded_is_listed(serve):
    server = serve()
    listed = {m["id"]: m for m in httpx.get(server.url + "/v1/machine/models").json()["data"]}
    assert listed["alpha"]["state"] == "unloaded" and listed["alpha"]["local"] is True and listed["alpha"]["size_bytes"] > 0
    assert listed["minilm"]["local"] is False and listed["pin"]["state"] == "ready"
    assert "stories15m" not in listed  # it cannot be served


def test_with_keys_only_an_admin_loads(serve, tmp_path):
    data = tmp_path / "data"
    kvasir = lambda *words: subprocess.run(  # noqa: E731
        [BIN, *words, "--data-dir", str(data)], check=True, capture_output=True, text=True).stdout
    kvasir("tenant", "create", "acme")
    tenant = json.loads(kvasir("key", "create", "--json", "--tenant", "acme"))["key"]
    admin = json.loads(kvasir("key", "create", "--json", "--tenant", "acme", "--scope", "admin"))["key"]
    bearer = lambda key: {"Authorization": f"Bearer {key}"}  # noqa: E731
    server = serve(headers=bearer(tenant))
    assert load(server, "alpha").status_code == 401
    for path in ["load", "unload", "pull"]:
        answer = ask(server, f"/v1/models/{path}", {"model": "alpha"}, headers=bearer(tenant))
        assert answer.status_code == 403 and answer.json()["error"]["code"] == "insufficient_scope"
    assert httpx.get(server.url + "/v1/machine/models", headers=bearer(tenant)).status_code == 403
    assert httpx.get(server.url + "/v1/machine/models", headers=bearer(admin)).status_code == 200
    assert load(server, "alpha", headers=bearer(admin)).status_code == 200


def test_ollamas_requests_without_a_prompt_load_and_unload(serve):
    server = serve()
    assert ask(server, "/api/generate", {"model": "alpha:latest"}).json()["done_reason"] == "load"
    memory = httpx.get(server.url + "/v1/models/alpha").json()["memory"]["bytes"]
    running = {m["name"]: m["size"] for m in httpx.get(server.url + "/api/ps").json()["models"]}
    assert set(running) == {"pin:latest", "alpha:latest"} and running["alpha:latest"] == memory
    assert ask(server, "/api/generate", {"model": "alpha", "prompt": "ab", "raw": True, "stream": False, "options": {"num_predict": 3}}).status_code == 200
    left = ask(server, "/api/chat", {"model": "alpha", "messages": [], "keep_alive": 0})
    assert left.json()["done_reason"] == "unload" and "x-kvasir-warning" not in left.headers
    assert states(server) == {"pin": "ready"}
    kept = ask(server, "/api/generate", {"model": "pin", "keep_alive": 0})
    assert kept.status_code == 200 and kept.headers["x-kvasir-warning"].startswith("keep_alive")
    assert states(server) == {"pin": "ready"}
    assert ask(server, "/api/generate", {"model": "alpa"}).status_code == 404
    assert ask(server, "/api/generate", {"model": "broken"}).status_code in (400, 500)


@pytest.mark.skipif(not (CACHE / "smollm2").exists(), reason="needs smollm2")
def test_memory_returns_to_the_system(serve):
    server = serve()
    resident = lambda: server.metric("process_resident_memory_bytes")  # noqa: E731
    before = resident()
    for _ in range(3):
        assert load(server, "smollm2").status_code == 200
        assert complete(server, "smollm2", 20).status_code == 200
        loaded = resident()
        assert loaded > before + (80 << 20)
        assert unload(server, "smollm2").status_code == 200
        after = resident()
        assert after < before + 0.35 * (loaded - before), (before, loaded, after)
    assert server.metric("process_threads") < 64


# On request.


def test_ollamas_requests_load_their_model(serve):
    server = serve("--load-on-request")
    listed = {m["name"]: m for m in httpx.get(server.url + "/api/tags").json()["models"]}
    assert {"pin:latest", "alpha:latest", "beta:latest"} <= set(listed) and "minilm:latest" not in listed
    assert listed["alpha:latest"]["size"] > 0 and len(listed["alpha:latest"]["digest"]) == 64
    shown = ask(server, "/api/show", {"model": "alpha:latest"}).json()
    assert shown["details"]["format"] == "safetensors" and states(server)["alpha"] == "unloaded"  # looking loads nothing
    few = {"options": {"num_predict": 3}}
    stream = ask(server, "/api/chat", {"model": "alpha:latest", "messages": [{"role": "user", "content": "x"}], **few})
    assert json.loads(stream.text.splitlines()[-1])["done"] and states(server)["alpha"] == "ready"
    whole = ask(server, "/api/generate", {"model": "beta", "prompt": "x", "stream": False, **few})
    assert whole.json()["eval_count"] > 0 and states(server)["beta"] == "ready"
    assert {m["name"] for m in httpx.get(server.url + "/api/ps").json()["models"]} == {"pin:latest", "alpha:latest", "beta:latest"}
    refused = ask(server, "/api/embed", {"model": "gamma:latest", "input": "x"})  # it is loaded, and generates text
    assert refused.status_code == 400 and states(server)["gamma"] == "ready"
    for path in ["/api/chat", "/api/show"]:
        missing = ask(server, path, {"model": "betta", "messages": [{"role": "user", "content": "x"}]})
        assert missing.status_code == 404 and "betta" in missing.json()["error"]


def test_a_request_loads_its_model_and_the_least_recently_used_leaves(serve):
    server = serve("--load-on-request", "--model-memory-mb", "29")  # three of 9
    assert states(server)["alpha"] == "unloaded" and "minilm" not in states(server)
    assert complete(server, "alpha").status_code == 200
    assert complete(server, "beta").status_code == 200
    assert complete(server, "alpha").status_code == 200
    assert complete(server, "gamma").status_code == 200
    assert {m: s for m, s in states(server).items() if m in ("pin", "alpha", "beta", "gamma")} == {
        "pin": "ready", "alpha": "ready", "beta": "unloaded", "gamma": "ready"}
    for path, more in [("/v1/tokenize", {"prompt": "x"}), ("/v1/detokenize", {"tokens": [5]})]:
        assert ask(server, path, {"model": "beta", **more}).status_code == 200
        assert unload(server, "beta").status_code == 200
    chat = {"model": "beta", "max_tokens": 3, "messages": [{"role": "user", "content": "x"}]}
    assert ask(server, "/v1/chat/completions", chat).status_code == 200
    assert ask(server, "/v1/messages", chat).status_code == 200
    missing = complete(server, "betta")
    assert missing.status_code == 404 and "'beta'" in missing.json()["error"]["message"]
    absent = complete(server, "minilm")
    assert absent.status_code == 404 and "pull" in absent.json()["error"]["message"]


def test_many_requests_for_many_models_all_get_answers(serve):
    server = serve("--load-on-request", "--model-memory-mb", "20")  # room for one beside the pinned one
    answers = []

    def run(at):
        for i in range(4):
            answers.append(complete(server, ["alpha", "beta", "gamma"][(at + i) % 3], 8, stream=at % 2 == 0))

    threads = [threading.Thread(target=run, args=(at,)) for at in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [a.status_code for a in answers] == [200] * 24
    assert all("error" not in a.text for a in answers), [a.text for a in answers if "error" in a.text][:1]
    ready = [m for m, s in states(server).items() if s == "ready" and m != "auto"]
    assert len(ready) <= 2 and "pin" in ready


def test_a_model_in_use_never_leaves_for_another(serve):
    server = serve("--load-on-request", "--model-memory-mb", "20", "--load-wait-s", "0.5")
    assert complete(server, "alpha").status_code == 200
    lines, done = [], []

    def run():
        body = {"model": "alpha", "prompt": "ab", "max_tokens": 4000, "ignore_eos": True, "stream": True}
        with httpx.stream("POST", server.url + "/v1/completions", json=body, timeout=120) as response:
            for line in lines_of(response):
                lines.append(line)
        done.append(True)

    running = threading.Thread(target=run)
    running.start()
    wait_until(lambda: len(lines) > 4, 30, "the stream")
    full = complete(server, "beta")
    still_ran = not done
    running.join()
    assert events_of(lines)[-1]["choices"][0]["finish_reason"] == "length"
    if still_ran:
        assert full.status_code == 503 and int(full.headers["retry-after"]) > 0, full.text


def test_a_broken_model_is_told_and_not_tried_at_each_request(serve):
    server = serve("--load-on-request")
    first = complete(server, "broken")
    assert first.status_code == 503 and first.json()["error"]["code"] == "model_failed"
    again = complete(server, "broken")
    assert again.status_code == 503 and int(again.headers["retry-after"]) > 0
    assert server.metric("llm_model_loads_total", model="broken") == 1
    assert load(server, "broken").status_code in (400, 500)  # an admin may try at once
    assert server.metric("llm_model_loads_total", model="broken") == 2
    assert complete(server, "pin").status_code == 200


def test_batches_load_their_models(serve):
    server = serve("--load-on-request")
    lines = [
        {"custom_id": str(i), "method": "POST", "url": "/v1/completions",
         "body": {"model": name, "prompt": "ab", "max_tokens": 3, "ignore_eos": True}}
        for i, name in enumerate(["alpha", "beta", "pin", "broken"])
    ]
    client = server.client()
    uploaded = client.files.create(file=("b.jsonl", "\n".join(map(json.dumps, lines)).encode()), purpose="batch")
    batch = client.batches.create(input_file_id=uploaded.id, endpoint="/v1/completions", completion_window="24h")
    batch = wait_until(lambda: (b := client.batches.retrieve(batch.id)).status == "completed" and b, 60, "the batch")
    assert (batch.request_counts.completed, batch.request_counts.failed) == (3, 1)


@pytest.mark.skipif(not (CACHE / "smollm2").exists(), reason="needs smollm2")
def test_streams_get_pings_while_the_model_loads_and_a_client_that_leaves_harms_nobody(serve):
    server = serve("--load-on-request", "--ping-interval-s", "0.02")
    body = {"model": "smollm2", "prompt": "Once", "max_tokens": 3, "stream": True}
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        text = json.dumps(body).encode()
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(text) + text)
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
    with httpx.stream("POST", server.url + "/v1/completions", json=body, timeout=120) as response:
        lines = list(lines_of(response))
    assert response.status_code == 200
    assert any(line.startswith(":") for line in lines), lines
    assert "data: [DONE]" in lines and not any("error" in line for line in lines)
    assert server.metric("llm_model_loads_total", model="smollm2") == 1
    wait_until(lambda: server.metric("kvasir_http_requests_active") <= 1, 20, "no request is left over")
    assert unload(server, "smollm2").status_code == 200


@pytest.mark.skipif(not (CACHE / "smollm2").exists(), reason="needs smollm2")
def test_waiting_is_bounded(serve):
    server = serve("--load-on-request", "--load-wait-s", "0.05")
    late = complete(server, "smollm2")
    assert late.status_code == 503 and late.json()["error"]["code"] == "model_not_ready"
    assert int(late.headers["retry-after"]) > 0
    wait_until(lambda: states(server)["smollm2"] == "ready", 60, "the load went on")
    assert complete(server, "smollm2").status_code == 200


@pytest.mark.skipif(not (CACHE / "smollm2").exists(), reason="needs smollm2")
def test_a_drain_does_not_wait_for_loads(serve):
    server = serve("--load-on-request")
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(complete(server, "smollm2")))
    waiting.start()
    wait_until(lambda: states(server)["smollm2"] != "unloaded", 30, "the load")
    assert server.terminate(20) == 0
    waiting.join()
    assert answers[0].status_code in (200, 503)


def test_wrong_settings_are_errors(tmp_path):
    for flags, word in [(["--pull-on-request"], "load_on_request"),
                        (["--load-on-request", "--device", "cuda"], "kv_memory_mb")]:
        run = subprocess.run([BIN, "serve", "--data-dir", str(tmp_path), *flags], capture_output=True, text=True, timeout=30)
        assert run.returncode != 0 and word in run.stderr
