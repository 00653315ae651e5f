#include "router/router.h"

#include <chrono>
#include <utility>

namespace kvasir::router {

using base::Error;
using base::ErrorCode;

struct Lease::Entry {
  std::string name;
  std::int64_t created_s = 0;
  std::atomic<int> num_leases{0};
  ModelState state;                          // guarded by Router's mutex
  std::shared_ptr<const ServedModel> model;  // guarded by Router's mutex; set while ready
};

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::queued:
      return "queued";
    case Phase::downloading:
      return "downloading";
    case Phase::loading:
      return "loading";
    case Phase::ready:
      return "ready";
    case Phase::failed:
      return "failed";
    case Phase::restarting:
      return "restarting";
  }
  return "unknown";
}

Lease::Lease(std::shared_ptr<Entry> entry, std::shared_ptr<const ServedModel> model)
    : entry_(std::move(entry)), model_(std::move(model)) {
  ++entry_->num_leases;
}

Lease::~Lease() {
  if (entry_) --entry_->num_leases;
}

const std::string& Lease::name() const {
  return entry_->name;
}

namespace {

Error not_ready(const std::string& name, const ModelState& state) {
  switch (state.phase) {
    case Phase::downloading:
      return Error{ErrorCode::unavailable,
                   fmt::format("'{}' is still being downloaded ({:.0f} %); try again later", name,
                               100 * state.progress),
                   "model", "model_not_ready", 10};
    case Phase::failed:
      return Error{ErrorCode::unavailable, fmt::format("'{}' could not be loaded: {}", name, state.reason),
                   "model", "model_failed", 60};
    case Phase::restarting:
      return Error{ErrorCode::unavailable,
                   fmt::format("the engine of '{}' failed and is being restarted; try again", name), "model",
                   "engine_failed", 5};
    default:
      return Error{ErrorCode::unavailable,
                   fmt::format("'{}' is still being loaded; try again in a moment", name), "model",
                   "model_not_ready", 2};
  }
}

Error wrong_task(const std::string& name, Task wanted) {
  const char* why = wanted == Task::embed ? "'{}' generates text and makes no embeddings"
                                          : "'{}' makes embeddings and generates no text";
  return Error{ErrorCode::unsupported, fmt::format(fmt::runtime(why), name), "model", "model_not_supported"};
}

}  // namespace

Router::Router() = default;
Router::~Router() = default;

std::shared_ptr<Router::Entry> Router::find(std::string_view name) const {
  for (const auto& entry : entries_)
    if (entry->name == name) return entry;
  return nullptr;
}

void Router::add(std::string name) {
  const std::lock_guard lock(mutex_);
  CHECK(find(name) == nullptr, "model {} added twice", name);
  auto entry = std::make_shared<Entry>();
  entry->name = std::move(name);
  entry->created_s =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  entries_.push_back(std::move(entry));
}

void Router::set_state(std::string_view name, ModelState state) {
  CHECK(state.phase != Phase::ready, "ready without a worker");
  const std::lock_guard lock(mutex_);
  const auto entry = find(name);
  CHECK(entry != nullptr, "no model {}", name);
  entry->state = std::move(state);
  entry->model.reset();
}

void Router::set_ready(std::string_view name, ServedModel model) {
  const bool whole = model.embedder ? !model.worker : model.worker && model.chat_template;
  CHECK(whole && model.tokenizer && model.context_length > 0, "half a model {}", name);
  auto served = std::make_shared<const ServedModel>(std::move(model));
  const std::lock_guard lock(mutex_);
  const auto entry = find(name);
  CHECK(entry != nullptr, "no model {}", name);
  entry->state = {.phase = Phase::ready, .progress = 1};
  entry->model = std::move(served);
}

void Router::set_failed(std::string_view name, std::string reason) {
  set_state(name, {.phase = Phase::failed, .reason = std::move(reason)});
}

base::Result<Lease> Router::pick(std::string_view name, Task task) {
  const std::lock_guard lock(mutex_);
  const auto entry = find(name);
  if (entry == nullptr) {
    std::string names;
    for (const auto& other : entries_) names += (names.empty() ? "" : ", ") + other->name;
    return Error{ErrorCode::not_found,
                 fmt::format("the model '{}' does not exist; this server has: {}", name,
                             names.empty() ? "none" : names),
                 "model", "model_not_found"};
  }
  if (!entry->model) return not_ready(entry->name, entry->state);
  if (task != Task::any && task != entry->model->task()) return wrong_task(entry->name, task);
  return Lease(entry, entry->model);
}

std::vector<ModelStatus> Router::models() const {
  std::vector<ModelStatus> all;
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    ModelStatus& status = all.emplace_back();
    status.name = entry->name;
    status.state = entry->state;
    status.created_s = entry->created_s;
    status.num_leases = entry->num_leases;
    if (!entry->model) continue;
    const ServedModel& model = *entry->model;
    status.context_length = model.context_length;
    status.task = model.task();
    status.dimensions = model.embedder ? model.embedder->dimensions() : 0;
    status.report = model.embedder ? model.embedder->report() : model.worker->report();
  }
  return all;
}

}  // namespace kvasir::router
