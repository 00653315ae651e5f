"""Tools that the server runs: HTTP tools, and MCP servers made with the official SDK, over stdio and streamable HTTP.

`tool_choice` makes SmolLM2 call a tool; what it says afterwards does not matter. Qwen2.5-Coder calls because it is asked to.
"""

import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request

import anthropic
import openai
import pytest
from conftest import Server, free_port, wait_until

HERE = pathlib.Path(__file__).resolve().parent
NODE = pathlib.Path(sys.executable).parent / "node"


class Tools(http.server.BaseHTTPRequestHandler):
    """Each path is a tool."""

    seen = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((self.path, self.headers.get("X-Key"), json.loads(body)))
        if self.path == "/slow":
            self.server.released.wait(30)
        answer = {"/weather": b'{"temperature_c": 31, "sky": "thunderstorm"}', "/huge": b"y" * 5_000_000}.get(self.path, b"no paper")
        self.send_response(500 if self.path == "/broken" else 302 if self.path == "/moved" else 200)
        self.send_header("Location", "/weather")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        try:
            self.wfile.write(answer)
        except OSError:
            pass  # the server stops reading when it has enough

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def http_tools():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tools)
    server.daemon_threads = True
    server.released = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.released.set()
    server.shutdown()


@pytest.fixture(scope="module")
def mcp_script(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mcp")
    (folder / "node_modules").symlink_to(NODE.parent.parent / "npm/node_modules")
    return shutil.copy(HERE / "mcp_server.mjs", folder)


@pytest.fixture(scope="module")
def mcp_url(mcp_script):
    """A server that answers with streams."""
    port = free_port()
    process = subprocess.Popen([NODE, "--preserve-symlinks", "--preserve-symlinks-main", mcp_script, str(port)])
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def tool_server(tmp_path_factory, http_tools, mcp_script, mcp_url):
    rows = "tool_rounds = 2\n"
    for name, limit in {"weather": 20, "broken": 20, "moved": 20, "huge": 20, "slow": 0.5}.items():
        rows += f"""
[[tools]]
name = "{name}"
description = "The current {name} of a city"
url = "{http_tools}/{name}"
headers = {{ X-Key = "sesame-7" }}
timeout_s = {limit}
max_output_kb = 1
parameters = '{{"type": "object", "properties": {{"city": {{"enum": ["Oslo", "Paris"]}}}}, "required": ["city"], "additionalProperties": false}}'
"""
    rows += f"""
[[tools]]
name = "calc"
command = "{NODE}"
args = ["--preserve-symlinks", "--preserve-symlinks-main", "{mcp_script}"]
env = {{ MCP_TOKEN = "sesame-8" }}
timeout_s = 30
max_output_kb = 1

[[tools]]
name = "far"
type = "mcp"
url = "{mcp_url}/mcp"
timeout_s = 5
max_output_kb = 1

[[tools]]
name = "down"
type = "mcp"
url = "http://127.0.0.1:{free_port()}/mcp"
"""
    config = tmp_path_factory.mktemp("config") / "kvasir.toml"
    config.write_text(rows)
    server = Server("smollm2", "qwen2.5-coder", args=("--config", str(config), "--log-level", "debug"))
    server.wait_ready("smollm2", "qwen2.5-coder")
    wait_until(lambda: all(t["ready"] for t in listed(server).values() if t["id"] != "down"), 90, "tool servers")
    yield server
    log = server.output()
    server.terminate()
    assert "sesame" not in log


def listed(server):
    status, body = server.get("/v1/server_tools")
    assert status == 200, body
    return {tool["id"]: tool for tool in json.loads(body)["data"]}


def force(server, name, tools, **options):
    """A chat whose first answer has to be a call of the tool."""
    return server.client().chat.completions.create(
        model="smollm2",
        messages=[{"role": "user", "content": "Go on."}],
        tool_choice={"type": "function", "function": {"name": name}},
        extra_body={"server_tools": tools},
        temperature=0,
        max_tokens=60,
        **options,
    )


def only_call(answer):
    (call,) = [c for c in answer.server_tool_calls if c["round"] == 1]
    return call


def test_tools_are_listed(tool_server):
    tools = listed(tool_server)
    assert tools["weather"]["functions"][0]["parameters"]["required"] == ["city"]
    assert {f["name"] for f in tools["calc"]["functions"]} >= {"calc__add", "calc__fail"}
    assert [f["name"] for f in tools["far"]["functions"]] == [f["name"].replace("calc", "far") for f in tools["calc"]["functions"]]
    assert not tools["down"]["ready"] and "cannot reach" in tools["down"]["reason"]


def test_an_http_tool_gets_the_arguments_and_the_headers(tool_server):
    Tools.seen.clear()
    call = only_call(force(tool_server, "weather", ["weather"]))
    assert call["status"] == "completed" and "thunderstorm" in call["output"]
    path, key, arguments = Tools.seen[0]
    assert (path, key) == ("/weather", "sesame-7")
    assert arguments == json.loads(call["arguments"]) and arguments["city"] in ("Oslo", "Paris")


@pytest.mark.parametrize(
    "name, status, words",
    [
        ("broken", "failed", "status 500: no paper"),
        ("moved", "failed", "not followed"),
        ("slow", "failed", "no result within 0.5 s"),
        ("huge", "completed", "longer than 1024 bytes"),
        ("calc__fail", "failed", "out of paper"),
        ("calc__huge", "completed", "longer than 1024 bytes"),
        ("calc__token", "completed", "sesame-8"),
        ("far__token", "completed", "none"),
        ("far__fail", "failed", "out of paper"),
    ],
)
def test_whatever_comes_of_a_call_is_its_result(tool_server, name, status, words):
    answer = force(tool_server, name, [name])
    call = only_call(answer)
    assert call["status"] == status and words in call["output"], call
    assert len(call["output"]) < 1200
    assert answer.choices[0].finish_reason in ("stop", "length")


def test_a_stream_says_the_same(tool_server):
    chunks = list(force(tool_server, "calc__add", ["calc"], stream=True))
    calls = [c.server_tool_call for c in chunks if getattr(c, "server_tool_call", None)]
    assert [c["status"] for c in calls if c["round"] == 1] == ["in_progress", "completed"]
    arguments = json.loads(calls[0]["arguments"])
    assert calls[1]["output"] == f"The sum is {arguments['a'] + arguments['b']}."
    assert not any(c.delta.tool_calls for chunk in chunks for c in chunk.choices)


def respond(server, name, tools, **options):
    return server.client().responses.create(
        model="smollm2",
        input="Go on.",
        tool_choice={"type": "function", "name": name},
        extra_body={"server_tools": tools},
        temperature=0,
        max_output_tokens=60,
        **options,
    )


def test_a_response_has_calls_as_openai_has_them(tool_server):
    response = respond(tool_server, "calc__add", ["calc"])
    call = next(item for item in response.output if item.type == "mcp_call")
    assert (call.server_label, call.name, call.status, call.error) == ("calc", "calc__add", "completed", None)
    arguments = json.loads(call.arguments)
    assert call.output == f"The sum is {arguments['a'] + arguments['b']}."
    client = tool_server.client()
    assert client.responses.retrieve(response.id) == response
    # Continues by the response's id, and with the items sent back.
    asked = {"model": "smollm2", "temperature": 0, "max_output_tokens": 8}
    by_id = client.responses.create(input="And now?", previous_response_id=response.id, **asked)
    items = [{"role": "user", "content": "Go on."}, *response.output, {"role": "user", "content": "And now?"}]
    by_items = client.responses.create(input=items, **asked)
    assert by_items.output_text == by_id.output_text and by_items.usage.input_tokens == by_id.usage.input_tokens


def test_a_streamed_response_says_the_same(tool_server):
    events = list(respond(tool_server, "calc__fail", ["calc"], stream=True))
    calls = [e.type for e in events if "mcp_call" in e.type]
    assert calls[:4] == [
        "response.mcp_call.in_progress",
        "response.mcp_call_arguments.delta",
        "response.mcp_call_arguments.done",
        "response.mcp_call.failed",
    ]
    call = next(item for item in events[-1].response.output if item.type == "mcp_call")
    assert call.error.type == "mcp_tool_execution_error" and "out of paper" in call.error.content[0]["text"]
    assert list(tool_server.client().responses.retrieve(events[-1].response.id, stream=True))[-1].response == events[-1].response


def test_a_message_has_calls_as_anthropic_has_them(tool_server):
    claude = anthropic.Anthropic(base_url=tool_server.url, api_key="none", max_retries=0)
    asked = {"model": "smollm2", "max_tokens": 60, "extra_body": {"server_tools": ["calc"], "temperature": 0}}
    question = {"role": "user", "content": "Go on."}
    choice = {"type": "tool", "name": "calc__add"}
    message = claude.beta.messages.create(messages=[question], tool_choice=choice, **asked)
    use, result = message.content[:2]
    assert (use.type, use.server_name, use.name) == ("mcp_tool_use", "calc", "calc__add")
    assert result.type == "mcp_tool_result" and result.tool_use_id == use.id and not result.is_error
    assert result.content[0].text == f"The sum is {use.input['a'] + use.input['b']}."
    with claude.beta.messages.stream(messages=[question], tool_choice=choice, **asked) as stream:
        streamed = stream.get_final_message()
    assert [block.type for block in streamed.content] == [block.type for block in message.content]
    assert streamed.content[0].input == use.input and streamed.content[1].content[0].text == result.content[0].text
    history = [question, {"role": "assistant", "content": message.content}, {"role": "user", "content": "And now?"}]
    assert claude.beta.messages.create(messages=history, **asked).stop_reason in ("end_turn", "max_tokens")


def test_a_session_that_was_forgotten_is_opened_again(tool_server, mcp_url):
    urllib.request.urlopen(mcp_url + "/forget", data=b"").read()
    assert only_call(force(tool_server, "far__token", ["far"]))["status"] == "completed"


def test_a_server_that_dies_is_started_again(tool_server):
    assert only_call(force(tool_server, "calc__exit", ["calc"]))["status"] == "failed"
    wait_until(lambda: not listed(tool_server)["calc"]["ready"], 10, "the loss")
    wait_until(lambda: listed(tool_server)["calc"]["ready"], 90, "a new process")
    assert only_call(force(tool_server, "calc__token", ["calc"]))["output"] == "sesame-8"


def test_wrong_names_are_refused(tool_server):
    for tools, status in [(["nobody"], 400), (["http://127.0.0.1/"], 400), (["calc__nothing"], 400), (["down"], 503)]:
        with pytest.raises(openai.APIStatusError) as refused:
            tool_server.client().chat.completions.create(
                model="smollm2", messages=[{"role": "user", "content": "hi"}], extra_body={"server_tools": tools}
            )
        assert refused.value.status_code == status


def post(server, path, body):
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.loads(response.read())


def test_a_model_asks_reads_and_answers_and_the_conversation_keeps_it(tool_server):
    conversation = post(
        tool_server,
        "/v1/conversations",
        {
            "model": "qwen2.5-coder",
            "system_prompt": "You are a helpful assistant. Call tools where they help; tell their answers to the user in a sentence.",
            "settings": {"server_tools": ["weather"], "temperature": 0, "max_tokens": 150},
        },
    )
    path = f"/v1/conversations/{conversation['id']}/messages"
    answer = post(tool_server, path, {"content": "What is the weather in Paris right now?"})
    assert [c["name"] for c in answer.get("server_tool_calls", [])][:1] == ["weather"], answer
    assert "31" in answer["message"]["content"] or "thunderstorm" in answer["message"]["content"], answer
    _, page = tool_server.get(path + "?order=asc")
    messages = json.loads(page)["data"]
    assert [m["role"] for m in messages][:3] == ["user", "assistant", "tool"] and messages[-1]["role"] == "assistant"
    assert messages[1]["tool_calls"][0]["function"]["name"] == "weather"
    assert json.loads(messages[1]["tool_calls"][0]["function"]["arguments"]) == {"city": "Paris"}
    assert "thunderstorm" in messages[2]["content"] and messages[2]["tool_call_id"] == messages[1]["tool_calls"][0]["id"]


def test_children_die_with_the_server(tmp_path, mcp_script):
    config = tmp_path / "kvasir.toml"
    config.write_text(f'[[tools]]\nname = "calc"\ncommand = "{NODE}"\nargs = ["--preserve-symlinks", "--preserve-symlinks-main", "{mcp_script}"]\n')
    for sent in (signal.SIGTERM, signal.SIGKILL):
        server = Server("smollm2", args=("--config", str(config)))
        server.wait_ready("smollm2")
        wait_until(lambda: listed(server)["calc"]["ready"], 90, "the tool server")
        children = set()
        for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir():
            children |= set((task / "children").read_text().split())
        (child,) = children
        server.process.send_signal(sent)
        server.process.wait(30)
        wait_until(lambda: not os.path.exists(f"/proc/{child}"), 10, "the end of the child")
