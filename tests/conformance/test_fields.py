"""docs/api.md says of every field that the SDKs can send what becomes of it. A field of a new version must be decided on
before this passes; what the table says is tried on the server."""

import pathlib
import re
import sys
from typing import get_args, get_type_hints

import httpx
import ollama
import pytest
from anthropic.types import message_count_tokens_params as count
from anthropic.types import message_create_params as messages
from anthropic.types.beta import beta_output_config_param as output_config
from anthropic.types.beta import message_count_tokens_params as beta_count
from anthropic.types.beta import message_create_params as beta_messages
from openai.types import completion_create_params as completion
from openai.types import embedding_create_params as embedding
from openai.types.chat import chat_completion_stream_options_param as stream_options
from openai.types.chat import completion_create_params as chat
from openai.types.responses import input_token_count_params as input_tokens
from openai.types.responses import response_create_params as response
from openai.types.responses import response_text_config_param as text_config
from openai.types.shared_params import reasoning

from conftest import ROOT

NPM = pathlib.Path(sys.executable).parent.parent / "npm/node_modules"
HEADERS = {"betas", "workspace_id"}  # arguments that the SDK sends as headers


def read_tables():
    """{part: {field: decision}} of the section in docs/api.md; kinds are "field: kind"."""
    text = (ROOT / "docs/api.md").read_text()
    section = text[text.index("## Every field of the SDKs"):].split("\n## ")[0]
    parts = {}
    for part in section.split("\n### ")[1:]:
        title = part.split("\n")[0]
        column = r"`([\w.]+)` \| " if title.startswith("Kinds in ") else "()"
        rows = re.findall(rf"^\| {column}(`.*?`) \| (done|harmless|warning|left out|400) \|", part, re.M)
        parts[title] = {f"{place}: {name}" if place else name: decision
                        for place, cell, decision in rows for name in re.findall(r"`([^`]+)`", cell)}
    return parts


TABLES = read_tables()


def names(params, inside=""):
    return {inside + name for name in params.__annotations__} - HEADERS


def objects_in(hint):
    """The types of objects that a type hint allows, however deep they stand in unions and lists."""
    if hasattr(hint, "__required_keys__"):
        return [hint]
    return [found for inner in get_args(hint) if not isinstance(inner, str) for found in objects_in(inner)]


def kinds_of(params):
    """What the member `type` of an object may say; the empty set if it has none."""
    return set(words_in(get_type_hints(params).get("type")))


def words_in(hint):
    return [word for inner in get_args(hint) for word in ([inner] if isinstance(inner, str) else words_in(inner))]


# In these the same may stand as one level above.
ALIASES = {"tools.tools": "tools", "messages.content.content": "messages.content"}


def walk(params, part, path="", above=()):
    """Every (field, kind or None) that may stand in a request. What stands in a field that is not done, or in an object
    of a kind that is not done, is not looked at."""
    first_level, deeper, kinds = TABLES[part], TABLES[f"Inside of {part.lower()}"], TABLES[f"Kinds in {part.lower()}"]
    for name, hint in get_type_hints(params).items():
        field = f"{path}.{name}" if path else name
        yield field, None
        if (first_level | deeper).get(field) != "done":
            continue
        field = ALIASES.get(field, field)
        for inner in objects_in(hint):
            yield from ((field, kind) for kind in kinds_of(inner))
            done = [kind for kind in kinds_of(inner) if kinds.get(f"{field}: {kind}") == "done"]
            if inner not in above and (done or not kinds_of(inner)):
                yield from walk(inner, part, field, (*above, inner))


def inside(params, part):
    fields = {field for field, kind in walk(params, part) if kind is None and "." in field}
    return {f"Inside of {part.lower()}": fields - set(TABLES[part])}


def kinds(params, part):
    return {f"Kinds in {part.lower()}": {f"{field}: {kind}" for field, kind in walk(params, part) if kind}}


def npm_names(file, *types):
    """The fields of TypeScript's types of these names."""
    text = (NPM / file).read_text()
    bodies = [re.search(rf"export interface {name} {{\n(.*?)\n}}", text, re.S)[1] for name in types]
    return {name for body in bodies for name in re.findall(r"^    (\w+)\??:", body, re.M)} - HEADERS


def fields(model, inside=""):
    """Of a type of Ollama's client."""
    return {inside + name for name in model.model_fields}


