"""`kvasir bench serve` against the real server, and against one that misbehaves."""

import http.server
import json
import subprocess
import threading

import pytest

from conftest import BIN


def bench(url, *args, timeout_s=120, check=True):
    """The JSON of a `kvasir bench serve` run."""
    command = [BIN, "bench", "serve", "--url", url, "--json", *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
    if check:
        assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_figures_add_up_with_the_servers_own(small_server, tmp_path):
    server = small_server()
    bench(server.url, "--concurrency", "1", "--requests", "1", "--output-tokens", "2")  # the probe is the same each time
    before = server.metrics()

    def grown(name):
        key = f'{name}{{model="smollm2",kind="output"}}'
        return server.metrics()[key] - before[key]

    page = tmp_path / "load.html"
    report = bench(
        server.url, "--concurrency", "1,3", "--requests", "5", "--warmup", "0", "--input-tokens", "60",
        "--output-tokens", "8", "--slo-ttft", "60000", "--slo-tpot", "60000", "--report", str(page),
    )
    assert report["model"] == "smollm2"
    assert [p["concurrency"] for p in report["phases"]] == [1, 3]
    for phase in report["phases"]:
        assert phase["ok"] == phase["requests"] == 5 and phase["failures"] == {}
        assert phase["token_source"] == "usage"
        assert phase["output_tokens"] == 5 * 8
        assert phase["prompt_tokens"] == pytest.approx(5 * 60, rel=0.1)
        assert phase["cached_tokens"] < 0.6 * phase["prompt_tokens"]  # only the beginning of the template is cached
        assert phase["good"] == 5
        assert phase["output_tokens_per_s"] == pytest.approx(40 / phase["window_s"], rel=1e-6)
        for name in ("ttft_ms", "tpot_ms", "itl_ms", "latency_ms"):
            d = phase[name]
            assert 0 <= d["min"] <= d["p50"] <= d["p95"] <= d["p99"] <= d["max"]
        assert phase["ttft_ms"]["max"] <= phase["latency_ms"]["max"] <= phase["window_s"] * 1000
        assert phase["longest_gap_ms"] == phase["itl_ms"]["max"]
    # The three probes before the phases generated one token each.
    assert grown("llm_tokens_total") == 80 + 3
    assert "<svg" in page.read_text() and "</html>" in page.read_text()


def test_prompts_of_one_run_share_nothing_and_those_of_a_prefix_workload_do(small_server):
    server = small_server()
    common = ("--concurrency", "2", "--requests", "4", "--output-tokens", "2")
    plain = bench(server.url, *common, "--input-tokens", "300")["phases"][0]
    shared = bench(server.url, *common, "--workload", "shared-prefix", "--prefix-tokens", "300", "--input-tokens", "60")
    assert plain["cached_tokens"] < 0.2 * plain["prompt_tokens"]
    assert shared["phases"][0]["cached_tokens"] > 0.3 * shared["phases"][0]["prompt_tokens"]


def test_conversations_grow_and_reuse_their_past(small_server):
    server = small_server()
    phase = bench(
        server.url, "--workload", "multi-turn", "--turns", "3", "--concurrency", "1", "--requests", "3",
        "--input-tokens", "80", "--output-tokens", "8",
    )["phases"][0]
    assert phase["ok"] == 3
    assert phase["prompt_tokens"] > 3 * 80 + 80
    assert phase["cached_tokens"] > 80


def test_open_loop_and_traces(small_server, tmp_path):
    server = small_server()
    phase = bench(server.url, "--rate", "50", "--requests", "6", "--output-tokens", "4", "--endpoint", "completions")["phases"][0]
    assert phase["ok"] == 6 and phase["rate"] == 50
    trace = tmp_path / "trace.jsonl"
    trace.write_text(
        '{"timestamp": 0, "input_length": 40, "output_length": 3}\n'
        '{"timestamp": 50, "prompt": "What is the capital of France?", "output_length": 5}\n'
    )
    phase = bench(server.url, "--trace", str(trace))["phases"][0]
    assert phase["requests"] == phase["ok"] == 2
    assert phase["output_tokens"] == 8


def event(text):
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


class Misbehaving(http.server.BaseHTTPRequestHandler):
    """Answers its n-th measured request in the n-th bad way, but answers the probe well."""

    protocol_version = "HTTP/1.0"  # a stream ends with its connection

    def log_message(self, *args):
        pass

    def do_GET(self):
        body = json.dumps({"data": [{"id": "bad"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        if "ignore_eos" in request:
            return self.refuse(400, "Unknown parameter: ignore_eos")
        if request["max_tokens"] == 1:  # the probe
            return self.stream(event("a"), b"data: [DONE]\n\n")
        with server.lock:
            number = server.number
            server.number += 1
        (self.well, self.busy, self.cut, self.broken, self.nonsense, self.empty, self.hang)[number % 7]()

    def refuse(self, status, message):
        body = json.dumps({"error": {"message": message}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, *parts):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for part in parts:
            self.wfile.write(part)

    def well(self):
        self.stream(event("a"), event("b"), b"data: [DONE]\n\n")

    def busy(self):
        self.refuse(503, "full")

    def cut(self):
        self.stream(event("a"), event("b"))

    def broken(self):
        self.stream(event("a"), b'data: {"error": {"message": "out of memory"}}\n\n')

    def nonsense(self):
        self.stream(event("a"), b"data: {nonsense\n\n")

    def empty(self):
        self.stream(b"data: [DONE]\n\n")

    def hang(self):
        self.stream(event("a"))
        self.server.released.wait(60)


@pytest.fixture
def misbehaving():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Misbehaving)
    server.daemon_threads = True
    server.lock = threading.Lock()
    server.number = 0
    server.released = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()


def test_errors_are_told_apart(misbehaving):
    url = f"http://127.0.0.1:{misbehaving.server_address[1]}"
    report = bench(url, "--concurrency", "1", "--requests", "7", "--warmup", "0", "--timeout", "1")
    phase = report["phases"][0]
    assert phase["requests"] == 7 and phase["ok"] == 1
    kinds = {kind: failure["count"] for kind, failure in phase["failures"].items()}
    assert kinds == {"http 503": 1, "cut": 1, "error event": 1, "malformed": 1, "empty": 1, "timeout": 1}
    assert phase["failures"]["error event"]["example"] == "out of memory"
    assert phase["output_tokens"] == 2 and phase["token_source"] == "chunks"
    assert any("ignore_eos" in note for note in report["notes"])


def test_nothing_there_is_a_clear_failure():
    done = subprocess.run(
        [BIN, "bench", "serve", "--url", "http://127.0.0.1:1"], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 1
    assert "cannot reach 127.0.0.1:1" in done.stderr


@pytest.mark.parametrize(
    "args, words",
    [
        (["--concurrency", "0"], "--concurrency"),
        (["--concurrency", "1", "--rate", "1"], "--rate"),
        (["--workload", "chats"], "--workload"),
        (["--trace", "/nowhere.jsonl"], "--trace"),
        (["--url", "ftp://x"], "--url"),
        (["--slo-ttft", "-1"], "--slo-ttft"),
    ],
)
def test_wrong_usage_names_the_flag(args, words):
    done = subprocess.run([BIN, "bench", "serve", *args], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert words in done.stderr
