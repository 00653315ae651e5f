#include "router/router.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "router/router_entry.h"

namespace kvasir::router {

using base::Error;
using base::ErrorCode;

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::unloaded:
      return "unloaded";
    case Phase::queued:
      return "queued";
    case Phase::downloading:
      return "downloading";
    case Phase::loading:
      return "loading";
    case Phase::measuring:
      return "measuring";
    case Phase::ready:
      return "ready";
    case Phase::leaving:
      return "leaving";
    case Phase::failed:
      return "failed";
    case Phase::restarting:
      return "restarting";
  }
  return "unknown";
}

namespace {

Error not_ready(const std::string& name, const ModelState& state) {
  switch (state.phase) {
    case Phase::downloading:
      return Error{ErrorCode::unavailable,
                   fmt::format("'{}' is still being downloaded ({:.0f} %); try again later", name,
                               100 * state.progress),
                   "model", "model_not_ready", 10};
    case Phase::leaving:
      return Error{ErrorCode::unavailable, fmt::format("'{}' is being unloaded", name), "model",
                   "model_not_ready", 10};
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

Error makes_no_text(const std::string& name) {
  return Error{ErrorCode::unsupported, fmt::format("'{}' makes embeddings and generates no text", name),
               "model", "model_not_supported"};
}

Error makes_no_vectors(const std::string& name) {
  return Error{ErrorCode::unsupported, fmt::format("'{}' generates text and makes no embeddings", name),
               "model", "model_not_supported"};
}

Error is_elsewhere(const std::string& name) {
  return Error{ErrorCode::unsupported,
               fmt::format("'{}' is served by an upstream; this needs a model of this server", name), "model",
               "model_not_supported"};
}

Error has_changed(const std::string& name) {
  return Error{ErrorCode::unavailable,
               fmt::format("'{}' was replaced while the request was being read; try again", name), "model",
               "model_not_ready", 1};
}

bool reaches(const Reach& reach, std::string_view name) {
  return reach.models.empty() || std::ranges::find(reach.models, name) != reach.models.end();
}

// The same text as a pointer whose holders use the model.
AnyText held(const AnyText& any, const std::shared_ptr<Use::Count>& uses) {
  return std::visit(
      [&](const auto& text) -> AnyText {
        using Pointer = std::remove_cvref_t<decltype(text)>;
        struct Held {
          Use use;  // ends last
          Pointer text;
        };
        return Pointer(std::make_shared<const Held>(Use(uses), text), text.get());
      },
      any);
}

// The text with a context of at most `max_context` tokens; 0: unchanged.
AnyText with_context(const AnyText& any, int max_context) {
  if (max_context <= 0 || common_text(any).context_length <= max_context) return any;
  return std::visit(
      [&](const auto& text) -> AnyText {
        auto shorter = *text;
        shorter.context_length = max_context;
        return std::make_shared<const decltype(shorter)>(std::move(shorter));
      },
      any);
}

void take_embedder(auto& entry, std::string_view id) {
  std::erase_if(entry.embedders, [id](const auto& member) { return member->id == id; });
}

// Makes the shared text with its name and version.
template <class Text>
std::shared_ptr<const Text> named(std::string_view name, std::uint64_t version, Text text) {
  CHECK(text.tokenizer && text.context_length > 0, "half a model {}", name);
  text.name = name;
  text.version = version;
  return std::make_shared<const Text>(std::move(text));
}

}  // namespace

Router::Router(PoolOptions options, const base::Clock& clock)
    : pool_options_(std::move(options)), clock_(clock) {}
Router::~Router() = default;

std::shared_ptr<Router::Entry> Router::find(std::string_view name) const {
  for (const auto& entry : entries_)
    if (entry->name == name) return entry;
  return nullptr;
}

std::shared_ptr<Router::Entry> Router::find_locked(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return find(name);
}

void Router::add(std::string name) {
  const std::lock_guard lock(mutex_);
  CHECK(find(name) == nullptr, "model {} added twice", name);
  auto entry = std::make_shared<Entry>(std::move(name), listener_, pool_options_, clock_);
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
  entry->text.reset();
  take_embedder(*entry, kLocalMember);
  entry->pool.remove(kLocalMember);
  entry->memory = {};
}

void Router::set_ready(std::string_view name, ServedModel model, ModelMemory memory) {
  const std::lock_guard lock(mutex_);
  const auto entry = find(name);
  CHECK(entry != nullptr, "no model {}", name);
  take_embedder(*entry, kLocalMember);
  if (auto* generating = std::get_if<GeneratingModel>(&model)) {
    entry->text = named(name, ++last_version_, std::move(generating->text));
    if (generating->worker) entry->pool.add(kLocalMember, std::move(generating->worker));
  } else {
    auto& embedding = std::get<EmbeddingModel>(model);
    entry->text = named(name, ++last_version_, std::move(embedding.text));
    if (embedding.worker)
      entry->embedders.push_back(std::make_shared<EmbedMember>(kLocalMember, std::move(embedding.worker)));
  }
  entry->state = {.phase = Phase::ready, .progress = 1};
  entry->memory = memory;
}

void Router::set_leaving(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto entry = find(name)) entry->state = {.phase = Phase::leaving};
}

void Router::remove(std::string_view name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const auto& entry) { return entry->name == name; });
}

