"""Starts the program for a benchmark, on free ports of this machine, and puts load on it."""

import contextlib
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import time


READY_S = 300  # for a model to be loaded, and measured


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def running(kvasir, *words, stderr=subprocess.DEVNULL):
    """A process that has said that it is ready, as it says it to systemd. Ends it by SIGTERM."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        notices.bind("\0kvasir-bench-" + os.urandom(8).hex())
        process = subprocess.Popen([str(word) for word in (kvasir, *words)], stdout=subprocess.DEVNULL, stderr=stderr,
                                   env={**os.environ, "NOTIFY_SOCKET": "@" + notices.getsockname()[1:].decode()})
        try:
            ended = os.pidfd_open(process.pid)
            try:
                told, _, _ = select.select([notices, ended], [], [], READY_S)
            finally:
                os.close(ended)
            if notices not in told:
                raise RuntimeError("the process ended" if told else f"the process was not ready within {READY_S} s")
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.wait(60)


def is_ready(port):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except OSError:
        return False


@contextlib.contextmanager
def served(kvasir, *flags, stderr=None):
    """Gives the process, its port, and the seconds that it took to be ready. The program may be an old one, which does not
    say when it is."""
    port = free_port()
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
