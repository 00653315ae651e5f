"""The official `openai` package from PyPI against the running server."""

import openai
import pytest

MODEL = "smollm2"
QUESTION = [{"role": "user", "content": "What is 2+2?"}]


def ask(client, **options):
    return client.chat.completions.create(
        **{"model": MODEL, "messages": QUESTION, "temperature": 0, "max_tokens": 24, **options}
    )


def streamed_text(stream):
    return "".join(c.choices[0].delta.content or "" for c in stream if c.choices)


def test_answer(client):
    answer = ask(client)
    assert answer.object == "chat.completion" and answer.id.startswith("chatcmpl-")
    assert answer.choices[0].message.role == "assistant"
    assert "4" in answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    usage = answer.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.prompt_tokens > 20 and usage.completion_tokens > 3


def test_stream_equals_answer(client):
    chunks = list(ask(client, stream=True, stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens > 3
    assert len({c.id for c in chunks}) == 1
    assert streamed_text(chunks) == ask(client).choices[0].message.content


def test_length_ends_it(client):
    answer = ask(client, max_completion_tokens=3, max_tokens=openai.omit)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 3


@pytest.mark.parametrize("stop", ["math", ["zzz", "ic m"]])
@pytest.mark.parametrize("stream", [False, True])
def test_stop_strings(client, stop, stream):
    whole = ask(client).choices[0].message.content
    stops = [stop] if isinstance(stop, str) else stop
    cut = min(whole.find(s) for s in stops if s in whole)
    if stream:
        chunks = list(ask(client, stop=stop, stream=True))
        text, reason = streamed_text(chunks), chunks[-1].choices[0].finish_reason
    else:
        choice = ask(client, stop=stop).choices[0]
        text, reason = choice.message.content, choice.finish_reason
    assert text == whole[:cut] and reason == "stop"


def test_logprobs(client):
    content = ask(client, logprobs=True, top_logprobs=3).choices[0].logprobs.content
    assert "".join(bytes(t.bytes).decode() for t in content) == ask(client).choices[0].message.content
    for token in content:
        assert token.logprob <= 0 and len(token.top_logprobs) == 3
        best = token.top_logprobs
        assert best[0].logprob >= best[1].logprob >= best[2].logprob
        assert best[0].token == token.token  # greedy
        assert best[0].logprob == pytest.approx(token.logprob)


def test_streamed_logprobs_are_the_same(client):
    whole = ask(client, logprobs=True, top_logprobs=2).choices[0].logprobs.content
    parts = []
    for chunk in ask(client, logprobs=True, top_logprobs=2, stream=True):
        if chunk.choices and chunk.choices[0].logprobs:
            parts += chunk.choices[0].logprobs.content or []
    assert [(t.token, t.logprob) for t in parts] == [(t.token, t.logprob) for t in whole]


def test_n_choices(client):
    answer = ask(client, n=3, temperature=1.0, seed=5)
    assert [c.index for c in answer.choices] == [0, 1, 2]
    assert len({c.message.content for c in answer.choices}) > 1
    again = ask(client, n=3, temperature=1.0, seed=5)
    assert [c.message.content for c in again.choices] == [c.message.content for c in answer.choices]
    texts = ["", "", ""]
    for chunk in ask(client, n=3, temperature=1.0, seed=5, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert texts == [c.message.content for c in answer.choices]


def test_seed_and_temperature(client):
    texts = [ask(client, temperature=1.2, seed=s).choices[0].message.content for s in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_sampling_fields_are_taken(client):
    greedy = ask(client).choices[0].message.content
    assert ask(client, temperature=1, top_p=1e-6).choices[0].message.content == greedy
    assert ask(client, temperature=1, top_p=0).choices[0].message.content == greedy
    assert ask(client, temperature=1, extra_body={"top_k": 1}).choices[0].message.content == greedy
    assert ask(client, temperature=1, extra_body={"min_p": 1.0}).choices[0].message.content == greedy
    first = ask(client, logprobs=True, max_tokens=1).choices[0].logprobs.content[0]
    tokens = client.post("/tokenize", body={"model": MODEL, "prompt": first.token}, cast_to=object)["tokens"]
    banned = ask(client, logit_bias={str(tokens[0]): -100}, logprobs=True).choices[0].logprobs.content
    assert first.token not in [t.token for t in banned]


def test_ignore_eos_and_min_tokens(client):
    answer = ask(client, max_tokens=60, extra_body={"ignore_eos": True})
    assert answer.usage.completion_tokens == 60 and answer.choices[0].finish_reason == "length"
    assert ask(client, max_tokens=60, extra_body={"min_tokens": 40}).usage.completion_tokens >= 40


def test_abort_frees_the_server(client, server):
    stream = ask(client, stream=True, max_tokens=2000, extra_body={"ignore_eos": True})
    next(iter(stream))
    stream.close()
    from conftest import wait_until

    wait_until(lambda: server.metric("llm_sequences_running", model=MODEL) == 0, 10, "the abort")


def test_completions(client):
    answer = client.completions.create(model=MODEL, prompt="The capital of France is", max_tokens=6, temperature=0)
    assert answer.object == "text_completion" and "Paris" in answer.choices[0].text
    chunks = client.completions.create(
        model=MODEL, prompt="The capital of France is", max_tokens=6, temperature=0, stream=True
    )
    assert "".join(c.choices[0].text for c in chunks if c.choices) == answer.choices[0].text


def test_completions_takes_tokens_lists_and_logprobs(client):
    texts = ["The capital of France is", "One two three"]
    tokens = [client.post("/tokenize", body={"model": MODEL, "prompt": t}, cast_to=object)["tokens"] for t in texts]

    def run(prompt, **options):
        return client.completions.create(model=MODEL, prompt=prompt, max_tokens=5, temperature=0, **options)

    both = [c.text for c in run(texts).choices]
    assert both == [run(t).choices[0].text for t in texts] == [c.text for c in run(tokens).choices]
    logprobs = run(texts[0], logprobs=2).choices[0].logprobs
    assert "".join(logprobs.tokens) == both[0]
    assert len(logprobs.token_logprobs) == len(logprobs.text_offset) == len(logprobs.tokens)


def test_models(client):
    models = {m.id: m for m in client.models.list()}
    assert {"smollm2", "qwen2.5-coder"} <= set(models)
    assert client.models.retrieve("smollm2").object == "model"


def test_cached_tokens_show(client):
    long = [{"role": "user", "content": "Remember the word azure. " * 20 + "Which word?"}]
    ask(client, messages=long)
    details = ask(client, messages=long).usage.prompt_tokens_details
    assert details.cached_tokens >= 64


ERRORS = [
    (dict(model="nope"), openai.NotFoundError, "model_not_found", "model"),
    (dict(temperature=3), openai.BadRequestError, None, "temperature"),
    (dict(top_p=1.5), openai.BadRequestError, None, "top_p"),
    (dict(max_tokens=0), openai.BadRequestError, None, "max_tokens"),
    (dict(n=0), openai.BadRequestError, None, "n"),
    (dict(messages=[]), openai.BadRequestError, None, "messages"),
    (dict(messages=[{"role": "king", "content": "x"}]), openai.BadRequestError, None, "messages"),
    (dict(top_logprobs=3), openai.BadRequestError, None, "top_logprobs"),
    (dict(stop=["a"] * 99), openai.BadRequestError, None, "stop"),
    (dict(logit_bias={"9999999": 1}), openai.BadRequestError, None, "logit_bias"),
    (dict(tools=[{"type": "function", "function": {"name": ""}}]), openai.BadRequestError, None, "tools"),
    (dict(response_format={"type": "xml"}), openai.BadRequestError, None, "response_format"),
    (
        dict(messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]),
        openai.BadRequestError,
        None,
        "messages",
    ),
    (dict(messages=[{"role": "user", "content": "word " * 20000}]), openai.BadRequestError,
     "context_length_exceeded", "messages"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("options, kind, code, param", ERRORS, ids=[f"{e[3]}-{i}" for i, e in enumerate(ERRORS)])
def test_errors(client, options, kind, code, param, stream):
    with pytest.raises(kind) as caught:
        ask(client, stream=stream, **options)
    error = caught.value
    assert error.param is not None and error.param.startswith(param)
    assert error.type and error.message
    if code:
        assert error.code == code


def test_too_long_names_both_numbers(client):
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, messages=[{"role": "user", "content": "word " * 20000}])
    assert "8192" in caught.value.message and "200" in caught.value.message
