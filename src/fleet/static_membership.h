#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "fleet/membership.h"

namespace kvasir::fleet {

// The members in a TOML file (see read_worker_list), which is read again when it has changed. A file that
// cannot be read is logged, and the members stay as they are.
class StaticMembership final : public Membership {
 public:
  // Fails if the file cannot be read. Calls `on_members` before it returns, on the calling thread.
  static base::Result<std::unique_ptr<StaticMembership>> start(
      std::string path, OnMembers on_members,
      std::chrono::milliseconds interval = std::chrono::milliseconds(500));

 private:
  StaticMembership(std::string path, OnMembers on_members, std::chrono::milliseconds interval);
  void run(const std::stop_token& stop);
  void look();

  const std::string path_;
  const OnMembers on_members_;
  const std::chrono::milliseconds interval_;
  std::string seen_;                  // the file's mark at the last reading; touched by the thread
  std::vector<WorkerPlace> members_;  // the thread's
  std::jthread thread_;               // declared last: it ends before what it uses
};

}  // namespace kvasir::fleet
