"""A receiver of traces by OTLP over HTTP, which reads them with OpenTelemetry's own messages."""

import base64
import collections
import http.server
import json
import ssl
import threading

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from conftest import wait_until


def value_of(any_value):
    kind = any_value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(one) for one in any_value.array_value.values]
    return getattr(any_value, kind)


def attributes_of(pairs):
    return {pair.key: value_of(pair.value) for pair in pairs}


def with_base64_ids(document):
    """OTLP's JSON writes ids in hex, where protobuf's JSON has base64."""
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return document


class Span:
    def __init__(self, message, resource):
        self.name = message.name
        self.trace_id = message.trace_id.hex()
        self.id = message.span_id.hex()
        self.parent_id = message.parent_span_id.hex()
        self.trace_state = message.trace_state
        self.kind = message.kind
        self.start = message.start_time_unix_nano
        self.end = message.end_time_unix_nano
        self.failed = message.status.code == 2
        self.attributes = attributes_of(message.attributes)
        self.events = [(e.name, e.time_unix_nano, attributes_of(e.attributes)) for e in message.events]
        self.resource = resource
        self.children = []

    def all(self, name):
        """The children of that name or, for a name with a space at its end, that begin so; in time's order."""
        found = [c for c in self.children if c.name == name or (name.endswith(" ") and c.name.startswith(name))]
        return sorted(found, key=lambda c: c.start)

    def one(self, name):
        (found,) = self.all(name)
        return found


class Receiver:
    """`answers` are statuses for the next requests; further ones get 200."""

    def __init__(self, cert=None):
        receiver = self
        self.answers = collections.deque()
        self.seen = []  # (path, headers, status) of each request
        self.spans = {}  # by trace and span
        self.lock = threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.take(self.path, self.headers, body)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        scheme = "http"
        if cert:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*cert)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path, headers, body):
        status = self.answers.popleft() if self.answers else 200
        with self.lock:
            self.seen.append((path, dict(headers), status))
        if status != 200:
            return status
        request = ExportTraceServiceRequest()
        if headers["Content-Type"] == "application/json":
            json_format.ParseDict(with_base64_ids(json.loads(body)), request)
        else:
            assert headers["Content-Type"] == "application/x-protobuf"
            request.ParseFromString(body)
        with self.lock:
            for resource in request.resource_spans:
                attributes = attributes_of(resource.resource.attributes)
                for scope in resource.scope_spans:
                    assert scope.scope.name == "kvasir"
                    for message in scope.spans:
                        span = Span(message, attributes)
                        self.spans.setdefault(span.trace_id, {})[span.id] = span
        return status

    def has(self, trace_id):
        with self.lock:
            return trace_id in self.spans

    def tree(self, trace_id, timeout_s=20):
        """The root of a trace, with every span below it; a trace always comes in one message."""
        wait_until(lambda: self.has(trace_id), timeout_s, f"trace {trace_id}")
        with self.lock:
            spans = self.spans[trace_id]
            for span in spans.values():
                span.children = []
            roots = []
            for span in spans.values():
                above = spans.get(span.parent_id)
                (above.children if above else roots).append(span)
        (root,) = roots
        return root

    def find(self, wanted, timeout_s=20):
        """The tree of the first trace whose root fits."""

        def found():
            with self.lock:
                ids = list(self.spans)
            return next((root for root in map(self.tree, ids) if wanted(root)), None)

        return wait_until(found, timeout_s, "a trace")

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def check_times(span):
    """A span lies within the one above it."""
    assert 0 < span.start <= span.end, span.name
    for child in span.children:
        assert span.start <= child.start and child.end <= span.end, (span.name, child.name)
        check_times(child)
    for name, time, _ in span.events:
        assert span.start <= time <= span.end, name
