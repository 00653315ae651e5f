"""The alerts of deploy/prometheus: checked by promtool, and seen to fire in a real Prometheus that scrapes a real
server. Times are scaled down; conditions and thresholds are the files' own."""

import contextlib
import http.server
import json
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import httpx
import pytest

from conftest import ROOT, Server, free_port, wait_until
from tiny_model import write_tokenizer, write_weights

DEPLOY = ROOT / "deploy/prometheus"
RULES = (DEPLOY / "alerts.yml").read_text()
ALERTS = re.findall(r"- alert: (\w+)", RULES)
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def promtool(*words, **options):
    run = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, timeout=60, **options)
    assert run.returncode == 0, run.stdout + run.stderr


def test_promtool_takes_the_rules():
    promtool("check", "config", DEPLOY / "prometheus.yml")
    promtool("check", "rules", DEPLOY / "alerts.yml")
    promtool("test", "rules", "alerts_test.yml", cwd=DEPLOY)


def test_every_alert_has_a_test_and_a_page():
    tested = (DEPLOY / "alerts_test.yml").read_text()
    index = (ROOT / "docs/runbooks/README.md").read_text()
    pages = re.findall(r"runbook: (\S+)", RULES)
    assert len(pages) == len(ALERTS) == 9
    for alert, page in zip(ALERTS, pages):
        assert f"alertname: {alert}\n        exp_alerts" in tested, alert
        text = (ROOT / page).read_text()
        assert text.startswith(f"# {alert}\n") and "## What to look at" in text and "## What to do" in text
        assert alert in index and pathlib.Path(page).name in index


def short(rules):
    """The same rules with windows a twentieth as long, and waits a three-hundredth."""
    seconds = {"s": 1, "m": 60, "h": 3600}

    def scaled(by):
        return lambda m: f"{m[1]}{int(m[2]) * seconds[m[3]] * 1000 // by}ms"

    return re.sub(r"(\[)(\d+)([smh])(?=\])", scaled(20), re.sub(r"(for: )(\d+)([smh])", scaled(300), rules))


class StandIn(http.server.ThreadingHTTPServer):
    """Exposes what cannot be had of a server in seconds: a lag of minutes, and the series that are to come."""

    daemon_threads = True

    def __init__(self):
        started = time.monotonic()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                checks = 10 + 100 * (time.monotonic() - started)
                body = (
                    'llm_usage_lag_seconds 301\nllm_members_distrusted{model="m"} 1\n'
                    f'llm_quality_checks_total{{model="m"}} {checks}\nllm_quality_disagreement_total{{model="m"}} {checks * 0.06}\n'
                ).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                with contextlib.suppress(OSError):  # Prometheus waits only so long
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Prometheus:
    def __init__(self, folder, targets):
        (folder / "alerts.yml").write_text(short(RULES))
        jobs = "".join(
            f"  - job_name: {job}\n    static_configs:\n      - targets: ['127.0.0.1:{port}']\n" for job, port in targets.items()
        )
        (folder / "prometheus.yml").write_text(
            "global:\n  scrape_interval: 500ms\n  scrape_timeout: 500ms\n  evaluation_interval: 500ms\n"
            f"rule_files: [alerts.yml]\nscrape_configs:\n{jobs}"
        )
        self.port = free_port()
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}", "--enable-feature=exemplar-storage"],
            stdout=self.log, stderr=subprocess.STDOUT,
        )

    def get(self, path, **query):
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(query)}"
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=10) as response:
            return json.load(response)["data"]
        return None

    def query(self, expression):
        found = self.get("/api/v1/query", query=expression)
        return [float(row["value"][1]) for row in found["result"]] if found else []

    def firing(self):
        alerts = self.get("/api/v1/alerts") or {"alerts": []}
        return {alert["labels"]["alertname"] for alert in alerts["alerts"] if alert["state"] == "firing"}

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()


@pytest.fixture
def tiny_server(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    write_tokenizer(folder)
    write_weights(folder, 1 << 15)
    server = Server(
        folder, args=["--kv-memory-mb", "1", "--max-batch-sequences", "1", "--slo-ttft-ms", "200", "--slo-tpot-ms", "200",
                      "--admission", "off", "--stream-buffer-tokens", "1",
                      "--max-batch-tokens", "32"],
    )
    yield server.wait_ready("tiny")
    if server.process.poll() is None:
        server.process.kill()
    server.process.wait()


def send(server, body):
    """A client that asks and reads nothing; after some kilobytes of a stream, its sequence is held."""
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)  # else the server's side buffers megabytes
    peer.connect(("127.0.0.1", server.port))
    text = json.dumps(body)
    peer.sendall(
        f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()
    )
    return peer


def ask_late(server, prompt):
    """Asks while the server is stopped for a second, which most likely is before the first token."""
    answers = []

    def ask():
        body = {"model": "tiny", "prompt": prompt, "max_tokens": 4}
        headers = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
        answers.append(httpx.post(server.url + "/v1/completions", json=body, headers=headers, timeout=60))

    asker = threading.Thread(target=ask)
    asker.start()
    wait_until(lambda: server.metric("llm_sequences_running") == 1 or answers, 20, "prefill")
    server.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began > 1.1, 20, "a late first token")
    server.process.send_signal(signal.SIGCONT)
    asker.join()
    assert answers and answers[0].status_code == 200, answers


def test_every_alert_fires(tiny_server, tmp_path):
    stand_in = StandIn()
    prometheus = Prometheus(tmp_path, {"kvasir": tiny_server.port, "stand-in": stand_in.server_address[1]})
    fired = set()

    def see_fire(*names):
        def all_did():
            fired.update(prometheus.firing())
            return fired.issuperset(names)

        with contextlib.suppress(AssertionError):
            wait_until(all_did, 30, "alerts")
        assert fired.issuperset(names), f"missing: {set(names) - fired}\n{tiny_server.output()}"

    try:
        wait_until(lambda: prometheus.query('up{job="kvasir"}') == [1], 30, "a first scrape")
        tokens = int(tiny_server.metric("llm_kv_blocks", model="tiny")) * 16
        greedy = {"model": "tiny", "prompt": "x" * int(tokens * 0.97), "max_tokens": tokens // 50, "stream": True,
                  "logprobs": 5, "echo": True, "ignore_eos": True}
        hoarder = send(tiny_server, greedy)
        see_fire("KvasirKvCacheFull")
        hoarder.close()
        wait_until(lambda: tiny_server.metric("llm_sequences_running") == 0, 20, "the hoarder's end")
        for letter in "abcde":
            ask_late(tiny_server, letter * (tokens // 2))
            if tiny_server.metric("llm_goodput_ratio", window="5m") < 0.85:
                break
        see_fire("KvasirGoodputLow", "KvasirFirstTokenSlow", "KvasirPrefixCacheCold", "KvasirAbortsHigh")
        exemplars = prometheus.get(
            "/api/v1/query_exemplars", query="llm_ttft_seconds_bucket", start=time.time() - 60, end=time.time() + 60
        )
        assert TRACE in json.dumps(exemplars)
        tiny_server.terminate()
        see_fire(*ALERTS)
    finally:
        prometheus.stop()
        stand_in.shutdown()
        stand_in.server_close()
