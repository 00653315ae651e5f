"""What /metrics has, docs/observability.md says, the dashboard shows and `kvasir top` prints."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios

import httpx
import pytest

from conftest import BIN, ROOT, Server, wait_until
from tiny_model import write_tokenizer, write_weights


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny"
    folder.mkdir()
    write_tokenizer(folder)
    write_weights(folder, 4096)
    server = Server(folder)
    try:
        server.wait_ready("tiny")
        httpx.post(server.url + "/v1/completions", json={"model": "none", "prompt": "hello"}, timeout=60)

        def judged():
            """Whether a request had SLOs; the first one may come before the engine can tell what it reaches."""
            httpx.post(server.url + "/v1/completions", json={"model": "tiny", "prompt": "hello", "max_tokens": 8}, timeout=60)
            return "llm_goodput_ratio" in server.get("/metrics")[1]

        wait_until(judged, 20, "goodput")
        yield server
    finally:
        server.terminate()


def exposed(server):
    return set(re.findall(r"^# TYPE (\S+)", server.get("/metrics")[1], re.M))


def described():
    return set(re.findall(r"^\| `([a-z0-9_]+)` \|", (ROOT / "docs/observability.md").read_text(), re.M))


def test_every_metric_is_described_and_exposed(tiny):
    of_upstreams = {name for name in described() if name.startswith("llm_upstream_")}  # seen in test_upstreams.py
    assert exposed(tiny) == described() - of_upstreams


def test_labels_are_as_described(tiny):
    rows = re.findall(r"^\| `([a-z0-9_]+)` \| ?([a-z, ]*?) ?\|", (ROOT / "docs/observability.md").read_text(), re.M)
    named = {name: set(filter(None, labels.split(", "))) for name, labels in rows}
    for row in tiny.metrics():
        name, _, labels = row.partition("{")
        family = name if name in named else re.sub("_(bucket|sum|count)$", "", name)
        seen = set(re.findall(r'(\w+)="', labels)) - {"le"}
        assert seen == named[family] or (family == "llm_requests_total" and seen == {"class", "outcome"}), row


def test_links_of_the_docs_lead_somewhere():
    for page in [ROOT / "docs/observability.md", *(ROOT / "docs/runbooks").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_processor_is_measured_like_a_gpu(tiny):
    assert tiny.metric("gpu_memory_read_bytes_total", model="tiny", device="cpu") > 0
    assert tiny.metric("gpu_operations_total", model="tiny", device="cpu") > 0
    assert tiny.metric("gpu_arithmetic_intensity", model="tiny", device="cpu") > 0
    for part in ("plan", "run", "commit"):
        assert tiny.metric("llm_step_seconds_total", model="tiny", part=part) > 0


def dashboard():
    return json.loads((ROOT / "deploy/grafana/kvasir.json").read_text())


def test_the_dashboard_is_whole():
    board = dashboard()
    assert board["title"] and board["uid"] and board["schemaVersion"] >= 36
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24
    variables = {variable["name"] for variable in board["templating"]["list"]}
    for panel in panels:
        if panel["type"] == "row":
            continue
        assert panel["type"] == "timeseries" and panel["targets"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        used = re.findall(r"\$\{?(\w+)", json.dumps(panel))
        assert set(used) <= variables | {"__rate_interval"}, panel["title"]


def test_prometheus_understands_every_panel(tmp_path):
    """Each query is a rule that promtool reads, of metrics that the docs describe; and none is forgotten."""
    queries = [target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", [])]
    rules = [
        {"record": f"q{i}", "expr": query.replace("$__rate_interval", "1m").replace("$model", ".*")}
        for i, query in enumerate(queries)
    ]
    (tmp_path / "queries.json").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    run = subprocess.run(["promtool", "check", "rules", tmp_path / "queries.json"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    shown = set(re.findall(r"\b((?:llm|gpu|kvasir|process)_\w+?)(?:_bucket)?\b(?=[\[{) ]|$)", " ".join(queries)))
    assert shown == described()


def top(server, *words):
    return subprocess.run([BIN, "top", "--url", server.url, *words], capture_output=True, text=True, timeout=60)


def test_top_prints_one_frame(tiny):
    run = top(tiny, "--once")
    assert run.returncode == 0, run.stderr
    assert re.search(r"^tiny +ready ", run.stdout, re.M) and "TTFT p50" in run.stdout, run.stdout
    assert "queue by priority:" in run.stdout and "refused:  model_not_found: 1" in run.stdout
    assert "\x1b" not in run.stdout


def test_top_without_a_server_says_so():
    run = subprocess.run([BIN, "top", "--url", "http://127.0.0.1:1", "--once"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1 and "no server at http://127.0.0.1:1" in run.stderr


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def test_top_in_a_terminal(tiny):
    """It draws, follows the size of its terminal, and leaves it as it was."""
    ours, theirs = pty.openpty()
    resize(ours, 30, 120)
    before = termios.tcgetattr(theirs)
    process = subprocess.Popen([BIN, "top", "--url", tiny.url], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                               preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    seen = bytearray()

    def read_until(condition, what):
        def has():
            if select.select([ours], [], [], 0.02)[0]:
                seen.extend(os.read(ours, 65536))
            return condition(bytes(seen))

        wait_until(has, 20, what)

    try:
        read_until(lambda text: b"\x1b[?1049h" in text and b"REQUEST" in text and b"tiny" in text, "a frame")
        resize(ours, 6, 40)
        narrow = lambda text: text.rpartition(b"\x1b[H")[0].rpartition(b"\x1b[H")[2]  # noqa: E731  the last whole frame
        read_until(lambda text: narrow(text).count(b"\r\n") == 5 and b"KV BLOCKS" not in narrow(text), "a small frame")
        os.write(ours, b"q")
        read_until(lambda text: text.endswith(b"\x1b[?25h\x1b[?1049l"), "the end")
        assert process.wait(20) == 0
        assert termios.tcgetattr(theirs) == before
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)
