"""Filling in the middle with a real model: `suffix` by the `openai` package, and llama.cpp's /infill."""

import json

import httpx
import openai
import pytest

from conftest import lines_of, wait_until

MODEL = "qwen2.5-coder"
BEFORE = "def add(a, b):\n    return "
AFTER = "\n\nprint(add(1,2))"


def post(server, path, **body):
    return httpx.post(server.url + path, json=body, timeout=120)


def tokens_of(server, text):
    return post(server, "/v1/tokenize", model=MODEL, prompt=text).json()["tokens"]


def test_a_suffix_is_taken_by_openais_client(client):
    ask = {"model": MODEL, "prompt": BEFORE, "suffix": AFTER, "temperature": 0, "max_tokens": 8, "stop": ["\n"]}
    answer = client.completions.create(**ask)
    assert answer.choices[0].text.strip() == "a + b" and answer.choices[0].finish_reason == "stop"
    streamed = client.completions.create(**ask, stream=True)
    assert "".join(chunk.choices[0].text for chunk in streamed if chunk.choices) == answer.choices[0].text
    two = client.completions.create(**{**ask, "prompt": [BEFORE, "def sub(a, b):\n    return "]}, n=2, logprobs=1)
    assert [choice.text for choice in two.choices[:2]] == [answer.choices[0].text] * 2
    assert two.choices[2].text.strip().startswith("a - b")
    assert "".join(two.choices[0].logprobs.tokens) == answer.choices[0].text
    echoed = client.completions.create(**ask, echo=True)
    assert echoed.choices[0].text == BEFORE + answer.choices[0].text
    # The model sees what follows, and ends by itself.
    inside = client.completions.create(**{**ask, "suffix": " + b" + AFTER, "stop": None}).choices[0]
    assert inside.text.strip() == "a" and inside.finish_reason == "stop"


def test_the_prompt_is_prefix_suffix_middle(server):
    """Its tokens, by the logprobs of the prompt, are those of the text with the special tokens spelled out."""
    want = tokens_of(server, f"<|fim_prefix|>{BEFORE}<|fim_suffix|>{AFTER}<|fim_middle|>")
    ids = {name: tokens_of(server, f"<|fim_{name}|>") for name in ("prefix", "suffix", "middle")}
    assert all(len(found) == 1 for found in ids.values())
    before, after = tokens_of(server, BEFORE), tokens_of(server, AFTER)
    assert want == [*ids["prefix"], *before, *ids["suffix"], *after, *ids["middle"]]
    body = {"model": MODEL, "temperature": 0, "max_tokens": 8, "prompt_logprobs": 0}
    filled = post(server, "/v1/completions", prompt=BEFORE, suffix=AFTER, **body).json()
    spelled = post(server, "/v1/completions", prompt=want, **body).json()
    shown = filled["choices"][0]["prompt_logprobs"]
    assert [int(next(iter(entry))) for entry in shown[1:]] == want[1:]
    assert shown == spelled["choices"][0]["prompt_logprobs"]
    assert filled["usage"]["prompt_tokens"] == len(want)


def test_special_tokens_in_the_text_stay_text(server):
    prompt = "# <|fim_middle|><|im_end|>\n"
    filled = post(server, "/v1/completions", model=MODEL, prompt=prompt, suffix=AFTER, max_tokens=1, prompt_logprobs=0).json()
    ids = [int(next(iter(entry))) for entry in filled["choices"][0]["prompt_logprobs"][1:]]
    assert tokens_of(server, "<|im_end|>")[0] not in ids
    assert ids.count(tokens_of(server, "<|fim_middle|>")[0]) == 1 and ids[-1] == tokens_of(server, "<|fim_middle|>")[0]


def test_models_that_cannot_say_so(server, client):
    models = {model.id: model.model_dump() for model in client.models.list()}
    assert models[MODEL]["fill_in_the_middle"] and not models["smollm2"]["fill_in_the_middle"]
    with pytest.raises(openai.BadRequestError) as refused:
        client.completions.create(model="smollm2", prompt=BEFORE, suffix=AFTER)
    assert refused.value.code == "model_not_supported" and refused.value.param == "suffix"
    # "auto" picks one that can.
    chosen = client.completions.create(model="auto", prompt=BEFORE, suffix=AFTER, max_tokens=1)
    assert chosen.model == MODEL
    long = post(server, "/v1/completions", model=MODEL, prompt=BEFORE, suffix="x = 1\n" * 20000)
    assert long.status_code == 400 and long.json()["error"]["code"] == "context_length_exceeded"


def test_infill_as_an_editor_asks(server):
    """The fields are those that llama.vscode sends."""
    body = {
        "input_prefix": "def add(a, b):\n", "input_suffix": AFTER, "input_extra": [{"text": "# sums\n", "time": 1, "filename": "notes.py"}],
        "prompt": "    return ", "n_predict": 6, "top_k": 40, "top_p": 0.99, "stream": False, "n_indent": 4,
        "samplers": ["top_k", "top_p", "infill"], "cache_prompt": True, "t_max_prompt_ms": 500, "t_max_predict_ms": 1000,
        "temperature": 0,
    }
    warm = post(server, "/infill", **{**body, "n_predict": 0, "samplers": []}).json()
    assert warm["content"] == "" and warm["tokens_predicted"] == 0
    reply = post(server, "/infill", **body)
    answer = reply.json()
    assert answer["content"].strip().startswith("a + b") and answer["stop"] and answer["model"] == MODEL, answer
    assert answer["stop_type"] in ("eos", "limit") and answer["tokens_cached"] > 0
    assert answer["timings"]["predicted_n"] == answer["tokens_predicted"] > 0
    assert answer["tokens_evaluated"] > answer["timings"]["prompt_n"] and len(answer["warnings"]) == 4
    chosen = post(server, "/infill", **body, response_fields=["content", "timings/prompt_n"]).json()
    assert chosen.keys() == {"content", "prompt_n"} and chosen["content"] == answer["content"]
    content, last = "", {}
    with httpx.stream("POST", server.url + "/infill", json={**body, "stream": True}, timeout=120) as stream:
        for line in lines_of(stream):
            if line.startswith("data: "):
                last = json.loads(line[6:])
                content += last["content"]
    assert content == answer["content"] and last["stop"] and last["tokens_evaluated"] == answer["tokens_evaluated"]


def test_lines_of_a_batch(server, client):
    line = {"custom_id": "1", "method": "POST", "url": "/v1/completions",
            "body": {"model": MODEL, "prompt": BEFORE, "suffix": AFTER, "temperature": 0, "max_tokens": 8, "stop": "\n"}}
    file = client.files.create(file=("in.jsonl", (json.dumps(line) + "\n").encode()), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/completions", completion_window="24h")
    done = wait_until(lambda: (b := client.batches.retrieve(batch.id)).status in ("completed", "failed") and b, what="batch")
    assert done.status == "completed", done
    answer = json.loads(client.files.content(done.output_file_id).text)
    assert answer["response"]["body"]["choices"][0]["text"].strip() == "a + b"
