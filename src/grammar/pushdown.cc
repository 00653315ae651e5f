#include "grammar/pushdown.h"

#include <algorithm>
#include <functional>

namespace kvasir::grammar {
namespace {

constexpr std::int64_t kItemWork = 4;  // a step in the token trie costs 1; measured by time

std::uint64_t mix(std::uint64_t h, std::uint64_t value) {
  h ^= value + 0x9E3779B97F4A7C15ULL + (h << 6) + (h >> 2);
  h *= 0xBF58476D1CE4E5B9ULL;
  return h ^ (h >> 29);
}

std::uint64_t hash_items(std::span<const Pushdown::Item> items, std::uint64_t seed) {
  std::uint64_t h = mix(0x1234567, seed);
  for (const Pushdown::Item& item : items) {
    h = mix(h, (std::uint64_t{item.state} << 32) | item.count);
    h = mix(h, item.frame);
  }
  return h;
}

}  // namespace

Pushdown::Pushdown(std::shared_ptr<const Automaton> automaton, Limits limits)
    : automaton_(std::move(automaton)),
      limits_(limits),
      num_classes_(static_cast<std::size_t>(automaton_->num_classes())) {
  configs_.resize(2);  // unknown, dead
  rows_.assign(2 * num_classes_, kDead);
  frames_.resize(2);  // root, bottom
  set_work(1 << 20);
  const Automaton::Rule& root = automaton_->rule(automaton_->root());
  const Item item{root.start, 0, kRoot};
  start_ = close({&item, 1});
}

std::size_t Pushdown::num_bytes() const {
  return arena_.size() * sizeof(Item) + configs_.size() * sizeof(Config) + rows_.size() * sizeof(rows_[0]) +
         frames_.size() * sizeof(Frame) + groups_.size() * sizeof(Group) + config_index_.num_bytes() +
         group_index_.num_bytes();
}

ByteSet Pushdown::first_bytes(ConfigId config) const {
  ByteSet set;
  for (const Item& item : items(config)) {
    for (const Automaton::ByteEdge& edge : automaton_->state(item.state).bytes) {
      set |= automaton_->byte_set(edge.set);
    }
  }
  return set;
}

ConfigId Pushdown::compute_step(ConfigId config, std::uint8_t cls) {
  if (config == kFailed) return kFailed;
  const std::uint8_t byte = automaton_->byte_of_class(cls);
  kernel_.clear();
  std::int64_t work = 0;
  for (const Item& item : items(config)) {
    for (const Automaton::ByteEdge& edge : automaton_->state(item.state).bytes) {
      ++work;
      if (automaton_->byte_set(edge.set).has(byte)) kernel_.push_back({edge.target, item.count, item.frame});
    }
  }
  if (!spend(work)) return kFailed;
  const ConfigId next = kernel_.empty() ? kDead : close(kernel_);
  if (next != kFailed) rows_[row(config) + cls] = next;
  return next;
}

ConfigId Pushdown::completion(FrameId frame) {
  if (frames_[frame].completion != kUnknown) return frames_[frame].completion;
  const std::vector<Item> back(callers(frame).begin(), callers(frame).end());
  const ConfigId config = close(back);
  if (config != kFailed) frames_[frame].completion = config;
  return config;
}

ConfigId Pushdown::close(std::span<const Item> kernel) {
  if (num_bytes() > limits_.max_bytes) return fail(Failure::memory);
  if (!close_items(kernel) || !expand_calls()) return kFailed;
  return intern_config();
}

ConfigId Pushdown::intern(std::span<const Item> items) {
  if (num_bytes() > limits_.max_bytes) return fail(Failure::memory);
  scanning_.assign(items.begin(), items.end());
  complete_ = exits_ = false;
  return intern_config();
}

// Follows empty edges and ends of rules. Calls are only recorded, since the frame of a call needs all its
// callers, which are known only afterwards.
bool Pushdown::close_items(std::span<const Item> kernel) {
  seen_.clear();
  seen_index_.clear();
  scanning_.clear();
  pending_.clear();
  complete_ = exits_ = false;
  todo_.assign(kernel.begin(), kernel.end());
  while (!todo_.empty()) {
    const Item item = todo_.back();
    todo_.pop_back();
    const std::uint64_t hash = hash_items({&item, 1}, 0);
    if (seen_index_.find(hash, [&](std::uint32_t i) { return seen_[i] == item; }) != InternTable::kNone) {
      continue;
    }
    seen_index_.insert(hash, static_cast<std::uint32_t>(seen_.size()));
    seen_.push_back(item);
    if (!spend(kItemWork)) return false;
    if (seen_.size() > limits_.max_items) return fail(Failure::items), false;
    visit(item);
  }
  return true;
}

void Pushdown::visit(const Item& item) {
  const Automaton::State& state = automaton_->state(item.state);
  if (!state.bytes.empty()) scanning_.push_back(item);
  if (state.accept) {
    if (item.frame == kRoot) {
      complete_ = true;
    } else if (item.frame == kBottom) {
      exits_ = true;
    } else {
      const auto back = callers(item.frame);
      todo_.insert(todo_.end(), back.begin(), back.end());
    }
  }
  for (const Automaton::EmptyEdge& edge : state.empty) {
    Item to = item;
    if (automaton_->move(edge, item.count, to.state, to.count)) todo_.push_back(to);
  }
  for (const Automaton::Call& call : state.calls) {
    add_call(call.rule, {call.back, item.count, item.frame});
    if (automaton_->rule(call.rule).nullable) todo_.push_back({call.skip, item.count, item.frame});
  }
}

void Pushdown::add_call(RuleId rule, const Item& back) {
  pending_.push_back({automaton_->rule(rule).component, rule, back});
  std::push_heap(pending_.begin(), pending_.end(), std::greater<>());
}

// Handles components in the order of their calls, so that all callers of a rule are known when its frame is
// made. A rule that ends without a byte needs nothing here, since its callers have already gone past the
// call.
bool Pushdown::expand_calls() {
  while (!pending_.empty()) {
    const std::uint32_t component = pending_.front().component;
    called_.clear();
    while (!pending_.empty() && pending_.front().component == component) {
      std::pop_heap(pending_.begin(), pending_.end(), std::greater<>());
      const PendingCall call = pending_.back();
      pending_.pop_back();
      add_callers(call);
    }
    std::sort(called_.begin(), called_.end());
    called_.erase(std::unique(called_.begin(), called_.end()), called_.end());
    if (!spend(kItemWork * static_cast<std::int64_t>(called_.size() + 1))) return false;
    if (called_.size() > limits_.max_items || scanning_.size() > 4 * limits_.max_items) {
      return fail(Failure::items), false;
    }
    FrameId frame = frames_of_component(component);
    for (const RuleId rule : automaton_->component(component).rules) start_rule(rule, frame++);
  }
  return true;
}

// A call in last position passes on its own callers, so that right recursion keeps no frames.
void Pushdown::add_callers(const PendingCall& call) {
  const bool is_last = automaton_->state(call.back.state).final_only;
  if (!is_last) {
    called_.emplace_back(call.rule, call.back);
    return;
  }
  // Below the root, all states that only end their rule count as one, so that equal calls have one frame.
  if (call.back.frame <= kBottom) {
    called_.emplace_back(call.rule, Item{automaton_->end_state(), 0, call.back.frame});
    return;
  }
  for (const Item& back : callers(call.back.frame)) called_.emplace_back(call.rule, back);
}

FrameId Pushdown::frames_of_component(std::uint32_t id) {
  const Automaton::Component& component = automaton_->component(id);
  key_.clear();
  for (const auto& [rule, back] : called_) {
    if (component.cyclic) key_.push_back({id, rule, kHeader});
    key_.push_back(back);
  }
  const std::uint64_t hash = hash_items(key_, 1);
  const std::uint32_t found = group_index_.find(hash, [&](std::uint32_t g) {
    return std::ranges::equal(std::span(arena_.data() + groups_[g].begin, groups_[g].size), key_);
  });
  if (found != InternTable::kNone) return groups_[found].first_frame;

  const auto first = static_cast<FrameId>(frames_.size());
  const auto begin = static_cast<std::uint32_t>(arena_.size());
  const auto size = static_cast<std::uint32_t>(key_.size());
  arena_.insert(arena_.end(), key_.begin(), key_.end());
  group_index_.insert(hash, static_cast<std::uint32_t>(groups_.size()));
  const auto group = static_cast<std::uint32_t>(groups_.size());
  groups_.push_back({begin, size, first, id});
  if (!component.cyclic) {
    frames_.push_back({begin, size, group});
    return first;
  }
  for (const RuleId rule : component.rules) {
    const auto callers_begin = static_cast<std::uint32_t>(arena_.size());
    for (const auto& [called, back] : called_) {
      if (called == rule) arena_.push_back(back);
    }
    FrameId caller_frame = first;
    for (const RuleId caller : component.rules) {
      for (const Automaton::StartCall& call : automaton_->rule(caller).start_calls) {
        if (call.rule == rule) arena_.push_back({call.back, call.count, caller_frame});
      }
      ++caller_frame;
    }
    frames_.push_back({callers_begin, static_cast<std::uint32_t>(arena_.size()) - callers_begin, group});
  }
  return first;
}

void Pushdown::start_rule(RuleId id, FrameId frame) {
  const Automaton::Rule& rule = automaton_->rule(id);
  for (const Automaton::StartItem& item : rule.start_items) {
    scanning_.push_back({item.state, item.count, frame});
  }
  for (const Automaton::StartCall& call : rule.start_calls) {
    if (automaton_->rule(call.rule).component != rule.component) {
      add_call(call.rule, {call.back, call.count, frame});
    }
  }
}

ConfigId Pushdown::intern_config() {
  std::sort(scanning_.begin(), scanning_.end());
  scanning_.erase(std::unique(scanning_.begin(), scanning_.end()), scanning_.end());
  const std::uint64_t flags = (complete_ ? 1 : 0) | (exits_ ? 2 : 0);
  const std::uint64_t hash = hash_items(scanning_, flags);
  const std::uint32_t found = config_index_.find(hash, [&](std::uint32_t c) {
    return configs_[c].complete == complete_ && configs_[c].exits == exits_ &&
           std::ranges::equal(items(c), scanning_);
  });
  if (found != InternTable::kNone) return found;
  const auto id = static_cast<ConfigId>(configs_.size());
  configs_.push_back({static_cast<std::uint32_t>(arena_.size()), static_cast<std::uint32_t>(scanning_.size()),
                      complete_, exits_});
  arena_.insert(arena_.end(), scanning_.begin(), scanning_.end());
  rows_.resize(rows_.size() + num_classes_, kUnknown);
  config_index_.insert(hash, id);
  return id;
}

std::vector<ConfigId> Pushdown::adopt(const Pushdown& other, std::span<const ConfigId> configs) {
  adopted_ = {{kRoot, kRoot}, {kBottom, kBottom}};
  std::vector<ConfigId> ids;
  for (const ConfigId config : configs) {
    if (!adopt_frames(other, config)) break;
    scanning_.clear();
    for (const Item& item : other.items(config)) {
      scanning_.push_back({item.state, item.count, adopted_.at(item.frame)});
    }
    complete_ = other.is_complete(config);
    exits_ = other.exits(config);
    ids.push_back(intern_config());
  }
  return ids;
}

// Adopts callers before the frames that they called. Uses an explicit stack, since nesting may be as deep as
// the text is long.
bool Pushdown::adopt_frames(const Pushdown& other, ConfigId config) {
  std::vector<FrameId> todo;
  for (const Item& item : other.items(config)) todo.push_back(item.frame);
  while (!todo.empty()) {
    if (num_bytes() > limits_.max_bytes) return fail(Failure::memory), false;
    if (adopted_.contains(todo.back())) {
      todo.pop_back();
      continue;
    }
    const Group& group = other.groups_[other.frames_[todo.back()].group];
    const std::size_t before = todo.size();
    for (const Item& back : std::span(other.arena_).subspan(group.begin, group.size)) {
      if (back.frame != kHeader && !adopted_.contains(back.frame)) todo.push_back(back.frame);
    }
    if (todo.size() == before) adopt_group(other, group);
  }
  return true;
}

void Pushdown::adopt_group(const Pushdown& other, const Group& group) {
  called_.clear();
  RuleId rule = 0;
  for (const Item& back : std::span(other.arena_).subspan(group.begin, group.size)) {
    if (back.frame == kHeader) {
      rule = back.count;
    } else {
      called_.emplace_back(rule, Item{back.state, back.count, adopted_.at(back.frame)});
    }
  }
  std::sort(called_.begin(), called_.end());
  const FrameId first = frames_of_component(group.component);
  const bool cyclic = automaton_->component(group.component).cyclic;
  const std::size_t num_frames = cyclic ? automaton_->component(group.component).rules.size() : 1;
  for (FrameId i = 0; i < num_frames; ++i) adopted_[group.first_frame + i] = first + i;
}

}  // namespace kvasir::grammar
