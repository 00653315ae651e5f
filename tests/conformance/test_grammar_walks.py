"""Random walks through grammars of random JSON schemas: every text that a sampler could produce parses and validates.

The C++ matcher walks (grammar_walk, beside the kvasir program), and PyPI's `jsonschema` judges the texts.
"""

import json
import os
import re

import pytest
from grammar_walker import Walker, check
from random_schemas import FORMATS, RandomSchemas

NUM_SCHEMAS = int(os.environ.get("KVASIR_WALK_SCHEMAS", 100))
FIRST_SEED = int(os.environ.get("KVASIR_WALK_SEED", 0))


@pytest.fixture(scope="module")
def walker():
    walker = Walker()
    yield walker
    walker.close()


def test_random_schemas(walker):
    num_texts = num_unfinished = num_refused = 0
    for seed in range(FIRST_SEED, FIRST_SEED + NUM_SCHEMAS):
        schema = RandomSchemas(seed).schema()
        answer = walker.ask("json_schema", schema, seed)
        if "error" in answer:
            # Two demands may contradict each other, or may not be enforceable. The server must report either.
            context = f"seed {seed}: {answer} {json.dumps(schema)}"
            assert answer["code"] == "unsupported" or "matches nothing" in answer["error"], context
            num_refused += 1
            continue
        check(schema, answer["texts"])
        num_texts += len(answer["texts"])
        num_unfinished += answer["unfinished"]
    print(f"{NUM_SCHEMAS} schemas, {num_texts} texts, {num_unfinished} unfinished, {num_refused} refused")
    assert num_texts > 4 * NUM_SCHEMAS
    assert num_unfinished < num_texts / 10
    assert num_refused < NUM_SCHEMAS / 10


@pytest.mark.parametrize("name", FORMATS)
def test_formats(walker, name):
    schema = {"type": "string", "format": name}
    answer = walker.ask("json_schema", schema, walks=80)
    assert len(answer["texts"]) > 2  # a walk seldom meets the one "@" of an address
    check(schema, answer["texts"])


def test_json_object(walker):
    answer = walker.ask("json_object", None, seed=5, walks=60)
    assert len(answer["texts"]) > 30
    assert all(isinstance(json.loads(text), dict) for text in answer["texts"])


PATTERNS = ["[a-z]+@[a-z]{2,5}\\.(?:com|org)", "(?:\\d{3}-){2}\\d{4}", "[^x]{3,7}", "(a|ab)(c|bcd)(d*)", "é{2}|\\u4e00?"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_regex(walker, pattern):
    answer = walker.ask("regex", pattern, walks=30)
    assert len(answer["texts"]) > 5
    for text in answer["texts"]:
        assert re.fullmatch(pattern, text, re.DOTALL), text


def test_ebnf(walker):
    grammar = 'root ::= expr\nexpr ::= term (("+" | "-") term)*\nterm ::= [1-9] [0-9]* | "(" expr ")"\n'
    answer = walker.ask("ebnf", grammar, walks=30)
    assert len(answer["texts"]) > 5
    for text in answer["texts"]:
        assert re.fullmatch(r"[\d()+-]+", text), text
        compile(text, "text", "eval")


def test_choice(walker):
    answer = walker.ask("choice", json.dumps(["yes", "no", "yes, but"]), walks=300)
    assert set(answer["texts"]) == {"yes", "no", "yes, but"}
