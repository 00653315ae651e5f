"""Traces and the log of requests, received and read with OpenTelemetry's own packages."""

import concurrent.futures
import http.server
import json
import os
import subprocess
import threading

import httpx
import pytest
from opentelemetry import propagate
from opentelemetry.sdk.trace import TracerProvider

import tiny_model
from conftest import BIN, Server, lines_of, wait_until
from otlp_receiver import Receiver, check_times
from test_tls import Certificate

MODEL = "smollm2"
SECRET = "collectors-secret-7"
SERVER, CLIENT = 2, 3  # kinds of spans


class Weather(http.server.BaseHTTPRequestHandler):
    """A tool, which keeps the headers of its calls."""

    calls = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.calls.append(dict(self.headers))
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"sunny")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def weather():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Weather)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/weather"
    server.shutdown()


@pytest.fixture(scope="module")
def receiver():
    r = Receiver()
    yield r
    r.close()


@pytest.fixture(scope="module")
def traced(receiver, weather, tmp_path_factory):
    """A server that sends every trace as protobuf, and logs as text."""
    folder = tmp_path_factory.mktemp("traced")
    config = folder / "kvasir.toml"
    config.write_text(
        f"""otlp_endpoint = "{receiver.url}"
otlp_headers = ["x-collector-key={SECRET}"]
otlp_service_name = "tested"
[[tools]]
name = "weather"
description = "The weather in a city."
url = "{weather}"
parameters = '{{"type": "object", "properties": {{"city": {{"enum": ["Oslo", "Paris"]}}}}, "required": ["city"], "additionalProperties": false}}'
"""
    )
    flags = ["--config", str(config), "--data-dir", str(folder / "data"), "--max-batch-tokens", "64"]
    server = Server(MODEL, "minilm", args=flags)
    try:
        yield server.wait_ready(MODEL, "minilm")
    finally:
        server.terminate()
        assert SECRET not in server.output()


def post(server, path, body, headers=None):
    return httpx.post(server.url + path, json=body, headers=headers, timeout=60)


def trace_of(response):
    version, trace_id, _, _ = response.headers["traceparent"].split("-")
    assert version == "00"
    return trace_id


def chat(**more):
    return {"model": MODEL, "messages": [{"role": "user", "content": "Say plumbago."}], "max_tokens": 8, "temperature": 0, "ignore_eos": True, **more}


def completion(prompt, **more):
    return {"model": "tiny", "prompt": prompt, "max_tokens": 2, "ignore_eos": True, **more}


def line_of(server, trace_id):
    """The one line of the log about a request."""
    lines = wait_until(lambda: [line for line in server.log if trace_id in line], 10, "a line of the log")
    (line,) = lines
    return line


def check_generation(span, num_prompt_tokens, num_output_tokens):
    """Queue, prefill in chunks, first token and decode, one after the other."""
    assert span.attributes["gen_ai.provider.name"] == "kvasir"
    assert span.attributes["gen_ai.request.model"] == span.attributes["gen_ai.response.model"] == MODEL
    assert span.attributes["gen_ai.usage.input_tokens"] == num_prompt_tokens
    assert span.attributes["gen_ai.usage.output_tokens"] == num_output_tokens
    queue, prefill, decode = span.one("queue"), span.one("prefill"), span.one("decode")
    assert span.start == queue.start and queue.end == prefill.start and prefill.end <= decode.start
    chunks = prefill.all("prefill chunk")
    num_computed = num_prompt_tokens - span.attributes["gen_ai.usage.cache_read.input_tokens"]
    assert sum(c.attributes["kvasir.tokens"] for c in chunks) == prefill.attributes["kvasir.tokens"] == num_computed
    assert all(c.attributes["kvasir.step"] > 0 for c in chunks)
    ((name, time, _),) = span.events
    assert name == "first token" and time == decode.start


