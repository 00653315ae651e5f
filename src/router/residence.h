#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hub/library.h"
#include "router/host.h"
#include "router/residents.h"
#include "router/router.h"

namespace kvasir::router {

// Called whenever a model's state changes, on any thread. A failure is reported only for a model of the
// start.
using OnModelState = std::function<void(const std::string& name, const ModelState& state)>;

// Loads and unloads models, and keeps the router's list of them up to date. A thread of its own carries out
// what Residents decides; hosts load on their own threads. Thread-safe. The router, the loader, the library
// and the clock outlive it.
class Residence final : public HostReports {
 public:
  struct Options {
    Residents::Options memory = {};
    bool loads_on_request = false;
    bool pulls_on_request = false;    // also fetches missing files
    bool loads_side_by_side = false;  // models of the start, if they divide a GPU's memory
    base::Duration retry_after = std::chrono::seconds(30);  // until a request may load a failed model again
    base::Duration max_wait = std::chrono::seconds(300);    // for a request to wait for its model
    std::size_t max_waiting = 512;                          // requests
    OnModelState on_state = {};
  };
  struct Parts {
    Router& router;
    Loader& loader;
    const hub::Library& library;
    const base::Clock& clock;
  };

  Residence(Options options, Parts parts);
  ~Residence() override;
  Residence(const Residence&) = delete;
  Residence& operator=(const Residence&) = delete;

  // Adds the models of the start: the router knows them from now on, and they leave only when unloaded by
  // name. start() begins to load them.
  void add(const std::vector<hub::Model>& models);
  void start();
  // Ends all loading, and ends the engines' requests with an error. The models stay in memory until the
  // destructor.
  void stop();

  // The next four functions read the disk. not_found: the message suggests similar names; unsupported: this
  // server cannot serve the model. `load` and `pull` return when the work is on its way or done.
  base::Result<hub::Model> find(const std::string& name) const;
  base::Status load(const std::string& name);
  base::Status pull(const std::string& name);
  base::Status unload(const std::string& name);
  // Loads the model for a request. unavailable: its last load failed a moment ago, or its files are not here.
  base::Status request(const std::string& name);
  // All models that could be loaded: those of the start, of the catalogue and of the model folder.
  std::vector<hub::Model> known() const;

  struct Standing {
    Residents::Stage stage = Residents::Stage::absent;
    ModelState state = {.phase = Phase::unloaded};
    bool comes = false;                     // will become ready or fail without another request
    std::optional<base::Error> error = {};  // why it failed
  };
  Standing standing(const std::string& name) const;
  bool stays(const std::string& name) const;
  // Counts the models on their way in or out too.
  int num_in_memory() const;
  std::int64_t budget_bytes() const { return options_.memory.budget_bytes; }
  const Options& options() const { return options_; }

  // Calls `on_change` whenever the model's state changes, while the watch lives. A waiting request keeps the
  // model from being unloaded to make room for another. Null: there are too many watches.
  enum class Watcher : std::uint8_t { onlooker, waiting_request };
  class Watch;
  std::unique_ptr<Watch> watch(const std::string& name, Watcher who, std::function<void()> on_change);

  void tell_state(const std::string& name, ModelState state) override;
  void tell_fetched(const std::string& name, std::int64_t bytes) override;
  void tell_ready(const std::string& name, ServedModel model, ModelMemory memory, std::string note) override;
  void tell_failed(const std::string& name, base::Error error) override;
  void tell_engine_failed(const std::string& name, const base::Error& error) override;

 private:
  struct Watched {
    std::string name;
    Watcher who;
    std::function<void()> on_change;
  };
  using Lock = std::unique_lock<std::mutex>;

  void want(const hub::Model& model, Wish wish);
  // not_found: no model has this name. Looks at the model folder once a second at most.
  base::Status look_up(const std::string& name);
  void loop();
  void carry_out(const Residents::Action& action, Lock& lock);
  void stop_taking(const std::string& name, Lock& lock);
  void release(const std::string& name, Lock& lock);
  Host& host_of(const std::string& name, const Lock& lock);
  bool is_spare(const std::string& name) const;
  void changed(const std::string& name, const Lock& lock);
  // Calls the watchers, and then `on_state` without the lock.
  void tell(const std::string& name, const ModelState& state, Lock& lock);

  const Options options_;
  const Parts parts_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool has_news_ = false;                               // guarded by mutex_
  bool stopping_ = false;                               // guarded by mutex_
  Residents residents_;                                 // guarded by mutex_
  std::map<std::string, hub::Model> models_;            // guarded by mutex_; wanted, or of the start
  std::map<std::string, hub::Model> started_with_;      // set by add(), then only read
  std::map<std::string, base::TimePoint> failed_at_;    // guarded by mutex_
  std::set<std::string, std::less<>> in_folder_;        // guarded by mutex_; models of the model folder
  std::optional<base::TimePoint> looked_at_;            // guarded by mutex_; when the folder was read
  std::map<std::uint64_t, Watched> watched_;            // guarded by mutex_
  std::uint64_t num_watches_ = 0;                       // guarded by mutex_
  std::map<std::string, std::unique_ptr<Host>> hosts_;  // touched by the thread; by stop() after its end
  std::thread thread_;
};

class Residence::Watch {
 public:
  Watch(Residence& residence, std::uint64_t number) : residence_(residence), number_(number) {}
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Residence& residence_;
  const std::uint64_t number_;
};

}  // namespace kvasir::router
