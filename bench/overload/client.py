"""Streaming chats over plain sockets. A client costs little, so that the load does not take the server's time: bytes are looked at
once, and JSON is parsed for the last event of an answer alone. All of it runs on one event loop."""

import asyncio
import json

from .figures import Outcome

TOKEN = b'"content":"'


def chat_bytes(port, key, body):
    """The whole request as it goes over the wire."""
    text = json.dumps(body).encode()
    return (f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n").encode() + text


class Answer:
    """Takes an answer's bytes as they come and fills an outcome in."""

    def __init__(self, outcome: Outcome):
        self.outcome = outcome
        self.bytes = b""
        self.events = b""  # an event's beginning
        self.left = None  # bytes of the body; None: not known yet, or chunked
        self.has_head = False
        self.is_chunked = False
        self.keeps_open = True

    def take(self, data, now):
        """Whether the answer has ended."""
        self.bytes += data
        if not self.has_head and not self.take_head():
            return False
        if self.is_chunked:
            return self.take_chunks(now)
        self.events += self.bytes
        self.left -= len(self.bytes)
        self.bytes = b""
        if self.left > 0:
            return False
        if self.outcome.status >= 400:
            self.outcome.error = self.events[:200].decode(errors="replace")
        self.outcome.ended = now
        return True

    def take_head(self):
        end = self.bytes.find(b"\r\n\r\n")
        if end < 0:
            return False
        lines = self.bytes[:end].lower().split(b"\r\n")
        self.bytes = self.bytes[end + 4:]
        self.has_head = True
        self.outcome.status = int(lines[0].split()[1])
        self.left = 0
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            value = value.strip()
            if name == b"transfer-encoding":
                self.is_chunked = value == b"chunked"
            elif name == b"content-length":
                self.left = int(value)
            elif name == b"connection":
                self.keeps_open = value != b"close"
            elif name == b"retry-after":
                self.outcome.has_retry_after = True
        return True

    def take_chunks(self, now):
        while True:
            line = self.bytes.find(b"\r\n")
            if line < 0:
                return False
            size = int(self.bytes[:line].split(b";")[0], 16)
            end = line + 2 + size + 2
            if len(self.bytes) < end:
                return False
            self.events += self.bytes[line + 2:end - 2]
            self.bytes = self.bytes[end:]
            if size == 0:
                self.outcome.ended = now
                return True
            *whole, self.events = self.events.split(b"\n\n")
            for event in whole:
                self.take_event(event, now)

    def take_event(self, event, now):
        if event.startswith(b"data: {"):
            at = event.find(TOKEN)
            if at >= 0 and event[at + len(TOKEN)] != ord('"'):
                self.outcome.tokens.append(now)
            elif b'"usage":{' in event or b'"kvasir":{' in event:
                self.take_last(json.loads(event[6:]))
            elif event.startswith(b'data: {"error"'):
                self.outcome.error = event[:200].decode(errors="replace")

    def take_last(self, event):
        usage = event.get("usage") or {}
        self.outcome.prompt_tokens = usage.get("prompt_tokens", self.outcome.prompt_tokens)
        self.outcome.output_tokens = usage.get("completion_tokens", self.outcome.output_tokens)
        details = usage.get("prompt_tokens_details") or {}
        self.outcome.cached_tokens = details.get("cached_tokens", self.outcome.cached_tokens)
        predicted = (event.get("kvasir") or {}).get("predicted_ttft_ms")
        if predicted is not None:
            self.outcome.predicted_ttft_ms = predicted


class Connection(asyncio.Protocol):
    """One connection, one request at a time. `ended` is told when it is over, with whether another may follow."""

    def __init__(self):
        self.transport = None
        self.answer = None
        self.ended = None
        self.loop = asyncio.get_running_loop()

    def connection_made(self, transport):
        self.transport = transport

    def ask(self, data, outcome):
        self.answer = Answer(outcome)
        self.ended = self.loop.create_future()
        self.transport.write(data)
        return self.ended

    def data_received(self, data):
        now = self.loop.time()
        if self.answer is None:
            self.transport.abort()  # nobody asked
        elif self.answer.take(data, now):
            self.end(self.answer.keeps_open)

    def connection_lost(self, failure):
        if self.answer is not None:
            self.answer.outcome.error = self.answer.outcome.error or f"the connection ended: {failure}"
            self.end(False)
        self.transport = None

    def end(self, is_usable):
        ended, self.answer = self.ended, None
        if not ended.done():
            ended.set_result(is_usable)


class Client:
    """Asks one server over as many connections as there are requests at once, which are kept and used again."""

    def __init__(self, port):
        self.port = port
        self.idle = []
        self.asking = set()

    async def ask(self, data, outcome):
        """Sends the request now, and returns when its answer has ended. Cancelled, it closes the connection."""
        loop = asyncio.get_running_loop()
        outcome.sent = loop.time()
        connection = None
        while self.idle and connection is None:
            connection = self.idle.pop()
            if connection.transport is None or connection.transport.is_closing():
                connection = None
        try:
            if connection is None:
                _, connection = await loop.create_connection(Connection, "127.0.0.1", self.port)
            self.asking.add(connection)
            if await connection.ask(data, outcome):
                self.idle.append(connection)
        except OSError as failure:
            outcome.error = str(failure)
        except asyncio.CancelledError:
            outcome.error = "given up"
            if connection is not None and connection.transport is not None:
                connection.transport.abort()
            raise
        finally:
            self.asking.discard(connection)
        return outcome

    def close(self):
        for connection in self.idle:
            if connection.transport is not None:
                connection.transport.abort()
        self.idle.clear()
