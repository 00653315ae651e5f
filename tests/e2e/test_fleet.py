"""Real processes: workers and a gateway beside one `kvasir serve`, whose answers they must give byte by byte."""

import json
import signal
import subprocess
import time

import openai
import pytest

import tiny_model
from conftest import BIN, Server, wait_until
from fleet_processes import SCHEMA, TOOL, Gateway, Worker

def answers(client):
    """What one server says to a few requests, without ids and times."""
    chat = {"model": "smollm2", "messages": [{"role": "user", "content": "Name three colours."}], "max_tokens": 24, "temperature": 0}
    found = {}
    whole = client.chat.completions.create(**chat, logprobs=True, top_logprobs=3)
    found["chat"] = (whole.choices[0].message.content, whole.choices[0].finish_reason, whole.usage.prompt_tokens, whole.usage.completion_tokens)
    found["logprobs"] = [(t.token, t.logprob, [(o.token, o.logprob) for o in t.top_logprobs]) for t in whole.choices[0].logprobs.content]
    found["stream"] = "".join(c.choices[0].delta.content or "" for c in client.chat.completions.create(**chat, stream=True) if c.choices)
    found["seeded"] = [c.message.content for c in client.chat.completions.create(**{**chat, "temperature": 1, "seed": 7, "n": 3}).choices]
    found["penalties"] = client.chat.completions.create(**chat, presence_penalty=1.5, logit_bias={"29": -100}, stop=["\n\n"]).choices[0].message.content
    found["schema"] = client.chat.completions.create(
        **{**chat, "max_tokens": 60}, response_format={"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}}
    ).choices[0].message.content
    tools = client.chat.completions.create(**{**chat, "max_tokens": 60}, tools=[TOOL], tool_choice="required").choices[0].message
    found["tools"] = [(c.function.name, c.function.arguments) for c in tools.tool_calls]
    found["echo"] = client.completions.create(model="smollm2", prompt="The sky is", max_tokens=5, temperature=0, logprobs=2, echo=True).choices[0].logprobs.token_logprobs
    return found


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    workers = [Worker(), Worker()]
    gateway = None
    try:
        for worker in workers:
            worker.wait_ready()
        gateway = Gateway(tmp_path_factory.mktemp("fleet"), workers).wait_ready("smollm2")
        wait_until(lambda: gateway.output().count("worker_joined") == 2, 30, "two workers in the pool")
        yield workers, gateway
    finally:
        if gateway:
            gateway.terminate()
        for worker in workers:
            assert worker.end() == 0, worker.output()


def test_answers_are_those_of_one_process(fleet):
    _, gateway = fleet
    server = Server("smollm2", args=["--kv-memory-mb", "256", "--compute-threads", "1"])
    try:
        expected = answers(server.wait_ready("smollm2").client())
    finally:
        server.terminate()
    assert json.loads(expected["schema"])["name"] is not None
    for _ in range(2):  # on whatever worker, with a warm cache too
        found = answers(gateway.client())
        for what, value in expected.items():
            assert found[what] == value, what


def test_errors_are_those_of_one_process(fleet):
    _, gateway = fleet
    with pytest.raises(openai.BadRequestError, match="context"):
        gateway.client().chat.completions.create(
            model="smollm2", messages=[{"role": "user", "content": "long " * 20000}], max_tokens=5)
    with pytest.raises(openai.NotFoundError):
        gateway.client().chat.completions.create(model="other", messages=[{"role": "user", "content": "x"}])


def test_a_client_that_leaves_frees_the_worker(fleet):
    workers, gateway = fleet
    stream = gateway.client().chat.completions.create(
        model="smollm2", messages=[{"role": "user", "content": "Count to a thousand."}], max_tokens=4000, stream=True,
        extra_body={"ignore_eos": True})
    next(iter(stream))

    def running():
        texts = [worker.status("/metrics")[1] for worker in workers]
        return sum(float(line.split()[-1]) for text in texts for line in text.splitlines() if line.startswith("llm_sequences_running{"))

    wait_until(lambda: running() == 1, 30, "a sequence on a worker")
    stream.close()
    wait_until(lambda: running() == 0, 30, "no sequence on any worker")


def test_the_only_worker_is_killed_and_comes_back(tmp_path):
    worker = Worker().wait_ready()
    gateway = None
    try:
        gateway = Gateway(tmp_path, [worker]).wait_ready("smollm2")
        stream = iter(gateway.client().chat.completions.create(
            model="smollm2", messages=[{"role": "user", "content": "Count to a thousand."}], max_tokens=200, stream=True,
            extra_body={"ignore_eos": True}))
        for _ in range(3):
            next(stream)
        worker.end(signal.SIGKILL)
        with pytest.raises(openai.InternalServerError) as refused:
            gateway.client().chat.completions.create(model="smollm2", messages=[{"role": "user", "content": "Hi"}], max_tokens=5)
        assert refused.value.status_code == 503
        worker = worker.again().wait_ready()
        assert [c for c in stream if c.choices][-1].choices[0].finish_reason == "length"  # it has waited

        def answers_again():
            try:
                return gateway.client().chat.completions.create(
                    model="smollm2", messages=[{"role": "user", "content": "Hi"}], max_tokens=5).choices[0].message.content
            except openai.InternalServerError:
                return None

        wait_until(answers_again, 30, "an answer after the worker's return")
    finally:
        if gateway:
            gateway.terminate()
        worker.end()


def test_a_worker_drains(tmp_path):
    worker = Worker().wait_ready()
    gateway = None
    try:
        gateway = Gateway(tmp_path, [worker]).wait_ready("smollm2")
        stream = iter(gateway.client().chat.completions.create(
            model="smollm2", messages=[{"role": "user", "content": "Count to a hundred."}], max_tokens=60, stream=True,
            extra_body={"ignore_eos": True}))
        next(stream)
        worker.process.send_signal(signal.SIGTERM)
        assert [c for c in stream if c.choices][-1].choices[0].finish_reason == "length"
        assert worker.process.wait(60) == 0, worker.output()
    finally:
        if gateway:
            gateway.terminate()
        worker.end()


@pytest.mark.parametrize("args, message", [
    (["worker"], "name it with --model"),
    (["worker", "--model", "smollm2", "--listen", "0.0.0.0:7070"], "--fleet-cert"),
    (["worker", "--model", "smollm2", "--fleet-cert", "x"], "one of them is missing"),
    (["worker", "--model", "no-such-model"], "no-such-model"),
    (["gateway"], "--workers FILE"),
    (["gateway", "--workers", "/nowhere.toml"], "/nowhere.toml"),
])
def test_wrong_usage_is_explained(args, message):
    run = subprocess.run([BIN, *args], capture_output=True, text=True, timeout=60)
    assert run.returncode != 0
    assert message in run.stderr


def test_new_weights_take_over_when_the_old_ones_leave(tmp_path):
    """Workers of another release of a model wait beside the pool, and are its workers once the others have gone."""
    folders = [tmp_path / name / "sprout" for name in ("old", "new")]
    for seed, folder in enumerate(folders):
        folder.mkdir(parents=True)
        tiny_model.write_weights(folder, 512, seed=seed)
        tiny_model.write_tokenizer(folder)
    workers, gateway = [Worker(model=str(folder)).wait_ready() for folder in folders], None
    try:
        gateway = Gateway(tmp_path, workers[:1]).wait_ready("sprout")
        listed = tmp_path / "fleet.toml"
        listed.write_text(listed.read_text() + f'[[worker]]\nid = "w1"\naddress = "127.0.0.1:{workers[1].port}"\n')
        wait_until(lambda: "worker_differs" in gateway.output(), 30, "the new one is seen, and not mixed with the old one")

        def ask():
            return gateway.client().completions.create(
                model="sprout", prompt="once", max_tokens=16, temperature=0, extra_body={"ignore_eos": True}).choices[0].text

        before = ask()
        assert workers[0].end() == 0, workers[0].output()
        wait_until(lambda: gateway.output().count("worker_joined") == 2, 30, "the new one's turn")
        assert ask() != before
        assert gateway.output().count("worker_differs") == 1, "said once, not at every look"
    finally:
        if gateway:
            gateway.terminate()
        for worker in workers:
            worker.end(signal.SIGKILL)
