"""Models that upstreams serve: a real llama.cpp server, and another Kvasir. Every API, the same limits and records."""

import json
import os
import pathlib
import subprocess
import sys
import threading

import anthropic
import httpx
import openai
import pytest

from conftest import BIN, Server, free_port, wait_until
from scripted_upstream import GOOD, HEAD, Upstream, chunk

SAYS = [{"role": "user", "content": "Name the capital of France in one word."}]
TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "parameters": {
            "type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"],
            "additionalProperties": False,
        },
    },
}

LLAMA = """
import sys, threading, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.hostnames = sys.argv[1], int(sys.argv[2]), ["127.0.0.1"]
params.model_alias, params.endpoint_metrics, params.ui = {"smol"}, True, False
params.n_ctx, params.n_parallel = 4096, 2
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
server = xllamacpp.Server(params)
print("ready", flush=True)
threading.Event().wait()
"""


def upstream(name, url, **keys):
    lines = [f'{k} = "{v}"' if isinstance(v, str) else f"{k} = {v}" for k, v in keys.items()]
    return "\n".join(["[[upstream]]", f'name = "{name}"', f'url = "{url}"', "check_interval_s = 0.2", *lines, ""])


def serve(folder, config, *models, args=()):
    folder.mkdir(exist_ok=True)
    (folder / "kvasir.toml").write_text(config)
    return Server(*models, args=["--config", str(folder / "kvasir.toml"), "--data-dir", str(folder / "data"), *args])


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """llama.cpp's own server, with the file that Kvasir serves as smollm2."""
    pytest.importorskip("xllamacpp")
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    model = next((cache / "kvasir/models/smollm2").glob("*.gguf"))
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", LLAMA, str(model), str(port)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout.readline(), "llama.cpp did not start"
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def inner(tmp_path_factory):
    """The Kvasir behind the other, with a key."""
    data = tmp_path_factory.mktemp("inner")
    run = [BIN, "key", "create", "--tenant", "gate", "--json", "--data-dir", str(data)]
    subprocess.run([BIN, "tenant", "create", "gate", "--data-dir", str(data)], check=True, capture_output=True)
    made = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    server = Server("smollm2", args=["--data-dir", str(data)])
    server.key = made["key"]
    try:
        wait_until(lambda: server.get("/health/ready")[0] == 200, 120, "ready\n" + server.output())
        yield server
    finally:
        server.terminate()