def test_a_chat_is_one_tree(traced, receiver):
    response = post(traced, "/v1/chat/completions", chat())
    usage = response.json()["usage"]
    root = receiver.tree(trace_of(response))
    check_times(root)
    assert root.name == "POST /v1/chat/completions" and root.kind == SERVER and not root.parent_id and not root.failed
    assert root.id == response.headers["traceparent"].split("-")[2]
    assert root.attributes["http.route"] == "/v1/chat/completions"
    assert root.attributes["http.request.method"] == "POST"
    assert root.attributes["http.response.status_code"] == 200
    assert root.attributes["kvasir.request_id"] == response.headers["x-request-id"]
    assert root.resource["service.name"] == "tested" and root.resource["service.version"]
    order = sorted(root.children, key=lambda c: c.start)
    assert [c.name for c in order] == ["auth", "tokenize", "admission", "route", "admission wait", f"chat {MODEL}", "store"]
    assert root.one("tokenize").attributes["kvasir.tokens"] == usage["prompt_tokens"]
    generation = root.one(f"chat {MODEL}")
    check_generation(generation, usage["prompt_tokens"], usage["completion_tokens"])
    assert generation.attributes["gen_ai.operation.name"] == "chat"
    assert generation.attributes["gen_ai.request.max_tokens"] == 8
    assert generation.attributes["gen_ai.request.temperature"] == 0
    assert generation.attributes["gen_ai.response.finish_reasons"] == [response.json()["choices"][0]["finish_reason"]]
    path, headers, _ = receiver.seen[-1]
    assert path == "/v1/traces" and headers["x-collector-key"] == SECRET


def test_a_long_prompt_has_chunks_and_a_stream_its_first_token(traced, receiver):
    body = chat(messages=[{"role": "user", "content": "word " * 200}], stream=True, stream_options={"include_usage": True})
    with httpx.stream("POST", traced.url + "/v1/chat/completions", json=body, timeout=60) as response:
        events = [json.loads(line[6:]) for line in lines_of(response) if line.startswith("data: {")]
    usage = events[-1]["usage"]
    root = receiver.tree(trace_of(response))
    check_times(root)
    generation = root.one(f"chat {MODEL}")
    check_generation(generation, usage["prompt_tokens"], usage["completion_tokens"])
    chunks = generation.one("prefill").children
    assert len(chunks) > 1
    steps = [c.attributes["kvasir.step"] for c in sorted(chunks, key=lambda c: c.start)]
    assert steps == sorted(steps)


def test_a_clients_trace_goes_on(traced, receiver):
    with TracerProvider().get_tracer("test").start_as_current_span("ask") as span:
        headers = {}
        propagate.inject(headers)
        context = span.get_span_context()
    headers["tracestate"] = "vendor=opaque"
    response = post(traced, "/v1/completions", {"model": MODEL, "prompt": "Once", "max_tokens": 3, "n": 2}, headers)
    assert response.status_code == 200
    assert trace_of(response) == format(context.trace_id, "032x")
    root = receiver.tree(trace_of(response))
    assert root.parent_id == format(context.span_id, "016x")
    assert root.trace_state == "vendor=opaque"
    generation = root.one(f"text_completion {MODEL}")
    assert generation.attributes["gen_ai.request.choice.count"] == 2
    assert sorted(c.attributes["kvasir.choice"] for c in generation.all("decode")) == [0, 1]


def test_a_client_may_say_no(traced, receiver):
    unsampled = {"traceparent": "00-" + "a" * 31 + "1-" + "b" * 16 + "-00"}
    response = post(traced, "/v1/chat/completions", chat(), unsampled)
    assert response.headers["traceparent"].endswith("-00")
    other = post(traced, "/v1/chat/completions", chat())
    receiver.tree(trace_of(other))  # traces are sent in order
    assert not receiver.has(trace_of(response))


def test_a_wrong_traceparent_counts_as_none(traced):
    response = post(traced, "/v1/chat/completions", chat(), {"traceparent": "00-" + "0" * 32 + "-" + "b" * 16 + "-01"})
    assert response.status_code == 200 and trace_of(response) != "0" * 32


