#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace kvasir::router {

// What is wanted of a model that is not in memory.
struct Wish {
  std::int64_t bytes = 0;       // estimate of what it takes in memory
  bool must_fetch = false;      // its files are not here
  bool loads = true;            // false: its files are only fetched
  bool stays = false;           // never leaves by itself
  bool ignores_budget = false;  // loads regardless of what others take
  bool loads_beside = false;    // loads while others load
};

// Decides which models load into memory and which leave; carries out nothing itself. The caller reports
// events through the methods, and `next` says what to do. One load runs at a time (but see
// Wish::loads_beside), in the order in which the files were complete. A model leaves only when no request
// uses it. Touched by one thread at a time; the time is an argument.
class Residents {
 public:
  struct Options {
    std::int64_t budget_bytes = 0;
    bool makes_room = false;                             // unused models leave for others
    base::Duration max_wait = std::chrono::seconds(60);  // until models in use become free
  };
  explicit Residents(Options options) : options_(options) {}

  enum class Stage : std::uint8_t {
    absent,    // not in memory, and nothing is done about it
    fetching,  // its files are being fetched
    waiting,   // for its turn to load and for room
    loading,
    ready,
    leaving,  // takes no new requests
    failed,   // not in memory; the error is kept
  };
  enum class Deed : std::uint8_t {
    fetch,
    load,
    stop_taking,  // new requests
    release,      // end its loading, free its memory, then call released()
  };
  struct Action {
    Deed deed;
    std::string name;
  };
  using Asks = std::function<bool(const std::string& name)>;

  // Does nothing if the model is loaded or on its way already. A leaving model is loaded again once it has
  // left.
  void want(const std::string& name, const Wish& wish);
  // Makes the model leave once its last request has ended. False: the model is unknown.
  bool unwant(const std::string& name);
  // The files are here and will take `bytes`. Ignored for a model that is not being fetched.
  void fetched(const std::string& name, std::int64_t bytes);
  // False: the model is not wanted any more, and will be released.
  bool loaded(const std::string& name, std::int64_t bytes);
  void failed(const std::string& name, base::Error error);
  void released(const std::string& name);
  void used(const std::string& name);
  // Ends everything: later wishes are ignored, and `next` returns nothing.
  void stop() { stopped_ = true; }

  // Returns what to do now. `is_idle`: no request uses the model; `is_spare`: no request uses it or waits for
  // it.
  std::vector<Action> next(base::TimePoint now, const Asks& is_idle, const Asks& is_spare);
  // When `next` should be called at the latest.
  std::optional<base::TimePoint> deadline() const;

  Stage stage(const std::string& name) const;
  // Whether the model will become ready or fail without another wish.
  bool is_coming(const std::string& name) const;
  // Why the model failed; set from the moment of the failure.
  std::optional<base::Error> error(const std::string& name) const;
  bool stays(const std::string& name) const;
  std::int64_t bytes(const std::string& name) const;
  // The sum over all models in memory or on their way in or out.
  std::int64_t used_bytes() const;
  int num_in_memory() const;
  const Options& options() const { return options_; }

 private:
  struct Record {
    Wish wish;
    Stage stage = Stage::waiting;
    bool begun = false;         // fetching, leaving: the stage's last action was given
    bool told = false;          // leaving: `stop_taking` was given
    bool still_loads = false;   // leaving: its load is given up, and has not ended
    std::optional<Wish> again;  // leaving: wanted again once it has left
    std::optional<base::Error> error;
    std::uint64_t turn = 0;                      // waiting: order of loading
    std::uint64_t last_used = 0;                 // ready: order of last use
    std::optional<base::TimePoint> gives_up_at;  // waiting for room

    bool takes_memory() const;
  };
  // What becomes of a model that waits for room.
  enum class Room : std::uint8_t { there, comes, none };

  void begin(const std::string& name, const Wish& wish);
  void leave(Record& record);
  void admit(base::TimePoint now, const Asks& is_spare, std::vector<Action>& actions);
  // Lets unused models leave if that makes enough room.
  Room make_room(const std::string& name, Record& record, base::TimePoint now, const Asks& is_spare);
  bool may_load_now(const Record& record) const;
  std::int64_t taken_beside(const std::string& name) const;
  // As above, for models that may leave by themselves.
  std::int64_t taken_by_passing(const std::string& name) const;
  base::Error no_room(const std::string& name, const Record& record, base::TimePoint now) const;

  const Options options_;
  std::map<std::string, Record> records_;
  std::uint64_t counter_ = 0;
  bool stopped_ = false;
};

// Formats a size for errors and logs.
std::string megabytes(std::int64_t bytes);
// The error for a model that is larger than the whole budget.
base::Error larger_than_all(const std::string& name, std::int64_t bytes, std::int64_t budget_bytes);

}  // namespace kvasir::router
