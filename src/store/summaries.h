#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace kvasir::store {

// A model's summary of the beginning of a conversation. The key is a digest of everything that it depends on.
struct Summary {
  std::string key;
  std::string text;
  std::int64_t created_ms = 0;
};

// A durable cache of bounded size: the oldest summaries are dropped. Calls block and are thread-safe.
class Summaries {
 public:
  virtual ~Summaries() = default;

  virtual base::Result<std::optional<Summary>> find(const std::string& key) = 0;
  virtual base::Status put(const Summary& summary) = 0;
};

inline constexpr int kMaxSummaries = 10'000;

}  // namespace kvasir::store
