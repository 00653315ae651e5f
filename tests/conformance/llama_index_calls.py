"""LlamaIndex' OpenAILike, run by test_frameworks.py in an environment of its own."""

import os

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike

URL = os.environ["KVASIR_URL"] + "/v1"


def model(**options):
    return OpenAILike(**{
        "model": "smollm2", "api_base": URL, "api_key": "none", "is_chat_model": True, "is_function_calling_model": True,
        "context_window": 8192, "max_tokens": 24, "temperature": 0, "max_retries": 0, **options,
    })  # fmt: skip


def test_an_answer_and_the_same_streamed():
    whole = model().complete("What is 2+2?").text
    assert "4" in whole
    assert "".join(part.delta for part in model().stream_complete("What is 2+2?")) == whole


def test_a_chat():
    messages = [ChatMessage(role="system", content="Answer in one sentence."), ChatMessage(role="user", content="What is 2+2?")]
    whole = model().chat(messages).message.content
    assert whole
    assert "".join(part.delta for part in model().stream_chat(messages)) == whole


def test_a_text_completion():
    assert "Paris" in model(is_chat_model=False, max_tokens=6).complete("The capital of France is").text


def get_weather(city: str) -> str:
    """Get the current weather of a city."""
    return f"sunny in {city}"


def test_a_tool_is_called():
    coder = model(model="qwen2.5-coder", max_tokens=120)
    answer = coder.chat_with_tools([FunctionTool.from_defaults(get_weather)], user_msg="What is the weather in Paris?")
    (call,) = coder.get_tool_calls_from_response(answer)
    assert (call.tool_name, call.tool_kwargs) == ("get_weather", {"city": "Paris"})
