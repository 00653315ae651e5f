#include "router/residents.h"

#include <algorithm>
#include <utility>

namespace kvasir::router {

using base::Error;
using base::ErrorCode;

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1 << 20));
}

Error larger_than_all(const std::string& name, std::int64_t bytes, std::int64_t budget_bytes) {
  return {.code = ErrorCode::invalid_argument,
          .message = fmt::format("'{}' takes about {} and models may take {} in all (model_memory_mb)", name,
                                 megabytes(bytes), megabytes(budget_bytes)),
          .field = "model",
          .reason = "model_too_large"};
}

bool Residents::Record::takes_memory() const {
  return stage == Stage::ready || stage == Stage::leaving || stage == Stage::loading;
}

void Residents::want(const std::string& name, const Wish& wish) {
  if (stopped_) return;
  const auto found = records_.find(name);
  if (found == records_.end()) return begin(name, wish);
  Record& record = found->second;
  switch (record.stage) {
    case Stage::failed:
      return begin(name, wish);
    case Stage::leaving:
      if (wish.loads) record.again = wish;
      return;
    case Stage::fetching:
      record.wish.loads = record.wish.loads || wish.loads;
      return;
    default:
      return;
  }
}

void Residents::begin(const std::string& name, const Wish& wish) {
  Record record{.wish = wish};
  record.stage = wish.must_fetch ? Stage::fetching : Stage::waiting;
  record.turn = ++counter_;
  if (!wish.must_fetch && !wish.loads) {
    records_.erase(name);
    return;
  }
  records_[name] = std::move(record);
}

void Residents::leave(Record& record) {
  record.stage = Stage::leaving;
  record.begun = false;
  record.told = false;
  record.gives_up_at.reset();
}

bool Residents::unwant(const std::string& name) {
  const auto found = records_.find(name);
  if (found == records_.end()) return false;
  Record& record = found->second;
  switch (record.stage) {
    case Stage::failed:
      records_.erase(found);
      return true;
    case Stage::leaving:
      record.again.reset();
      record.error.reset();
      return true;
    default:
      record.still_loads = record.stage == Stage::loading;
      leave(record);
      return true;
  }
}

void Residents::fetched(const std::string& name, std::int64_t bytes) {
  const auto found = records_.find(name);
  if (found == records_.end() || found->second.stage != Stage::fetching) return;
  Record& record = found->second;
  if (!record.wish.loads) return leave(record);
  record.stage = Stage::waiting;
  record.turn = ++counter_;
  record.wish.bytes = bytes;
}

bool Residents::loaded(const std::string& name, std::int64_t bytes) {
  const auto found = records_.find(name);
  if (found == records_.end() || found->second.stage != Stage::loading) return false;
  found->second.stage = Stage::ready;
  found->second.wish.bytes = bytes;
  found->second.last_used = ++counter_;
  return true;
}

void Residents::failed(const std::string& name, Error error) {
  const auto found = records_.find(name);
  if (found == records_.end()) return;
  Record& record = found->second;
  if (record.stage != Stage::fetching && record.stage != Stage::loading && record.stage != Stage::waiting)
    return;
  leave(record);
  record.error = std::move(error);
}

void Residents::released(const std::string& name) {
  const auto found = records_.find(name);
  CHECK(found != records_.end() && found->second.stage == Stage::leaving && found->second.begun,
        "{} was released and not leaving", name);
  Record& record = found->second;
  if (record.again && !stopped_) {
    const Wish wish = *record.again;
    return begin(name, wish);
  }
  if (!record.error) {
    records_.erase(found);
    return;
  }
  record.stage = Stage::failed;
}

void Residents::used(const std::string& name) {
  if (const auto found = records_.find(name); found != records_.end()) found->second.last_used = ++counter_;
}

std::vector<Residents::Action> Residents::next(base::TimePoint now, const Asks& is_idle,
                                               const Asks& is_spare) {
  std::vector<Action> actions;
  if (stopped_) return actions;
  for (auto& [name, record] : records_) {
    if (record.stage != Stage::fetching || std::exchange(record.begun, true)) continue;
    actions.push_back({Deed::fetch, name});
  }
  admit(now, is_spare, actions);
  for (auto& [name, record] : records_) {
    if (record.stage != Stage::leaving || record.begun) continue;
    // Idleness is checked only after this, when no new request can begin to use the model.
    if (!std::exchange(record.told, true)) {
      actions.push_back({Deed::stop_taking, name});
      continue;
    }
    if (!is_idle(name)) continue;
    record.begun = true;
    actions.push_back({Deed::release, name});
  }
  return actions;
}

bool Residents::may_load_now(const Record& record) const {
  return std::ranges::none_of(records_, [&](const auto& entry) {
    const Record& other = entry.second;
    const bool loads = other.stage == Stage::loading || other.still_loads;
    return loads && !(record.wish.loads_beside && other.wish.loads_beside);
  });
}

// Starts the loads whose turn it is and that have room.
void Residents::admit(base::TimePoint now, const Asks& is_spare, std::vector<Action>& actions) {
  for (;;) {
    std::pair<const std::string, Record>* first = nullptr;
    for (auto& entry : records_)
      if (entry.second.stage == Stage::waiting &&
          (first == nullptr || entry.second.turn < first->second.turn) && may_load_now(entry.second))
        first = &entry;
    if (first == nullptr) return;
    auto& [name, record] = *first;
    const Room room = make_room(name, record, now, is_spare);
    if (room == Room::comes) return;
    if (room == Room::none) {
      failed(name, no_room(name, record, now));
      continue;
    }
    record.stage = Stage::loading;
    record.gives_up_at.reset();
    actions.push_back({Deed::load, name});
  }
}

