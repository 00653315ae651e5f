"""MiniLM at /v1/embeddings, with the clients that people use; and the rest of OpenAI's API besides chats."""

import concurrent.futures
import json
import math
import os
import pathlib

import httpx
import openai
import pytest

from conftest import Server, run_node

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise it asks the network
import litellm  # noqa: E402

GOLDEN = json.loads((pathlib.Path(__file__).resolve().parent.parent / "golden/real/minilm.json").read_text())
GOLDEN = [row for row in GOLDEN if row["text"]]  # as with OpenAI, an empty text has no embedding


@pytest.fixture(scope="module")
def embedder():
    s = Server("minilm", "smollm2")
    try:
        yield s.wait_ready("minilm", "smollm2")
    finally:
        s.terminate()


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def test_vectors_are_the_references(embedder):
    client = embedder.client()
    whole = [row for row in GOLDEN if len(row["ids"]) < 256]
    texts = client.embeddings.create(model="minilm", input=[row["text"] for row in whole])
    assert [row.index for row in texts.data] == list(range(len(whole)))
    assert texts.usage.prompt_tokens == texts.usage.total_tokens == sum(len(row["ids"]) for row in whole)
    # The reference truncated its long text. Kvasir does not, so it gets the reference's tokens.
    tokens = client.embeddings.create(model="minilm", input=[row["ids"] for row in GOLDEN])
    for row, golden in [*zip(texts.data, whole), *zip(tokens.data, GOLDEN)]:
        assert 1 - cosine(row.embedding, golden["embedding"]) < 1e-3, golden["text"]
        assert abs(math.hypot(*row.embedding) - 1) < 1e-5


def test_every_shape_of_input_gives_the_same_vector(embedder):
    client = embedder.client()
    golden = GOLDEN[0]
    alone = client.embeddings.create(model="minilm", input=golden["text"], encoding_format="float").data[0].embedding
    for given in ([golden["text"]], golden["ids"], [golden["ids"], golden["ids"]]):
        answer = client.embeddings.create(model="minilm", input=given, encoding_format="float")
        assert all(row.embedding == alone for row in answer.data)
    # The client asks for base64 by default.
    coded = client.embeddings.create(model="minilm", input=golden["text"]).data[0].embedding
    assert all(abs(a - b) < 1e-7 for a, b in zip(coded, alone)) and len(coded) == 384
    short = client.embeddings.create(model="minilm", input=golden["text"], dimensions=64).data[0].embedding
    assert len(short) == 64 and cosine(short, alone[:64]) > 1 - 1e-6


def test_many_clients_at_once_get_what_each_would_get_alone(embedder):
    client = embedder.client()
    texts = [f"{row['text']} {i}" for i in range(4) for row in GOLDEN]
    ask = lambda text: client.embeddings.create(model="minilm", input=text, encoding_format="float").data[0].embedding
    alone = [ask(text) for text in texts]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, texts)) == alone


def test_a_model_is_for_one_thing(embedder):
    client = embedder.client()
    with pytest.raises(openai.BadRequestError) as chat:
        client.chat.completions.create(model="minilm", messages=[{"role": "user", "content": "hi"}])
    assert chat.value.code == "model_not_supported" and "embeddings" in chat.value.message
    with pytest.raises(openai.BadRequestError) as embedding:
        client.embeddings.create(model="smollm2", input="hi")
    assert embedding.value.code == "model_not_supported"
    with pytest.raises(openai.BadRequestError) as long:
        client.embeddings.create(model="minilm", input=["fine", "word " * 2000])
    assert long.value.code == "context_length_exceeded" and long.value.param == "input[1]"


def test_models_say_what_they_are_for(embedder):
    by_name = {model.id: model.model_dump() for model in embedder.client().models.list()}
    assert by_name["minilm"]["task"] == "embed" and by_name["minilm"]["limits"]["dimensions"] == 384
    chat = embedder.client().models.retrieve("smollm2").model_dump()
    assert chat["task"] == "generate" and chat["context_window"] == chat["max_model_len"] == 8192
    assert chat["capacity"]["kv_tokens"] >= chat["capacity"]["kv_tokens_free"] > 0
    assert chat["ready"] and chat["limits"]["max_output_tokens"] == 8191


def test_litellm(embedder):
    common = {"api_base": embedder.url + "/v1", "api_key": "none", "num_retries": 0}
    vector = litellm.embedding("openai/minilm", input=[GOLDEN[0]["text"]], encoding_format="float", **common).data[0]["embedding"]
    assert 1 - cosine(vector, GOLDEN[0]["embedding"]) < 1e-3
    messages = [{"role": "user", "content": "What is 2+2?"}]
    whole = litellm.completion("openai/smollm2", messages=messages, temperature=0, max_tokens=24, **common)
    assert "4" in whole.choices[0].message.content
    stream = litellm.completion("openai/smollm2", messages=messages, temperature=0, max_tokens=24, stream=True, **common)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == whole.choices[0].message.content
    with pytest.raises(litellm.BadRequestError):
        litellm.completion("openai/minilm", messages=messages, **common)


def test_clients_from_npm(embedder, tmp_path):
    run_node(embedder, tmp_path, "embeddings.mjs", num_tests=2)


def test_moderations_flag_nothing_and_say_so(embedder):
    answer = embedder.client().moderations.create(input=["one", "two"], model="omni-moderation-latest")
    assert answer.model == "none" and [result.flagged for result in answer.results] == [False, False]
    assert "no classifier" in answer.model_dump()["warnings"][0]