@pytest.fixture(scope="module")
def gate(inner, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gate")
    (folder / "key").write_text(inner.key + "\n")
    server = serve(
        folder,
        upstream("theirs", inner.url, model="smollm2", api_key_file=str(folder / "key"))
        + '[[prices]]\nmodel = "theirs"\nprompt = 1000\ncompletion = 2000\ncurrency = "USD"\n',
        args=["--log-level", "trace"],
    )
    try:
        yield server.wait_ready("theirs")
    finally:
        assert inner.key not in server.output(), "the key is in the log"
        server.terminate()


def parts(stream):
    """(text, finish, usage) of a chat's stream."""
    text, finish, usage = "", None, None
    for event in stream:
        for choice in event.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
        usage = event.usage or usage
    return text, finish, usage


def test_streams_are_whole_answers_are_the_upstreams_own(gate, inner):
    ask = {"messages": SAYS, "temperature": 0, "max_tokens": 24, "seed": 5}
    direct = openai.OpenAI(base_url=inner.url + "/v1", api_key=inner.key).chat.completions.create(
        model="smollm2", **ask
    )
    whole = gate.client().chat.completions.create(model="theirs", **ask)
    stream = gate.client().chat.completions.create(
        model="theirs", stream=True, stream_options={"include_usage": True}, **ask
    )
    text, finish, usage = parts(stream)
    assert whole.choices[0].message.content == direct.choices[0].message.content == text != ""
    assert whole.choices[0].finish_reason == direct.choices[0].finish_reason == finish
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (
        direct.usage.prompt_tokens, direct.usage.completion_tokens,
    ) == (usage.prompt_tokens, usage.completion_tokens)
    assert whole.model == "theirs"


def test_usage_is_hidden_unless_asked_for(gate):
    stream = gate.client().chat.completions.create(model="theirs", messages=SAYS, max_tokens=3, stream=True)
    events = list(stream)
    assert all(e.usage is None for e in events) and all(e.choices for e in events)


def test_every_api_of_text(gate):
    client = gate.client()
    short = {"max_tokens": 8, "temperature": 0}
    completion = client.completions.create(model="theirs", prompt="Once upon a", **short)
    assert completion.choices[0].text and completion.usage.completion_tokens == 8
    streamed = client.completions.create(model="theirs", prompt="Once upon a", stream=True, **short)
    assert "".join(c.choices[0].text for c in streamed if c.choices) == completion.choices[0].text

    response = client.responses.create(model="theirs", input="Say hello.", max_output_tokens=8, temperature=0)
    assert response.output_text
    with client.responses.stream(model="theirs", input="Say hello.", max_output_tokens=8, temperature=0) as events:
        told = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        assert told == response.output_text

    claude = anthropic.Anthropic(base_url=gate.url, api_key="none", max_retries=0)
    asks = {"model": "theirs", "messages": SAYS, "max_tokens": 8, "extra_body": {"temperature": 0}}
    message = claude.messages.create(**asks)
    with claude.messages.stream(**asks) as stream:
        assert stream.get_final_text() == message.content[0].text != ""


def test_choices_logprobs_and_stops(gate):
    client = gate.client()
    answer = client.chat.completions.create(
        model="theirs", messages=SAYS, max_tokens=6, n=3, logprobs=True, top_logprobs=2, temperature=0
    )
    assert [c.index for c in answer.choices] == [0, 1, 2]
    for choice in answer.choices:
        tokens = choice.logprobs.content
        assert "".join(t.token for t in tokens) == choice.message.content
        assert all(t.logprob <= 0 and len(t.top_logprobs) == 2 for t in tokens)
    words = client.completions.create(model="theirs", prompt="One two three", max_tokens=8, logprobs=2, temperature=0)
    assert "".join(words.choices[0].logprobs.tokens) == words.choices[0].text
    cut = words.choices[0].text.split()[1]
    stopped = client.completions.create(model="theirs", prompt="One two three", max_tokens=8, stop=cut, temperature=0)
    assert cut not in stopped.choices[0].text and stopped.choices[0].finish_reason == "stop"


def test_tools_and_structure(gate):
    client = gate.client()
    ask = {"model": "theirs", "messages": SAYS, "max_tokens": 60, "temperature": 0}
    called = client.chat.completions.create(tools=[TOOL], tool_choice="required", **ask)
    call = called.choices[0].message.tool_calls[0]
    assert call.function.name == "look_up" and isinstance(json.loads(call.function.arguments), dict)
    assert called.choices[0].finish_reason == "tool_calls"
    streamed = client.chat.completions.create(tools=[TOOL], tool_choice="required", stream=True, **ask)
    pieces = [p for e in streamed for c in e.choices for p in c.delta.tool_calls or []]
    assert "".join(p.function.arguments or "" for p in pieces) == call.function.arguments
    assert [p.function.name for p in pieces if p.id] == ["look_up"]
    history = [
        *SAYS,
        {"role": "assistant", "content": None, "tool_calls": [call.model_dump()]},
        {"role": "tool", "tool_call_id": call.id, "content": "Paris"},
    ]
    again = client.chat.completions.create(model="theirs", messages=history, tools=[TOOL], max_tokens=4)
    assert again.choices

    schema = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]}
    formed = client.chat.completions.create(
        response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}, **ask
    )
    assert json.loads(formed.choices[0].message.content)["city"] in ("Paris", "Rome")
    raw = client.chat.completions.with_raw_response.create(extra_body={"guided_regex": "(yes|no)"}, **ask)
    assert raw.parse().choices[0].message.content in ("yes", "no")
    assert "guided_regex" in raw.headers["x-kvasir-warning"]


