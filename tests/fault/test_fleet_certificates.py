"""Gateways and workers that show certificates to each other, and strangers who have none, or others."""

import re
import subprocess

import pytest

from conftest import BIN, wait_until
from fleet_processes import Gateway, Worker


class Authority:
    """Signs certificates, each for a role that is reached at some names."""

    def __init__(self, folder, name):
        folder.mkdir()
        self.folder, self.name = folder, name
        self.cert, self.key = folder / "ca.pem", folder / "ca.key"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                      "-keyout", self.key, "-out", self.cert)

    def _openssl(self, *words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    def issue(self, role, names="IP:127.0.0.1,DNS:localhost"):
        """The flags of a role with a certificate of its own."""
        cert, key, asked, extra = (self.folder / f"{role}.{end}" for end in ("pem", "key", "csr", "ext"))
        extra.write_text(f"subjectAltName={names}\n")
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={role}", "-keyout", key, "-out", asked)
        self._openssl("x509", "-req", "-in", asked, "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial", "-days", "2", "-extfile", extra, "-out", cert)
        return ["--fleet-cert", cert, "--fleet-key", key, "--fleet-ca", self.cert]


@pytest.fixture(scope="module")
def authorities(tmp_path_factory):
    folder = tmp_path_factory.mktemp("authorities")
    return Authority(folder / "ours", "Our fleet"), Authority(folder / "theirs", "Another fleet")


@pytest.fixture(scope="module")
def worker(authorities):
    ours, _ = authorities
    worker = Worker(args=ours.issue("worker"))
    try:
        yield worker.wait_ready()
    finally:
        assert worker.end() == 0, worker.output()


def says_hello(gateway):
    answer = gateway.client().chat.completions.create(
        model="smollm2", messages=[{"role": "user", "content": "Hello"}], max_tokens=4, temperature=0)
    return answer.choices[0].message.content


def test_roles_with_certificates_serve(authorities, worker, tmp_path):
    ours, _ = authorities
    gateway = Gateway(tmp_path, [worker], args=ours.issue("gateway"))
    try:
        assert says_hello(gateway.wait_ready("smollm2"))
        assert "worker_unreachable" not in gateway.output()
    finally:
        gateway.terminate()


def warnings(process, event):
    return [line for line in process.output().splitlines() if f" {event} " in line]


def refused_by(worker, tmp_path, args, reason):
    """A gateway that gets nothing from the worker, and says so."""
    gateway = Gateway(tmp_path, [worker], args=args)
    try:
        wait_until(lambda: any(re.search(reason, line) for line in warnings(gateway, "worker_unreachable")), 30,
                   f"a warning with {reason}")
        assert "worker_joined" not in gateway.output()
        assert '"data":[]' in gateway.get("/v1/models")[1].replace(" ", "")
    except AssertionError as error:
        raise AssertionError(f"{error}\n{gateway.output()}\n{worker.output()}") from error
    finally:
        gateway.terminate()


@pytest.mark.parametrize("stranger, said_there, said_here", [
    ("plain", "--fleet-cert", "wrong version number|http request"),
    ("of another fleet", "certificate verify failed", None),  # it leaves before it shows its own
    ("that takes anybody", "alert|closed|reset", "certificate verify failed|unable to get"),
])
def test_a_strange_gateway_is_refused(authorities, worker, tmp_path, stranger, said_there, said_here):
    ours, theirs = authorities
    flags = {"plain": [], "of another fleet": theirs.issue("stranger")}.get(stranger)
    if flags is None:  # its own certificate is of another fleet, though it knows ours
        flags = [*theirs.issue("stranger")[:-1], ours.cert]
    refused_by(worker, tmp_path, flags, said_there)
    wait_until(lambda: said_here is None or any(re.search(said_here, line) for line in warnings(worker, "fleet_handshake_failed")), 10,
               f"a warning of the worker\n{worker.output()}")
    # The worker serves its own fleet as before.
    gateway = Gateway(tmp_path, [worker], args=ours.issue("gateway"))
    try:
        assert says_hello(gateway.wait_ready("smollm2"))
    finally:
        gateway.terminate()


@pytest.mark.parametrize("stranger, said", [
    ("plain", "plain text"),
    ("of another fleet", "certificate verify failed"),
    ("at another address", "Hostname Verification Check failed|[Nn]ame|match"),
])
def test_a_strange_worker_is_refused(authorities, tmp_path, stranger, said):
    ours, theirs = authorities
    flags = {"plain": [], "of another fleet": theirs.issue("worker"), "at another address": ours.issue("elsewhere", "DNS:elsewhere.example")}[stranger]
    worker = Worker(args=flags).wait_ready()
    try:
        refused_by(worker, tmp_path, ours.issue("gateway"), said)
    finally:
        worker.end()


def drain(worker, flags):
    return subprocess.run([BIN, "drain", f"127.0.0.1:{worker.port}", *map(str, flags)], capture_output=True, text=True, timeout=60)


def test_only_the_fleet_may_drain_a_worker(authorities):
    ours, theirs = authorities
    worker = Worker(args=ours.issue("drained")).wait_ready()
    try:
        for flags, reason in (([], "--fleet-cert"), (theirs.issue("stranger"), "certificate verify failed")):
            refused = drain(worker, flags)
            assert refused.returncode == 1 and re.search(reason, refused.stderr), refused.stderr
            assert worker.status("/health/ready")[0] == 200
        done = drain(worker, ours.issue("operator"))
        assert done.returncode == 0, done.stderr
        assert worker.process.wait(60) == 0, worker.output()
    finally:
        worker.end()


def test_a_certificate_that_cannot_be_read_ends_the_start(authorities, tmp_path):
    ours, _ = authorities
    flags = ours.issue("broken")
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    for at in (1, 3, 5):
        wrong = [*flags[:at], broken, *flags[at + 1:]]
        run = subprocess.run([BIN, "worker", "--model", "smollm2", *map(str, wrong)], capture_output=True, text=True, timeout=60)
        assert run.returncode != 0 and f"{broken}: cannot be read, or is no PEM file" in run.stderr, run.stderr