bool Router::in_use(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto entry = find(name);
  return entry != nullptr && entry->uses->any();
}

void Router::set_failed(std::string_view name, std::string reason) {
  set_state(name, {.phase = Phase::failed, .reason = std::move(reason)});
}

std::optional<ModelState> Router::state(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto entry = find(name);
  return entry == nullptr ? std::nullopt : std::optional(entry->state);
}

Error Router::does_not_exist(std::string_view name, const Reach& reach) const {
  std::string names;
  for (const auto& other : entries_)
    if (reaches(reach, other->name)) names += (names.empty() ? "" : ", ") + other->name;
  for (const std::string& other : elsewhere_) {
    if (!reaches(reach, other) || find(other) != nullptr) continue;
    if (other == name) return is_elsewhere(other);
    names += (names.empty() ? "" : ", ") + other;
  }
  return Error{
      ErrorCode::not_found,
      fmt::format("the model '{}' does not exist; this server has: {}", name, names.empty() ? "none" : names),
      "model", "model_not_found"};
}

base::Result<std::shared_ptr<Router::Entry>> Router::find_ready(std::string_view name,
                                                                const Reach& reach) const {
  auto entry = find(name);
  if (entry == nullptr || !reaches(reach, name)) return does_not_exist(name, reach);
  if (!entry->text || entry->state.phase == Phase::leaving) return not_ready(entry->name, entry->state);
  if (!entry->is_loaded()) return no_worker(entry->name);
  return entry;
}

base::Result<ChatTextPtr> Router::chat_text(std::string_view name, const Reach& reach) const {
  TRY(const AnyText any, any_text(name, reach));
  if (const auto* text = std::get_if<ChatTextPtr>(&any)) return *text;
  return makes_no_text(common_text(any).name);
}

base::Result<EmbedTextPtr> Router::embed_text(std::string_view name, const Reach& reach) const {
  TRY(const AnyText any, any_text(name, reach));
  if (const auto* text = std::get_if<EmbedTextPtr>(&any)) return *text;
  return makes_no_vectors(common_text(any).name);
}

base::Result<AnyText> Router::any_text(std::string_view name, const Reach& reach) const {
  const std::lock_guard lock(mutex_);
  TRY(const auto entry, find_ready(name, reach));
  return held(with_context(*entry->text, reach.max_context), entry->uses);
}

bool Router::has(std::string_view name, const Reach& reach) const {
  const std::lock_guard lock(mutex_);
  return reaches(reach, name) && find(name) != nullptr;
}

