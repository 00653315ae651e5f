#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.h"

namespace kvasir::api {

// Requests that wait because a worker could not serve them in time now. Each model has a line: higher
// priorities come first, and the flows of one priority get weighted fair shares. Only the first in line may
// try again. Thread-safe; outlives its tickets.
class Lobby {
 public:
  explicit Lobby(std::size_t max_waiting);
  ~Lobby();

  struct Guest {
    std::string model;
    int priority = 0;
    std::string flow;
    int weight = 1;
    std::int64_t cost = 1;  // tokens
  };

  // A place in a line. Its destructor leaves the line. Used and destroyed on its executor.
  class Ticket;
  // Joins the model's line. Returns null if too many requests wait already.
  std::unique_ptr<Ticket> join(Guest guest, const boost::asio::any_io_executor& executor);

  // Whether a request of this priority would have to wait after others.
  bool has_line(const std::string& model, int priority) const;
  std::size_t num_waiting() const;
  // The number of requests that wait for a model, by priority.
  std::map<int, int> waiting(const std::string& model) const;

 private:
  struct Place;
  struct Order {
    bool operator()(const std::shared_ptr<Place>& a, const std::shared_ptr<Place>& b) const;
  };
  struct Line;

  void leave(const std::shared_ptr<Place>& place);

  const std::size_t max_waiting_;
  mutable std::mutex mutex_;
  std::map<std::string, Line> lines_;  // guarded by mutex_; by model; no line is empty
  std::size_t num_waiting_ = 0;        // guarded by mutex_
  std::uint64_t num_joined_ = 0;       // guarded by mutex_
};

class Lobby::Ticket {
 public:
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  bool is_first() const;
  // Returns when the ticket has become the first in its line, when `cancel` was called, or after `wait`.
  boost::asio::awaitable<void> wait(base::Duration wait);
  void cancel();

 private:
  friend class Lobby;
  Ticket(Lobby& lobby, std::shared_ptr<Place> place) : lobby_(lobby), place_(std::move(place)) {}

  Lobby& lobby_;
  const std::shared_ptr<Place> place_;
};

}  // namespace kvasir::api
