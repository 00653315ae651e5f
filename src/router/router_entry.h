#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "router/router.h"

namespace kvasir::router {

// A model's name, state and workers. Only the router's own files include this.
struct Router::Entry {
  Entry(std::string name_in, const std::shared_ptr<UseListener>& listener, const PoolOptions& options,
        const base::Clock& clock)
      : name(std::move(name_in)),
        uses(std::make_shared<Use::Count>(name, listener)),
        pool(name, options, clock) {}

  const std::string name;
  std::int64_t created_s = 0;
  const std::shared_ptr<Use::Count> uses;
  Pool pool;  // used by a model that generates
  const std::shared_ptr<PoolFailures> failures = std::make_shared<PoolFailures>();
  ModelState state;             // guarded by the router's mutex
  std::optional<AnyText> text;  // guarded by the router's mutex; set while ready or leaving
  std::vector<std::shared_ptr<EmbedMember>>
      embedders;       // guarded by the router's mutex; used by a model that makes vectors
  ModelMemory memory;  // guarded by the router's mutex

  // Has a text, and a worker for it.
  bool is_loaded() const { return text && (!embedders.empty() || !pool.members()->empty()); }
};

}  // namespace kvasir::router