def test_what_needs_our_own_model_is_a_clear_400(gate):
    for path, body in {
        "/v1/chat/completions": {"model": "theirs", "messages": SAYS, "server_tools": ["x"]},
        "/v1/completions": {"model": "theirs", "prompt": "x", "prompt_logprobs": 1},
        "/v1/tokenize": {"model": "theirs", "prompt": "x"},
        "/v1/embeddings": {"model": "theirs", "input": "x"},
    }.items():
        answer = httpx.post(gate.url + path, json=body, timeout=30)
        assert answer.status_code == 400, (path, answer.text)
    missing = httpx.post(gate.url + "/v1/chat/completions", json={"model": "none", "messages": SAYS})
    assert missing.status_code == 404 and "theirs" in missing.json()["error"]["message"]


def test_a_model_of_upstreams_is_listed_with_its_window(gate, inner):
    (model,) = [m for m in gate.client().models.list().data if m.id == "theirs"]
    assert (model.owned_by, model.ready) == ("upstream", True)
    theirs = openai.OpenAI(base_url=inner.url + "/v1", api_key=inner.key).models.retrieve("smollm2")
    assert model.context_window == theirs.context_window > 0
    assert gate.client().models.retrieve("theirs").id == "theirs"


def test_receipts_usage_and_prices(gate, tmp_path):
    client = gate.client()
    answer = client.chat.completions.create(
        model="theirs", messages=SAYS, max_tokens=4, extra_body={"kvasir": {"receipt": True}}
    )
    assert answer.kvasir["prefill_ms"] > 0
    before = gate.metric("llm_upstream_requests_total", outcome="good")
    client.chat.completions.create(model="theirs", messages=SAYS, max_tokens=4)
    assert gate.metric("llm_upstream_requests_total", outcome="good") == before + 1
    assert gate.metric("llm_tokens_total", model="theirs", kind="output") > 0


def test_streams_resume_and_responses_go_on_in_the_background(gate):
    client = gate.client()
    response = client.responses.create(model="theirs", input="Count.", max_output_tokens=12, background=True)
    wait_until(lambda: client.responses.retrieve(response.id).status == "incomplete", 30, "its twelve tokens")
    options = {"include_usage": True, "resumable": True}
    with httpx.stream(
        "POST", gate.url + "/v1/chat/completions", timeout=30,
        json={"model": "theirs", "messages": SAYS, "max_tokens": 30, "stream": True, "stream_options": options},
    ) as stream:
        stream_id = stream.headers["x-stream-id"]
        next(stream.iter_lines())
    rest = httpx.get(gate.url + f"/v1/streams/{stream_id}", timeout=30)
    assert rest.status_code == 200 and rest.text.rstrip().endswith("data: [DONE]")


def test_a_trace_goes_on_at_the_upstream(tmp_path):
    theirs = Upstream()
    server = serve(tmp_path, upstream("up", theirs.url, model="other"))
    try:
        server.wait_ready("up")
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        httpx.post(
            server.url + "/v1/chat/completions", timeout=30,
            json={"model": "up", "messages": SAYS, "temperature": 0.7, "user": "ann", "max_tokens": 9},
            headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01", "x-request-id": "mine"},
        )
        (sent,) = theirs.requests
        assert sent.headers["traceparent"].split("-")[1] == trace
        assert sent.headers["x-request-id"] == "mine"
        assert "authorization" not in sent.headers
        assert sent.json() == {
            "model": "other", "max_tokens": 9, "messages": SAYS, "stream": True,
            "stream_options": {"include_usage": True}, "temperature": 0.7, "user": "ann",
        }
    finally:
        server.terminate()
        theirs.close()


