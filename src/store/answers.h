#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/page.h"

namespace kvasir::store {

// An answer that a client may ask for again, or go on from.
struct StoredAnswer {
  std::string id;
  std::string tenant;
  std::string kind;         // "response", "chat.completion"
  std::string previous_id;  // the answer that it went on from; empty: none
  std::int64_t created_ms = 0;
  std::int64_t expires_ms = 0;  // 0: never
  std::string input;            // JSON, as the endpoint wants it
  std::string body;             // JSON, the answer itself
};

inline constexpr std::size_t kMaxChainBytes = std::size_t{32} << 20;  // of the inputs and bodies together

// Whatever has returned is durable. An answer that has expired by `now_ms` is not there. Calls block and are
// thread-safe.
class Answers {
 public:
  virtual ~Answers() = default;

  // Replaces the one with the same id and tenant; the id of another tenant's answer is a conflict.
  virtual base::Status put(const StoredAnswer& answer) = 0;
  virtual base::Result<StoredAnswer> find(const Key& key, std::int64_t now_ms) = 0;
  // The answer after all those that it went on from, the first one first; at most `max_length` and of at
  // most kMaxChainBytes, else too_large. not_found where one of them is gone.
  virtual base::Result<std::vector<StoredAnswer>> chain(const Key& key, std::int64_t now_ms,
                                                        int max_length) = 0;
  virtual base::Result<Page<StoredAnswer>> list(const std::string& tenant, const std::string& kind,
                                                const PageQuery& query) = 0;
  virtual base::Status remove(const Key& key) = 0;
  virtual base::Result<int> remove_expired(std::int64_t now_ms) = 0;
};

}  // namespace kvasir::store
