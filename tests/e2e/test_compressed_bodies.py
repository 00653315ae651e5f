"""Bodies that come compressed: gzip is read within the limits, anything else is named in a 415."""

import gzip
import json

import httpx

CHAT = {"model": "smollm2", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}


def post(server, body, encoding):
    headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
    return httpx.post(server.url + "/v1/chat/completions", content=body, headers=headers, timeout=60)


def test_gzip_is_read(server):
    assert post(server, gzip.compress(json.dumps(CHAT).encode()), "gzip").status_code == 200
    long = {**CHAT, "messages": [{"role": "user", "content": "word " * 2000}]}
    assert post(server, gzip.compress(json.dumps(long).encode()), "GZIP").json()["usage"]["prompt_tokens"] > 2000


def test_a_body_that_unpacks_to_too_much_is_refused(server):
    bomb = gzip.compress(b'{"model": "' + b"x" * (17 << 20))
    assert len(bomb) < 1 << 16
    reply = post(server, bomb, "gzip")
    assert (reply.status_code, reply.json()["error"]["code"]) == (413, "request_too_large")
    assert server.get("/health")[0] == 200


def test_what_is_broken_or_unknown_is_named(server):
    whole = gzip.compress(json.dumps(CHAT).encode())
    for broken in (b"{}", whole[:20], whole[:-9] + whole[-8:], whole[:-1] + b"\x01", whole + b"x", b"\x1f\x8b\x08" + b"\xff" * 40):
        reply = post(server, broken, "gzip")
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "malformed_request"), broken
    reply = post(server, b"x", "br")
    assert (reply.status_code, reply.json()["error"]["code"]) == (415, "unsupported_content_encoding")
    assert reply.headers["accept-encoding"] == "gzip"
