#include "fleet/static_membership.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "obs/log.h"

namespace kvasir::fleet {

namespace {

// A text that changes whenever the file is written or replaced.
std::string mark_of(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return fmt::format("error {}", errno);
  return fmt::format("{} {} {} {}.{}", info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

base::Result<std::vector<WorkerPlace>> read_sorted(const std::string& path) {
  TRY(std::vector<WorkerPlace> members, read_worker_list(path));
  std::ranges::sort(members, {}, &WorkerPlace::id);
  return members;
}

}  // namespace

StaticMembership::StaticMembership(std::string path, OnMembers on_members, std::chrono::milliseconds interval)
    : path_(std::move(path)), on_members_(std::move(on_members)), interval_(interval) {}

base::Result<std::unique_ptr<StaticMembership>> StaticMembership::start(std::string path,
                                                                        OnMembers on_members,
                                                                        std::chrono::milliseconds interval) {
  std::unique_ptr<StaticMembership> membership(
      new StaticMembership(std::move(path), std::move(on_members), interval));
  membership->seen_ = mark_of(membership->path_);
  TRY(membership->members_, read_sorted(membership->path_));
  membership->on_members_(membership->members_);
  membership->thread_ =
      std::jthread([self = membership.get()](const std::stop_token& stop) { self->run(stop); });
  return membership;
}

void StaticMembership::run(const std::stop_token& stop) {
  std::mutex unused;
  std::unique_lock lock(unused);
  while (!stop.stop_requested()) {
    std::condition_variable_any().wait_for(lock, stop, interval_, [] { return false; });
    if (!stop.stop_requested()) look();
  }
}

void StaticMembership::look() {
  std::string mark = mark_of(path_);
  if (mark == seen_) return;
  seen_ = std::move(mark);
  auto members = read_sorted(path_);
  if (!members.ok()) {
    obs::Log::warn("workers_unreadable", {{"file", path_}, {"reason", members.error().message}});
    return;
  }
  if (*members == members_) return;
  members_ = *std::move(members);
  on_members_(members_);
}

}  // namespace kvasir::fleet
