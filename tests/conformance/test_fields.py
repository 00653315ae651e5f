"""docs/api.md says of every field that the SDKs can send what becomes of it. A field of a new version must be decided on
before this passes; what the table says is tried on the server."""

import pathlib
import re
import sys

import httpx
import ollama
import pytest
from anthropic.types import message_count_tokens_params as count
from anthropic.types import message_create_params as messages
from anthropic.types.beta import beta_output_config_param as output_config
from anthropic.types import beta as beta_types
from anthropic.types.beta import message_count_tokens_params as beta_count
from anthropic.types.beta import message_create_params as beta_messages
from openai.types import chat as chat_types
from openai.types import completion_create_params as completion
from openai.types import embedding_create_params as embedding
from openai.types.chat import chat_completion_stream_options_param as stream_options
from openai.types.chat import completion_create_params as chat
from openai.types.responses import input_token_count_params as input_tokens
from openai.types.responses import response_create_params as response
from openai.types.responses import response_text_config_param as text_config
from openai.types import responses as response_types
from openai.types.shared_params import function_definition, reasoning, response_format_json_schema

from conftest import ROOT

NPM = pathlib.Path(sys.executable).parent.parent / "npm/node_modules"
HEADERS = {"betas", "workspace_id"}  # arguments that the SDK sends as headers


def names(params, inside=""):
    return {inside + name for name in params.__annotations__} - HEADERS


def members(module, inside, pattern, kinds):
    """The fields of several types, e.g. of the messages of all roles."""
    return {name for kind in kinds.split() for name in names(getattr(module, pattern.format(kind)), inside + ".")}


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
    "Inside of chat completions": members(chat_types, "messages", "ChatCompletion{}MessageParam", "System Developer User Assistant Tool Function")
    | names(chat_types.ChatCompletionContentPartTextParam, "messages.content.")
    | names(chat_types.ChatCompletionContentPartRefusalParam, "messages.content.")
    | names(function_definition.FunctionDefinition, "tools.function.")
    | names(response_format_json_schema.JSONSchema, "response_format.json_schema."),
    "Inside of responses": members(response_types, "tools", "{}Param", "FunctionTool CustomTool NamespaceTool")
    | members(response_types, "input", "{}Param", "EasyInputMessage ResponseOutputMessage ResponseFunctionToolCall ResponseReasoningItem")
    | names(response_types.response_input_item_param.FunctionCallOutput, "input.")
    | names(response_types.ResponseFormatTextJSONSchemaConfigParam, "text.format."),
    "Inside of messages": names(beta_types.BetaToolParam, "tools.")
    | members(beta_types, "thinking", "BetaThinkingConfig{}Param", "Enabled Disabled Adaptive BetweenTools")
    | members(beta_types, "messages.content", "Beta{}BlockParam", "Text ToolUse ToolResult Thinking RedactedThinking")
    | members(beta_types, "tool_choice", "BetaToolChoice{}Param", "Auto Any Tool None"),
    "Ollama's chat": fields(ollama._types.ChatRequest) | fields(ollama.Options, "options."),
    "Ollama's generate": fields(ollama._types.GenerateRequest),
    "Ollama's embed": fields(ollama._types.EmbedRequest),
}

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


def tables():
    """{part: {field: decision}} of the section in docs/api.md."""
    text = (ROOT / "docs/api.md").read_text()
    section = text[text.index("## Every field of the SDKs"):].split("\n## ")[0]
    parts = {}
    for part in section.split("\n### ")[1:]:
        rows = re.findall(r"^\| (`.*?`) \| (done|harmless|warning|400) \|", part, re.M)
        parts[part.split("\n")[0]] = {name: decision for cell, decision in rows for name in re.findall(r"`([^`]+)`", cell)}
    return parts


@pytest.mark.parametrize("part", SENT)
def test_every_field_is_decided_on(part):
    decided = tables()[part]
    assert SENT[part] - set(decided) == set(), "fields of the SDK that docs/api.md does not decide on"
    assert set(decided) - SENT[part] == set(), "fields that no SDK sends"


def test_every_refusal_and_warning_has_an_example():
    listed = {(part, field) for part, rows in tables().items() for field, what in rows.items() if what in ("400", "warning")}
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
    if tables()[part][field] == "400":
        assert reply.status_code == 400, reply.text
        error = reply.json()["error"]
        assert field.split(".")[-1] in (error if isinstance(error, str) else error["message"]), reply.text
    else:
        assert reply.status_code == 200, reply.text
        assert any(warning.startswith((field, inner or field, f"{outer}: {inner}")) for warning in reply.json()["warnings"]), reply.text
