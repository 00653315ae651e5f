"""The same request gives the same bytes alone, in a batch of 16, and with a warm prefix cache."""

import concurrent.futures

import pytest

PROMPT = "List three facts about the sea. " * 8


def generate(client, text=PROMPT, **sampling):
    answer = client.chat.completions.create(
        model="smollm2",
        messages=[{"role": "user", "content": text}],
        max_tokens=48,
        logprobs=True,
        extra_body={"ignore_eos": True},
        **sampling,
    )
    choice = answer.choices[0]
    return choice.message.content, [t.logprob for t in choice.logprobs.content], answer.usage


@pytest.mark.parametrize("sampling", [dict(temperature=0), dict(temperature=1.0, seed=11)], ids=["greedy", "seeded"])
def test_alone_batched_warm(small_server, sampling):
    client = small_server("--kv-memory-mb", "256").client()
    alone = generate(client, **sampling)
    assert alone[2].prompt_tokens_details.cached_tokens == 0
    warm = generate(client, **sampling)
    assert warm[2].prompt_tokens_details.cached_tokens >= 48
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        texts = [PROMPT if i % 2 else f"Count to {i}. " * (i + 1) for i in range(16)]
        batch = list(pool.map(lambda text: generate(client, text, **sampling), texts))
    for same in [warm] + batch[1::2]:
        assert same[0] == alone[0]
        assert same[1] == alone[1]


def test_alone_batched_cold(small_server):
    """Without the prefix cache every sequence prefills by itself, in whatever chunks the batch leaves it."""
    client = small_server("--prefix-cache=false").client()
    alone = generate(client, temperature=0)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        batch = list(pool.map(lambda _: generate(client, temperature=0), range(16)))
    assert {b[0] for b in batch} == {alone[0]}
    assert all(b[1] == alone[1] for b in batch)
    assert all(b[2].prompt_tokens_details.cached_tokens == 0 for b in batch)