def test_limits_hold_and_settle_by_what_the_upstream_says(tmp_path):
    theirs = Upstream()
    config = upstream("up", theirs.url, context_length=1000) + (
        '[[tiers]]\nname = "small"\ntokens_per_minute = 1000\nmodels = ["up"]\nmax_context = 900\n'
        '[[tiers]]\nname = "others"\nmodels = ["x"]\n'
    )
    for tenant, tier in (("a", "small"), ("b", "others")):
        flags = ["--data-dir", str(tmp_path / "data"), "--config", str(tmp_path / "kvasir.toml")]
        (tmp_path / "kvasir.toml").write_text(config)
        subprocess.run([BIN, "tenant", "create", tenant, "--tier", tier, *flags], check=True, capture_output=True)
    keys = {}
    for tenant in "ab":
        made = subprocess.run([BIN, "key", "create", "--tenant", tenant, "--json", *flags], check=True,
                              capture_output=True, text=True)
        keys[tenant] = json.loads(made.stdout)["key"]
    server = serve(tmp_path, config)
    try:
        wait_until(lambda: server.get("/health/live")[0] == 200, 60)
        http = httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {keys['a']}"}, timeout=30)

        def ask(**more):
            return http.post("/v1/chat/completions", json={"model": "up", "messages": SAYS, **more})

        wait_until(lambda: http.get("/v1/models").json()["data"][0]["ready"], 30, "ready")
        for _ in range(3):  # each reserves more than 800 tokens, and uses 13
            assert ask(max_tokens=800).status_code == 200
        assert theirs.requests[-1].json()["max_tokens"] == 800
        assert ask().status_code == 200
        assert 800 < theirs.requests[-1].json()["max_tokens"] < 900, "the tier bounds what nothing else does"
        long = ask(messages=[{"role": "user", "content": "word " * 800}])
        assert long.status_code == 400 and long.json()["error"]["code"] == "context_length_exceeded"
        much = chunk("x") + chunk(finish="stop") + chunk(usage={"prompt_tokens": 300, "completion_tokens": 300})
        theirs.answer = lambda connection, _: connection.sendall((HEAD + much + "data: [DONE]\n\n").encode())
        assert ask(max_tokens=10).json()["usage"]["total_tokens"] == 600
        refused = ask(max_tokens=800)
        assert refused.status_code == 429 and refused.json()["error"]["code"] == "rate_limit_exceeded"
        other = httpx.post(
            server.url + "/v1/chat/completions", json={"model": "up", "messages": SAYS},
            headers={"Authorization": f"Bearer {keys['b']}"},
        )
        assert other.status_code == 404
    finally:
        server.terminate()
        theirs.close()


def test_conversations_stay_and_spread(tmp_path):
    theirs = [Upstream() for _ in range(3)]
    server = serve(tmp_path, "".join(upstream("up", u.url) for u in theirs))
    try:
        wait_until(lambda: server.get("/health/live")[0] == 200, 60, "live")
        wait_until(lambda: server.metric("llm_upstream_up") == 3, 30, "up")
        client = server.client()
        for i in range(30):
            messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Question {i}"}]
            places = set()
            for _ in range(3):
                before = [len(u.requests) for u in theirs]
                client.chat.completions.create(model="up", messages=messages)
                places.add(next(k for k, u in enumerate(theirs) if len(u.requests) > before[k]))
                messages += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And then?"}]
            assert len(places) == 1
        assert min(len(u.requests) for u in theirs) >= 3
    finally:
        server.terminate()
        for u in theirs:
            u.close()


def test_a_cache_key_decides_who_answers(tmp_path):
    theirs = [Upstream() for _ in range(3)]
    server = serve(tmp_path, "".join(upstream("up", u.url) for u in theirs))
    try:
        wait_until(lambda: server.get("/health/live")[0] == 200, 60, "live")
        wait_until(lambda: server.metric("llm_upstream_up") == 3, 30, "up")
        client = server.client()

        def place(ask):
            before = [len(u.requests) for u in theirs]
            ask()
            return next(k for k, u in enumerate(theirs) if len(u.requests) > before[k])

        used = set()
        for key in range(12):
            options = {"model": "up", "prompt_cache_key": f"key {key}"}
            places = {place(lambda: client.chat.completions.create(**options, messages=[{"role": "user", "content": f"{key} {i}"}])) for i in range(3)}
            places |= {place(lambda: client.responses.create(**options, input=f"{key} {i}")) for i in range(2)}
            assert len(places) == 1, (key, places)
            used |= places
        assert used == {0, 1, 2}
        talk = httpx.post(server.url + "/v1/conversations", json={"model": "up"}, timeout=60).json()["id"]
        turns = {place(lambda: httpx.post(f"{server.url}/v1/conversations/{talk}/messages", json={"content": f"{i}"}, timeout=60)) for i in range(4)}
        assert len(turns) == 1
    finally:
        server.terminate()
        for u in theirs:
            u.close()


