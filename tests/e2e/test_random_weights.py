"""A model of random weights with random schemas, through the whole server: every finished answer parses and validates.

Such a model writes nonsense, so it finds cases that a trained model would not try.
"""

import concurrent.futures
import json
import pathlib
import shutil
import sys

import jsonschema
import openai
import pytest
from conftest import Server
from tiny_model import write_tokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "conformance"))
from random_schemas import RandomSchemas  # noqa: E402

NUM_SCHEMAS = 40


@pytest.fixture(scope="module")
def random_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "random"
    shutil.copytree(ROOT / "golden/models/llama", folder)
    vocabulary = write_tokenizer(folder)
    server = Server(folder)
    server.wait_ready("random")
    yield server, vocabulary
    server.terminate()


def test_every_answer_validates(random_model):
    server, vocabulary = random_model
    client = server.client()
    # Without a bias towards closing tokens hardly any text would end.
    bias = {str(vocabulary[t]): 5 for t in ['"', "}", "]", '"}', '"]', "}}", "]]"]} | {"2": 5}

    def ask(seed):
        schema = RandomSchemas(seed).schema()
        try:
            answer = client.completions.create(
                model="random", prompt="x", max_tokens=400, seed=seed, n=3, logit_bias=bias, extra_body={"guided_json": schema}
            )
        except openai.BadRequestError as error:
            return schema, error, []
        return schema, None, answer.choices

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(NUM_SCHEMAS)))
    num_valid = num_cut = num_refused = 0
    for schema, error, choices in answers:
        if error:
            assert error.code == "unsupported_parameter" or "matches nothing" in error.message, (schema, error)
            num_refused += 1
        for choice in choices:
            if choice.finish_reason == "length":
                num_cut += 1
                continue
            checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
            jsonschema.Draft202012Validator(schema, format_checker=checker).validate(json.loads(choice.text))
            num_valid += 1
    print(f"{NUM_SCHEMAS} schemas, {num_valid} valid answers, {num_cut} cut by their length, {num_refused} refused")
    assert num_valid > NUM_SCHEMAS and num_refused < NUM_SCHEMAS / 5


def test_a_hostile_grammar_harms_itself_alone(random_model):
    """Expensive grammars do not delay the answer to another client."""
    server, _ = random_model
    client = server.client()
    hostile = [
        {"guided_regex": "(?:a|b|ab|ba|aa|bb|aba|bab){500}(?:a|b)*(?:a?){200}(?:b?){200}"},
        {"guided_regex": "(?:(?:(?:a{0,90}b{0,90}){0,90}c{0,90}){0,90}d{0,90}){0,90}"},
        {"guided_grammar": "root ::= root root | [a-c] | root root root | e\ne ::= root? root? root? [x-z]?"},
        {"guided_json": {"anyOf": [{"type": "string", "pattern": f"a.{{{i}}}b.*c"} for i in range(60)]}},
        {"guided_json": {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(300)}}},
        {"guided_choice": ["a" * i for i in range(1, 800)]},
    ]

    def attack(extra):
        try:
            client.completions.create(model="random", prompt="x", max_tokens=60, extra_body=extra, timeout=60)
        except openai.BadRequestError as error:
            assert error.code in ("grammar_too_complex", "invalid_value", "unsupported_parameter"), error

    def ordinary(_):
        return client.completions.create(model="random", prompt="hello", max_tokens=40, temperature=0, timeout=60).choices[0].text

    expected = ordinary(0)
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        attacks = [pool.submit(attack, extra) for extra in hostile]
        assert set(pool.map(ordinary, range(12))) == {expected}
        for one in attacks:
            one.result()
    assert server.get("/health/ready")[0] == 200
