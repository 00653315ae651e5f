"""An OpenAI-compatible server that does what a test tells it, byte by byte."""

import json
import socket
import threading


class Request:
    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = lines[0].split(" ", 2)
        self.headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:] if ": " in line)}
        self.body = body

    def json(self):
        return json.loads(self.body)


def chunk(text=None, finish=None, index=0, usage=None):
    """An event of a chat's stream."""
    choices = [{"index": index, "delta": {} if text is None else {"content": text}, "finish_reason": finish}]
    return "data: " + json.dumps({"choices": [] if usage else choices, "usage": usage}) + "\n\n"


USAGE = {"prompt_tokens": 11, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
GOOD = chunk("Hello") + chunk(" there") + chunk(finish="stop") + chunk(usage=USAGE) + "data: [DONE]\n\n"
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def reply(status, body="", headers="", kind="application/json"):
    return f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{headers}Content-Length: {len(body)}\r\n\r\n{body}"


class Upstream:
    """`answer(connection, request)` gets every POST. Connections are closed when it returns."""

    def __init__(self, answer=None):
        self.answer = answer or (lambda connection, request: connection.sendall((HEAD + GOOD).encode()))
        self.health = reply(200)
        self.metrics = reply(404)
        self.requests = []  # the POSTs
        self.closed_early = threading.Event()  # for answers that watch their client
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                request = self._read(connection)
                if request is None:
                    return
                if request.method == "GET":
                    what = {"/health": self.health, "/metrics": self.metrics}
                    connection.sendall(what.get(request.path, reply(404)).encode())
                    return
                self.requests.append(request)
                self.answer(connection, request)
            except OSError:
                pass

    def _read(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return None
            data += more
        head, body = data.split(b"\r\n\r\n", 1)
        request = Request(head, b"")
        while len(body) < int(request.headers.get("content-length", 0)):
            body += connection.recv(65536)
        request.body = body
        return request

    def wait_for_close(self, connection):
        """Blocks until the client has closed the connection."""
        connection.settimeout(30)
        try:
            while connection.recv(4096):
                pass
        except ConnectionResetError:
            pass
        self.closed_early.set()
