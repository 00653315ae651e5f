#include "api/http/model_pulls.h"

#include <utility>

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr std::size_t kMaxNotes = 64;  // that nobody has looked at

}  // namespace

ModelPulls::Pull::Progress ModelPulls::Pull::look() {
  const std::lock_guard lock(mutex_);
  Progress now = progress_;
  progress_.notes.clear();
  return now;
}

void ModelPulls::Pull::bytes(std::string_view, std::uint64_t done, std::uint64_t total) {
  const std::lock_guard lock(mutex_);
  progress_.done = done;
  progress_.total = total;
}

void ModelPulls::Pull::note(std::string_view, std::string_view sentence) {
  const std::lock_guard lock(mutex_);
  if (progress_.notes.size() < kMaxNotes) progress_.notes.emplace_back(sentence);
}

void ModelPulls::Pull::run(hub::PullOptions options) {
  options.stop = stop_.get_token();
  const auto path = hub::pull(entry_, options, *this);
  const std::lock_guard lock(mutex_);
  progress_.ended = path.ok() ? base::ok() : base::Status(path.error());
}

Result<std::shared_ptr<ModelPulls::Pull>> ModelPulls::begin(const std::string& name) {
  const hub::Entry* entry = options_.catalogue == nullptr ? nullptr : options_.catalogue->find(name);
  if (entry == nullptr) {
    const std::string meant = options_.catalogue == nullptr ? "" : options_.catalogue->nearest(name);
    return Error{ErrorCode::not_found,
                 fmt::format("pull model manifest: no catalogue of this server has a model '{}'{}", name,
                             meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant)),
                 "model", "model_not_found"};
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(running_, [](const Running& one) { return one.pull->over_.load(); });
  if (stopped_ || running_.size() >= options_.max_pulls)
    return Error{.code = ErrorCode::unavailable,
                 .message = "other models are being pulled; try again when they are here",
                 .reason = "server_overloaded",
                 .retry_after_s = 10};
  auto pull = std::make_shared<Pull>(*entry);
  running_.push_back({pull, std::jthread([pull, options = options_.pull] {
                        pull->run(options);
                        pull->over_ = true;
                      })});
  return pull;
}

void ModelPulls::stop() {
  std::vector<Running> running;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    running = std::exchange(running_, {});
  }
  for (const Running& one : running) one.pull->give_up();
}

}  // namespace kvasir::api
