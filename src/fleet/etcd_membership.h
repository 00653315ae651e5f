#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "fleet/etcd_client.h"
#include "fleet/membership.h"

namespace kvasir::fleet {

// The members that have registered in etcd (see EtcdRegistration). While etcd is out of reach, the last known
// members stay. If etcd comes back without them, as it may have lost its data, they have kGrace to register
// again.
class EtcdMembership final : public Membership {
 public:
  static constexpr std::chrono::seconds kGrace{10};

  EtcdMembership(EtcdOptions options, OnMembers on_members);
  ~EtcdMembership() override;

 private:
  struct Known {
    WorkerPlace place;
    std::optional<base::TimePoint> missing_since;  // in etcd
  };

  void run(const std::stop_token& stop);
  // Reads all present members. Returns etcd's revision.
  base::Result<std::int64_t> read_all(const std::stop_token& stop);
  void take(const EtcdClient::Event& event);
  void add(const std::string& key, const std::string& value);
  bool any_missing() const;
  void tell();

  EtcdClient client_;
  const OnMembers on_members_;
  std::map<std::string, Known> known_;            // by key; touched by the thread
  std::optional<std::vector<WorkerPlace>> told_;  // touched by the thread; the last list reported
  std::jthread thread_;                           // declared last: it ends before what it uses
};

}  // namespace kvasir::fleet
