"""Reranking and scores by MiniLM: Cohere's package, and the shapes of Jina and vLLM over plain HTTP."""

import math

import cohere
import httpx
import pytest

from conftest import Server

QUERY = "What is the capital of France?"
DOCUMENTS = ["Bananas are yellow.", "Paris is the capital of France.", "France is a country in Europe."]


@pytest.fixture(scope="module")
def embedder():
    s = Server("minilm")
    try:
        yield s.wait_ready("minilm")
    finally:
        s.terminate()


def post(server, path, **body):
    return httpx.post(server.url + path, json={"model": "minilm", **body}, timeout=60)


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def cosines(server):
    texts = [QUERY, *DOCUMENTS]
    data = server.client().embeddings.create(model="minilm", input=texts, encoding_format="float").data
    return [cosine(data[0].embedding, row.embedding) for row in data[1:]]


def test_coheres_clients(embedder):
    answer = cohere.ClientV2(api_key="none", base_url=embedder.url).rerank(
        model="minilm", query=QUERY, documents=DOCUMENTS, top_n=2, max_tokens_per_doc=100)
    assert [result.index for result in answer.results] == [1, 2]
    assert answer.results[0].relevance_score > answer.results[1].relevance_score > 0
    assert answer.meta.tokens.input_tokens > 20
    old = cohere.Client(api_key="none", base_url=embedder.url).rerank(
        model="minilm", query=QUERY, documents=DOCUMENTS, return_documents=True)
    assert [result.index for result in old.results] == [1, 2, 0]
    assert old.results[0].document.text == DOCUMENTS[1]
    with pytest.raises(cohere.errors.BadRequestError):
        cohere.ClientV2(api_key="none", base_url=embedder.url).rerank(model="minilm", query=QUERY, documents=["word " * 2000])


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
def test_scores_are_the_cosines_of_embeddings(embedder, path):
    answer = post(embedder, path, query=QUERY, documents=[{"text": DOCUMENTS[0]}, *DOCUMENTS[1:]], return_documents=True).json()
    want = cosines(embedder)
    assert answer["model"] == "minilm" and len(answer["results"]) == 3
    for result in answer["results"]:
        assert abs(result["relevance_score"] - want[result["index"]]) < 1e-5
        assert result["document"]["text"] == DOCUMENTS[result["index"]]
    scores = [result["relevance_score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    one = embedder.client().embeddings.create(model="minilm", input=[QUERY, *DOCUMENTS]).usage.total_tokens
    assert answer["usage"]["total_tokens"] == answer["meta"]["tokens"]["input_tokens"] == one


@pytest.mark.parametrize("path", ["/score", "/v1/score"])
def test_pairs(embedder, path):
    want = cosines(embedder)
    many = post(embedder, path, text_1=QUERY, text_2=DOCUMENTS).json()
    assert many["object"] == "list" and [row["index"] for row in many["data"]] == [0, 1, 2]
    assert all(abs(row["score"] - score) < 1e-5 for row, score in zip(many["data"], want))
    pairs = post(embedder, path, text_1=[QUERY, DOCUMENTS[0]], text_2=[DOCUMENTS[1], DOCUMENTS[0]]).json()
    assert abs(pairs["data"][0]["score"] - want[1]) < 1e-5 and abs(pairs["data"][1]["score"] - 1) < 1e-5
    assert len(post(embedder, path, text_1=QUERY, text_2=DOCUMENTS[0]).json()["data"]) == 1
    wrong = post(embedder, path, text_1=DOCUMENTS, text_2=QUERY)
    assert wrong.status_code == 400 and wrong.json()["error"]["param"] == "text_1"


def test_long_documents_are_cut_only_on_request(embedder):
    documents = [DOCUMENTS[1], "Paris " * 2000]
    refused = post(embedder, "/v1/rerank", query=QUERY, documents=documents).json()["error"]
    assert refused["code"] == "context_length_exceeded" and refused["param"] == "documents[1]"
    assert post(embedder, "/v1/rerank", query=QUERY, documents=documents, truncate_prompt_tokens=-1).status_code == 200


def test_tokens_are_metered(embedder):
    def used():
        return embedder.metric("llm_tokens_total", model="minilm", kind="prompt")

    before = used()
    answer = post(embedder, "/v1/rerank", query=QUERY, documents=DOCUMENTS).json()
    assert used() - before == answer["usage"]["total_tokens"]
    assert embedder.client().models.retrieve("minilm").model_dump()["score_method"] == "cosine"
