"""What deploy/ holds, each started once: systemd's units as they stand, and the example with etcd."""

import contextlib
import shutil
import signal
import subprocess

import httpx
import openai
import pytest

from compose_file import Composed
from conftest import BIN, ROOT, free_port, model_dir, wait_until
from unit_file import Started, Unit

UNITS = ROOT / "deploy/systemd"
CONFIG = ROOT / "deploy/config"
ASKED = {"model": "smollm2", "messages": [{"role": "user", "content": "Name three colours."}], "max_tokens": 24, "temperature": 0}
SMALL = {"KVASIR_COMPUTE_THREADS": "1", "KVASIR_KV_MEMORY_MB": "256"}


@pytest.fixture
def folders(tmp_path):
    """Folders of this test for those that the units name. The model is there, as if it had been fetched."""
    places = {"/usr/bin/kvasir": BIN, "/etc/kvasir": tmp_path / "etc", "/var/lib/kvasir": tmp_path / "state", "/var/cache/kvasir": tmp_path / "cache"}
    shutil.copytree(CONFIG, places["/etc/kvasir"])
    for name in ("/var/lib/kvasir", "/var/cache/kvasir"):
        places[name].mkdir()
    (places["/var/cache/kvasir"] / "smollm2").symlink_to(model_dir() / "smollm2")
    return places


@contextlib.contextmanager
def started(unit, folders, environment):
    service = Started(unit, folders, {**SMALL, **environment})
    try:
        assert service.told() == "READY=1"
        yield service
    finally:
        service.kill()


def end_under_a_stream(service, url):
    """Ends it while a stream runs, which it must finish."""
    stream = iter(openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0).chat.completions.create(
        **{**ASKED, "max_tokens": 200}, stream=True, extra_body={"ignore_eos": True}))
    next(stream)
    service.process.send_signal(signal.SIGTERM)
    assert service.told() == "STOPPING=1"
    assert [chunk for chunk in stream if chunk.choices][-1].choices[0].finish_reason == "length"
    assert service.process.wait(60) == 0, "".join(service.log)


def test_one_process_as_its_unit_starts_it(folders):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with started(Unit(UNITS / "kvasir.service"), folders, {"KVASIR_PORT": str(port)}) as service:
        ready = httpx.get(url + "/health/ready")
        assert ready.status_code == 200, ready.text  # it was ready when it said so
        end_under_a_stream(service, url)
    assert (folders["/var/lib/kvasir"] / "usage").is_dir()


def test_a_fleet_as_its_units_start_it(folders):
    listen, port = f"127.0.0.1:{free_port()}", free_port()
    listed = folders["/etc/kvasir"] / "fleet.toml"
    listed.write_text(listed.read_text().replace("127.0.0.1:7070", listen))
    gateway_config = folders["/etc/kvasir"] / "gateway.toml"
    gateway_config.write_text(gateway_config.read_text().replace("/etc/kvasir/fleet.toml", str(listed)))
    health = f"127.0.0.1:{free_port()}"
    worker_unit = Unit(UNITS / "kvasir-worker@.service", "smollm2")
    # The gateway has a folder of its own, as on a machine of its own.
    apart = {**folders, "/var/cache/kvasir": folders["/var/lib/kvasir"] / "gateway"}
    apart["/var/cache/kvasir"].mkdir()
    with started(worker_unit, folders, {"KVASIR_LISTEN": listen, "KVASIR_HEALTH_LISTEN": health}) as worker:
        assert httpx.get(f"http://{health}/health/ready").status_code == 200
        with started(Unit(UNITS / "kvasir-gateway.service"), apart, {"KVASIR_PORT": str(port), "KVASIR_DRAIN_NOTICE_S": "0.5"}) as gateway:
            url = f"http://127.0.0.1:{port}"
            wait_until(lambda: httpx.get(url + "/health/ready").status_code == 200, 60, "the gateway has found its worker")
            end_under_a_stream(gateway, url)
        worker.process.send_signal(signal.SIGTERM)
        assert worker.told() == "STOPPING=1"
        assert worker.process.wait(60) == 0, "".join(worker.log)


def test_a_stopping_server_says_so_before_it_refuses(small_server):
    server = small_server("--drain-notice-s", "3", "--compute-threads", "1")
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: server.get("/health/ready")[0] == 503, 10, "the word at /health/ready")
    assert "draining" in server.get("/health/ready")[1]
    assert server.client().chat.completions.create(**ASKED).choices[0].finish_reason  # it still answers
    assert server.process.wait(60) == 0


def test_systemd_understands_the_units(tmp_path):
    names = []
    for path in sorted(UNITS.glob("*.service")):
        names.append(path.name.replace("@", "@smollm2"))
        (tmp_path / names[-1]).write_text(path.read_text().replace("/usr/bin/kvasir", str(BIN)))
    assert len(names) == 3
    for name in names:
        dropped = tmp_path / f"{name}.d"
        dropped.mkdir()
        shutil.copy(UNITS / "gpu.conf", dropped)
        verified = subprocess.run(["systemd-analyze", "verify", tmp_path / name], capture_output=True, text=True)
        assert verified.returncode == 0 and verified.stderr == "", verified.stderr
        exposed = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", UNITS / name.replace("@smollm2", "@")],
                                 capture_output=True, text=True)
        assert exposed.returncode == 0, exposed.stdout


def test_units_differ_where_they_must():
    hardened = {}
    for path in UNITS.glob("*.service"):
        text = path.read_text()
        hardened[path.name] = text[text.index("# It reads its configuration"):]
        waits_s = sum(float(line.split("=")[1]) for line in (CONFIG / config_of(path)).read_text().splitlines() if line.startswith("drain_"))
        assert float(Unit(path).only("TimeoutStopSec")) > waits_s
    assert len(set(hardened.values())) == 1


def config_of(unit):
    return Unit(unit, "smollm2").only("ExecStart").split("/")[-1].replace("%i", "smollm2")


def test_the_example_with_etcd(tmp_path):
    folders = {name: tmp_path / name for name in ("etcd", "models", "gateway-models", "gateway")}
    for folder in folders.values():
        folder.mkdir(mode=0o700)
    (folders["models"] / "smollm2").symlink_to(model_dir() / "smollm2")
    fleet = Composed(ROOT / "deploy/compose/compose.yaml", {"kvasir": BIN}, folders, SMALL)
    try:
        fleet.up()
        wait_until(lambda: fleet.output("gateway").count("worker_joined") == 2, 60, "both workers are found")
        url = f"http://{fleet.addresses['gateway']}:8080"
        client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
        first = client.chat.completions.create(**ASKED).choices[0].message.content
        stream = iter(client.chat.completions.create(**{**ASKED, "max_tokens": 120}, stream=True, extra_body={"ignore_eos": True}))
        next(stream)
        fleet.processes["worker-a"].send_signal(signal.SIGTERM)
        assert [chunk for chunk in stream if chunk.choices][-1].choices[0].finish_reason == "length"
        assert fleet.processes["worker-a"].wait(60) == 0, fleet.output("worker-a")
        assert client.chat.completions.create(**ASKED).choices[0].message.content == first
    finally:
        ended = fleet.down()
    assert {name: status for name, status in ended.items() if name != "etcd"} == {"pull": 0, "worker-a": 0, "worker-b": 0, "gateway": 0}
