"""A worker that computes with damaged weights is found, and gets no requests any more. The honest ones stay."""

import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BIN, wait_until
from fleet_processes import Gateway, Worker

PROMPTS = ["Name three colours.", "What is the capital of France?", "Tell me a story about a fox.", "Count to ten.", "Why is the sky blue?",
           "Write a haiku.", "What is 12 times 12?", "List some fruits.", "Who was Ada Lovelace?", "How do birds fly?"]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """(honest, damaged): the same model twice, whose fingerprints are the same, since they sample the file."""
    pulled = subprocess.run([BIN, "pull", "smollm2"], capture_output=True, text=True, timeout=600, check=True)
    source = pathlib.Path(pulled.stdout.strip())
    honest, damaged = (tmp_path_factory.mktemp(name) / "small.gguf" for name in ("honest", "damaged"))
    honest.symlink_to(source)
    shutil.copy(source, damaged)
    flipped = bytes(byte ^ 1 for byte in range(256))
    piece = source.stat().st_size // 64
    with open(damaged, "r+b") as file:
        for sample in range(24, 40):  # all but the first KiB of a piece, which is the sample
            file.seek(piece * sample + 2048)
            block = file.read(piece - 4096)
            file.seek(-len(block), 1)
            file.write(block.translate(flipped))
    return honest, damaged


def start(model, *args):
    return Worker(args=args, model=model)


def ask(gateway, number, **more):
    request = {"model": "small", "messages": [{"role": "user", "content": f"{PROMPTS[number % len(PROMPTS)]} ({number})"}], "max_tokens": 24,
               "temperature": 0 if number % 3 else 1, "seed": number, **more}
    return gateway.client(timeout=120).chat.completions.create(**request).choices[0].message.content


def checks(gateway):
    return gateway.metric("llm_quality_checks_total", model="small")


def wrong(gateway, member):
    return sum(value for name, value in gateway.metrics().items()
               if name.startswith("llm_quality_disagreement_total{") and f'member="{member}"' in name)


def test_a_worker_with_damaged_weights_is_taken_out(weights, tmp_path):
    honest, damaged = weights
    # The second one has other kernels, whose numbers differ in the last bits.
    workers = [start(honest), start(honest, "--isa", "avx2"), start(damaged)]
    gateway = None
    try:
        for worker in workers:
            worker.wait_ready()
        gateway = Gateway(tmp_path, workers, args=["--quality-check-share", "1", "--route-policy", "round_robin"]).wait_ready("small")
        wait_until(lambda: gateway.output().count("worker_joined") == 3, 30, "three workers of one pool")
        number = 0
        while "worker_distrusted" not in gateway.output():
            assert number < 60, gateway.output()
            ask(gateway, number)
            number += 1
            wait_until(lambda: checks(gateway) >= number or "worker_distrusted" in gateway.output(), 120, f"check {number}")
        found = re.search(r"worker_distrusted .*", gateway.output()).group()
        assert "worker=w2" in found, gateway.output()
        assert gateway.metric("llm_members_distrusted", model="small") == 1
        assert wrong(gateway, "w2") == 3 and wrong(gateway, "w0") == wrong(gateway, "w1") == 0, gateway.output()

        # Users and checks go on with the others alone, which agree.
        had = workers[2].metric("llm_sequences_total")
        before = checks(gateway)
        for i in range(8):
            assert ask(gateway, 100 + i)
        wait_until(lambda: checks(gateway) >= before + 8, 60, "checks of the honest two")
        assert workers[2].metric("llm_sequences_total") == had
        assert wrong(gateway, "w0") == wrong(gateway, "w1") == 0, gateway.output()

        # It stays out when it connects again, and until it has left the list.
        workers[2].end()
        workers[2] = workers[2].again().wait_ready()
        wait_until(lambda: gateway.output().count("worker_distrusted") == 2, 30, "it is known when it comes back")
        assert "worker=w2" in gateway.output().split("worker_distrusted")[-1].splitlines()[0]
        listed = tmp_path / "fleet.toml"
        whole = listed.read_text()
        listed.write_text("".join(part for part in re.split(r"(?=\[\[worker\]\])", whole) if '"w2"' not in part))
        wait_until(lambda: gateway.metric("llm_members_distrusted", model="small") == 0, 30, "it is forgotten")
        workers[2].end()
        listed.write_text(whole)
        workers[2] = Worker(workers[2].port, workers[2].health_port, model=honest).wait_ready()
        wait_until(lambda: gateway.output().count("worker_joined") == 4, 30, "the mended worker is back")
    finally:
        if gateway:
            gateway.terminate()
        for worker in workers:
            worker.end()


def test_private_answers_are_not_computed_again(weights, tmp_path):
    honest, _ = weights
    workers = [start(honest), start(honest)]
    gateway = None
    try:
        for worker in workers:
            worker.wait_ready()
        gateway = Gateway(tmp_path, workers, args=["--quality-check-share", "1"]).wait_ready("small")
        wait_until(lambda: gateway.output().count("worker_joined") == 2, 30, "two workers of one pool")
        for i in range(4):
            ask(gateway, i, store=False)
        gateway.client(timeout=120).responses.create(model="small", input="Hello", max_output_tokens=8, store=False)
        ask(gateway, 50)
        wait_until(lambda: checks(gateway) == 1, 60, "the check of the last one")
        assert sum(worker.metric("llm_sequences_total") for worker in workers) == 7  # six answers and the check
    finally:
        if gateway:
            gateway.terminate()
        for worker in workers:
            worker.end()
