#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answer/model/await_model.h"
#include "api/answer/question/completion_request.h"
#include "api/http/json/fields.h"
#include "api/http/service/service.h"
#include "router/model_text.h"

namespace kvasir::api {

inline constexpr std::size_t kMaxEmbeddingInputs = 2048;  // per request, as with OpenAI

// The tokenized texts of one request for a model that makes vectors.
struct EmbedJob {
  // The constructor is for g++ 12; see net::HttpHeader.
  explicit EmbedJob(router::EmbedTextPtr model_in) : model(std::move(model_in)) {}

  router::EmbedTextPtr model;
  std::vector<std::vector<TokenId>> sequences;
  int num_tokens = 0;
};

// Helps to read a request for vectors. Used on any thread.
struct EmbedReading {
  const Service& service;
  const tenancy::Caller& caller;
  const std::stop_token& stop;

  base::Result<EmbedJob> job_for(std::string_view model) const;
  // Adds a text to the job. If `max_tokens` is given, only so many of its first tokens are used; otherwise a
  // text that is too long for the model is an error about `field`.
  base::Status add(EmbedJob& job, const TextOrTokens& text, std::string_view field,
                   std::optional<int> max_tokens = {}) const;
};

// A request that has been read. `write` makes the answer from the vectors [sequences, dimensions], which have
// length 1. It runs on any thread.
struct EmbedQuestion {
  using Write = std::function<json::object(const EmbedJob& job, std::vector<float> vectors)>;
  EmbedQuestion(EmbedJob job_in, std::vector<std::string> warnings_in, Write write_in)
      : job(std::move(job_in)), warnings(std::move(warnings_in)), write(std::move(write_in)) {}

  EmbedJob job;
  std::vector<std::string> warnings;  // about what is ignored; sent in the answer and its headers
  Write write;
};
using ReadEmbedQuestion = base::Result<EmbedQuestion> (*)(json::object body, const EmbedReading& reading);

// How many tokens of a text are used. By default a text that is too long is an error.
struct TextCut {
  std::optional<int> max_tokens;  // -1: as many as the model takes

  std::optional<int> for_model(const router::EmbedText& model) const {
    return max_tokens == -1 ? model.context_length : max_tokens;
  }
};

// Reads vLLM's `truncate_prompt_tokens`.
base::Status read_cut(const json::value& value, TextCut& cut);
inline constexpr std::string_view kCutSchema =
    R"({"type": "integer", "anyOf": [{"const": -1}, {"minimum": 1, "maximum": 2147483647}],
        "description": "Only so many tokens of each text are read; -1: as many as the model takes."})";

// The first `to` numbers of each of `vectors` [_, from], scaled to length 1 again.
std::vector<float> shorter_vectors(const std::vector<float>& vectors, int from, int to);

// Answers a request by the vectors of its texts: reads it, admits it, has the vectors computed, and meters
// them. A job without sequences is answered at once.
boost::asio::awaitable<void> answer_by_vectors(Service& service, Exchange& exchange, ReadEmbedQuestion read,
                                               MeantModel meant = nullptr);

}  // namespace kvasir::api
