#include "router/residence.h"

#include <algorithm>
#include <utility>

#include "base/heap.h"
#include "obs/log.h"

namespace kvasir::router {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;
using Stage = Residents::Stage;
using Deed = Residents::Deed;

namespace {

// The model folder is read again for a request only if the last reading is at least this old.
constexpr std::chrono::seconds kFolderPause{1};

ModelState failed_state(const Error& error) {
  return {.phase = Phase::failed, .reason = error.message};
}

Error not_here(const std::string& name) {
  return {.code = ErrorCode::not_found,
          .message = fmt::format("the files of '{}' are not on this machine; POST /v1/models/pull fetches "
                                 "them, or the setting pull_on_request does",
                                 name),
          .field = "model",
          .reason = "model_not_found"};
}

Error failed_lately(const std::string& name, const Error& why, double retry_s) {
  return {.code = ErrorCode::unavailable,
          .message = fmt::format("'{}' could not be loaded: {}", name, why.message),
          .field = "model",
          .reason = "model_failed",
          .retry_after_s = std::max(1.0, retry_s)};
}

}  // namespace

Residence::Residence(Options options, Parts parts)
    : options_(std::move(options)), parts_(parts), residents_(options_.memory) {
  parts_.router.on_unused([this](const std::string& name) {
    const std::lock_guard lock(mutex_);
    residents_.used(name);
    has_news_ = true;
    wake_.notify_one();
  });
}

Residence::~Residence() {
  parts_.router.on_unused({});
  stop();
}

void Residence::add(const std::vector<hub::Model>& models) {
  for (const hub::Model& model : models) {
    started_with_.emplace(model.name, model);
    want(model, {.must_fetch = !is_here(model),
                 .stays = true,
                 .ignores_budget = true,
                 .loads_beside = options_.loads_side_by_side});
  }
}

void Residence::start() {
  thread_ = std::thread([this] { loop(); });
}

void Residence::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    residents_.stop();
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  for (const auto& [name, host] : hosts_) host->stop();
  const Lock lock(mutex_);
  for (const auto& [number, watched] : watched_) watched.on_change();
}

// Only requests use the remembered folder: loading or pulling by name reads the disk.
Status Residence::look_up(const std::string& name) {
  if (started_with_.contains(name) || parts_.library.catalogue().find(name) != nullptr) return base::ok();
  const base::TimePoint now = parts_.clock.now();
  Lock lock(mutex_);
  if (!looked_at_ || now - *looked_at_ >= kFolderPause) {
    lock.unlock();
    std::vector<hub::Model> models = parts_.library.list();
    lock.lock();
    in_folder_.clear();
    for (hub::Model& model : models) in_folder_.insert(std::move(model.name));
    looked_at_ = now;
  }
  if (in_folder_.contains(name)) return base::ok();
  return parts_.library.unknown(name, {in_folder_.begin(), in_folder_.end()});
}

Result<hub::Model> Residence::find(const std::string& name) const {
  const auto started = started_with_.find(name);
  if (started != started_with_.end() && started->second.entry == nullptr) return started->second;
  TRY(hub::Model model, parts_.library.find_named(name));
  if (model.entry == nullptr || model.entry->not_served.empty()) return model;
  return Error{.code = ErrorCode::unsupported,
               .message = fmt::format("'{}' cannot be served: {}", name, model.entry->not_served),
               .field = "model",
               .reason = "model_not_supported"};
}

void Residence::want(const hub::Model& model, Wish wish) {
  wish.bytes = parts_.loader.estimate(model);
  Lock lock(mutex_);
  if (stopping_) return;
  const Stage before = residents_.stage(model.name);
  if (before == Stage::absent || before == Stage::failed) models_[model.name] = model;
  residents_.want(model.name, wish);
  const Stage now = residents_.stage(model.name);
  if (now == before || now == Stage::absent) return;
  if (!parts_.router.has(model.name)) parts_.router.add(model.name);
  parts_.router.set_state(model.name, {.phase = Phase::queued});
  changed(model.name, lock);
}

