#include "api/http/service/route.h"
#include "api/ranking/endpoints.h"

namespace kvasir::api {

namespace {

constexpr NamedSchema kRankingSchemas[] = {
    {"Reranking", R"({"type": "object", "required": ["id", "object", "model", "results", "usage", "meta"],
        "properties": {
          "id": {"type": "string"}, "object": {"const": "list"}, "model": {"type": "string"},
          "results": {"type": "array", "description": "The best document first.", "items": {
            "type": "object", "required": ["index", "relevance_score"], "properties": {
              "index": {"type": "integer", "minimum": 0},
              "relevance_score": {"type": "number", "minimum": -1, "maximum": 1,
                "description": "The cosine of the angle between the vectors of the query and the document."},
              "document": {"type": "object", "required": ["text"],
                           "properties": {"text": {"type": "string"}}}}}},
          "usage": {"type": "object", "required": ["prompt_tokens", "total_tokens"], "properties": {
            "prompt_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"}}},
          "meta": {"type": "object", "properties": {"tokens": {"type": "object", "properties": {
            "input_tokens": {"type": "integer"}}}}}}})"},
    {"ScoreList", R"({"type": "object", "required": ["id", "object", "created", "model", "data", "usage"],
        "properties": {
          "id": {"type": "string"}, "object": {"const": "list"}, "created": {"type": "integer"},
          "model": {"type": "string"},
          "data": {"type": "array", "items": {"type": "object", "required": ["index", "object", "score"],
            "properties": {"index": {"type": "integer", "minimum": 0}, "object": {"const": "score"},
              "score": {"type": "number", "minimum": -1, "maximum": 1,
                "description": "The cosine of the angle between the vectors of the two texts."}}}},
          "usage": {"type": "object", "required": ["prompt_tokens", "total_tokens"], "properties": {
            "prompt_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"}}}}})"},
};

constexpr Answer kReranking[] = {{200, "The documents, the best first.", "Reranking"}};
constexpr Answer kScores[] = {{200, "A score for each pair, in order.", "ScoreList"}};

constexpr Route rerank_at(std::string_view path, std::string_view summary) {
  return {.method = "POST",
          .path = path,
          .kind = RouteKind::work,
          .handle = handle_rerank,
          .summary = summary,
          .answers = kReranking,
          .body = rerank_request_schema};
}

constexpr Route score_at(std::string_view path, std::string_view summary) {
  return {.method = "POST",
          .path = path,
          .kind = RouteKind::work,
          .handle = handle_score,
          .summary = summary,
          .answers = kScores,
          .body = score_request_schema};
}

constexpr Route kRankingRoutes[] = {
    rerank_at("/v1/rerank", "Documents in the order of their likeness to a query"),
    rerank_at("/v2/rerank", "The same as /v1/rerank, where newer clients of Cohere look for it"),
    rerank_at("/rerank", "The same as /v1/rerank, where clients of vLLM look for it"),
    score_at("/v1/score", "The likeness of pairs of texts"),
    score_at("/score", "The same as /v1/score, where clients of vLLM look for it"),
};

}  // namespace

RouteGroup ranking_routes() {
  return {"Ranking", kRankingRoutes, kRankingSchemas};
}

}  // namespace kvasir::api