SENT = {
    "Chat completions": names(chat.CompletionCreateParamsStreaming)
    | npm_names("openai/resources/chat/completions/completions.d.ts", "ChatCompletionCreateParamsBase")
    | names(stream_options.ChatCompletionStreamOptionsParam, "stream_options."),
    "Completions": names(completion.CompletionCreateParamsStreaming)
    | npm_names("openai/resources/completions.d.ts", "CompletionCreateParamsBase"),
    "Embeddings": names(embedding.EmbeddingCreateParams) | npm_names("openai/resources/embeddings.d.ts", "EmbeddingCreateParams"),
    "Responses": names(response.ResponseCreateParamsStreaming)
    | npm_names("openai/resources/responses/responses.d.ts", "ResponseCreateParamsBase")
    | names(input_tokens.InputTokenCountParams)
    | names(reasoning.Reasoning, "reasoning.")
    | names(text_config.ResponseTextConfigParam, "text."),
    "Messages": names(messages.MessageCreateParamsStreaming)
    | npm_names("@anthropic-ai/sdk/resources/messages/messages.d.ts", "MessageCreateParamsBase", "MessageCountTokensParams")
    | npm_names("@anthropic-ai/sdk/resources/beta/messages/messages.d.ts", "MessageCreateParamsBase", "MessageCountTokensParams")
    | names(count.MessageCountTokensParams)
    | names(beta_messages.MessageCreateParamsStreaming)
    | names(beta_count.MessageCountTokensParams)
    | names(output_config.BetaOutputConfigParam, "output_config."),
    "Ollama's chat": fields(ollama._types.ChatRequest) | fields(ollama.Options, "options."),
    "Ollama's generate": fields(ollama._types.GenerateRequest),
    "Ollama's embed": fields(ollama._types.EmbedRequest),
}
for part, params in {
    "Chat completions": chat.CompletionCreateParamsStreaming,
    "Responses": response.ResponseCreateParamsStreaming,
    "Messages": beta_messages.MessageCreateParamsStreaming,
}.items():
    SENT |= inside(params, part) | kinds(params, part)

BODIES = {
    "Chat completions": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}),
    "Completions": ("/v1/completions", {"prompt": "hi", "max_tokens": 1}),
    "Responses": ("/v1/responses", {"input": "hi", "max_output_tokens": 1, "store": False}),
    "Messages": ("/v1/messages", {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}),
    "Ollama's chat": ("/api/chat", {"messages": [{"role": "user", "content": "hi"}], "stream": False, "options": {"num_predict": 1}}),
    "Ollama's generate": ("/api/generate", {"prompt": "hi", "stream": False, "options": {"num_predict": 1}}),
}

FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}