def test_tools_are_spans_and_are_told(traced, receiver):
    forced = {"type": "function", "function": {"name": "weather"}}
    response = post(traced, "/v1/chat/completions", chat(server_tools=["weather"], tool_choice=forced, max_tokens=60),
                    {"traceparent": "00-" + "c" * 32 + "-" + "d" * 16 + "-01", "tracestate": "v=1"})
    assert response.status_code == 200, response.text
    root = receiver.tree("c" * 32)
    check_times(root)
    first, *later = root.all(f"chat {MODEL}")
    assert later
    call = root.all("execute_tool weather")[0]
    assert first.end <= call.start <= call.end <= later[0].start
    assert call.kind == CLIENT and not call.failed
    assert call.attributes["gen_ai.operation.name"] == "execute_tool"
    assert call.attributes["gen_ai.tool.name"] == "weather" and call.attributes["kvasir.round"] == 1
    told = {name.lower(): value for name, value in Weather.calls[0].items()}
    assert told["traceparent"] == f"00-{'c' * 32}-{call.id}-01"
    assert told["tracestate"] == "v=1"


def test_embeddings_and_conversations(traced, receiver):
    response = post(traced, "/v1/embeddings", {"model": "minilm", "input": "hello"})
    root = receiver.tree(trace_of(response))
    assert {c.name for c in root.children} >= {"auth", "tokenize", "admission", "route", "embeddings minilm"}
    tokens = response.json()["usage"]["prompt_tokens"]
    assert root.one("embeddings minilm").attributes["gen_ai.usage.input_tokens"] == tokens
    made = post(traced, "/v1/conversations", {}).json()
    response = post(traced, f"/v1/conversations/{made['id']}/messages", {"model": MODEL, "content": "Hi", "max_tokens": 4})
    assert response.status_code == 200, response.text
    root = receiver.tree(trace_of(response))
    check_times(root)
    assert root.attributes["http.route"] == "/v1/conversations/{id}/messages"
    assert len(root.all("store")) >= 3 and root.one(f"chat {MODEL}")


