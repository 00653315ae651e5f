#pragma once

#include <cstdint>
#include <string>

#include "wire/generate_request.h"
#include "wire/token_event.h"

namespace kvasir::router {

// An answer of one member of a pool, complete and without an error.
struct GivenAnswer {
  std::string model;
  std::uint64_t version = 0;  // of the model's text
  std::string member;
  wire::GenerateRequest request;  // with the answer as `resumed`
  wire::FinishReason finish = wire::FinishReason::stop;
};

// Receives some of the answers that members give, to check them. Thread-safe.
class AnswerListener {
 public:
  virtual ~AnswerListener() = default;
  // Whether the answer that has just ended is wanted. Called once for each answer.
  virtual bool wants_answer() = 0;
  // Must not block.
  virtual void on_answer(GivenAnswer answer) = 0;
};

}  // namespace kvasir::router