def test_ours_come_first_and_upstreams_take_what_is_over(tmp_path):
    theirs = Upstream()
    config = upstream("smollm2", theirs.url)
    server = serve(tmp_path, config, "smollm2", args=["--max-batch-sequences", "1", "--slo-ttft-ms", "50"])
    try:
        # While ours loads, theirs answer.
        wait_until(lambda: server.get("/health/live")[0] == 200, 60)
        server.wait_ready("smollm2")
        client = server.client()
        ask = {"model": "smollm2", "messages": SAYS, "temperature": 0}
        before = len(theirs.requests)
        assert client.chat.completions.create(max_tokens=4, **ask).choices[0].message.content != "Hello there"
        assert len(theirs.requests) == before
        streams = []
        for i in range(6):
            long = [{"role": "user", "content": f"{i} " + "Tell me a long story. " * 150}]
            streams.append(
                threading.Thread(
                    target=lambda m=long: client.chat.completions.create(model="smollm2", messages=m, max_tokens=60)
                )
            )
            streams[-1].start()
        for s in streams:
            s.join(120)
        assert len(theirs.requests) > before
    finally:
        server.terminate()
        theirs.close()


def test_a_real_llama_cpp_server(llama, tmp_path):
    server = serve(tmp_path, upstream("llama", llama, model="smol"))
    try:
        server.wait_ready("llama")
        client = server.client()
        ask = {"messages": SAYS, "temperature": 0, "max_tokens": 16}
        direct = openai.OpenAI(base_url=llama, api_key="x").chat.completions.create(model="smol", **ask)
        whole = client.chat.completions.create(model="llama", **ask)
        text, finish, usage = parts(
            client.chat.completions.create(model="llama", stream=True, stream_options={"include_usage": True}, **ask)
        )
        assert whole.choices[0].message.content == text == direct.choices[0].message.content != ""
        assert whole.usage.completion_tokens == usage.completion_tokens == direct.usage.completion_tokens
        assert whole.choices[0].finish_reason == finish == direct.choices[0].finish_reason
        logprobs = client.chat.completions.create(model="llama", logprobs=True, top_logprobs=2, **ask)
        assert len(logprobs.choices[0].logprobs.content) > 0
        response = client.responses.create(model="llama", input="Say hello.", max_output_tokens=8)
        assert response.output_text
        assert client.completions.create(model="llama", prompt="Once", max_tokens=5).choices[0].text
        with pytest.raises(openai.BadRequestError) as refused:
            client.chat.completions.create(model="llama", messages=[{"role": "user", "content": "word " * 5000}])
        assert "context" in refused.value.message
        assert server.client().models.retrieve("llama").context_window in (2048, 4096)

        # A client that leaves frees llama.cpp's slot.
        stream = client.completions.create(model="llama", prompt="Once", max_tokens=2000, stream=True)
        next(iter(stream))
        wait_until(lambda: server.metric("llm_upstream_load") >= 1, 10, "its own metrics are read")
        stream.close()
        root = llama.removesuffix("/v1")
        wait_until(lambda: "llamacpp:requests_processing 0" in httpx.get(root + "/metrics").text, 20, "a free slot")
    finally:
        server.terminate()


def test_settings_are_checked(tmp_path):
    for row, complaint in {
        'url = "http://x"': "name: expected",
        'name = "a"\nurl = "ftp://x"': "url: expected",
        'name = "a"\nurl = "http://user:pw@x"': "url: expected",
        'name = "a"\nurl = "http://x"\nkey = "y"': "'key' is not a key of an upstream",
        'name = "a"\nurl = "http://x"\napi_key_env = "KVASIR_TEST_NOT_SET"': "the variable KVASIR_TEST_NOT_SET is not set",
        'name = "a"\nurl = "http://x"\napi_key_file = "/nowhere"': "cannot read /nowhere",
        'name = "a"\nurl = "http://x"\nmax_in_flight = 0': "max_in_flight: expected a whole number",
    }.items():
        (tmp_path / "k.toml").write_text("[[upstream]]\n" + row + "\n")
        run = subprocess.run(
            [BIN, "serve", "--port", "0", "--config", str(tmp_path / "k.toml"), "--data-dir", str(tmp_path / "d")],
            capture_output=True, text=True, timeout=60,
        )
        assert run.returncode != 0 and complaint in run.stdout + run.stderr, (complaint, run.stdout + run.stderr)
