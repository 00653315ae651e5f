"""Schemas as varied as the wild: how many compile, and whether every text that a sampler could produce is valid."""

import json

import pytest
from grammar_walker import Walker, check
from schema_corpus import corpus

CORPUS = corpus()
LEAST_SHARE = 0.98


@pytest.fixture(scope="module")
def walker():
    walker = Walker()
    yield walker
    walker.close()


def without_unique_items(schema):
    """uniqueItems is only a warning where an item may have many values."""
    if isinstance(schema, dict):
        return {key: without_unique_items(value) for key, value in schema.items() if key != "uniqueItems"}
    return [without_unique_items(item) for item in schema] if isinstance(schema, list) else schema


def test_most_schemas_compile(walker):
    assert len(CORPUS) >= 150
    refused = {}
    for name, schema in CORPUS.items():
        answer = walker.ask("json_schema", schema, walks=0)
        if "error" in answer:
            refused[name] = answer["error"]
    print(f"{len(CORPUS) - len(refused)} of {len(CORPUS)} compile")
    assert len(refused) <= (1 - LEAST_SHARE) * len(CORPUS), refused


@pytest.mark.parametrize("family", sorted({name.split("/")[0] for name in CORPUS}))
def test_texts_are_valid(walker, family):
    num_texts = num_unfinished = 0
    for name, schema in CORPUS.items():
        if not name.startswith(family + "/"):
            continue
        answer = walker.ask("json_schema", schema, seed=7, walks=6)
        # A walk must never get stuck, nor be too costly to go on.
        assert "error" not in answer or answer["code"] == "unsupported", f"{name}: {answer} {json.dumps(schema)}"
        check(without_unique_items(schema), answer.get("texts", []))
        num_texts += len(answer.get("texts", []))
        num_unfinished += answer.get("unfinished", 0)
    assert num_unfinished < num_texts / 4
