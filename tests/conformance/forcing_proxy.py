"""Stands between an agent and the server, and decides what the model does. A model of random weights has no will of its
own: each request gets schemas that allow only the calls of a plan, and a `tool_choice`. Requests and answers are otherwise
passed on as they are, so that everything else is the agent's and the server's."""

import http.client
import http.server
import json
import threading


class ForcingProxy:
    """`plan` is a list of (tool, arguments), one for each turn; after those the model may only say "done"."""

    def __init__(self, server, plan):
        self.requests = []  # bodies as the agent sent them
        self.answers = []  # the server's events, in order, for each request
        self.server, self.plan = server, plan
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                outer.forward(self, self.rfile.read(int(self.headers.get("content-length") or 0)))

            def do_GET(self):
                outer.forward(self, b"")

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def forward(self, handler, body):
        generates = handler.command == "POST" and handler.path.split("?")[0] in ("/v1/messages", "/v1/responses")
        if generates:
            request = json.loads(body)
            self.requests.append(json.loads(body))
            self.force(request)
            body = json.dumps(request).encode()
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=300)
        headers = {k: v for k, v in handler.headers.items() if k.lower() not in ("host", "content-length", "accept-encoding")}
        upstream.request(handler.command, handler.path, body, headers)
        response = upstream.getresponse()
        handler.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection", "date", "server"):
                handler.send_header(name, value)
        handler.send_header("Connection", "close")
        handler.end_headers()
        text = b""
        while piece := response.read1(65536):
            text += piece
            handler.wfile.write(piece)
            handler.wfile.flush()
        handler.close_connection = True
        upstream.close()
        if generates:
            assert response.status == 200, text.decode()
            self.answers.append([json.loads(line[6:]) for line in text.decode().splitlines() if line.startswith("data: ")])

    def force(self, request):
        """The schemas are the same in every turn, so that prompts go on from each other."""
        is_anthropic = "messages" in request
        key = "input_schema" if is_anthropic else "parameters"
        calls = dict(self.plan)
        for tool in request["tools"]:
            if tool.get("name") in calls:
                arguments = calls[tool["name"]]
                tool[key] = {
                    "type": "object", "properties": {name: {"const": value} for name, value in arguments.items()},
                    "required": list(arguments), "additionalProperties": False,
                }
        done = sum(m.count('"tool_result"') + m.count('"function_call_output"') for m in
                   (json.dumps(m) for m in request.get("messages", request.get("input"))))
        schema = {"type": "json_schema", "schema": {"const": "done"}}
        if done < len(self.plan):
            name = self.plan[done][0]
            request["tool_choice"] = {"type": "tool" if is_anthropic else "function", "name": name}
        elif is_anthropic:
            request["tool_choice"] = {"type": "none"}
            request.setdefault("output_config", {})["format"] = schema
        else:
            request["tool_choice"] = "none"
            request["text"] = {"format": {**schema, "name": "done"}}
