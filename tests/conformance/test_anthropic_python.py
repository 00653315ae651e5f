"""The official `anthropic` package from PyPI against the running server."""

import json

import anthropic
import httpx2
import pydantic
import pytest

CODER = "qwen2.5-coder"
GREEDY = {"temperature": 0}
WEATHER = {
    "name": "get_weather",
    "description": "Get the current weather of a city",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The name of the city"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
SYSTEM = "You are a helpful assistant. Call tools where they help; tell their answers to the user in a sentence."
RESULT = '{"temperature_c": 18, "sky": "sunny"}'
QUESTION = {"role": "user", "content": "What is the weather in Paris right now?"}


@pytest.fixture(scope="module")
def claude(server):
    return anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0)


def params(**options):
    return {
        "model": "smollm2",
        "max_tokens": 24,
        "messages": [{"role": "user", "content": "What is 2+2?"}],
        "extra_body": GREEDY,
        **options,
    }


def test_a_message_and_the_same_streamed(claude):
    message = claude.messages.create(**params())
    assert "4" in message.content[0].text and message.stop_reason == "end_turn"
    with claude.messages.stream(**params()) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == message.content[0].text == final.content[0].text
    assert final.usage.output_tokens == message.usage.output_tokens
    assert stream.request_id


def test_raw_events_come_in_anthropics_order(claude):
    events = [event.type for event in claude.messages.create(**params(stream=True))]
    assert events[:2] == ["message_start", "content_block_start"]
    assert set(events[2:-3]) == {"content_block_delta"}
    assert events[-3:] == ["content_block_stop", "message_delta", "message_stop"]


def test_a_call_and_its_result(claude):
    tools = {"model": CODER, "max_tokens": 200, "tools": [WEATHER], "system": SYSTEM}
    with claude.messages.stream(**params(messages=[QUESTION], **tools)) as stream:
        first = stream.get_final_message()
    (call,) = [block for block in first.content if block.type == "tool_use"]
    assert call.input == {"city": "Paris"} and first.stop_reason == "tool_use"
    result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": RESULT}]}
    messages = [QUESTION, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    second = claude.messages.create(**params(messages=messages, **tools))
    assert "18" in second.content[0].text and second.stop_reason == "end_turn"


class Person(pydantic.BaseModel):
    name: str
    age: int


def test_parse_with_a_schema(claude):
    text = "Extract the person: Jason is 25 years old."
    messages = [{"role": "user", "content": text}]
    message = claude.messages.parse(**params(model=CODER, max_tokens=100, messages=messages), output_format=Person)
    assert message.parsed_output == Person(name="Jason", age=25)


def test_count_tokens(claude):
    counted = claude.messages.count_tokens(model="smollm2", messages=params()["messages"])
    usage = claude.messages.create(**params(max_tokens=1)).usage
    assert counted.input_tokens == usage.input_tokens + usage.cache_read_input_tokens


def test_a_warm_prompt_is_read_from_the_cache(claude):
    messages = [{"role": "user", "content": "Tell me about the sea. " * 30}]
    claude.messages.create(**params(messages=messages, max_tokens=1))
    usage = claude.messages.create(**params(messages=messages, max_tokens=1)).usage
    assert usage.cache_read_input_tokens > 100 > usage.input_tokens


def test_models(claude):
    models = {model.id: model for model in claude.models.list()}
    assert models["smollm2"].type == "model" and models["smollm2"].created_at.year >= 2025
    assert claude.models.retrieve("smollm2").display_name == "smollm2"


def test_error_classes(claude):
    with pytest.raises(anthropic.NotFoundError) as error:
        claude.messages.create(**params(model="nope"))
    assert error.value.body["error"]["type"] == "not_found_error"
    with pytest.raises(anthropic.BadRequestError, match="max_tokens"):
        claude.messages.create(**params(max_tokens=0))
    with pytest.raises(anthropic.BadRequestError, match="context"):
        claude.messages.create(**params(messages=[{"role": "user", "content": "word " * 20000}], stream=True))


def test_the_tool_runner_sends_the_whole_conversation(server):
    """It asks for a thread first, and gives that up when it is told that there are none."""
    sent = []
    http = httpx2.Client(event_hooks={"request": [lambda request: sent.append(json.loads(request.read()))]})
    client = anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0, http_client=http)
    asked = []

    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """Get the current weather of a city.

        Args:
            city: The name of the city.
        """
        asked.append(city)
        return RESULT

    runner = client.beta.messages.tool_runner(
        model=CODER, max_tokens=100, max_iterations=2, tools=[get_weather], system=SYSTEM, messages=[QUESTION], extra_body=GREEDY,
    )
    last = runner.until_done()
    assert asked == ["Paris"]
    assert "18" in "".join(block.text for block in last.content if block.type == "text")
    assert "thread" in sent[0]
    whole = sent[-1]
    assert not whole.get("thread")
    assert [message["role"] for message in whole["messages"]] == ["user", "assistant", "user"]
