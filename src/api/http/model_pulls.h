#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "hub/catalogue.h"
#include "hub/pull.h"

namespace kvasir::api {

// Fetches models into the model folder for clients, each on a thread of its own. Thread-safe. Outlives the
// handlers that it serves.
class ModelPulls {
 public:
  struct Options {
    const hub::Catalogue* catalogue = nullptr;  // outlives the pulls; null: nothing can be pulled
    hub::PullOptions pull = {};                 // without its `stop`
    std::size_t max_pulls = 4;                  // at once
  };

  // One pull, which goes on until it ends or is given up. Thread-safe.
  class Pull final : public hub::ProgressSink {
   public:
    explicit Pull(const hub::Entry& entry) : entry_(entry) {}

    struct Progress {
      std::uint64_t done = 0;
      std::uint64_t total = 0;            // 0: not known yet
      std::vector<std::string> notes;     // since the last look
      std::optional<base::Status> ended;  // absent while it runs
    };
    Progress look();
    // Ends it soon. What was fetched is kept for the next pull.
    void give_up() { stop_.request_stop(); }
    const hub::Entry& entry() const { return entry_; }

    void bytes(std::string_view model, std::uint64_t done, std::uint64_t total) override;
    void note(std::string_view model, std::string_view sentence) override;

   private:
    friend class ModelPulls;
    void run(hub::PullOptions options);

    const hub::Entry& entry_;
    std::stop_source stop_;
    std::atomic<bool> over_ = false;  // its thread does nothing more
    std::mutex mutex_;
    Progress progress_;  // guarded by mutex_
  };

  explicit ModelPulls(Options options) : options_(std::move(options)) {}
  ~ModelPulls() { stop(); }
  ModelPulls(const ModelPulls&) = delete;
  ModelPulls& operator=(const ModelPulls&) = delete;

  // not_found: no catalogue has the model; unavailable: too many pulls run.
  base::Result<std::shared_ptr<Pull>> begin(const std::string& name);
  // Gives all pulls up and waits for their threads. None begins after this.
  void stop();

 private:
  struct Running {
    std::shared_ptr<Pull> pull;
    std::jthread thread;
  };

  const Options options_;
  std::mutex mutex_;
  bool stopped_ = false;          // guarded by mutex_
  std::vector<Running> running_;  // guarded by mutex_
};

}  // namespace kvasir::api