Status Residence::load(const std::string& name) {
  TRY(const hub::Model model, find(name));
  Wish wish{.must_fetch = !is_here(model), .stays = started_with_.contains(name)};
  const std::int64_t bytes = parts_.loader.estimate(model);
  if (standing(name).state.phase != Phase::ready && bytes > budget_bytes() && !wish.stays)
    return larger_than_all(name, bytes, budget_bytes());
  want(model, wish);
  return base::ok();
}

Status Residence::pull(const std::string& name) {
  TRY(const hub::Model model, find(name));
  if (!is_here(model)) want(model, {.must_fetch = true, .loads = false});
  return base::ok();
}

Status Residence::unload(const std::string& name) {
  Lock lock(mutex_);
  if (residents_.stage(name) == Stage::absent) {
    lock.unlock();
    TRY_OK(find(name));
    return base::ok();
  }
  residents_.unwant(name);
  if (residents_.stage(name) == Stage::absent)
    parts_.router.remove(name);  // the model had failed to load
  else
    parts_.router.set_leaving(name);
  changed(name, lock);
  return base::ok();
}

Status Residence::request(const std::string& name) {
  const Standing now = standing(name);
  if (now.comes || now.state.phase == Phase::ready) return base::ok();
  if (now.error) {
    const std::lock_guard lock(mutex_);
    const base::Duration since = parts_.clock.now() - failed_at_[name];
    if (since < options_.retry_after)
      return failed_lately(name, *now.error, base::seconds(options_.retry_after - since));
  }
  TRY_OK(look_up(name));
  TRY(const hub::Model model, find(name));
  if (!is_here(model) && !options_.pulls_on_request) return not_here(name);
  return load(name);
}

std::vector<hub::Model> Residence::known() const {
  std::vector<hub::Model> models = parts_.library.list();
  for (const auto& [name, model] : started_with_)
    if (std::ranges::find(models, name, &hub::Model::name) == models.end()) models.push_back(model);
  return models;
}

Residence::Standing Residence::standing(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  Standing standing{
      .stage = residents_.stage(name), .comes = residents_.is_coming(name), .error = residents_.error(name)};
  if (const auto state = parts_.router.state(name)) standing.state = *state;
  return standing;
}

bool Residence::stays(const std::string& name) const {
  return started_with_.contains(name);
}

int Residence::num_in_memory() const {
  const std::lock_guard lock(mutex_);
  return residents_.num_in_memory();
}

std::unique_ptr<Residence::Watch> Residence::watch(const std::string& name, Watcher who,
                                                   std::function<void()> on_change) {
  const std::lock_guard lock(mutex_);
  if (watched_.size() >= options_.max_waiting) return nullptr;
  watched_.emplace(++num_watches_, Watched{name, who, std::move(on_change)});
  return std::make_unique<Watch>(*this, num_watches_);
}

Residence::Watch::~Watch() {
  const std::lock_guard lock(residence_.mutex_);
  residence_.watched_.erase(number_);
  residence_.has_news_ = true;
  residence_.wake_.notify_one();
}

void Residence::changed(const std::string& name, const Lock& lock) {
  CHECK(lock.owns_lock(), "a change without its lock");
  for (const auto& [number, watched] : watched_)
    if (watched.name == name) watched.on_change();
  has_news_ = true;
  wake_.notify_one();
}

void Residence::tell(const std::string& name, const ModelState& state, Lock& lock) {
  changed(name, lock);
  if (!options_.on_state) return;
  lock.unlock();
  options_.on_state(name, state);
  lock.lock();
}

bool Residence::is_spare(const std::string& name) const {
  return !parts_.router.in_use(name) && std::ranges::none_of(watched_, [&](const auto& one) {
    return one.second.name == name && one.second.who == Watcher::waiting_request;
  });
}

void Residence::loop() {
  Lock lock(mutex_);
  while (!stopping_) {
    has_news_ = false;
    const std::vector<Residents::Action> actions = residents_.next(
        parts_.clock.now(), [this](const std::string& name) { return !parts_.router.in_use(name); },
        [this](const std::string& name) { return is_spare(name); });
    for (const Residents::Action& action : actions)
      if (!stopping_) carry_out(action, lock);
    if (!actions.empty()) continue;
    const auto woken = [this] { return has_news_ || stopping_; };
    if (const auto deadline = residents_.deadline())
      wake_.wait_until(lock, *deadline, woken);
    else
      wake_.wait(lock, woken);
  }
}