def test_a_batchs_lines(traced, receiver):
    client = traced.client()
    line = {"custom_id": "one", "method": "POST", "url": "/v1/chat/completions", "body": chat()}
    file = client.files.create(file=("lines.jsonl", json.dumps(line).encode()), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    root = receiver.find(lambda root: root.attributes.get("kvasir.batch") == batch.id, 60)
    assert root.name == "batch line"
    check_times(root)
    assert {"tokenize", "admission", "route"} <= {c.name for c in root.children}
    assert root.one(f"chat {MODEL}").one("decode")


def test_no_prompt_and_one_line_a_request(traced, receiver):
    response = post(traced, "/v1/chat/completions", chat(), {"authorization": "Bearer kv-nobodys-key"})
    line = line_of(traced, trace_of(response))
    usage = response.json()["usage"]
    for part in (" info request ", "method=POST", "route=/v1/chat/completions", "status=200", f"model={MODEL}", "tenant=",
                 f"prompt_tokens={usage['prompt_tokens']}", f"output_tokens={usage['completion_tokens']}", "ttft_ms=",
                 "total_ms=", "finish=", f"id={response.headers['x-request-id']}"):
        assert part in line, line
    traced.get("/health/live")
    assert "/health" not in traced.output()
    root = receiver.tree(trace_of(response))
    spans = [root, *root.children, *root.one(f"chat {MODEL}").children]
    assert "plumbago" not in str([(s.name, s.attributes, s.events) for s in spans])
    assert "plumbago" not in traced.output() and "nobodys-key" not in traced.output()


def test_the_settings_do_not_show_secrets(traced, tmp_path):
    config = tmp_path / "k.toml"
    config.write_text(f'otlp_headers = ["x-key={SECRET}"]\n')
    env = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_TRACES_SAMPLER_ARG": "0.5"}
    shown = subprocess.run([BIN, "settings", "--config", str(config)], env=env, capture_output=True, text=True, check=True)
    assert "otlp_headers is set" in shown.stdout and SECRET not in shown.stdout + shown.stderr
    assert 'otlp_endpoint = "http://collector:4318"' in shown.stdout and "trace_sample_rate = 0.5" in shown.stdout
    env = {**os.environ, "OTEL_EXPORTER_OTLP_HEADERS": SECRET}
    wrong = subprocess.run([BIN, "settings"], env=env, capture_output=True, text=True)
    assert wrong.returncode != 0 and "OTEL_EXPORTER_OTLP_HEADERS: must be NAME=VALUE" in wrong.stderr
    assert SECRET not in wrong.stdout + wrong.stderr


@pytest.fixture(scope="module")
def rarely(tmp_path_factory):
    """A server that samples nothing, logs JSON and prompts, and sends JSON over TLS; and its receiver."""
    folder = tmp_path_factory.mktemp("rarely")
    model = folder / "tiny"
    model.mkdir()
    tiny_model.write_tokenizer(model)
    tiny_model.write_weights(model, 4096)
    certificate = Certificate(folder)
    receiver = Receiver((certificate.cert, certificate.key))
    os.environ["SSL_CERT_FILE"] = str(certificate.cert)
    os.environ["OTEL_EXPORTER_OTLP_HEADERS"] = f"authorization=Bearer%20{SECRET}"
    server = Server(
        model,
        args=["--otlp-endpoint", receiver.url + "/v1/traces", "--otlp-protocol", "http/json", "--trace-sample-rate", "0",
              "--log-format", "json", "--log-prompts", "--trace-prompts", "--data-dir", str(folder / "data"),
              "--slo-ttft-ms", "1", "--admission", "off"],
    )
    del os.environ["SSL_CERT_FILE"], os.environ["OTEL_EXPORTER_OTLP_HEADERS"]
    try:
        yield server.wait_ready("tiny"), receiver
    finally:
        server.terminate()
        receiver.close()
        assert SECRET not in server.output()


def test_missed_slos_and_errors_are_always_kept(rarely):
    server, receiver = rarely
    receiver.answers.extend([503, 429])  # it is tried again
    wrong = post(server, "/v1/completions", completion("a", temperature=-1))
    # A request is late if it takes four times as long as alone, which the last of many at once does.
    bodies = [completion(f"plumbago {i} " * 100) for i in range(16)]
    answers = [post(server, "/v1/completions", bodies.pop())]  # forecasts begin with the first step
    with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
        answers += pool.map(lambda body: post(server, "/v1/completions", body), bodies)
    assert all(answer.status_code == 200 for answer in answers), answers[0].text
    lines = {trace_of(answer): json.loads(line_of(server, trace_of(answer))) for answer in answers}
    late = [trace for trace, line in lines.items() if line.get("met_slo") is False]
    assert late and all(answer.headers["traceparent"].endswith("-00") for answer in answers)
    for trace in late:
        root = receiver.tree(trace)
        check_times(root)
        assert root.attributes["kvasir.met_slo"] is False and not root.failed
        assert "plumbago" in root.attributes["kvasir.request.body"]
    root = receiver.tree(trace_of(wrong))
    assert root.attributes["error.type"] == wrong.json()["error"]["code"]
    assert root.attributes["http.response.status_code"] == 400
    assert set(receiver.spans) == {trace_of(wrong), *late}
    assert [status for _, _, status in receiver.seen[:3]] == [503, 429, 200]
    assert receiver.seen[0][1]["authorization"] == f"Bearer {SECRET}"
    wait_until(lambda: server.metric("kvasir_trace_spans_exported_total") > 0, 10, "the count of spans")
    assert server.metric("kvasir_trace_spans_dropped_total") == 0


def test_json_lines(rarely):
    server, _ = rarely
    response = post(server, "/v1/completions", completion("plumbago"))
    line = json.loads(line_of(server, trace_of(response)))
    assert line["level"] == "info" and line["event"] == "request" and line["time"].endswith("Z")
    assert (line["method"], line["route"], line["status"]) == ("POST", "/v1/completions", 200)
    assert line["output_tokens"] == response.json()["usage"]["completion_tokens"]
    assert line["ttft_ms"] <= line["total_ms"] and line["met_slo"] in (True, False)
    assert json.loads(line["body"])["prompt"] == "plumbago"


def test_what_waits_is_sent_at_the_end(receiver):
    server = Server(MODEL, args=["--otlp-endpoint", receiver.url])
    try:
        server.wait_ready(MODEL)
        response = post(server, "/v1/chat/completions", chat())
    finally:
        assert server.terminate() == 0
    assert receiver.has(trace_of(response))
