#include "api/http/wait/lobby.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <set>
#include <tuple>
#include <utility>

namespace kvasir::api {

namespace asio = boost::asio;

struct Lobby::Place {
  Place(Guest guest_in, const asio::any_io_executor& executor)
      : guest(std::move(guest_in)), timer(executor) {}

  const Guest guest;
  double start = 0;  // orders the line: cost that its flow was served before it, per weight
  std::uint64_t number = 0;
  asio::steady_timer timer;  // touched on its executor only
};

bool Lobby::Order::operator()(const std::shared_ptr<Place>& a, const std::shared_ptr<Place>& b) const {
  return std::tuple(-a->guest.priority, a->start, a->number) <
         std::tuple(-b->guest.priority, b->start, b->number);
}

struct Lobby::Line {
  std::set<std::shared_ptr<Place>, Order> waiting;
  std::map<std::string, double> finish;  // by flow: the start of its next request
  double now = 0;                        // the highest start of a request that has left as the first

  // Moves `now` on and forgets the flows that would start there anyway, so that `finish` stays small.
  void move_on(double start) {
    now = std::max(now, start);
    if (finish.size() > 2 * waiting.size())
      std::erase_if(finish, [this](const auto& flow) { return flow.second <= now; });
  }
};

Lobby::Lobby(std::size_t max_waiting) : max_waiting_(max_waiting) {}
Lobby::~Lobby() = default;

std::unique_ptr<Lobby::Ticket> Lobby::join(Guest guest, const asio::any_io_executor& executor) {
  auto place = std::make_shared<Place>(std::move(guest), executor);
  const std::lock_guard lock(mutex_);
  if (num_waiting_ >= max_waiting_) return nullptr;
  ++num_waiting_;
  place->number = num_joined_++;
  Line& line = lines_[place->guest.model];
  double& finish = line.finish[place->guest.flow];
  place->start = std::max(line.now, finish);
  finish = place->start + static_cast<double>(place->guest.cost) / std::max(1, place->guest.weight);
  line.waiting.insert(place);
  return std::unique_ptr<Ticket>(new Ticket(*this, std::move(place)));
}

bool Lobby::has_line(const std::string& model, int priority) const {
  const std::lock_guard lock(mutex_);
  const auto line = lines_.find(model);
  return line != lines_.end() && (*line->second.waiting.begin())->guest.priority >= priority;
}

std::size_t Lobby::num_waiting() const {
  const std::lock_guard lock(mutex_);
  return num_waiting_;
}

std::map<int, int> Lobby::waiting(const std::string& model) const {
  std::map<int, int> counts;
  const std::lock_guard lock(mutex_);
  if (const auto line = lines_.find(model); line != lines_.end())
    for (const std::shared_ptr<Place>& place : line->second.waiting) ++counts[place->guest.priority];
  return counts;
}

void Lobby::leave(const std::shared_ptr<Place>& place) {
  std::shared_ptr<Place> next;
  {
    const std::lock_guard lock(mutex_);
    const auto found = lines_.find(place->guest.model);
    Line& line = found->second;
    const bool was_first = *line.waiting.begin() == place;
    if (was_first) line.move_on(place->start);
    line.waiting.erase(place);
    --num_waiting_;
    if (line.waiting.empty())
      lines_.erase(found);
    else if (was_first)
      next = *line.waiting.begin();
  }
  if (next) asio::post(next->timer.get_executor(), [next] { next->timer.cancel(); });
}

Lobby::Ticket::~Ticket() {
  lobby_.leave(place_);
}

bool Lobby::Ticket::is_first() const {
  const std::lock_guard lock(lobby_.mutex_);
  return *lobby_.lines_.at(place_->guest.model).waiting.begin() == place_;
}

asio::awaitable<void> Lobby::Ticket::wait(base::Duration wait) {
  place_->timer.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(wait));
  boost::system::error_code ignored;
  co_await place_->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

void Lobby::Ticket::cancel() {
  place_->timer.cancel();
}

}  // namespace kvasir::api
