"""LangChain's ChatOpenAI, run by test_frameworks.py in an environment of their own."""

import os

import pydantic
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI

URL = os.environ["KVASIR_URL"] + "/v1"
CODER = "qwen2.5-coder"
SYSTEM = "You are a helpful assistant. Call tools where they help; tell their answers to the user in a sentence."


def chat(**options):
    return ChatOpenAI(**{"model": CODER, "base_url": URL, "api_key": "none", "temperature": 0, "max_tokens": 120, "max_retries": 0, **options})


class Person(pydantic.BaseModel):
    """A person."""

    name: str
    age: int


@tool
def get_weather(city: str) -> str:
    """Get the current weather of a city."""
    return f"sunny in {city}"


def test_an_answer_and_the_same_streamed():
    question = "What is 2+2? Answer with the number alone."
    whole = chat(model="smollm2").invoke(question)
    assert "4" in whole.content and whole.usage_metadata["output_tokens"] > 0
    assert "".join(part.content for part in chat(model="smollm2").stream(question)) == whole.content


def test_the_responses_api():
    whole = chat(model="smollm2", use_responses_api=True).invoke("What is 2+2?")
    assert "4" in whole.text


def test_structured_output():
    for method in ("json_schema", "function_calling"):
        person = chat().with_structured_output(Person, method=method).invoke("Jason is 25 years old.")
        assert person == Person(name="Jason", age=25), method


def test_a_tool_is_called_and_its_result_told():
    model = chat().bind_tools([get_weather])
    messages = [("system", SYSTEM), ("user", "What is the weather in Paris right now?")]
    answer = model.invoke(messages)
    (call,) = answer.tool_calls
    assert (call["name"], call["args"]) == ("get_weather", {"city": "Paris"})
    assert "unny" in model.invoke([*messages, answer, get_weather.invoke(call)]).content


def test_a_completion():
    text = OpenAI(model="smollm2", base_url=URL, api_key="none", temperature=0, max_tokens=6).invoke("The capital of France is")
    assert "Paris" in text
