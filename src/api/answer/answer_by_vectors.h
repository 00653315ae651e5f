#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answer/completion_request.h"
#include "api/http/fields.h"
#include "api/http/service.h"
#include "router/model_text.h"

namespace kvasir::api {

inline constexpr std::size_t kMaxEmbeddingInputs = 2048;  // per request, as with OpenAI

// The texts of one request for a model that makes vectors, tokenized.
struct EmbedJob {
  // A constructor for g++ 12; see net::HttpHeader.
  explicit EmbedJob(router::EmbedTextPtr model_in) : model(std::move(model_in)) {}

  router::EmbedTextPtr model;
  std::vector<std::vector<TokenId>> sequences;
  int num_tokens = 0;
};

// What reads a request for vectors, on any thread.
struct EmbedReading {
  const Service& service;
  const tenancy::Caller& caller;
  const std::stop_token& stop;

  base::Result<EmbedJob> job_for(std::string_view model) const;
  // Adds a text to the job. Only its first `max_tokens` are taken, if that is given; otherwise a text that is
  // too long for the model is an error about `field`.
  base::Status add(EmbedJob& job, const TextOrTokens& text, std::string_view field,
                   std::optional<int> max_tokens = {}) const;
};

// A request that has been read. `write` makes the body of the answer from the vectors of length 1
// [sequences, dimensions], on any thread.
struct EmbedQuestion {
  using Write = std::function<std::string(const EmbedJob& job, std::vector<float> vectors)>;
  EmbedQuestion(EmbedJob job_in, Write write_in) : job(std::move(job_in)), write(std::move(write_in)) {}

  EmbedJob job;
  Write write;
};
using ReadEmbedQuestion = base::Result<EmbedQuestion> (*)(json::object body, const EmbedReading& reading);

// The first `to` numbers of each of `vectors` [_, from], made to be of length 1 again.
std::vector<float> shorter_vectors(const std::vector<float>& vectors, int from, int to);

// Answers a request by the vectors of its texts: reads it, admits it, has them computed, and meters them. A
// job without sequences is written at once.
// `models`: those that are loaded, or those too that a request may have loaded (see await_model.h).
enum class VectorModels : std::uint8_t { on_request, loaded };
boost::asio::awaitable<void> answer_by_vectors(Service& service, Exchange& exchange, ReadEmbedQuestion read,
                                               VectorModels models = VectorModels::on_request);

}  // namespace kvasir::api
