"""Requests that begin with the same text share its blocks."""

import concurrent.futures
import threading


def test_eight_clients_at_once_prefill_a_system_prompt_once(small_server):
    server = small_server()
    client = server.client()
    words = " ".join(f"Rule {i}: answer question number {i * 7} in a friendly way." for i in range(60))
    tokenize = lambda messages: client.post("/tokenize", cast_to=object, body={"model": "smollm2", "messages": messages})
    system = {"role": "system", "content": words}
    while tokenize([system, {"role": "user", "content": "x"}])["count"] > 560:
        system["content"] = system["content"].rsplit("Rule", 1)[0]
    shared = tokenize([system, {"role": "user", "content": "x"}])["count"]
    assert shared >= 512
    barrier = threading.Barrier(8)

    def ask(i):
        barrier.wait()
        answer = client.chat.completions.create(
            model="smollm2", messages=[system, {"role": "user", "content": f"{i}?"}], max_tokens=4, temperature=0
        )
        return answer.usage

    before = server.metric("llm_step_tokens_total", model="smollm2", kind="prefill")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        usages = list(pool.map(ask, range(8)))
    cached = sorted(usage.prompt_tokens_details.cached_tokens for usage in usages)
    assert cached[0] == 0, cached
    assert all(tokens >= 512 for tokens in cached[1:]), cached
    computed = server.metric("llm_step_tokens_total", model="smollm2", kind="prefill") - before
    assert computed <= usages[0].prompt_tokens + 7 * 64, computed