base::Result<std::vector<ChatTextPtr>> Router::generating(std::string_view name, const Reach& reach) const {
  const std::lock_guard lock(mutex_);
  std::vector<ChatTextPtr> texts;
  const Entry* awaited = nullptr;
  for (const auto& entry : entries_) {
    if (!reaches(reach, entry->name)) continue;
    if (entry->is_loaded() && entry->state.phase == Phase::ready) {
      if (!std::holds_alternative<ChatTextPtr>(*entry->text)) continue;
      AnyText any = held(with_context(*entry->text, reach.max_context), entry->uses);
      texts.push_back(std::get<ChatTextPtr>(std::move(any)));
    } else if (awaited == nullptr || awaited->state.phase == Phase::failed) {
      awaited = entry.get();  // a model that may become ready is preferred to a failed one
    }
  }
  if (!texts.empty()) return texts;
  if (awaited != nullptr) return not_ready(awaited->name, awaited->state);
  return does_not_exist(name, reach);
}

base::Result<std::shared_ptr<Router::Entry>> Router::find_loaded(std::string_view name) const {
  auto entry = find(name);
  if (entry == nullptr) return does_not_exist(name, {});
  if (!entry->text) return not_ready(entry->name, entry->state);
  return entry;
}

base::Result<WorkerLease> Router::pick(const ChatText& text, const Demand& demand) {
  std::unique_lock lock(mutex_);
  TRY(const auto entry, find_loaded(text.name));
  if (common_text(*entry->text).version != text.version) return has_changed(text.name);
  const Pool::Members members = entry->pool.members();
  lock.unlock();
  Ejections& ejections = entry->failures->ejections;
  if (!ejections.any()) return entry->pool.pick(members, demand, Use(entry->uses));
  std::vector<std::string> avoided(demand.avoid.begin(), demand.avoid.end());
  ejections.append_out(avoided, clock_.now());
  Demand careful = demand;
  careful.avoid = avoided;
  if (base::Result<WorkerLease> lease = entry->pool.pick(members, careful, Use(entry->uses)); lease.ok()) {
    ejections.begin(lease->member(), clock_.now());
    return lease;
  }
  // A member that often fails is better than none.
  return entry->pool.pick(members, demand, Use(entry->uses));
}

base::Result<EmbedLease> Router::pick(const EmbedText& text, std::span<const std::string> avoid) {
  std::unique_lock lock(mutex_);
  TRY(const auto entry, find_loaded(text.name));
  if (common_text(*entry->text).version != text.version) return has_changed(text.name);
  const std::vector<std::shared_ptr<EmbedMember>> members = entry->embedders;
  lock.unlock();
  std::shared_ptr<EmbedMember> best;
  int least = 0;
  for (const auto& member : members) {
    if (std::ranges::find(avoid, member->id) != avoid.end()) continue;
    const int load = member->load(member->worker->report());
    if (!best || load < least) std::tie(best, least) = std::pair(member, load);
  }
  if (!best) return no_worker(text.name);
  return EmbedLease(std::move(best), Use(entry->uses));
}

std::vector<ModelStatus> Router::models(const Reach& reach) const {
  struct Seen {
    std::shared_ptr<Entry> entry;
    std::vector<std::shared_ptr<EmbedMember>> embedders;
  };
  std::vector<ModelStatus> all;
  std::vector<Seen> seen;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& entry : entries_) {
      if (!reaches(reach, entry->name)) continue;
      ModelStatus& status = all.emplace_back();
      status.name = entry->name;
      status.state = entry->state;
      status.created_s = entry->created_s;
      status.memory = entry->memory;
      if (entry->text) {
        status.text = with_context(*entry->text, reach.max_context);
        status.version = common_text(*status.text).version;
      }
      seen.push_back({entry, entry->embedders});
    }
  }
  // Workers have locks of their own, so they are called without the router's lock.
  for (std::size_t i = 0; i < all.size(); ++i) {
    ModelStatus& status = all[i];
    if (!status.text) continue;
    status.members = seen[i].entry->pool.status();
    for (const auto& embedder : seen[i].embedders)
      status.members.push_back(
          {.id = embedder->id, .num_leases = embedder->num_leases(), .report = embedder->worker->report()});
    for (const MemberStatus& member : status.members) status.num_leases += member.num_leases;
    status.report = sum_of(status.members);
  }
  return all;
}

}  // namespace kvasir::router
