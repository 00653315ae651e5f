#pragma once

#include <cstdint>
#include <string>

#include "wire/generate_request.h"
#include "wire/token_event.h"

namespace kvasir::router {

// An answer that ended well, as one member of a pool has given it.
struct GivenAnswer {
  std::string model;
  std::uint64_t version = 0;  // of the model's text
  std::string member;
  wire::GenerateRequest request;  // with the answer as `resumed`
  wire::FinishReason finish = wire::FinishReason::stop;
};

// Who wants to see some of the answers. Thread-safe.
class AnswerListener {
 public:
  virtual ~AnswerListener() = default;
  // Whether the answer that has just ended is wanted. Asked once for each.
  virtual bool wants_answer() = 0;
  // Never waits.
  virtual void on_answer(GivenAnswer answer) = 0;
};

}  // namespace kvasir::router
