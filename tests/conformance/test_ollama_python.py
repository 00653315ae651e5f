"""Ollama's API with Ollama's own client for Python, against the real server."""

import contextlib
import datetime
import hashlib
import json
import math
import subprocess

import httpx
import ollama
import pydantic
import pytest

from conftest import BIN, Server, run_node, wait_until

MESSAGES = [{"role": "user", "content": "What is 2+2?"}]
STEADY = {"temperature": 0, "seed": 1, "num_predict": 24}


@pytest.fixture(scope="module")
def served():
    s = Server("smollm2", "minilm")
    try:
        yield s.wait_ready("smollm2", "minilm")
    finally:
        s.terminate()


@pytest.fixture
def client(served):
    return ollama.Client(host=served.url)


class Forcing(httpx.HTTPTransport):
    """Adds a field to every body: Ollama's clients cannot say that a tool must be called."""

    def handle_request(self, request):
        body = {**json.loads(request.read()), "tool_choice": "required"}
        headers = {k: v for k, v in request.headers.items() if k != "content-length"}
        return super().handle_request(httpx.Request(request.method, request.url, headers=headers, json=body))


def get_weather(city: str, days: int) -> str:
    """Tells the weather.

    Args:
      city: The name of the city
      days: How many days ahead
    """
    return f"sunny in {city} for {days} days"