# A value that asks for something, for every field that is refused or only warned of. Inside of others: the whole field.
EXAMPLES = {
    ("Chat completions", "audio"): {"voice": "x", "format": "wav"},
    ("Chat completions", "function_call"): {"name": "f"},
    ("Chat completions", "functions"): [{"name": "f"}],
    ("Chat completions", "modalities"): ["text", "audio"],
    ("Chat completions", "moderation"): {"model": "x"},
    ("Chat completions", "prediction"): {"type": "content", "content": "x"},
    ("Chat completions", "reasoning_effort"): "high",
    ("Chat completions", "store"): True,
    ("Chat completions", "verbosity"): "low",
    ("Chat completions", "web_search_options"): {},
    ("Responses", "access_programs"): {"x": True},
    ("Responses", "context_management"): [{"type": "compaction"}],
    ("Responses", "image"): {"x": 1},
    ("Responses", "moderation"): {"model": "x"},
    ("Responses", "personality"): "friendly",
    ("Responses", "prompt"): {"id": "p"},
    ("Responses", "reasoning.context"): "all_turns",
    ("Responses", "reasoning.effort"): "high",
    ("Responses", "reasoning.mode"): "pro",
    ("Responses", "text.verbosity"): "low",
    ("Messages", "compaction"): {"type": "summarize"},
    ("Messages", "container"): "c",
    ("Messages", "context_management"): {"edits": [{"type": "clear_tool_uses_20250919"}]},
    ("Messages", "fallbacks"): [{"model": "x"}],
    ("Messages", "mcp_servers"): [{"type": "url", "url": "http://x", "name": "x"}],
    ("Messages", "output_config.effort"): "high",
    ("Messages", "output_config.task_budget"): {"type": "tokens", "total": 9},
    ("Messages", "speed"): "fast",
    ("Messages", "thread"): {"type": "create"},
    ("Inside of chat completions", "messages.audio"): {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "audio": {"id": "x"}}]},
    ("Inside of chat completions", "messages.function_call"): {
        "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "function_call": {"name": "f", "arguments": "{}"}}]},
    ("Inside of responses", "tools.allowed_callers"): {"tools": [{**FUNCTION, "allowed_callers": ["programmatic"]}]},
    ("Inside of responses", "tools.async"): {"tools": [{**FUNCTION, "async": True}]},
    ("Inside of responses", "tools.defer_loading"): {"tools": [{**FUNCTION, "defer_loading": True}]},
    ("Inside of messages", "tools.allowed_callers"): {"tools": [{"name": "f", "input_schema": {}, "allowed_callers": ["code_execution_20250825"]}]},
    ("Inside of messages", "thinking.display"): {"thinking": {"type": "enabled", "budget_tokens": 1024, "display": "omitted"}},
    ("Inside of messages", "messages.output_config"): {
        "messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "b", "output_config": {"effort": "high"}}]},
    ("Ollama's chat", "keep_alive"): "5m",
    ("Ollama's chat", "options.num_ctx"): 4096,
    ("Ollama's chat", "options.repeat_last_n"): 64,
    ("Ollama's chat", "options.penalize_newline"): False,
    ("Ollama's chat", "options.embedding_only"): True,
    ("Ollama's chat", "options.mirostat"): 2,
    ("Ollama's chat", "options.tfs_z"): 0.5,
    ("Ollama's chat", "options.typical_p"): 0.5,
    ("Ollama's chat", "options.vocab_only"): True,
    ("Ollama's generate", "keep_alive"): 300,
    ("Ollama's generate", "context"): [1, 2],
    ("Ollama's generate", "images"): ["aGk="],
    ("Ollama's generate", "template"): "{{ .Prompt }}",
    ("Ollama's generate", "height"): 64,
    ("Ollama's generate", "steps"): 4,
    ("Ollama's generate", "width"): 64,
}


@pytest.mark.parametrize("part", SENT)
def test_every_field_is_decided_on(part):
    decided = TABLES[part]
    assert SENT[part] - set(decided) == set(), "fields of the SDK that docs/api.md does not decide on"
    assert set(decided) - SENT[part] == set(), "fields that no SDK sends"


def test_every_refusal_and_warning_has_an_example():
    listed = {(part, field) for part, rows in TABLES.items() if not part.startswith("Kinds") for field, what in rows.items() if what in ("400", "warning")}
    assert listed == set(EXAMPLES)


@pytest.mark.parametrize(("part", "field"), EXAMPLES)
def test_the_table_is_true(server, part, field):
    path, body = BODIES[part.replace("Inside of c", "C").replace("Inside of r", "R").replace("Inside of m", "M")]
    body = {"model": "smollm2", **body}
    outer, _, inner = field.partition(".")
    if part.startswith("Inside of "):
        body |= EXAMPLES[part, field]
    else:
        body[outer] = {**body.get(outer, {}), inner: EXAMPLES[part, field]} if inner else EXAMPLES[part, field]
    reply = httpx.post(server.url + path, json=body, timeout=60)
    if TABLES[part][field] == "400":
        assert reply.status_code == 400, reply.text
        error = reply.json()["error"]
        assert field.split(".")[-1] in (error if isinstance(error, str) else error["message"]), reply.text
    else:
        assert reply.status_code == 200, reply.text
        assert any(warning.startswith((field, inner or field, f"{outer}: {inner}")) for warning in reply.json()["warnings"]), reply.text


def with_kind(part, place, kind):
    """An endpoint, and the part of its request that has something of this kind at this place."""
    one, call = {"type": kind}, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    return {
        "Kinds in chat completions": {"messages.content": {"messages": [{"role": "user", "content": [one]}]}},
        "Kinds in responses": {
            "input": {"input": [{"role": "user", "content": "hi"}, one]},
            "input.content": {"input": [{"role": "user", "content": [one]}]},
            "input.output": {"input": [call, {"type": "function_call_output", "call_id": "c", "output": [one]}]},
            "tools": {"tools": [one]},
            "tool_choice": {"tools": [FUNCTION], "tool_choice": one},
        },
        "Kinds in messages": {
            "messages.content": {"messages": [{"role": "user", "content": [one]}]},
            "messages.content.tool": {"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": [{"type": "tool_addition", "tool": one}]}]},
            "tools": {"tools": [{"name": "f", **one}]},
        },
    }[part][place]  # fmt: skip


NOT_DONE = [(part, *row.split(": ")) for part in TABLES if part.startswith("Kinds") for row, what in TABLES[part].items() if what != "done"]


@pytest.mark.parametrize(("part", "place", "kind"), NOT_DONE)
def test_kinds_are_refused_or_left_out(server, part, place, kind):
    path, body = BODIES[part.replace("Kinds in c", "C").replace("Kinds in r", "R").replace("Kinds in m", "M")]
    reply = httpx.post(server.url + path, json={"model": "smollm2", **body, **with_kind(part, place, kind)}, timeout=60)
    if TABLES[part][f"{place}: {kind}"] == "400":
        assert reply.status_code == 400 and kind in reply.json()["error"]["message"], reply.text
    else:
        assert reply.status_code == 200, reply.text
        assert any("left out" in warning and kind.split("_preview")[0].split("_2025")[0] in warning for warning in reply.json()["warnings"]), reply.text