std::int64_t Residents::taken_beside(const std::string& name) const {
  std::int64_t sum = 0;
  for (const auto& [other, record] : records_)
    if (other != name && record.takes_memory()) sum += record.wish.bytes;
  return sum;
}

std::int64_t Residents::taken_by_passing(const std::string& name) const {
  std::int64_t sum = 0;
  for (const auto& [other, record] : records_)
    if (other != name && record.takes_memory() && !record.wish.stays) sum += record.wish.bytes;
  return sum;
}

Residents::Room Residents::make_room(const std::string& name, Record& record, base::TimePoint now,
                                     const Asks& is_spare) {
  if (record.wish.ignores_budget) return Room::there;
  std::int64_t too_much = taken_beside(name) + record.wish.bytes - options_.budget_bytes;
  // Models that stay were loaded at the start regardless of the budget, so only other models have to leave
  // for them.
  if (record.wish.stays) too_much = std::min(too_much, taken_by_passing(name));
  if (too_much <= 0) return Room::there;
  if (record.wish.bytes > options_.budget_bytes && !record.wish.stays) return Room::none;
  std::vector<std::pair<const std::string, Record>*> others;
  for (auto& other : records_) {
    if (other.second.stage == Stage::leaving) too_much -= other.second.wish.bytes;
    if (other.second.stage == Stage::ready && !other.second.wish.stays) others.push_back(&other);
  }
  if (too_much <= 0) return Room::comes;
  if (!options_.makes_room) return Room::none;
  std::ranges::sort(others, {}, [](const auto* other) { return other->second.last_used; });
  std::vector<Record*> leaving;
  std::int64_t in_use = 0;
  for (auto* other : others) {
    if (too_much <= 0) break;
    if (!is_spare(other->first)) {
      in_use += other->second.wish.bytes;
      continue;
    }
    too_much -= other->second.wish.bytes;
    leaving.push_back(&other->second);
  }
  if (too_much <= 0) {
    for (Record* other : leaving) leave(*other);
    return Room::comes;
  }
  if (too_much > in_use) return Room::none;
  if (!record.gives_up_at) record.gives_up_at = now + options_.max_wait;
  return now < *record.gives_up_at ? Room::comes : Room::none;
}

Error Residents::no_room(const std::string& name, const Record& record, base::TimePoint now) const {
  const std::int64_t budget = options_.budget_bytes;
  if (record.wish.bytes > budget && !record.wish.stays)
    return larger_than_all(name, record.wish.bytes, budget);
  std::string others;
  for (const auto& [other, one] : records_)
    if (other != name && one.takes_memory())
      others += fmt::format("{}{} {}", others.empty() ? "" : ", ", other, megabytes(one.wish.bytes));
  const bool waited = record.gives_up_at && now >= *record.gives_up_at;
  return {.code = waited ? ErrorCode::unavailable : ErrorCode::conflict,
          .message = fmt::format("'{}' takes about {}, and of the {} that models may take (model_memory_mb) "
                                 "these have theirs: {}; {}",
                                 name, megabytes(record.wish.bytes), megabytes(budget), others,
                                 waited ? "they are all in use; try again" : "unload one of them first"),
          .field = "model",
          .reason = "model_memory_full",
          .retry_after_s = waited ? 10.0 : 0.0};
}

std::optional<base::TimePoint> Residents::deadline() const {
  std::optional<base::TimePoint> first;
  for (const auto& [name, record] : records_)
    if (record.stage == Stage::waiting && record.gives_up_at && (!first || *record.gives_up_at < *first))
      first = record.gives_up_at;
  return first;
}

Residents::Stage Residents::stage(const std::string& name) const {
  const auto found = records_.find(name);
  return found == records_.end() ? Stage::absent : found->second.stage;
}

bool Residents::is_coming(const std::string& name) const {
  const auto found = records_.find(name);
  if (found == records_.end() || stopped_) return false;
  const Record& record = found->second;
  if (record.stage == Stage::leaving) return record.again.has_value() || record.error.has_value();
  if (record.stage == Stage::fetching) return record.wish.loads;
  return record.stage == Stage::waiting || record.stage == Stage::loading;
}

std::optional<Error> Residents::error(const std::string& name) const {
  const auto found = records_.find(name);
  return found == records_.end() ? std::nullopt : found->second.error;
}

bool Residents::stays(const std::string& name) const {
  const auto found = records_.find(name);
  return found != records_.end() && found->second.wish.stays;
}

std::int64_t Residents::bytes(const std::string& name) const {
  const auto found = records_.find(name);
  return found == records_.end() ? 0 : found->second.wish.bytes;
}

int Residents::num_in_memory() const {
  const auto takes = [](const auto& entry) { return entry.second.takes_memory(); };
  return static_cast<int>(std::ranges::count_if(records_, takes));
}

std::int64_t Residents::used_bytes() const {
  return taken_beside({});
}

}  // namespace kvasir::router
