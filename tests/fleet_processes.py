"""Workers and gateways as real processes, for the tests of fleets."""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

from conftest import BIN, DATA, Server, free_port, wait_until

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class Process:
    """A `kvasir` process whose output is kept."""

    def __init__(self, *command):
        self.log = []
        self.process = subprocess.Popen(
            [BIN, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env={"KVASIR_DATA_DIR": DATA.name, **os.environ},
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.log.append(line)

    def output(self):
        return "".join(self.log)

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(60)


class Worker(Process):
    def __init__(self, listen=None, health=None, args=(), model="smollm2"):
        self.port = listen or free_port()
        self.health_port = health or free_port()
        self.args, self.model = args, model
        super().__init__("worker", "--model", model, "--compute-threads", "1", "--listen", f"127.0.0.1:{self.port}",
                         "--health-listen", f"127.0.0.1:{self.health_port}", "--kv-memory-mb", "256", *args)

    def status(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health_port}{path}", timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def wait_ready(self):
        def ready():
            assert self.process.poll() is None, self.output()
            return self.status("/health/ready")[0] == 200

        wait_until(ready, 120, f"a worker that is ready\n{self.output()}")
        return self

    def metric(self, name):
        """The sum of a metric's rows; 0 if the worker is gone."""
        rows = [line for line in self.status("/metrics")[1].splitlines() if line.startswith(name + "{")]
        return sum(float(row.split()[-1]) for row in rows)

    def again(self):
        return Worker(self.port, self.health_port, self.args, self.model)


class Gateway(Server):
    """A running `kvasir gateway`, which has no models of its own."""

    def __init__(self, tmp_path, workers=(), ports=(), args=(), port=None):
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        ports = list(ports) or [worker.port for worker in workers]
        if ports:
            listed = tmp_path / "fleet.toml"
            listed.write_text("".join(f'[[worker]]\nid = "w{i}"\naddress = "127.0.0.1:{p}"\n' for i, p in enumerate(ports)))
            args = ["--workers", str(listed), *args]
        empty = tmp_path / "cache"  # what it needs of the models comes from the workers
        self.log = []
        self.process = subprocess.Popen(
            [BIN, "gateway", "--port", str(self.port), "--model-dir", str(empty), "--data-dir", str(tmp_path / "data"), *map(str, args)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )
        threading.Thread(target=self._read_log, daemon=True).start()


class Proxy:
    """Carries bytes to a worker and back, and treats them as it is told."""

    def __init__(self, target):
        self.target = target
        self.mode = "pass"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                if self.mode in ("cut", "swallow", "garble", "delay"):
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self.target))
                self.sockets += [near, far]
                for a, b in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(a, b), daemon=True).start()

    def _carry(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.mode == "delay":
                    time.sleep(0.05)
                if self.mode == "garble":
                    data = bytes(byte ^ 0xA5 for byte in data)
                if self.mode == "flip" and len(data) > 4096:  # a bit of what a large message carries
                    middle = len(data) // 2
                    data = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
                if self.mode != "swallow":
                    sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def cut(self):
        self.mode = "cut"
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
