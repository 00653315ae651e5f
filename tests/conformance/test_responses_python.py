"""OpenAI's Responses API with the official `openai` package from PyPI, and streams that are resumed."""

import json

import httpx
import openai
import pydantic
import pytest

from conftest import lines_of

CODER = "qwen2.5-coder"


def params(**options):
    return {"model": "smollm2", "input": "What is 2+2?", "temperature": 0, "max_output_tokens": 24, **options}


def test_a_response_and_the_same_streamed(client):
    response = client.responses.create(**params())
    assert "4" in response.output_text and response.status == "completed"
    with client.responses.stream(**params()) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert text == response.output_text == final.output_text
    assert final.usage.output_tokens == response.usage.output_tokens
    assert final.usage.input_tokens_details.cached_tokens >= 0


class Person(pydantic.BaseModel):
    name: str
    age: int


def test_parse(client):
    text = "Extract the person: Jason is 25 years old."
    response = client.responses.parse(**params(model=CODER, input=text, max_output_tokens=100), text_format=Person)
    assert response.output_parsed == Person(name="Jason", age=25)


def test_json_object(client):
    text = "Write a JSON object with the key \"ok\"."
    response = client.responses.create(**params(model=CODER, input=text, text={"format": {"type": "json_object"}}, max_output_tokens=60))
    assert isinstance(json.loads(response.output_text), dict)


def test_items_of_a_conversation(client):
    items = [
        {"role": "developer", "content": "You are terse."},
        {"role": "user", "content": [{"type": "input_text", "text": "My name is Ada."}]},
        {"role": "assistant", "content": "Hello Ada."},
        {"role": "user", "content": "What is my name?"},
    ]
    assert "Ada" in client.responses.create(**params(model=CODER, input=items)).output_text


def test_a_response_goes_on_from_a_stored_one(client):
    first = client.responses.create(**params(model=CODER, input="My name is Ada. Say hello.", instructions="You are terse."))
    assert first.store
    second = client.responses.create(**params(model=CODER, input="What is my name?", previous_response_id=first.id))
    assert "Ada" in second.output_text and second.previous_response_id == first.id
    assert client.responses.retrieve(second.id) == second
    items = client.responses.input_items.list(second.id, order="asc").data
    assert [item.type for item in items] == ["message"] * 3
    assert items[2].content[0].text == "What is my name?"
    client.responses.delete(first.id)
    with pytest.raises(openai.NotFoundError, match=f"Response with id '{first.id}' not found."):
        client.responses.retrieve(first.id)
    with pytest.raises(openai.BadRequestError) as lost:
        client.responses.create(**params(previous_response_id=second.id))
    assert lost.value.code == "previous_response_not_found" and lost.value.param == "previous_response_id"


def test_an_item_is_referred_to(client):
    first = client.responses.create(**params(model=CODER, input="My name is Ada. Say hello."))
    said = {"type": "item_reference", "id": first.output[0].id}
    items = [{"role": "user", "content": "My name is Ada. Say hello."}, said, {"role": "user", "content": "What is my name?"}]
    by_reference = client.responses.create(**params(model=CODER, input=items))
    by_id = client.responses.create(**params(model=CODER, input="What is my name?", previous_response_id=first.id))
    assert by_reference.output_text == by_id.output_text
    with pytest.raises(openai.NotFoundError, match="Item with id 'msg_1_0' not found."):
        client.responses.create(**params(input=[{"type": "item_reference", "id": "msg_1_0"}]))


def test_allowed_tools(client):
    tools = [{"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}, "strict": False} for name in ("f", "g")]
    choice = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "g"}]}
    response = client.responses.create(**params(tools=tools, tool_choice=choice))
    assert {item.name for item in response.output} == {"g"}


def test_a_stored_response_is_streamed_again(client):
    live = list(client.responses.create(**params(stream=True)))
    final = live[-1].response
    again = list(client.responses.retrieve(final.id, stream=True))
    assert again[-1].response == final
    assert "".join(e.delta for e in again if e.type == "response.output_text.delta") == final.output_text
    assert [e.sequence_number for e in again] == list(range(len(again)))
    rest = list(client.responses.retrieve(final.id, stream=True, starting_after=4))
    assert rest == again[5:]
    with client.responses.stream(response_id=final.id, starting_after=0) as stream:
        assert [e.type for e in stream][-1] == "response.completed"


def test_a_resumable_stream_is_read_on_with_the_clients_own_method(client):
    live = list(client.responses.create(**params(stream=True, extra_body={"stream_options": {"resumable": True}})))
    assert list(client.responses.retrieve(live[0].response.id, stream=True, starting_after=3)) == live[4:]


def test_truncation(client):
    turns = [{"role": role, "content": "word " * 400} for _ in range(20) for role in ("user", "assistant")]
    items = turns + [{"role": "user", "content": "Say hello."}]
    with pytest.raises(openai.BadRequestError):
        client.responses.create(**params(input=items))
    response = client.responses.create(**params(input=items, truncation="auto"))
    assert response.status in ("completed", "incomplete") and 400 < response.usage.input_tokens < 9000


