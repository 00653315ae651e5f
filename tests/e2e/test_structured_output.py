"""Structured output from the running server: every answer parses and validates."""

import concurrent.futures
import json
import re

import jsonschema
import openai
import pytest

MODEL = "smollm2"
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 30},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "minItems": 1, "maxItems": 3},
        "address": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 20}, "zip": {"type": "string", "pattern": "^[0-9]{5}$"}},
            "required": ["city", "zip"],
            "additionalProperties": False,
        },
    },
    "required": ["name", "age", "tags", "address"],
    "additionalProperties": False,
}


def ask(client, text="Tell me about a person.", **options):
    body = {key: options.pop(key) for key in list(options) if key.startswith(("guided_", "structured_"))}
    return client.chat.completions.create(
        **{"model": MODEL, "messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 300, **options},
        extra_body=body,
    )


def schema_format(schema):
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}


@pytest.mark.parametrize("sampling", [dict(temperature=0), dict(temperature=1.5, seed=3), dict(temperature=2, seed=4)])
def test_schema(client, sampling):
    choice = ask(client, response_format=schema_format(PERSON), **sampling).choices[0]
    assert choice.finish_reason == "stop"
    jsonschema.validate(json.loads(choice.message.content), PERSON)


def test_object(client):
    question = "Give me a JSON object with the name and the age of a person."
    choice = ask(client, question, model="qwen2.5-coder", response_format={"type": "json_object"}).choices[0]
    assert choice.finish_reason == "stop"
    assert isinstance(json.loads(choice.message.content), dict)


def test_regex_choice_grammar(client):
    text = ask(client, "A date?", guided_regex=r"\d{4}-\d{2}-\d{2}").choices[0].message.content
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", text)
    assert ask(client, "Is water wet?", guided_choice=["yes", "no", "maybe so"]).choices[0].message.content in ("yes", "no", "maybe so")
    text = ask(client, "2+2?", guided_grammar='root ::= "<" [0-9]{1,3} ">"').choices[0].message.content
    assert re.fullmatch(r"<[0-9]{1,3}>", text)
    text = ask(client, "2+2?", structured_outputs={"regex": "[0-9]+ apples"}, max_tokens=12).choices[0].message.content
    assert re.match("[0-9]+", text)


def test_stream_and_batch_and_choices_agree(client):
    """An answer has the same bytes alone, streamed, among others, and as one of n."""
    options = dict(response_format=schema_format(PERSON), temperature=1, seed=11)
    alone = ask(client, **options).choices[0].message.content
    chunks = ask(client, stream=True, **options)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == alone
    several = ask(client, n=3, **options)
    assert several.choices[0].message.content == alone
    for choice in several.choices:
        jsonschema.validate(json.loads(choice.message.content), PERSON)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        kinds = [options, dict(guided_regex="[a-z]{5,40}", temperature=1, seed=2), dict(temperature=1, seed=3, max_tokens=60)]
        batch = list(pool.map(lambda i: ask(client, **kinds[i % 3]).choices[0].message.content, range(6)))
    assert batch[0] == batch[3] == alone
    assert batch[1] == batch[4] and re.fullmatch("[a-z]{5,40}", batch[1])


def test_logprobs_of_a_grammar(client):
    answer = ask(client, guided_regex="the answer is [0-9]", logprobs=True, top_logprobs=2)
    content = answer.choices[0].logprobs.content
    assert "".join(t.token for t in content) == answer.choices[0].message.content
    assert answer.usage.completion_tokens == len(content)


def test_survives_preemption(small_server):
    """The pool is too small for all sequences: a preempted one goes on where it stopped."""
    client = small_server("--kv-memory-mb", "12", "--prefix-cache=false").client()
    options = dict(response_format=schema_format(PERSON), temperature=1)
    alone = [ask(client, seed=i, **options).choices[0].message.content for i in range(6)]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        batch = list(pool.map(lambda i: ask(client, seed=i, **options).choices[0].message.content, range(6)))
    assert batch == alone


def test_refusals_name_the_keyword(client):
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, response_format=schema_format({"type": "object", "properties": {"a": {"contains": {"minimum": 3}}}}))
    assert refused.value.param == "response_format.json_schema.schema/properties/a/contains"
    with pytest.raises(openai.BadRequestError, match="only one"):
        ask(client, guided_regex="a", guided_choice=["a"])