def test_tokens_to_text_and_back(embedder):
    client = embedder.client()
    text = "Grüße, 世界! 🙂"
    tokens = client.post("/tokenize", cast_to=object, body={"model": "smollm2", "prompt": text})["tokens"]
    back = client.post("/detokenize", cast_to=object, body={"model": "smollm2", "tokens": tokens})
    assert back["prompt"] == text
    chat = {"model": "smollm2", "messages": [{"role": "user", "content": "hi"}], "return_token_strs": True}
    answer = client.post("/tokenize", cast_to=object, body=chat)
    assert answer["count"] == len(answer["tokens"]) == len(answer["token_strs"]) and "<|im_start|>" in answer["token_strs"]


def test_the_tokens_around_a_prompt_may_be_left_out(embedder):
    def tokens(**more):
        return httpx.post(embedder.url + "/tokenize", json={"model": "minilm", "prompt": "a cat", **more}, timeout=30).json()["tokens"]

    assert tokens() == tokens(add_special_tokens=True) == [101, *tokens(add_special_tokens=False), 102]


def test_a_text_is_cut_only_on_request(embedder):
    client, long = embedder.client(), "word " * 2000
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model="minilm", input=long)
    cut = client.embeddings.create(model="minilm", input=long, extra_body={"truncate_prompt_tokens": 7})
    assert cut.usage.prompt_tokens == 7
    assert client.embeddings.create(model="minilm", input=long, extra_body={"truncate_prompt_tokens": -1}).usage.prompt_tokens == 512


BODIES = {
    "/v1/embeddings": {"model": "minilm", "input": "a"},
    "/v1/rerank": {"model": "minilm", "query": "a", "documents": ["b"]},
    "/v1/score": {"model": "minilm", "text_1": "a", "text_2": "b"},
    "/tokenize": {"model": "smollm2", "prompt": "a"},
    "/detokenize": {"model": "smollm2", "tokens": [1]},
    "/api/embed": {"model": "minilm", "input": "a"},
    "/api/embeddings": {"model": "minilm", "prompt": "a"},
}


@pytest.mark.parametrize("path", BODIES)
def test_fields_that_nobody_knows_are_told(embedder, path):
    told = httpx.post(embedder.url + path, json={**BODIES[path], "no_such_field": 1, "absent": None}, timeout=30)
    assert told.status_code == 200 and [line.split(":")[0] for line in told.json()["warnings"]] == ["no_such_field"]
    assert told.headers["x-kvasir-warning"] == told.json()["warnings"][0]
    plain = httpx.post(embedder.url + path, json=BODIES[path], timeout=30)
    assert "warnings" not in plain.json() and "x-kvasir-warning" not in plain.headers


def prompt_logprobs_by_hand(client, tokens):
    """The same numbers, from one completion for each prefix of the prompt."""
    found = []
    for size in range(1, len(tokens)):
        request = {"model": "smollm2", "prompt": tokens[:size], "max_tokens": 1, "temperature": 0, "logprobs": 5}
        top = client.completions.create(**request).choices[0].logprobs
        found.append((top.tokens[0], top.token_logprobs[0]))
    return found


def test_echo_shows_what_the_model_thinks_of_a_text(embedder):
    client = embedder.client()
    text = "The capital of France is Paris"
    tokens = client.post("/tokenize", cast_to=object, body={"model": "smollm2", "prompt": text})["tokens"]
    choice = client.completions.create(
        model="smollm2", prompt=text, max_tokens=0, echo=True, logprobs=1, temperature=0
    ).choices[0]
    assert choice.text == text and "".join(choice.logprobs.tokens) == text
    assert choice.logprobs.token_logprobs[0] is None and len(choice.logprobs.tokens) == len(tokens)
    for place, (token, logprob) in enumerate(prompt_logprobs_by_hand(client, tokens), start=1):
        assert abs(choice.logprobs.top_logprobs[place][token] - logprob) < 1e-5
    assert choice.logprobs.token_logprobs[-1] > -2  # the model is confident
    whole = client.completions.create(model="smollm2", prompt=text, max_tokens=4, echo=True, logprobs=1, temperature=0)
    assert whole.choices[0].logprobs.token_logprobs[: len(tokens)] == choice.logprobs.token_logprobs
    vllm = client.completions.create(model="smollm2", prompt=text, max_tokens=1, extra_body={"prompt_logprobs": 2})
    listed = vllm.choices[0].model_dump()["prompt_logprobs"]
    assert listed[0] is None and len(listed) == len(tokens)
    assert abs(listed[1][str(tokens[1])]["logprob"] - choice.logprobs.token_logprobs[1]) < 1e-6


def test_best_of_and_what_is_ignored(embedder):
    client = embedder.client()
    request = {"model": "smollm2", "prompt": "Once upon a time", "max_tokens": 6, "seed": 1}
    answer = client.completions.create(**request, n=2, best_of=4)
    assert len(answer.choices) == 2 and answer.usage.completion_tokens == 24
    raw = client.chat.completions.with_raw_response.create(
        model="smollm2", messages=[{"role": "user", "content": "hi"}], max_tokens=2, store=True, metadata={"a": "b"},
        service_tier="flex", prediction={"type": "content", "content": "x"}, safety_identifier="s", prompt_cache_key="k", user="u"
    )
    assert raw.parse().service_tier == "default" and len(raw.parse().model_dump()["warnings"]) == 2
    assert "ignored" in raw.headers["x-kvasir-warning"]
