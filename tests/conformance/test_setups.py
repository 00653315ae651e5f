"""Small things that break set-ups: what other servers and their clients take as given, each asked of the running server."""

import json

import httpx
import openai
import pytest

from conftest import wait_until

HI = [{"role": "user", "content": "What is 2+2?"}]
CHAT = {"model": "smollm2", "messages": HI, "max_tokens": 2, "temperature": 0}


def post(server, path, body, **options):
    return httpx.post(server.url + path, json=body, timeout=120, **options)


def ask(server, **more):
    reply = post(server, "/v1/chat/completions", {**CHAT, **more})
    assert reply.status_code == 200, reply.text
    return reply.json()


def said(answer):
    return answer["choices"][0]["message"]["content"]


def events(text):
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


# Paths.


@pytest.mark.parametrize("path", ["/health", "/health/", "/v1/models/", "/models", "/models/smollm2", "/v1/models/smollm2/", "/tokenizer_info?model=smollm2"])
def test_paths_that_are_looked_for(server, path):
    assert server.get(path)[0] == 200


COMPLETION = {"model": "smollm2", "prompt": "One two", "max_tokens": 1}
MESSAGE = {"model": "smollm2", "messages": HI, "max_tokens": 1}
RESPONSE = {"model": "smollm2", "input": "hi", "max_output_tokens": 1, "store": False}
BODIES = {"chat/completions": CHAT, "completions": COMPLETION, "responses": RESPONSE, "messages": MESSAGE}


@pytest.mark.parametrize("path", [f"{v1}/{name}{slash}" for name in BODIES for v1, slash in [("", ""), ("", "/"), ("/v1", "/")]])
def test_a_path_may_lack_v1_and_may_end_in_a_slash(server, path):
    body = next(BODIES[name] for name in sorted(BODIES, key=len, reverse=True) if name in path)
    assert post(server, path, body).status_code == 200


# Fields.


def test_more_than_four_stop_strings(server):
    whole = said(ask(server, max_tokens=24))
    stops = ["zzz", "yyy", "xxx", "www", "vvv", whole[5:9]]
    assert said(ask(server, max_tokens=24, stop=stops)) == whole[: whole.index(whole[5:9])]


def test_cache_prompt(server):
    assert "warnings" not in ask(server, cache_prompt=True)
    assert any(w.startswith("cache_prompt") for w in ask(server, cache_prompt=False)["warnings"])


def test_repeat_penalty_is_the_repetition_penalty(server):
    question = [{"role": "user", "content": "Say la la la la la la la."}]
    same = {"messages": question, "max_tokens": 24}
    penalised = said(ask(server, repeat_penalty=1.8, **same))
    assert penalised == said(ask(server, repetition_penalty=1.8, **same)) != said(ask(server, **same))


def test_no_mcp_servers(server):
    assert post(server, "/v1/messages", {**MESSAGE, "mcp_servers": []}).status_code == 200


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens", "n_predict"])
def test_minus_one_token_is_the_rest(server, field):
    body = {"model": "smollm2", "messages": HI, "temperature": 0, field: -1}
    answer = post(server, "/v1/chat/completions", body).json()
    assert answer["choices"][0]["finish_reason"] == "stop" and answer["usage"]["completion_tokens"] > 3


def test_a_trailing_message_of_the_assistant_is_gone_on_with(server):
    messages = [{"role": "user", "content": "What is the capital of France?"}, {"role": "assistant", "content": "The capital of France is"}]
    begun = ask(server, messages=messages, max_tokens=8)
    assert said(begun).strip().startswith("Paris")
    options = {"continue_final_message": True, "add_generation_prompt": False}  # vLLM's names
    assert said(ask(server, messages=messages, max_tokens=8, **options)) == said(begun)
    fresh = ask(server, messages=messages, max_tokens=8, continue_final_message=False)
    assert fresh["usage"]["prompt_tokens"] > begun["usage"]["prompt_tokens"]
    wrong = post(server, "/v1/chat/completions", {**CHAT, "continue_final_message": True})
    assert wrong.status_code == 400 and wrong.json()["error"]["param"] == "continue_final_message"


