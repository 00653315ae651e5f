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

// What somebody wants of a model that is not in memory.
struct Wish {
  std::int64_t bytes = 0;       // that it takes in memory; estimated
  bool must_fetch = false;      // its files are not here
  bool loads = true;            // false: its files are only fetched
  bool stays = false;           // never leaves by itself
  bool ignores_budget = false;  // loads whatever others take
  bool loads_beside = false;    // loads while others load
};

// Which models are in memory, on their way there, or leaving: the decisions alone. What happens is told by
// the methods, and `next` says what to do about it. One load runs at a time, in the order in which the files
// were there. A model leaves only when nobody uses it. Touched by one thread at a time; the clock is an
// argument.
class Residents {
 public:
  struct Options {
    std::int64_t budget_bytes = 0;
    bool makes_room = false;                             // models that nobody uses leave for others
    base::Duration max_wait = std::chrono::seconds(60);  // for models in use to become free
  };
  explicit Residents(Options options) : options_(options) {}

  enum class Stage : std::uint8_t {
    absent,    // not in memory, and nothing is done about it
    fetching,  // its files come
    waiting,   // for its turn and for room
    loading,
    ready,
    leaving,  // takes no new requests
    failed,   // not in memory; the error is kept
  };
  enum class Deed : std::uint8_t {
    fetch,
    load,
    stop_taking,  // new requests
    release,      // end what runs of its loading, free its memory, then call released()
  };
  struct Action {
    Deed deed;
    std::string name;
  };
  using Asks = std::function<bool(const std::string& name)>;

  // Does nothing if the wish is on its way already. A model that leaves comes back when it has left.
  void want(const std::string& name, const Wish& wish);
  // The model leaves when those who use it have ended. False: it was not there.
  bool unwant(const std::string& name);
  // It is not called again for the same action.
  void fetched(const std::string& name, std::int64_t bytes);
  // False: nobody wants it any more, and it is going to be released.
  bool loaded(const std::string& name, std::int64_t bytes);
  void failed(const std::string& name, base::Error error);
  void released(const std::string& name);
  void used(const std::string& name);
  // Nothing is wanted any more, and nothing is done.
  void stop() { stopped_ = true; }

  // What is to be done now. `is_idle`: no request uses the model; `is_spare`: nor waits for it.
  std::vector<Action> next(base::TimePoint now, const Asks& is_idle, const Asks& is_spare);
  // When `next` should be called at the latest.
  std::optional<base::TimePoint> deadline() const;

  Stage stage(const std::string& name) const;
  // Whether it is going to be ready, or could not be loaded, without another wish.
  bool is_coming(const std::string& name) const;
  // Why the model failed; there from the moment that it did.
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
    bool told = false;          // leaving: to take no new requests
    bool still_loads = false;   // leaving: its load is given up, and has not ended
    std::optional<Wish> again;  // once it has left
    std::optional<base::Error> error;
    std::uint64_t turn = 0;                      // of waiting
    std::uint64_t last_used = 0;                 // of ready models
    std::optional<base::TimePoint> gives_up_at;  // waiting for room

    bool takes_memory() const;
  };
  // What becomes of a model that waits for room.
  enum class Room : std::uint8_t { there, comes, none };

  void begin(const std::string& name, const Wish& wish);
  void leave(Record& record);
  void admit(base::TimePoint now, const Asks& is_spare, std::vector<Action>& actions);
  // Sends idle models away where that makes enough room.
  Room make_room(const std::string& name, Record& record, base::TimePoint now, const Asks& is_spare);
  bool may_load_now(const Record& record) const;
  std::int64_t taken_beside(const std::string& name) const;
  // The same of models that may leave.
  std::int64_t taken_by_passing(const std::string& name) const;
  base::Error no_room(const std::string& name, const Record& record, base::TimePoint now) const;

  const Options options_;
  std::map<std::string, Record> records_;
  std::uint64_t counter_ = 0;
  bool stopped_ = false;
};

// Megabytes, as errors and logs write them.
std::string megabytes(std::int64_t bytes);
// A model that no memory of this server could hold.
base::Error larger_than_all(const std::string& name, std::int64_t bytes, std::int64_t budget_bytes);

}  // namespace kvasir::router
