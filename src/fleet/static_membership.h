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

// The members of a TOML file (see read_worker_list), which is read again when it has changed. A file that
// cannot be read is logged, and the members stay as they were.
class StaticMembership final : public Membership {
 public:
  // An error if the file cannot be read now. Tells the members before it returns, on the calling thread.
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
  std::string seen_;                  // what the file was when it was last read; the thread's
  std::vector<WorkerPlace> members_;  // the thread's
  std::jthread thread_;               // last: it ends before what it uses
};

}  // namespace kvasir::fleet
