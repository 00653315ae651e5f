"""Files and batches with OpenAI's own client; they survive kill -9."""

import json

import pytest

from conftest import Server, wait_until


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


def start(folder):
    return Server("smollm2", args=("--data-dir", str(folder))).wait_ready("smollm2")


def line(number, max_tokens=8, **fields):
    body = {
        "model": "smollm2",
        "messages": [{"role": "user", "content": f"Tell me about the number {number}."}],
        "max_tokens": max_tokens,
        "temperature": 0,
        **fields,
    }
    return {"custom_id": f"line-{number}", "method": "POST", "url": "/v1/chat/completions", "body": body}


def submit(client, lines):
    contents = "".join(json.dumps(one) + "\n" for one in lines).encode()
    file = client.files.create(file=("in.jsonl", contents), purpose="batch")
    assert file.bytes == len(contents)
    return client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"job": "test"}
    )


def wait_for(client, batch_id, *statuses):
    return wait_until(
        lambda: (b := client.batches.retrieve(batch_id)).status in statuses and b, 120, f"batch {statuses}"
    )


def rows(client, file_id):
    return [json.loads(row) for row in client.files.content(file_id).text.splitlines()]


def test_a_batch_is_answered_and_an_interactive_request_does_not_wait(folder):
    server = start(folder)
    try:
        client = server.client()
        batch = submit(client, [line(i) for i in range(12)] + [line(99, temperature=7)])
        answer = client.chat.completions.create(**line(3)["body"])
        done = wait_for(client, batch.id, "completed")
        assert (done.request_counts.total, done.request_counts.completed, done.request_counts.failed) == (13, 12, 1)
        output = rows(client, done.output_file_id)
        assert [row["custom_id"] for row in output] == [f"line-{i}" for i in range(12)]
        texts = [row["response"]["body"]["choices"][0]["message"]["content"] for row in output]
        assert texts[3] == answer.choices[0].message.content
        (wrong,) = rows(client, done.error_file_id)
        assert wrong["response"]["status_code"] == 400
        assert client.batches.list(limit=5).data[0].id == batch.id
        long = submit(client, [line(i, 2000, ignore_eos=True) for i in range(4)])
        wait_for(client, long.id, "in_progress")
        client.batches.cancel(long.id)
        cancelled = wait_for(client, long.id, "cancelled")
        assert cancelled.request_counts.completed < 4
        client.files.delete(done.output_file_id)
    finally:
        server.terminate()


def test_a_killed_server_goes_on_with_its_batch(folder):
    server = start(folder)
    client = server.client()
    batch = submit(client, [line(i, 24, ignore_eos=True) for i in range(40)])
    before = wait_until(
        lambda: (b := client.batches.retrieve(batch.id)).request_counts.completed >= 5 and b, 60, "some lines"
    )
    server.process.kill()
    server.process.wait()
    assert before.status == "in_progress"
    again = start(folder)
    try:
        client = again.client()
        now = client.batches.retrieve(batch.id)
        assert now.request_counts.completed >= before.request_counts.completed
        done = wait_for(client, batch.id, "completed")
        assert done.request_counts.completed == 40
        output = rows(client, done.output_file_id)
        assert [row["custom_id"] for row in output] == [f"line-{i}" for i in range(40)]
        # Lines that were finished before the restart are not computed again.
        computed = again.metric("llm_tokens_total", model="smollm2", kind="output")
        assert computed <= (40 - now.request_counts.completed + 8) * 24
    finally:
        again.terminate()