def test_a_stream_is_the_whole_answer(client):
    whole = client.chat("smollm2", messages=MESSAGES, options=STEADY)
    assert "4" in whole.message.content and whole.model == "smollm2" and whole.done
    assert whole.done_reason in ("stop", "length") and whole.eval_count > 0 and whole.prompt_eval_count > 5
    assert whole.total_duration >= whole.load_duration + whole.prompt_eval_duration + whole.eval_duration - 1
    assert whole.eval_duration > 0
    parts = list(client.chat("smollm2:latest", messages=MESSAGES, options=STEADY, stream=True))
    assert len(parts) > 2 and [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    assert "".join(part.message.content for part in parts) == whole.message.content
    assert parts[-1].model == "smollm2:latest" and parts[-1].eval_count == whole.eval_count
    datetime.datetime.fromisoformat(parts[0].created_at[:19])


def test_generate(client, served):
    options = {**STEADY, "num_predict": 12}
    whole = client.generate("smollm2", prompt="What is 2+2?", system="Answer in one word.", options=options)
    parts = list(client.generate("smollm2", prompt="What is 2+2?", system="Answer in one word.", options=options, stream=True))
    assert whole.response and "".join(part.response for part in parts) == whole.response
    raw = client.generate("smollm2", prompt="Once upon a time", raw=True, options=options)
    completion = served.client().completions.create(model="smollm2", prompt="Once upon a time", temperature=0, seed=1, max_tokens=12)
    assert raw.response == completion.choices[0].text and raw.done_reason == "length" and raw.eval_count == 12
    stopped = client.generate("smollm2", prompt="Count: one two three", options={**options, "stop": [whole.response[2:5]]})
    assert whole.response[2:5] not in stopped.response


def test_a_model_is_loaded_and_unloaded(client):
    assert client.generate("smollm2").done_reason == "load"
    assert client.chat("smollm2", messages=[], keep_alive=0).done_reason == "unload"
    assert client.chat("smollm2", messages=MESSAGES, options=STEADY, keep_alive="10m").done


def test_structured_output(client):
    class Country(pydantic.BaseModel):
        name: str = pydantic.Field(max_length=20)
        population: int = pydantic.Field(ge=0, le=999)
        is_island: bool

    schema = Country.model_json_schema()
    messages = [{"role": "user", "content": "Tell me about Iceland."}]
    answer = client.chat("smollm2", messages=messages, format=schema, options={"temperature": 1, "seed": 3})
    Country.model_validate_json(answer.message.content)
    free = client.generate("smollm2", prompt="What is 2+2?", format="json", options=STEADY)
    assert free.response.lstrip().startswith("{")  # the same question without it gets a sentence


@pytest.mark.parametrize("stream", [False, True])
def test_tools(served, client, stream):
    forced = ollama.Client(host=served.url, transport=Forcing())
    request = {"messages": [{"role": "user", "content": "Weather in Paris?"}], "options": {"seed": 4, "temperature": 0.2}}
    answer = forced.chat("smollm2", tools=[get_weather], stream=stream, **request)
    parts = list(answer) if stream else [answer]
    calls = [call for part in parts for call in part.message.tool_calls or []]
    assert calls and parts[-1].done
    for call in calls:
        assert call.function.name == "get_weather" and isinstance(call.function.arguments["city"], str)
        assert isinstance(call.function.arguments["days"], int)
    messages = [*request["messages"], {"role": "assistant", "content": "", "tool_calls": calls}]
    messages += [{"role": "tool", "tool_name": c.function.name, "content": get_weather(**c.function.arguments)} for c in calls]
    assert client.chat("smollm2", messages=messages, tools=[get_weather], options=STEADY).message.content


def test_logprobs(client):
    answer = client.chat("smollm2", messages=MESSAGES, options=STEADY, logprobs=True, top_logprobs=2)
    assert "".join(line.token for line in answer.logprobs) == answer.message.content
    assert all(line.logprob <= 0 and len(line.top_logprobs) == 2 for line in answer.logprobs)


def test_embeddings(served, client):
    texts = ["A cat sleeps on the roof.", "A kitten naps on top of the house.", "The stock market fell today."]
    answer = client.embed("minilm", input=texts)
    openais = served.client().embeddings.create(model="minilm", input=texts, encoding_format="float")
    assert [list(row) for row in answer.embeddings] == [row.embedding for row in openais.data]
    assert answer.prompt_eval_count == openais.usage.prompt_tokens
    assert client.embeddings("minilm", prompt=texts[0]).embedding == answer.embeddings[0]
    short = client.embed("minilm", input=texts[0], dimensions=64).embeddings[0]
    assert len(short) == 64 and abs(math.hypot(*short) - 1) < 1e-5
    long = "word " * 2000
    with pytest.raises(ollama.ResponseError) as refused:
        client.embed("minilm", input=long)
    assert refused.value.status_code == 400 and "maximum context length" in refused.value.error
    assert len(client.embed("minilm", input=long, truncate=True).embeddings[0]) == 384
    assert client.embed("minilm", input=[]).embeddings == []


def test_models_are_listed_shown_and_running(client):
    models = {model.model: model for model in client.list().models}
    small = models["smollm2:latest"]
    assert set(models) == {"smollm2:latest", "minilm:latest"} and small.size == 98_362_432 and len(small.digest) == 64
    assert small.details.format == "gguf" and small.details.family == "llama" and small.details.quantization_level == "Q4_1"
    assert small.details.parameter_size.endswith("M") and small.details.parameter_size.startswith("134")
    shown = client.show("smollm2")
    assert shown.modelinfo["llama.context_length"] == 8192 and shown.modelinfo["llama.embedding_length"] == 576
    assert shown.capabilities == ["completion", "tools"] and "<|im_start|>" in shown.template
    assert shown.license == "Apache-2.0" and "temperature 0.2" in shown.parameters
    encoder = client.show("minilm:latest")
    assert encoder.capabilities == ["embedding"] and encoder.details.format == "safetensors" and encoder.details.family == "bert"
    running = {model.name: model for model in client.ps().models}
    assert running["smollm2:latest"].context_length == 8192 and running["smollm2:latest"].size_vram == 0
    assert running["smollm2:latest"].expires_at > datetime.datetime.now(datetime.timezone.utc)


def test_errors(client):
    with pytest.raises(ollama.ResponseError) as missing:
        client.chat("nothing", messages=MESSAGES)
    assert missing.value.status_code == 404 and "model 'nothing' not found" in missing.value.error
    with pytest.raises(ollama.ResponseError) as streamed:
        list(client.generate("nothing", prompt="x", stream=True))
    assert streamed.value.status_code == 404
    for wrong in ({"options": {"temperature": 9}}, {"think": True}, {"format": {"type": "strange"}}):
        with pytest.raises(ollama.ResponseError) as refused:
            client.chat("smollm2", messages=MESSAGES, **wrong)
        assert refused.value.status_code == 400, wrong
    with pytest.raises(ollama.ResponseError) as picture:
        client.generate("smollm2", prompt="x", images=[b"aGk="])
    assert picture.value.status_code == 400 and "images" in picture.value.error
    with pytest.raises(ollama.ResponseError) as purpose:
        client.chat("minilm", messages=MESSAGES)
    assert purpose.value.status_code == 400
    for change in (lambda: client.copy("smollm2", "x"), lambda: client.delete("smollm2"), lambda: client.create("x", from_="smollm2")):
        with pytest.raises(ollama.ResponseError) as changed:
            change()
        assert changed.value.status_code == 404 and "over HTTP" in changed.value.error


def test_a_stream_that_is_left_ends(served, client):
    for part in client.chat("smollm2", messages=MESSAGES, options={"num_predict": 8000, "temperature": 1.5}, stream=True):
        if part.message.content:
            break
    wait_until(lambda: served.metric("llm_sequences_running", model="smollm2") == 0, 20, "no sequence")


def test_who_looks_for_ollama_finds_it(served):
    with contextlib.closing(httpx.Client(base_url=served.url)) as http:
        assert http.head("/").status_code == 200
        assert http.get("/").text == "Ollama is running"
        assert http.get("/", headers={"Accept": "text/html"}).headers["content-type"].startswith("text/html")
        assert int(http.get("/api/version").json()["version"].split(".")[1]) >= 6


def test_pull(tmp_path):
    content = bytes(range(256)) * 4096
    (tmp_path / "toy.bin").write_bytes(content)
    (tmp_path / "config/kvasir").mkdir(parents=True)
    (tmp_path / "config/kvasir/models.toml").write_text(f"""
[[model]]
name = "toy"
title = "Toy"
description = "Not a model"
licence = "none"
[[model.file]]
path = "toy.gguf"
size = {len(content)}
sha256 = "{hashlib.sha256(content).hexdigest()}"
sources = ["file:{tmp_path / 'toy.bin'}"]
""")
    smollm2 = subprocess.run([BIN, "pull", "smollm2"], capture_output=True, text=True, check=True).stdout.strip()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        s = Server(smollm2, args=["--model-dir", str(tmp_path / "models")])
    try:
        wait_until(lambda: s.get("/health/live")[0] == 200)
        client = ollama.Client(host=s.url)
        steps = list(client.pull("toy", stream=True))
        assert steps[0].status == "pulling manifest" and steps[-1].status == "success"
        assert any(step.completed == step.total == len(content) for step in steps)
        assert (tmp_path / "models/toy/toy.gguf").read_bytes() == content
        assert client.pull("toy:latest").status == "success"
        with pytest.raises(ollama.ResponseError) as unknown:
            client.pull("toi")
        assert unknown.value.status_code == 404 and "did you mean 'toy'" in unknown.value.error
    finally:
        s.terminate()


def test_client_from_npm(served, tmp_path):
    run_node(served, tmp_path, "ollama.mjs", num_tests=7)
