"""What the router gains: real workers of a small model under users whose talks have several turns and share system prompts, with
the router that knows the caches, and with workers taken in turns."""

import contextlib
import http.client
import json
import pathlib
import random
import tempfile
import threading
import time

from fleet_servers import gateway_of, percentile, worker_of

MODEL = "smollm2"
NUM_WORKERS = 4
NUM_USERS = 12
NUM_GROUPS = 12  # different system prompts
SYSTEM_WORDS = 500
QUESTION_WORDS = 20
TURNS = 6
ANSWER_TOKENS = 8
NUM_REQUESTS = 216  # of which the first third, while the caches fill, is not counted
KV_MB = 96  # of each worker: about 4,000 tokens, far less than all that is said
THROUGHPUT_AIM, TTFT_AIM = 1.9, 0.5


class Users:
    """Users who talk, each one question after the other, until so many were asked."""

    def __init__(self, port, seed):
        self.port = port
        draw = random.Random(seed)
        self.words = ["".join(draw.choice("abcdefghijklmnoprstuvw") for _ in range(4)) for _ in range(400)]
        self.systems = [" ".join(draw.choices(self.words, k=SYSTEM_WORDS)) for _ in range(NUM_GROUPS)]
        self.lock = threading.Lock()
        self.left = NUM_REQUESTS
        self.ended = []  # (when, seconds to the first token, tokens of the prompt, those of the cache)
        self.failure = None

    def may_ask(self):
        with self.lock:
            self.left -= 1
            return self.left >= 0 and self.failure is None

    def ask(self, connection, messages):
        body = json.dumps({"model": MODEL, "messages": messages, "max_tokens": ANSWER_TOKENS, "temperature": 0, "ignore_eos": True,
                           "stream": True, "stream_options": {"include_usage": True}})
        begin = time.monotonic()
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {response.read()[:300]}")
        said, first, usage = "", None, None
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            if "error" in event:
                raise RuntimeError(str(event["error"]))
            usage = event.get("usage") or usage
            for choice in event["choices"]:
                if choice["delta"].get("content"):
                    first = first or time.monotonic() - begin
                    said += choice["delta"]["content"]
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        with self.lock:
            self.ended.append((time.monotonic(), first or time.monotonic() - begin, usage["prompt_tokens"], cached))
        return said

    def talk(self, user):
        draw = random.Random(f"{user}")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        messages = []
        try:
            while self.may_ask():
                if len(messages) == 0 or len(messages) > 2 * TURNS:
                    messages = [{"role": "system", "content": draw.choice(self.systems)}]
                messages.append({"role": "user", "content": " ".join(draw.choices(self.words, k=QUESTION_WORDS))})
                messages.append({"role": "assistant", "content": self.ask(connection, messages)})
        except Exception as failure:  # noqa: BLE001 - whatever it is, the run says nothing then
            self.failure = failure

    def run(self):
        threads = [threading.Thread(target=self.talk, args=(user,)) for user in range(NUM_USERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.failure:
            raise self.failure
        warm = sorted(self.ended)[NUM_REQUESTS // 3 :]
        seconds = warm[-1][0] - sorted(self.ended)[NUM_REQUESTS // 3 - 1][0]
        return {"per_s": len(warm) / seconds, "ttft_p50": percentile([one[1] for one in warm], 0.5),
                "ttft_p95": percentile([one[1] for one in warm], 0.95),
                "cached": sum(one[3] for one in warm) / sum(one[2] for one in warm)}


def measure(kvasir, policy, folder):
    with contextlib.ExitStack() as stack:
        flags = ("--compute-threads", 1, "--kv-memory-mb", KV_MB, "--log-level", "off")
        addresses = [stack.enter_context(worker_of(kvasir, MODEL, *flags)) for _ in range(NUM_WORKERS)]
        port = stack.enter_context(gateway_of(kvasir, folder, addresses, "--route-policy", policy, "--admission", "off"))
        return Users(port, seed=1).run()


def compare(kvasir):
    with tempfile.TemporaryDirectory(prefix="kvasir-policies-") as folder:
        found = {policy: measure(kvasir, policy, pathlib.Path(folder) / policy) for policy in ("round_robin", "cache")}
    for policy, of in found.items():
        print(f"{policy:<12} {of['per_s']:6.2f} requests/s, first token p50 {of['ttft_p50']:.2f} s, p95 {of['ttft_p95']:.2f} s, "
              f"{100 * of['cached']:.1f} % of the prompts' tokens from the cache")
    cache, turns = found["cache"], found["round_robin"]
    print(f"{NUM_WORKERS} workers of {MODEL}, {NUM_USERS} users: {cache['per_s'] / turns['per_s']:.2f} times the requests/s of round-robin "
          f"(aim {THROUGHPUT_AIM}), {cache['ttft_p95'] / turns['ttft_p95']:.2f} of its first token's p95 (aim {TTFT_AIM})")
