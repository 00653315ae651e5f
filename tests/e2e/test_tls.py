"""HTTPS by the server itself, with real clients; the certificate is renewed while a stream runs."""

import json
import os
import ssl
import subprocess
import urllib.request

import httpx
import openai
import pytest

from conftest import BIN, Server, wait_until


class Certificate:
    """A self-signed certificate for 127.0.0.1 and its key, in two files."""

    def __init__(self, folder):
        self.cert, self.key = folder / "cert.pem", folder / "key.pem"
        self.renew()

    def renew(self):
        new_cert, new_key = self.cert.with_suffix(".new"), self.key.with_suffix(".new")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=kvasir", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", new_key, "-out", new_cert],
            check=True, capture_output=True,
        )
        new_key.chmod(0o600)
        os.replace(new_cert, self.cert)
        os.replace(new_key, self.key)

    def flags(self):
        return ["--tls-cert", str(self.cert), "--tls-key", str(self.key)]

    def trust(self):
        return ssl.create_default_context(cafile=str(self.cert))


class TlsServer(Server):
    def __init__(self, certificate, *args):
        super().__init__("smollm2", args=[*certificate.flags(), *args])
        self.url = self.url.replace("http:", "https:")
        self.trust = certificate.trust()

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=30, context=self.trust) as response:
                return response.status, response.read().decode()
        except OSError as error:
            return 0, str(error)

    def shown_certificate(self):
        return ssl.get_server_certificate(("127.0.0.1", self.port)).strip()


@pytest.fixture
def certificate(tmp_path):
    return Certificate(tmp_path)


@pytest.fixture
def tls_server(certificate):
    server = TlsServer(certificate)
    try:
        yield server.wait_ready("smollm2")
    finally:
        server.terminate()


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, **options)


def test_a_stream_outlives_its_certificate(tls_server, certificate):
    old_trust = certificate.trust()
    client = openai.OpenAI(
        base_url=tls_server.url + "/v1", api_key="none", max_retries=0, http_client=httpx.Client(verify=old_trust)
    )
    stream = client.chat.completions.create(
        model="smollm2", messages=[{"role": "user", "content": "Tell me a long story."}], max_tokens=400, stream=True,
        extra_body={"ignore_eos": True},
    )
    chunks = [next(stream) for _ in range(3)]
    old = tls_server.shown_certificate()
    assert old == certificate.cert.read_text().strip()
    certificate.renew()
    wait_until(lambda: "tls_certificate_loaded" in tls_server.output(), 10, "the new certificate")
    wait_until(lambda: tls_server.shown_certificate() == certificate.cert.read_text().strip(), 10, "the new one shown")
    assert tls_server.shown_certificate() != old
    chunks += list(stream)
    assert chunks[-1].choices[0].finish_reason == "length"
    # A client that trusts the new certificate is served; one that trusts only the old one is not.
    with httpx.Client(verify=certificate.trust()) as fresh:
        assert fresh.get(tls_server.url + "/health/ready").status_code == 200
    with httpx.Client(verify=old_trust) as late, pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        late.get(tls_server.url + "/health/ready")
    # A pair that cannot be used changes nothing.
    certificate.key.write_text("no key")
    wait_until(lambda: "tls_certificate_kept" in tls_server.output(), 10, "a warning")
    assert str(certificate.key) in tls_server.output()
    tls_server.trust = certificate.trust()
    assert tls_server.get("/health/ready")[0] == 200
    assert tls_server.metric("kvasir_tls_handshakes_failed_total") >= 1


def test_clients_of_the_command_line(tls_server, certificate):
    assert f"serves on https://127.0.0.1:{tls_server.port}" in tls_server.output()
    body = json.dumps({"model": "smollm2", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 8, "stream": True})
    curl = run("curl", "-sS", "-N", "--cacert", certificate.cert, "-d", body, tls_server.url + "/v1/chat/completions")
    assert curl.returncode == 0 and curl.stdout.rstrip().endswith("data: [DONE]"), curl.stderr
    plain = run("curl", "-sS", tls_server.url.replace("https:", "http:") + "/v1/models")
    assert json.loads(plain.stdout)["error"]["code"] == "https_expected"

    chat = run(BIN, "chat", "--url", tls_server.url, "--ca-file", certificate.cert, input="What is 2+2?\n")
    assert chat.returncode == 0 and chat.stdout.strip(), chat.stderr
    distrust = run(BIN, "chat", "--url", tls_server.url, input="What is 2+2?\n")
    assert distrust.returncode == 1 and "cannot trust 127.0.0.1" in distrust.stderr, distrust.stderr

    bench = run(BIN, "bench", "serve", "--url", tls_server.url, "--json", "--concurrency", "4", "--requests", "8",
                "--output-tokens", "4", env={**os.environ, "KVASIR_CA_FILE": str(certificate.cert)})
    assert bench.returncode == 0, bench.stderr
    assert json.loads(bench.stdout)["phases"][0]["ok"] == 8


def test_a_wrong_pair_ends_the_start(certificate, tmp_path):
    def complaint(*flags):
        done = run(BIN, "serve", "--port", "0", "--offline", *flags, env={**os.environ, "KVASIR_DATA_DIR": str(tmp_path / "data")})
        assert done.returncode != 0
        return done.returncode, done.stderr

    assert complaint("--tls-cert", certificate.cert) == (2, "kvasir: tls_cert and tls_key go together: tls_key is missing\n")
    status, text = complaint("--tls-cert", tmp_path / "none.pem", "--tls-key", certificate.key)
    assert status == 1 and f"{tmp_path}/none.pem: No such file or directory" in text
    status, text = complaint("--tls-cert", certificate.cert, "--tls-key", certificate.cert)
    assert status == 1 and f"{certificate.cert} holds no usable TLS key" in text


def test_a_key_that_all_may_read_is_warned_of(certificate):
    certificate.key.chmod(0o644)
    server = TlsServer(certificate)
    try:
        wait_until(lambda: "tls_key_readable_by_all" in server.output(), 30, "a warning")
        assert str(certificate.key) in server.output()
    finally:
        server.terminate()
