#pragma once

#include <memory>
#include <string>
#include <utility>

#include "router/member.h"
#include "router/route.h"
#include "router/use.h"

namespace kvasir::router {

// A request's hold on a member of a pool. It counts as load until it dies. A move-only value.
template <class Client>
class Lease {
 public:
  Lease(std::shared_ptr<Member<Client>> member, Use use, Route route = {})
      : use_(std::move(use)), member_(std::move(member)), route_(std::move(route)) {
    member_->begin_lease();
  }
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) = delete;
  ~Lease() {
    if (member_) member_->end_lease();
  }

  Client& worker() const { return *member_->worker; }
  // The member's id in the pool.
  const std::string& member() const { return member_->id; }
  // Why this member was picked.
  const Route& route() const { return route_; }

 private:
  Use use_;                                 // ends last
  std::shared_ptr<Member<Client>> member_;  // null once moved from
  Route route_;
};

using WorkerLease = Lease<seam::WorkerClient>;
using EmbedLease = Lease<seam::EmbedClient>;

}  // namespace kvasir::router
