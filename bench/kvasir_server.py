"""A `kvasir serve` of a benchmark's own, on a free port of this machine."""

import contextlib
import http.client
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
def served(kvasir, *flags):
    """Gives the process, its port, and the seconds that it took to be ready."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    begin = time.monotonic()
    command = [str(part) for part in (kvasir, "serve", "--port", port, *flags)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while not is_ready(port):
            if process.poll() is not None:
                raise RuntimeError("the server ended")
            time.sleep(0.05)
        yield process, port, time.monotonic() - begin
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
