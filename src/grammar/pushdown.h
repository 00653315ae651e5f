#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/intern_table.h"

namespace kvasir::grammar {

// The possible states of the automaton after some bytes: an interned, closed set of items.
using ConfigId = std::uint32_t;
// The frames that wait for one call of a rule to end.
using FrameId = std::uint32_t;

// Runs an Automaton on bytes. It is an Earley recognizer with interned sets: a set that is reached twice has
// the same ConfigId, and a transition is computed once. Call frames are interned by content as well, so
// ambiguity costs the number of different frames, not the number of paths, and left or right recursion is not
// a special case. Not thread-safe. It grows up to `max_bytes`, then fails and is replaced by a new one.
class Pushdown {
 public:
  static constexpr ConfigId kDead = 1;
  static constexpr ConfigId kFailed = 0xFFFFFFFF;
  static constexpr FrameId kRoot = 0;    // below the root rule: popping it completes the match
  static constexpr FrameId kBottom = 1;  // below a rule that is examined alone: popping it is an exit

  struct Item {
    StateId state;
    std::uint32_t count;
    FrameId frame;
    auto operator<=>(const Item&) const = default;
  };

  struct Limits {
    std::size_t max_bytes = std::size_t{24} << 20;
    std::size_t max_items = 4000;  // in one configuration
  };
  enum class Failure { none, memory, items, work };

  Pushdown(std::shared_ptr<const Automaton> automaton, Limits limits);

  ConfigId start() const { return start_; }

  // kDead if no item takes the byte; kFailed if a limit was reached (see `failure`).
  ConfigId step(ConfigId config, std::uint8_t byte) {
    const std::uint32_t known = rows_[row(config) + automaton_->class_of(byte)];
    return known != kUnknown ? known : compute_step(config, automaton_->class_of(byte));
  }

  // The configuration in which the rule called with `frame` has ended.
  ConfigId completion(FrameId frame);
  // The configuration of these items. All their frames must be alive.
  ConfigId close(std::span<const Item> kernel);

  // A configuration of exactly these items, which must be part of a closed configuration. Empty edges are not
  // followed.
  ConfigId intern(std::span<const Item> items);

  // Copies configurations from another run of the same automaton, with the frames that they need. Returns
  // fewer if a limit was reached.
  std::vector<ConfigId> adopt(const Pushdown& other, std::span<const ConfigId> configs);

  bool is_complete(ConfigId config) const { return configs_[config].complete; }
  bool exits(ConfigId config) const { return configs_[config].exits; }
  std::span<const Item> items(ConfigId config) const {
    return {arena_.data() + configs_[config].begin, configs_[config].size};
  }
  ByteSet first_bytes(ConfigId config) const;

  const Automaton& automaton() const { return *automaton_; }
  std::size_t num_configs() const { return configs_.size(); }
  std::size_t num_bytes() const;

  // Work is counted in steps of about 5 ns. A computation that reaches the limit fails with Failure::work.
  void set_work(std::int64_t limit) {
    work_left_ = limit;
    failure_ = Failure::none;
  }
  std::int64_t work_left() const { return work_left_; }
  // Charges work that the caller does. False if none is left.
  bool spend(std::int64_t work) {
    work_left_ -= work;
    if (work_left_ < 0) failure_ = Failure::work;
    return work_left_ >= 0;
  }
  Failure failure() const { return failure_; }

 private:
  static constexpr std::uint32_t kUnknown = 0;
  static constexpr FrameId kHeader = 0xFFFFFFFE;  // not a frame; marks the key of a cyclic component's frames

  struct Config {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    bool complete = false;
    bool exits = false;
  };
  struct Frame {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    std::uint32_t group = 0;
    ConfigId completion = kUnknown;
  };
  struct Group {  // the frames of one component's rules for the same callers
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    FrameId first_frame = 0;
    std::uint32_t component = 0;
  };
  struct PendingCall {
    std::uint32_t component;
    RuleId rule;
    Item back;
    auto operator<=>(const PendingCall&) const = default;
  };

  std::size_t row(ConfigId config) const { return std::size_t{config} * num_classes_; }
  std::span<const Item> callers(FrameId frame) const {
    return {arena_.data() + frames_[frame].begin, frames_[frame].size};
  }
  ConfigId compute_step(ConfigId config, std::uint8_t cls);
  ConfigId fail(Failure failure) {
    failure_ = failure;
    return kFailed;
  }
  bool close_items(std::span<const Item> kernel);
  void visit(const Item& item);
  void add_call(RuleId rule, const Item& back);
  bool expand_calls();
  void add_callers(const PendingCall& call);
  FrameId frames_of_component(std::uint32_t component);
  void start_rule(RuleId rule, FrameId frame);
  ConfigId intern_config();
  bool adopt_frames(const Pushdown& other, ConfigId config);
  void adopt_group(const Pushdown& other, const Group& group);

  std::shared_ptr<const Automaton> automaton_;
  Limits limits_;
  std::size_t num_classes_;
  std::int64_t work_left_ = 0;
  Failure failure_ = Failure::none;

  std::vector<Item> arena_;  // items of configurations, callers of frames
  std::vector<Config> configs_;
  std::vector<std::uint32_t> rows_;  // [configs, classes]
  std::vector<Frame> frames_;
  std::vector<Group> groups_;
  InternTable config_index_;
  InternTable group_index_;
  ConfigId start_ = kDead;

  // Scratch memory of one closure.
  std::vector<Item> todo_;
  std::vector<Item> seen_;
  InternTable seen_index_;
  std::vector<Item> scanning_;
  std::vector<PendingCall> pending_;  // a heap, smallest component first
  std::vector<std::pair<RuleId, Item>> called_;
  std::vector<Item> key_;
  std::vector<Item> kernel_;
  std::unordered_map<FrameId, FrameId> adopted_;  // frames of the other run that were already copied
  bool complete_ = false;
  bool exits_ = false;
};

}  // namespace kvasir::grammar
