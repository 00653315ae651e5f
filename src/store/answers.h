#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/page.h"

namespace kvasir::store {

enum class AnswerState : std::uint8_t {
  complete,
  in_progress,  // a living process is generating it
  interrupted,  // the process that generated it is gone
};

// An answer that a client may fetch again or continue from.
struct StoredAnswer {
  std::string id;
  std::string tenant;
  std::string kind;         // "response", "chat.completion"
  std::string previous_id;  // the answer that it continues; empty: none
  std::int64_t created_ms = 0;
  std::int64_t expires_ms = 0;  // 0: never
  std::string input;            // JSON, in the endpoint's form
  std::string body;             // JSON, the answer itself
  AnswerState state = AnswerState::complete;
};

inline constexpr std::size_t kMaxChainBytes = std::size_t{32} << 20;  // inputs and bodies together

// Every change is durable once the call returns. Answers that have expired at `now_ms` are not found. Calls
// block and are thread-safe.
class Answers {
 public:
  virtual ~Answers() = default;

  // Replaces the tenant's answer with the same id. An id that belongs to another tenant is a conflict.
  virtual base::Status put(const StoredAnswer& answer) = 0;
  // Replaces the body and the state of an answer that this process is generating. not_found: it is not.
  virtual base::Status save(const StoredAnswer& answer) = 0;
  virtual base::Result<StoredAnswer> find(const Key& key, std::int64_t now_ms) = 0;
  // The answer and all answers that it continues, oldest first. too_large if there are more than `max_length`
  // answers or kMaxChainBytes. not_found if one of them is gone.
  virtual base::Result<std::vector<StoredAnswer>> chain(const Key& key, std::int64_t now_ms,
                                                        int max_length) = 0;
  // The ids of that chain, without the limit on bytes.
  virtual base::Result<std::vector<std::string>> chain_ids(const Key& key, std::int64_t now_ms,
                                                           int max_length) = 0;
  virtual base::Result<Page<StoredAnswer>> list(const std::string& tenant, const std::string& kind,
                                                const PageQuery& query) = 0;
  virtual base::Status remove(const Key& key) = 0;
  virtual base::Result<int> remove_expired(std::int64_t now_ms) = 0;
};

}  // namespace kvasir::store