def test_tokenizer_info(server):
    info = json.loads(server.get("/tokenizer_info?model=qwen2.5-coder")[1])
    assert "<|im_start|>" in info["chat_template"] and info["model"] == "qwen2.5-coder"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_usage_in_every_chunk(server, path):
    body = {**(CHAT if "chat" in path else COMPLETION), "max_tokens": 4, "stream": True}
    body["stream_options"] = {"include_usage": True, "continuous_usage_stats": True}
    counts = [event["usage"]["completion_tokens"] for event in events(post(server, path, body).text)]
    assert counts == sorted(counts) and counts[0] <= 1 and counts[-1] == 4


def test_a_prompt_is_truncated(server):
    long = {**COMPLETION, "prompt": "word " * 500}
    assert post(server, "/v1/completions", {**long, "truncate_prompt_tokens": 7}).json()["usage"]["prompt_tokens"] == 7
    over = {**COMPLETION, "prompt": "word " * 12000}
    assert post(server, "/v1/completions", over).status_code == 400
    assert post(server, "/v1/completions", {**over, "truncate_prompt_tokens": 7}).status_code == 200
    assert post(server, "/v1/completions", {**long, "truncate_prompt_tokens": -1}).json()["usage"]["prompt_tokens"] > 400
    assert ask(server, truncate_prompt_tokens=9)["usage"]["prompt_tokens"] == 9


def test_twenty_logprobs_of_a_completion(client):
    choice = client.completions.create(model="smollm2", prompt="One two", max_tokens=2, logprobs=20).choices[0]
    assert [len(top) for top in choice.logprobs.top_logprobs] == [20, 20]
    with pytest.raises(openai.BadRequestError):
        client.completions.create(model="smollm2", prompt="One two", max_tokens=2, logprobs=21)


def test_what_nobody_knows_is_told(server):
    asked = {"enable_thinking": True, "options": {"num_ctx": 4096}, "no_such_field": None}
    answer = ask(server, **asked)
    assert sorted(w.split(":")[0] for w in answer["warnings"]) == ["enable_thinking", "options"]
    for path, body in [("/v1/completions", COMPLETION), ("/v1/responses", RESPONSE), ("/v1/messages", MESSAGE)]:
        assert any(w.startswith("enable_thinking") for w in post(server, path, {**body, **asked}).json()["warnings"]), path
    many = post(server, "/v1/chat/completions", {**CHAT, **{f"ü\n{i}" + "x" * 5000: 1 for i in range(100)}})
    assert many.status_code == 200 and len(many.json()["warnings"]) == 9 and len(many.headers["x-kvasir-warning"]) < 2000


INSIDE = [
    ("/v1/chat/completions", CHAT, {"response_format": {"type": "text", "schemma": 1}}, "response_format.schemma"),
    ("/v1/chat/completions", CHAT, {"response_format": {"type": "json_schema", "json_schema": {"schema": {"const": 1}, "strikt": True}}},
     "response_format.json_schema.strikt"),
    ("/v1/responses", RESPONSE, {"text": {"verbocity": "low"}}, "text.verbocity"),
    ("/v1/responses", RESPONSE, {"text": {"format": {"type": "text", "strikt": True}}}, "text.format.strikt"),
    ("/v1/responses", RESPONSE, {"reasoning": {"efort": "low"}}, "reasoning.efort"),
    ("/v1/messages", MESSAGE, {"thinking": {"type": "enabled", "budget": 9}}, "thinking.budget"),
    ("/v1/messages", MESSAGE, {"output_config": {"efort": "low"}}, "output_config.efort"),
    ("/v1/messages", MESSAGE, {"metadata": {"user": "x"}}, "metadata.user"),
    ("/api/chat", {"model": "smollm2", "messages": HI, "stream": False, "options": {"num_predict": 1}}, {"no_such_field": 1}, "no_such_field"),
    ("/api/generate", {"model": "smollm2", "prompt": "a", "stream": False, "options": {"num_predict": 1}}, {"no_such_field": 1}, "no_such_field"),
    ("/infill", {"model": "qwen2.5-coder", "input_prefix": "a", "n_predict": 1}, {"no_such_field": 1}, "no_such_field"),
    ("/v1/messages/count_tokens", {"model": "smollm2", "messages": HI}, {"no_such_field": 1, "max_tokens": 5}, "no_such_field"),
    ("/v1/responses/input_tokens", {"model": "smollm2", "input": "hi"}, {"no_such_field": 1}, "no_such_field"),
]  # fmt: skip


