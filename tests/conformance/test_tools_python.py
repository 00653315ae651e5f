"""Tool calls and typed objects with the clients that people use: `openai` and `instructor` from PyPI."""

import json

import instructor
import openai
import pydantic
import pytest

MODEL = "qwen2.5-coder"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "The name of the city"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
TIME = {
    "type": "function",
    "function": {
        "name": "get_time",
        "description": "Get the current time in a time zone",
        "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]},
    },
}
SYSTEM = "You are a helpful assistant. Call tools where they help; tell their answers to the user in a sentence."
QUESTION = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": "What is the weather in Paris right now?"},
]


def ask(client, messages=QUESTION, **options):
    options = {"model": MODEL, "messages": messages, "tools": [WEATHER, TIME], "temperature": 0, "max_tokens": 200, **options}
    return client.chat.completions.create(**options)


def calls_of(message):
    return [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]


PARIS = [("get_weather", {"city": "Paris"})]


def test_a_function_without_parameters_gets_none(client):
    for parameters in ({}, {"parameters": {"type": "object", "properties": {}}}, {"parameters": {"type": "object"}}):
        tool = {"type": "function", "function": {"name": "list_files", "description": "Lists all files", **parameters}}
        choice = {"type": "function", "function": {"name": "list_files"}}
        for seed in range(3):
            answer = ask(client, tools=[tool], tool_choice=choice, temperature=1, seed=seed, model="smollm2")
            assert calls_of(answer.choices[0].message) == [("list_files", {})]


def test_arguments_are_those_that_are_declared(client):
    for seed in range(5):
        answer = ask(client, tools=[TIME], tool_choice="required", parallel_tool_calls=False, temperature=1, seed=seed, max_tokens=400)
        assert all(set(arguments) == {"zone"} for _, arguments in calls_of(answer.choices[0].message))


@pytest.mark.parametrize(
    "options",
    [{}, {"tool_choice": "required", "parallel_tool_calls": False}, {"tool_choice": {"type": "function", "function": {"name": "get_weather"}}}],
    ids=["auto", "required", "named"],
)
def test_a_weather_question_leads_to_the_call(client, options):
    answer = ask(client, **options)
    choice = answer.choices[0]
    assert calls_of(choice.message) == PARIS
    assert choice.finish_reason == "tool_calls" and not choice.message.content
    assert choice.message.tool_calls[0].id.startswith("call_")
    assert answer.usage.completion_tokens > 5


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_a_stream_says_the_same(client, choice):
    calls, content, finish = {}, "", None
    options = {"tool_choice": choice, "parallel_tool_calls": False, "stream": True}
    for chunk in ask(client, **options):
        delta = chunk.choices[0].delta
        content += delta.content or ""
        finish = chunk.choices[0].finish_reason or finish
        for piece in delta.tool_calls or []:
            call = calls.setdefault(piece.index, {"name": "", "arguments": ""})
            call["name"] += piece.function.name or ""
            call["arguments"] += piece.function.arguments or ""
    assert [(c["name"], json.loads(c["arguments"])) for c in calls.values()] == PARIS
    assert finish == "tool_calls" and content == ""


def test_the_tools_answer_becomes_a_sentence(client):
    message = ask(client, parallel_tool_calls=False).choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": '{"temperature_c": 18, "sky": "sunny"}'}
    choice = ask(client, QUESTION + [message, result]).choices[0]
    assert choice.finish_reason == "stop" and not choice.message.tool_calls
    assert "18" in choice.message.content and "unny" in choice.message.content


def test_none_calls_nothing(client):
    choice = ask(client, tool_choice="none").choices[0]
    assert not choice.message.tool_calls and choice.message.content


def test_required_where_the_model_would_rather_chat(client):
    choice = ask(client, [{"role": "user", "content": "Hello! How are you?"}], tool_choice="required").choices[0]
    assert choice.finish_reason == "tool_calls"
    for name, arguments in calls_of(choice.message):
        assert set(arguments) == {"city"} if name == "get_weather" else "zone" in arguments


def test_a_model_without_a_way_of_its_own(client):
    choice = ask(client, model="smollm2", tool_choice="required", parallel_tool_calls=False).choices[0]
    (name, arguments), = calls_of(choice.message)
    assert name in ("get_weather", "get_time") and isinstance(arguments, dict)


class Person(pydantic.BaseModel):
    name: str
    age: int
    hobbies: list[str] = pydantic.Field(min_length=1, max_length=3)


TEXT = "Extract the person: Jason is 25 years old and likes chess and rowing."


def test_parse_with_openai(client):
    completion = client.chat.completions.parse(
        model=MODEL, messages=[{"role": "user", "content": TEXT}], response_format=Person, temperature=0
    )
    person = completion.choices[0].message.parsed
    assert (person.name, person.age) == ("Jason", 25)


def test_strict_tool_with_openai(client):
    completion = client.chat.completions.parse(
        model=MODEL,
        messages=[{"role": "user", "content": TEXT}],
        tools=[openai.pydantic_function_tool(Person)],
        tool_choice="required",
        parallel_tool_calls=False,
        temperature=0,
    )
    person = completion.choices[0].message.tool_calls[0].function.parsed_arguments
    assert (person.name, person.age) == ("Jason", 25)


@pytest.mark.parametrize("mode", [instructor.Mode.TOOLS, instructor.Mode.JSON, instructor.Mode.JSON_SCHEMA])
def test_instructor(client, mode):
    person = instructor.from_openai(client, mode=mode).chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": TEXT}], response_model=Person, temperature=0, max_retries=0
    )
    assert (person.name, person.age) == ("Jason", 25)


def test_a_model_that_may_call_again_ends_after_the_call(client):
    choice = ask(client, tool_choice="required").choices[0]
    assert calls_of(choice.message) == PARIS
    assert choice.finish_reason == "tool_calls" and not choice.message.content