def events_of(lines):
    """(number, data) of a stream's events."""
    number = None
    for line in lines:
        if line.startswith("id: "):
            number = int(line[4:])
        if line.startswith("data: "):
            yield number, line[6:]


def text_of(events):
    chunks = [json.loads(data) for _, data in events if data != "[DONE]"]
    return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])


def test_a_stream_goes_on_where_it_was_left(server, client):
    body = {"model": "smollm2", "messages": [{"role": "user", "content": "Count from 1 to 30."}], "temperature": 0, "max_tokens": 60}
    whole = client.chat.completions.create(**body).choices[0].message.content
    body |= {"stream": True, "stream_options": {"resumable": True}}
    first = []
    with httpx.stream("POST", server.url + "/v1/chat/completions", json=body, timeout=60) as response:
        stream_id = response.headers["x-stream-id"]
        for event in events_of(lines_of(response)):
            first.append(event)
            if len(first) == 5:
                break
    url = f"{server.url}/v1/streams/{stream_id}"
    with httpx.stream("GET", url, params={"after": first[-1][0]}, timeout=60) as response:
        rest = list(events_of(lines_of(response)))
    assert [number for number, _ in first + rest] == list(range(1, len(first + rest) + 1))
    assert rest[-1][1] == "[DONE]" and text_of(first + rest) == whole
    with httpx.stream("GET", url, timeout=60) as response:
        assert list(events_of(lines_of(response))) == first + rest


def test_a_conversation_and_its_items(client):
    conversation = client.conversations.create(
        metadata={"topic": "names"}, items=[{"type": "message", "role": "user", "content": "My name is Ada."}]
    )
    assert conversation.object == "conversation" and conversation.metadata == {"topic": "names"}
    assert client.conversations.update(conversation.id, metadata={"topic": "x"}).metadata == {"topic": "x"}
    added = client.conversations.items.create(
        conversation.id, items=[{"type": "message", "role": "assistant", "content": "Hello Ada."}]
    )
    assert [item.role for item in added.data] == ["assistant"]
    response = client.responses.create(**params(model=CODER, input="What is my name?", conversation=conversation.id))
    assert "Ada" in response.output_text and response.conversation.id == conversation.id
    items = list(client.conversations.items.list(conversation.id, order="asc", limit=1))
    assert [item.role for item in items] == ["user", "assistant", "user", "assistant"]
    assert items[-1].id == response.output[-1].id and items[-1].content[0].text == response.output_text
    assert client.conversations.items.retrieve(items[0].id, conversation_id=conversation.id) == items[0]
    client.conversations.items.delete(items[0].id, conversation_id=conversation.id)
    left = list(client.conversations.items.list(conversation.id))
    assert [item.id for item in left] == [item.id for item in reversed(items[1:])]
    with pytest.raises(openai.BadRequestError):
        client.responses.create(**params(conversation=conversation.id, previous_response_id=response.id))
    assert client.conversations.delete(conversation.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.responses.create(**params(conversation=conversation.id))


# The grammar of Codex's tool for edits.
PATCH = r"""start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
"""


def test_a_patch_follows_its_grammar(client):
    tool = {"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark", "definition": PATCH}}
    text = "Add a file hello.py that prints hello. Do not explain."
    response = client.responses.create(**params(model=CODER, input=text, tools=[tool], tool_choice="required", max_output_tokens=300))
    call = response.output[-1]
    assert call.type == "custom_tool_call" and call.name == "apply_patch"
    lines = call.input.rstrip("\n").split("\n")
    assert lines[0] == "*** Begin Patch" and lines[-1] == "*** End Patch" and len(lines) > 2, call.input
    assert all(line.startswith(("***", "@@", "+", "-", " ")) for line in lines), call.input


def test_a_custom_tool_in_a_chat(client):
    grammar = {"type": "grammar", "grammar": {"syntax": "lark", "definition": 'start: "SELECT " NAME\nNAME: /[a-z]+/'}}
    tool = {"type": "custom", "custom": {"name": "query", "description": "Runs SQL.", "format": grammar}}
    chat = {
        "model": CODER,
        "messages": [{"role": "user", "content": "Select everything from users."}],
        "tools": [tool],
        "tool_choice": {"type": "custom", "custom": {"name": "query"}},
        "temperature": 0,
    }
    call = client.chat.completions.create(**chat).choices[0].message.tool_calls[0]
    assert call.type == "custom" and call.custom.name == "query" and call.custom.input.startswith("SELECT ")
    parts = [part for chunk in client.chat.completions.create(**chat, stream=True) for choice in chunk.choices for part in choice.delta.tool_calls or []]
    assert parts[0].type == "custom"
    assert "".join(part.custom["input"] for part in parts) == call.custom.input
    chat["messages"] += [
        {"role": "assistant", "tool_calls": [call.model_dump()]},
        {"role": "tool", "tool_call_id": call.id, "content": "3 rows"},
    ]
    chat["tool_choice"] = "none"
    assert client.chat.completions.create(**chat).choices[0].message.content
    tool["custom"]["format"]["grammar"]["definition"] = "start: a\na: pair{b}"
    with pytest.raises(openai.BadRequestError, match="templates are not supported .line 2."):
        client.chat.completions.create(**chat | {"tool_choice": "required"})