@pytest.mark.parametrize("path, body, more, name", INSIDE, ids=[f"{row[0]}-{row[3]}" for row in INSIDE])
def test_what_nobody_knows_is_told_wherever_it_stands(server, path, body, more, name):
    reply = post(server, path, {**body, **more})
    assert reply.status_code == 200, reply.text
    assert [line.split(":")[0] for line in reply.headers.get_list("x-kvasir-warning", split_commas=False)] == [name]
    assert "x-kvasir-warning" not in post(server, path, body).headers


@pytest.mark.parametrize("used, other", [("max_completion_tokens", "max_tokens"), ("n_predict", "max_tokens"), ("repeat_penalty", "repetition_penalty")])
def test_two_names_that_disagree_are_told(server, used, other):
    wants = {used: 3, other: 5} if "tokens" in other else {used: 1.1, other: 1.2}
    answer = ask(server, **wants)
    assert [line.split(":")[0] for line in answer["warnings"]] == [other]
    assert "tokens" not in other or answer["usage"]["completion_tokens"] == 3
    assert "warnings" not in ask(server, **{used: wants[used], other: wants[used]})


# Responses.

SEVEN = {"completed_at", "presence_penalty", "frequency_penalty", "max_tool_calls", "safety_identifier", "prompt_cache_key"}


def has_seven(response):
    return SEVEN <= set(response) and all("strict" in tool for tool in response["tools"])


def test_fields_that_the_open_responses_suite_wants(server):
    tool = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
    body = {**RESPONSE, "tools": [tool], "tool_choice": "none", "store": True}
    whole = post(server, "/v1/responses", body).json()
    assert has_seven(whole) and whole["status"] == "incomplete"
    done = post(server, "/v1/responses", {**body, "input": "Say yes.", "max_output_tokens": 200, "presence_penalty": 0.5}).json()
    assert has_seven(done) and done["status"] == "completed"
    assert done["completed_at"] >= done["created_at"] and done["presence_penalty"] == 0.5
    assert has_seven(json.loads(server.get(f"/v1/responses/{done['id']}")[1]))
    streamed = [event["response"] for event in events(post(server, "/v1/responses", {**body, "stream": True}).text) if "response" in event]
    assert len(streamed) == 3 and all(has_seven(response) for response in streamed)


def test_a_response_in_the_background(client):
    options = {"model": "smollm2", "input": "Tell me a long story.", "background": True}
    short = client.responses.create(**options, max_output_tokens=8)
    assert short.status in ("queued", "in_progress") and short.background
    done = wait_until(lambda: (r := client.responses.retrieve(short.id)).status not in ("queued", "in_progress") and r, 60, "its end")
    assert done.status == "incomplete" and done.output_text
    long = client.responses.create(**options, max_output_tokens=4000, extra_body={"ignore_eos": True})
    cancelled = client.responses.cancel(long.id)
    assert cancelled.status == "cancelled" and client.responses.retrieve(long.id).status == "cancelled"
    first = []
    with client.responses.create(**options, max_output_tokens=8, stream=True) as stream:
        for event in stream:
            first.append(event)
            if len(first) == 4:
                break
    rest = list(client.responses.retrieve(first[0].response.id, stream=True, starting_after=first[-1].sequence_number))
    assert rest[0].sequence_number == 4 and rest[-1].type == "response.incomplete"


# Tools.

PARAMETERS = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 4}}, "required": ["a"]}