Host& Residence::host_of(const std::string& name, const Lock& lock) {
  CHECK(lock.owns_lock(), "a host without its lock");
  std::unique_ptr<Host>& host = hosts_[name];
  if (!host) host = parts_.loader.make_host(models_.at(name), *this);
  return *host;
}

void Residence::carry_out(const Residents::Action& action, Lock& lock) {
  switch (action.deed) {
    case Deed::fetch:
    case Deed::load: {
      Host& host = host_of(action.name, lock);
      lock.unlock();
      action.deed == Deed::fetch ? host.fetch() : host.load();
      return lock.lock();
    }
    case Deed::stop_taking:
      return stop_taking(action.name, lock);
    case Deed::release:
      return release(action.name, lock);
  }
}

void Residence::stop_taking(const std::string& name, Lock& lock) {
  const std::optional<Error> error = residents_.error(name);
  if (!error) {
    parts_.router.set_leaving(name);
    return changed(name, lock);
  }
  failed_at_[name] = parts_.clock.now();
  parts_.router.set_state(name, failed_state(*error));
  if (started_with_.contains(name)) {
    obs::Log::debug("model_failed", {{"model", name}, {"reason", error->message}});
    return tell(name, failed_state(*error), lock);
  }
  obs::Log::warn("model_failed", {{"model", name}, {"reason", error->message}});
  changed(name, lock);
}

void Residence::release(const std::string& name, Lock& lock) {
  const std::optional<Error> error = residents_.error(name);
  parts_.router.set_state(name, error ? failed_state(*error) : ModelState{.phase = Phase::leaving});
  auto host = hosts_.extract(name);
  lock.unlock();
  const bool had_host = !host.empty();
  host = {};
  if (had_host) base::return_freed_memory();
  lock.lock();
  residents_.released(name);
  const Stage stage = residents_.stage(name);
  if (stage == Stage::absent) {
    parts_.router.remove(name);
    models_.erase(name);
    obs::Log::info("model_unloaded", {{"model", name}});
    return tell(name, {.phase = Phase::unloaded}, lock);
  }
  if (stage != Stage::failed) parts_.router.set_state(name, {.phase = Phase::queued});
  changed(name, lock);
}

void Residence::tell_state(const std::string& name, ModelState state) {
  Lock lock(mutex_);
  const Stage stage = residents_.stage(name);
  if (stage != Stage::fetching && stage != Stage::loading) return;
  const bool is_new = parts_.router.state(name)->phase != state.phase;
  parts_.router.set_state(name, state);
  if (is_new) return tell(name, state, lock);
  changed(name, lock);
}

void Residence::tell_fetched(const std::string& name, std::int64_t bytes) {
  Lock lock(mutex_);
  if (residents_.stage(name) != Stage::fetching) return;
  residents_.fetched(name, bytes);
  models_.at(name).state = hub::ModelState::ready;
  if (residents_.stage(name) == Stage::waiting) parts_.router.set_state(name, {.phase = Phase::queued});
  changed(name, lock);
}

void Residence::tell_ready(const std::string& name, ServedModel model, ModelMemory memory, std::string note) {
  std::optional<ServedModel> unwanted;  // freed without the lock
  Lock lock(mutex_);
  if (!residents_.loaded(name, memory.sum())) {
    unwanted.emplace(std::move(model));
    lock.unlock();
    return;
  }
  failed_at_.erase(name);
  parts_.router.set_ready(name, std::move(model), memory);
  tell(name, {.phase = Phase::ready, .progress = 1, .reason = std::move(note)}, lock);
}

void Residence::tell_failed(const std::string& name, Error error) {
  const Lock lock(mutex_);
  residents_.failed(name, std::move(error));
  changed(name, lock);
}

void Residence::tell_engine_failed(const std::string& name, const Error& error) {
  obs::Log::error("engine_failed", {{"model", name}, {"reason", error.message}});
  Lock lock(mutex_);
  const ModelState state{.phase = Phase::restarting, .reason = error.message};
  parts_.router.set_state(name, state);
  tell(name, state, lock);
}

}  // namespace kvasir::router
