"""`kvasir chat` against a server that answers by script: no model needed. `python3 tests/e2e/test_chat_client.py`."""

import http.server
import json
import os
import pathlib
import pty
import re
import select
import subprocess
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = os.environ.get("KVASIR_BIN", str(ROOT / "build/release/bin/kvasir"))


class Script(http.server.BaseHTTPRequestHandler):
    """Handles requests; the server's `say` writes the answer to a conversation."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        models = [{"id": "slow", "ready": False}, {"id": "first"}, {"id": "second", "ready": True}]
        self.send_json(200, {"object": "list", "data": models})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((request, dict(self.headers)))
        self.server.say(self, request)

    def send_json(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def delta(self, text, finish=None):
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
        self.chunk("data: " + json.dumps({"choices": [choice]}) + "\n\n")

    def end(self):
        self.chunk("data: [DONE]\n\n")
        self.chunk("")

    def log_message(self, *_):
        pass


def echo(handler, request):
    """Repeats what it was told, in pieces."""
    handler.begin()
    handler.chunk(": ping\n\n")
    for word in request["messages"][-1]["content"].split():
        handler.delta(word + " ")
    handler.delta(f"({len(request['messages'])} messages to {request['model']})", "stop")
    handler.end()


class ChatCase(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Script)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        self.server.requests = []
        self.server.say = echo
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


class ThroughAPipe(ChatCase):
    def chat(self, text, *args):
        return subprocess.run([BIN, "chat", "--url", self.url, *args], input=text, capture_output=True, text=True, timeout=60)

    def test_answers_and_history(self):
        run = self.chat("hello there\nonce more\n")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout, "hello there (1 messages to first)\nonce more (3 messages to first)\n")
        messages = self.server.requests[1][0]["messages"]
        self.assertEqual([m["role"] for m in messages], ["user", "assistant", "user"])
        self.assertEqual(messages[1]["content"], "hello there (1 messages to first)")

    def test_commands(self):
        run = self.chat("/system Be brief.\nx\n/model second\ny\n/clear\n/system\nz\n/model\n/nonsense\n/exit\nnot sent\n")
        self.assertEqual(run.returncode, 0, run.stderr)
        sent = [request for request, _ in self.server.requests]
        self.assertEqual([r["messages"][0]["role"] for r in sent], ["system", "system", "user"])
        self.assertEqual([r["model"] for r in sent], ["first", "second", "second"])
        self.assertEqual([len(r["messages"]) for r in sent], [2, 4, 1])
        self.assertIn("* second", run.stdout)
        self.assertIn("slow (not ready yet)", run.stdout)
        self.assertIn("there is no command '/nonsense'", run.stderr)

    def test_a_line_goes_on_after_a_backslash(self):
        self.chat("one\\\ntwo\n")
        self.assertEqual(self.server.requests[0][0]["messages"][0]["content"], "one\ntwo")

    def test_the_last_line_needs_no_end(self):
        self.assertIn("no newline (1", self.chat("no newline").stdout)

    def test_options(self):
        run = self.chat("hi\n", "--model", "second", "--system", "S", "--api-key", "k", "--temperature", "0.5")
        self.assertIn("to second", run.stdout)
        request, headers = self.server.requests[0]
        self.assertEqual(request["messages"][0], {"role": "system", "content": "S"})
        self.assertTrue(request["stream"])
        self.assertEqual(request["temperature"], 0.5)
        self.assertEqual(headers["Authorization"], "Bearer k")

    def test_the_address_may_end_in_v1(self):
        self.url += "/v1/"
        self.assertIn("hi (1", self.chat("hi\n").stdout)

    def test_a_model_that_is_not_there(self):
        run = self.chat("hi\n", "--model", "third")
        self.assertEqual(run.returncode, 1)
        self.assertIn("'third'", run.stderr)
        self.assertIn("slow, first, second", run.stderr)

    def test_refusals_are_shown_and_forgotten(self):
        def refuse(handler, request):
            if len(self.server.requests) == 1:
                handler.send_json(400, {"error": {"message": "the prompt is too long", "type": "invalid_request_error"}})
            else:
                echo(handler, request)

        self.server.say = refuse
        run = self.chat("long\nshort\n")
        self.assertEqual(run.returncode, 0)
        self.assertIn("400: the prompt is too long", run.stderr)
        self.assertEqual(run.stdout, "short (1 messages to first)\n")

    def test_a_failed_answer_is_the_exit_status(self):
        self.server.say = lambda handler, _: handler.send_json(503, {"error": {"message": "draining"}})
        run = self.chat("hi\n")
        self.assertEqual(run.returncode, 1)
        self.assertIn("503: draining", run.stderr)

    def test_a_stream_that_breaks(self):
        def cut(handler, _):
            handler.begin()
            handler.delta("half an ans")
            handler.close_connection = True

        def early(handler, _):
            handler.begin()
            handler.delta("half an ans")
            handler.chunk("")

        def error(handler, _):
            handler.begin()
            handler.delta("half an ans")
            handler.chunk('data: {"error": {"message": "out of blocks"}}\n\n')
            handler.end()

        for say, words in ((cut, "closed the connection"), (early, "before its end"), (error, "out of blocks")):
            self.server.say = say
            run = self.chat("hi\n")
            self.assertEqual(run.returncode, 1)
            self.assertEqual(run.stdout, "half an ans\n")
            self.assertIn(words, run.stderr)

    def test_no_server(self):
        self.url = "http://127.0.0.1:1"
        run = self.chat("hi\n")
        self.assertEqual(run.returncode, 1)
        self.assertIn("no server at http://127.0.0.1:1", run.stderr)
        self.assertIn("kvasir serve", run.stderr)

    def test_a_wrong_address(self):
        self.url = "localhost:8080"
        run = self.chat("hi\n")
        self.assertEqual(run.returncode, 2)
        self.assertIn("--url", run.stderr)


class InATerminal(ChatCase):
    def setUp(self):
        super().setUp()
        pid, self.fd = pty.fork()
        if pid == 0:
            os.execv(BIN, [BIN, "chat", "--url", self.url])
        self.pid = pid
        self.seen = ""
        self.addCleanup(os.close, self.fd)

    def expect(self, pattern, timeout_s=30):
        deadline = time.monotonic() + timeout_s
        while not (match := re.search(pattern, self.seen, re.S)):
            ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
            self.assertTrue(ready, f"waited for {pattern!r}, saw {self.seen!r}")
            self.seen += os.read(self.fd, 4096).decode(errors="replace")
        self.seen = self.seen[match.end() :]

    def type(self, text):
        os.write(self.fd, text.encode())

    def leave(self):
        self.type("\x04")
        _, status = os.waitpid(self.pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)

    def test_ctrl_c_stops_the_answer_and_not_the_program(self):
        gone = threading.Event()

        def forever(handler, request):
            if len(self.server.requests) > 1:
                return echo(handler, request)
            handler.begin()
            try:
                while True:
                    handler.delta("more ")
                    gone.wait(0.01)
            except OSError:
                gone.set()

        self.server.say = forever
        self.expect("first at .*> ")
        self.type("go on\n")
        self.expect("more more more")
        self.type("\x03")
        self.expect("\r\n> ")
        self.assertTrue(gone.wait(30), "the server did not hear of it")
        self.type("again\n")
        self.expect(r"again \(3 messages to first\)\r\n> ")
        self.leave()

    def test_ctrl_c_drops_the_line_that_is_typed(self):
        self.expect("> ")
        self.type("half a li")
        self.type("\x03")
        self.expect("\r\n> ")
        self.type("whole\n")
        self.expect(r"whole \(1 messages")
        self.leave()

    def test_control_characters_do_not_reach_the_terminal(self):
        def paint(handler, _):
            handler.begin()
            handler.delta("\x1b[31mred\x07", "stop")
            handler.end()

        self.server.say = paint
        self.expect("> ")
        self.type("hi\n")
        self.expect(r"\n\[31mred\r\n> ")
        self.leave()


if __name__ == "__main__":
    unittest.main()
