"""The document of the API and its page."""

import json

import pytest

from conftest import Server


@pytest.fixture(scope="module")
def small():
    s = Server("smollm2", "minilm", args=["--max-context", "48", "--kv-memory-mb", "64"])
    try:
        yield s.wait_ready("smollm2", "minilm")
    finally:
        s.terminate()


def test_the_document_and_its_page(small):
    status, body = small.get("/openapi.json")
    document = json.loads(body)
    assert status == 200 and document["openapi"].startswith("3.1")
    assert {"/v1/chat/completions", "/v1/models/{model}", "/v1/embeddings"} <= set(document["paths"])
    status, page = small.get("/docs")
    assert status == 200 and "/openapi.json" in page and "src=" not in page and "https://" not in page