def test_names_of_128_characters(server):
    name = "mcp__" + "x" * 123
    called = post(server, "/v1/messages", {**MESSAGE, "max_tokens": 300, "tools": [{"name": name, "input_schema": PARAMETERS}],
                                           "tool_choice": {"type": "tool", "name": name}}).json()
    assert [block["name"] for block in called["content"] if block["type"] == "tool_use"] == [name]
    chat = ask(server, max_tokens=300, tool_choice="required", tools=[{"type": "function", "function": {"name": name, "parameters": PARAMETERS}}])
    assert chat["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == name
    long = post(server, "/v1/messages", {**MESSAGE, "tools": [{"name": name + "x", "input_schema": PARAMETERS}]})
    assert long.status_code == 400 and "128" in long.json()["error"]["message"]


HOSTED = ["web_search", "web_search_preview", "web_search_2025_08_26", "file_search", "computer", "computer_use_preview", "code_interpreter",
          "image_generation", "mcp", "local_shell", "shell", "apply_patch", "tool_search"]  # fmt: skip


@pytest.mark.parametrize("kind", HOSTED)
def test_hosted_tools_are_left_out_with_a_warning(server, kind):
    answer = post(server, "/v1/responses", {**RESPONSE, "tools": [{"type": kind}]})
    assert answer.status_code == 200 and any("left out" in w for w in answer.json()["warnings"])
    forced = post(server, "/v1/responses", {**RESPONSE, "tools": [{"type": kind}], "tool_choice": {"type": kind}})
    assert forced.status_code == 400


def test_functions_of_a_namespace_are_called_by_their_own_names(server):
    tool = {"type": "function", "name": "find", "parameters": PARAMETERS, "strict": False}
    body = {**RESPONSE, "max_output_tokens": 200, "tools": [{"type": "namespace", "name": "crm", "description": "d", "tools": [tool]}]}
    (call,) = [item for item in post(server, "/v1/responses", {**body, "tool_choice": "required", "parallel_tool_calls": False}).json()["output"]
               if item["type"] == "function_call"]  # fmt: skip
    assert (call["namespace"], call["name"]) == ("crm", "find") and set(json.loads(call["arguments"])) == {"a"}


def test_a_freeform_tool_takes_plain_text(server):
    tool = {"type": "custom", "name": "note", "description": "Writes a short note.", "format": {"type": "text"}}
    body = {**RESPONSE, "model": "qwen2.5-coder", "input": "Note: milk.", "max_output_tokens": 100, "tools": [tool], "tool_choice": "required"}
    item = post(server, "/v1/responses", body).json()["output"][-1]
    assert item["type"] == "custom_tool_call" and item["name"] == "note" and item["input"]


CALL = {"type": "local_shell_call", "id": "l", "call_id": "c1", "status": "completed", "action": {"type": "exec", "command": ["ls"], "env": {}}}
ITEMS = {
    "local_shell_call": [CALL, {"type": "local_shell_call_output", "id": "c1", "output": "notes.txt"}],
    "custom_tool_call": [{"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin Patch"},
                         {"type": "custom_tool_call_output", "call_id": "c2", "output": "done"}],
    "function_call": [{"type": "function_call", "call_id": "c3", "name": "f", "namespace": "n", "arguments": "{}"},
                      {"type": "function_call_output", "call_id": "c3", "output": [{"type": "input_text", "text": "seven"}]}],
    "web_search_call": [{"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}}],
    "compaction": [{"type": "compaction", "id": "k", "encrypted_content": "x"}],
    "reasoning": [{"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"}],
}


@pytest.mark.parametrize("kind", ITEMS)
def test_items_of_agents_are_read(server, kind):
    items = [{"role": "user", "content": "hi"}, *ITEMS[kind], {"role": "user", "content": "Go on."}]
    plain = post(server, "/v1/responses/input_tokens", {"model": "smollm2", "input": [items[0], items[-1]]}).json()["input_tokens"]
    reply = post(server, "/v1/responses", {**RESPONSE, "input": items})
    assert reply.status_code == 200, reply.text
    if len(ITEMS[kind]) == 2:  # a call and its result
        assert reply.json()["usage"]["input_tokens"] > plain + 10
    else:
        assert any(kind in w for w in reply.json()["warnings"])


# Members of tools that only some servers have.

MEMBERS = [
    ("/v1/messages", {"allowed_callers": ["code_execution_20250825"]}, 400, "allowed_callers"),
    ("/v1/messages", {"allowed_callers": ["direct", "code_execution_20250825"]}, 200, None),
    ("/v1/messages", {"input_examples": [{"a": "x"}], "eager_input_streaming": True, "cache_control": {"type": "ephemeral"}}, 200, None),
    ("/v1/responses", {"allowed_callers": ["programmatic"]}, 400, "allowed_callers"),
    ("/v1/responses", {"async": True}, 200, "async"),
    ("/v1/responses", {"defer_loading": True}, 200, "defer_loading"),
    ("/v1/responses", {"output_schema": {"type": "object"}}, 200, None),
]


@pytest.mark.parametrize("path, member, status, word", MEMBERS, ids=[f"{m[0][4:]}-{list(m[1])[0]}-{m[2]}" for m in MEMBERS])
def test_members_of_tools(server, path, member, status, word):
    if path == "/v1/messages":
        body = {**MESSAGE, "tools": [{"name": "f", "input_schema": PARAMETERS, **member}]}
    else:
        body = {**RESPONSE, "tools": [{"type": "function", "name": "f", "parameters": PARAMETERS, "strict": False, **member}]}
    reply = post(server, path, body)
    assert reply.status_code == status, reply.text
    if status == 400:
        assert word in reply.json()["error"]["message"]
    else:
        assert bool(word) == any(word and word in w for w in reply.json().get("warnings") or [])


@pytest.mark.parametrize("message, field", [({"audio": {"id": "x"}, "content": "y"}, "audio"), ({"function_call": {"name": "f", "arguments": "{}"}}, "function_call")])
def test_earlier_messages_of_kinds_that_are_not_read(server, message, field):
    reply = post(server, "/v1/chat/completions", {**CHAT, "messages": [*HI, {"role": "assistant", **message}, *HI]})
    assert reply.status_code == 400 and reply.json()["error"]["param"] == f"messages[1].{field}"


def test_a_failed_tool_is_told_to_the_model(server):
    def tokens(**more):
        result = {"type": "tool_result", "tool_use_id": "t", "content": "no such file", **more}
        messages = [*HI, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}, {"role": "user", "content": [result]}]
        return post(server, "/v1/messages/count_tokens", {"model": "qwen2.5-coder", "messages": messages}).json()["input_tokens"]

    assert tokens(is_error=True) > tokens(is_error=False) == tokens()


# What the two kinds of connections of Open WebUI send.


def test_a_connection_of_open_webui(server):
    headers = {"Authorization": "Bearer none", "X-OpenWebUI-User-Name": "Ada", "X-OpenWebUI-User-Role": "admin"}
    listed = httpx.get(server.url + "/v1/models", headers=headers).json()
    assert {"smollm2", "qwen2.5-coder"} <= {model["id"] for model in listed["data"]}
    messages = [{"role": "system", "content": "You are terse."}, *HI]
    body = {"model": "smollm2", "messages": messages, "stream": True, "stream_options": {"include_usage": True}, "temperature": 0.8, "max_tokens": 4,
            "frequency_penalty": 0, "seed": 0, "stop": ["###"], "logit_bias": {}, "reasoning_effort": "medium"}  # fmt: skip
    streamed = events(post(server, "/v1/chat/completions", body, headers=headers).text)
    assert streamed[-1]["usage"]["completion_tokens"] > 0
    title = {"model": "smollm2", "messages": [{"role": "user", "content": "Write a title as JSON."}], "stream": False, "max_completion_tokens": 4}
    assert post(server, "/v1/chat/completions", title, headers=headers).json()["choices"][0]["message"]["content"]


def test_an_ollama_connection_of_open_webui(server):
    assert json.loads(server.get("/api/version")[1])["version"]
    tags = {model["model"]: model for model in json.loads(server.get("/api/tags")[1])["models"]}
    assert "smollm2:latest" in tags and "name" in tags["smollm2:latest"]
    assert server.get("/api/ps")[0] == 200
    options = {"temperature": 0.8, "num_ctx": 2048, "num_predict": 4, "repeat_last_n": 64, "mirostat": 0, "top_k": 40, "stop": ["###"]}
    body = {"model": "smollm2:latest", "messages": HI, "stream": True, "options": options, "keep_alive": "5m"}
    lines = [json.loads(line) for line in post(server, "/api/chat", body).text.splitlines() if line.strip()]
    assert "".join(line["message"]["content"] for line in lines) and lines[-1]["done"] and lines[-1]["eval_count"] > 0
