"""A window of 128K: one client's prompt of 100,000 tokens is computed in chunks while another's stream goes on."""

import random
import threading

import pytest

from conftest import Server
from tiny_model import write_tokenizer, write_weights

WINDOW = 128 * 1024
LONG = 100_000
CHUNK = 512  # the most tokens of a step
LETTER_A = 3 + ord("a")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny"
    folder.mkdir()
    write_weights(folder, WINDOW)
    write_tokenizer(folder)
    s = Server(folder, args=["--max-context", str(WINDOW), "--max-batch-tokens", str(CHUNK), "--kv-memory-mb", "512"])
    try:
        yield s.wait_ready("tiny")
    finally:
        s.terminate()


def test_a_long_prompt_leaves_a_stream_its_pace(server):
    client = server.client(timeout=240)
    letters = random.Random(7)
    prompt = [3 + letters.randrange(256) for _ in range(LONG)]
    steps = lambda: server.metric("llm_steps_total", model="tiny")  # noqa: E731
    ask = lambda: client.completions.create(  # noqa: E731
        model="tiny", prompt=prompt, max_tokens=4, temperature=0, extra_body={"ignore_eos": True}
    )
    seen = 0  # tokens of the stream, which are letters
    goes_on, over = threading.Event(), threading.Event()

    def read():
        nonlocal seen
        stream = client.completions.create(
            model="tiny", prompt="x", max_tokens=20_000, temperature=0, stream=True, logit_bias={str(LETTER_A): 100},
            extra_body={"ignore_eos": True},
        )
        for chunk in stream:
            seen += len(chunk.choices[0].text)
            if seen >= 10:
                goes_on.set()
            if over.is_set():
                stream.close()
                return

    reader = threading.Thread(target=read)
    reader.start()
    assert goes_on.wait(60)
    before = seen, steps()
    answer = ask()
    after = seen, steps()
    over.set()
    reader.join(60)
    assert not reader.is_alive()
    num_tokens, num_steps = after[0] - before[0], after[1] - before[1]
    assert answer.usage.prompt_tokens == LONG
    # The prompt ran in chunks, and every step included the stream, whose client may be a few tokens behind.
    assert num_steps >= LONG / CHUNK
    assert num_tokens >= 0.8 * num_steps, (num_tokens, num_steps)
    # The whole window is cached, up to the last block.
    again = ask()
    assert again.usage.prompt_tokens_details.cached_tokens >= LONG - 32
    assert again.choices[0].text == answer.choices[0].text
