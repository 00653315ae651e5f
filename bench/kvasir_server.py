"""Starts a `kvasir serve` for a benchmark, on a free port of this machine, and puts load on it."""

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import time


def is_ready(port):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except OSError:
        return False


@contextlib.contextmanager
def served(kvasir, *flags, stderr=None):
    """Gives the process, its port, and the seconds that it took to be ready."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    begin = time.monotonic()
    command = [str(part) for part in (kvasir, "serve", "--port", port, *flags)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)
    try:
        while not is_ready(port):
            if process.poll() is not None:
                raise RuntimeError("the server ended")
            time.sleep(0.05)
        yield process, port, time.monotonic() - begin
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def load_command(kvasir, port, *flags):
    """`kvasir bench serve` on that server; prints one JSON object."""
    command = [kvasir, "bench", "serve", "--url", f"http://127.0.0.1:{port}", "--json", *flags]
    return [str(part) for part in command]


def load(kvasir, port, *flags):
    """Runs `load_command` and returns the phases that it measured."""
    found = subprocess.run(load_command(kvasir, port, *flags), check=True, capture_output=True, text=True).stdout
    return json.loads(found)["phases"]
