"""Why schemas of the wild used to be refused, one by one: what compiles, which values it takes, and which it must not."""

import json

import httpx
import pytest
from grammar_walker import Walker, check

NULL = {"type": "null"}
GEOMETRY = {
    "oneOf": [
        {"type": "object", "required": ["type", "coordinates"], "properties": {"type": {"enum": [kind]}, "coordinates": shape}}
        for kind, shape in [("Point", {"$ref": "#/$defs/position"}), ("LineString", {"type": "array", "items": {"$ref": "#/$defs/position"}, "minItems": 2})]
    ],
    "$defs": {"position": {"type": "array", "minItems": 2, "items": {"type": "number"}}},
}  # fmt: skip
CONDITION = {
    "type": "object", "properties": {"kind": {"enum": ["card", "cash"]}, "number": {"type": "integer"}}, "required": ["kind"],
    "if": {"properties": {"kind": {"const": "card"}}}, "then": {"required": ["number"]}, "additionalProperties": False,
}  # fmt: skip

# name: (schema, values that it takes, values that it does not)
CAUSES = {
    "unknown keywords": ({"type": "integer", "x-order": 1, "minlength": 3, "markdownDescription": "m"}, [7], ["7"]),
    "unique items": ({"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}, [["a", "b"]], [["a", "a"]]),
    "many unique items": ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, [["a", "b"]], [[1]]),
    "unknown formats": ({"type": "string", "format": "color"}, ["red"], [1]),
    "overlapping branches": ({"oneOf": [{"type": "integer", "minimum": 0}, {"type": "integer", "maximum": 5}]}, [9, -3], [3]),
    "disjoint branches": ({"enum": ["a", "b", 1], "oneOf": [{"type": "string"}, {"type": "integer"}]}, ["a", 1], ["c", 2]),
    "geojson": (GEOMETRY, [{"type": "Point", "coordinates": [1, 2.5]}], [{"type": "Point", "coordinates": [1]}, {"type": "LineString", "coordinates": [1, 2]}]),
    "email and length": ({"type": "string", "format": "email", "maxLength": 12}, ["a@b.example"], ["long.name@b.example", "ab"]),
    "dependencies": ({"type": "object", "properties": {"a": NULL, "b": NULL}, "dependencies": {"a": ["b"]}, "additionalProperties": False},
                     [{"b": None}, {"a": None, "b": None}, {}], [{"a": None}]),
    "not": ({"type": "string", "not": {"enum": ["x", "y"]}}, ["z", "xy"], ["x", "y"]),
    "if": (CONDITION, [{"kind": "cash"}, {"kind": "card", "number": 4}], [{"kind": "card"}]),
    "names of properties": ({"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}}, [{"ab": 1}], [{"A": 1}]),
    "look-ahead": ({"type": "string", "pattern": "^(?!tmp)[a-z]+$"}, ["x", "tm"], ["tmp", "tmpx"]),
    "every key": ({"type": "object", "patternProperties": {"^.{1,255}$": {}}}, [{"a": 1}, {"x" * 255: []}], []),
    "an integer with a fraction": ({"type": "integer", "const": 1.0}, [1], [2, 1.5]),
}  # fmt: skip

FORMATS = {
    "uri": (["https://raw.githubusercontent.com/a/b/main/c.json", "http://localhost:30000/x", "https://h/a%2fb", "mailto:joe@example.com",
             "https://a.b.c.d.e/", "urn:isbn:0451450523"], ["example.com", "http://h:65536", "http://a b"]),
    "uri-reference": (["https://example.com/x", "/a/b", "../x?c#d", "#top", ""], ["a b", "%"]),
    "email": (["a.very.long.local.part.of.an.address.with.many.words@mail.example.org"], ["joe", "@x.com"]),
    "date-time": (["2024-01-01T00:00:00.123456789Z", "2024-01-01T00:00:00+02:00"], ["2024-01-01 00:00:00Z", "2024-13-01T00:00:00Z"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def walker():
    walker = Walker()
    yield walker
    walker.close()


def takes(walker, schema, value):
    """Whether the matcher takes the value's text, a byte at a time."""
    request = {"kind": "json_schema", "source": schema, "tokens": list(json.dumps(value, separators=(",", ":")).encode())}
    walker.process.stdin.write(json.dumps(request) + "\n")
    walker.process.stdin.flush()
    answer = json.loads(walker.process.stdout.readline())
    assert "error" not in answer, f"{answer} {json.dumps(schema)}"
    return answer["complete"] and len(answer["mask_ns"]) == len(request["tokens"])


@pytest.mark.parametrize("name", CAUSES)
def test_schemas(walker, name):
    schema, good, bad = CAUSES[name]
    assert [value for value in good if not takes(walker, schema, value)] == []
    assert [value for value in bad if takes(walker, schema, value)] == []
    answer = walker.ask("json_schema", schema, seed=11, walks=12)
    assert "error" not in answer, answer
    if name != "many unique items":
        check(schema, answer["texts"])


@pytest.mark.parametrize("name", FORMATS)
def test_formats(walker, name):
    schema = {"type": "string", "format": name}
    good, bad = FORMATS[name]
    assert [value for value in good if not takes(walker, schema, value)] == []
    assert [value for value in bad if takes(walker, schema, value)] == []


def test_what_is_not_enforced_is_told(server):
    schema = {"type": "object", "required": ["tags"], "additionalProperties": False, "properties": {
        "tags": {"type": "array", "items": {"type": "string", "format": "slug", "maxLength": 3}, "maxItems": 2, "uniqueItems": True, "minlength": 1}}}  # fmt: skip
    body = {
        "model": "smollm2", "messages": [{"role": "user", "content": "Two tags."}], "max_tokens": 60, "temperature": 1, "seed": 2,
        "response_format": {"type": "json_schema", "json_schema": {"name": "t", "schema": schema}},
    }  # fmt: skip
    reply = httpx.post(server.url + "/v1/chat/completions", json=body, timeout=60)
    assert reply.status_code == 200, reply.text
    warnings = " ".join(reply.json()["warnings"])
    assert all(f"properties/tags/{place}" in warnings for place in ("items/format", "uniqueItems", "minlength")), warnings
    assert warnings.split(":")[0] in reply.headers["x-kvasir-warning"]
    json.loads(reply.json()["choices"][0]["message"]["content"])


@pytest.mark.parametrize("schema", [{"type": "object", "patternProperties": {"^.{1,255}$": {}}}, {"type": "string", "pattern": "^(a|b)*c{2,40}$", "maxLength": 60}])
def test_no_answer_breaks_off_for_reasons_of_its_grammar(server, schema):
    body = {
        "model": "smollm2", "messages": [{"role": "user", "content": "Write something long."}], "max_tokens": 200, "temperature": 1.5, "n": 2,
        "seed": 4, "response_format": {"type": "json_schema", "json_schema": {"name": "t", "schema": schema}},
    }  # fmt: skip
    reply = httpx.post(server.url + "/v1/chat/completions", json=body, timeout=120)
    assert reply.status_code == 200, reply.text
    for choice in reply.json()["choices"]:
        assert choice["finish_reason"] in ("stop", "length")
        if choice["finish_reason"] == "stop":
            check(schema, [choice["message"]["content"]])
