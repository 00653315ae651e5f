#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/runner.h"

namespace kvasir::engine {

// A device for tests whose "keys and values" are real memory: a row writes its token and position into its
// block, and the next token is a hash of everything that the row reads through its block table. After a wrong
// table, a lost copy or a write to a shared block, the tokens differ from those that `expected_next` computes
// from the tokens alone.
class ToyRunner final : public Runner {
 public:
  static constexpr int kVocabSize = 1000;
  static constexpr std::size_t kBlockBytes = kv::kBlockTokens * sizeof(std::uint64_t);
  enum class Pace { one_by_one, overlapped };

  explicit ToyRunner(int num_blocks, Pace pace = Pace::one_by_one)
      : pace_(pace), cells_(std::size_t(num_blocks) * kv::kBlockTokens) {}

  static TokenId expected_next(std::span<const TokenId> known, std::uint64_t seed) {
    std::uint64_t hash = seed;
    for (std::size_t i = 0; i < known.size(); ++i) hash = mixed(hash, cell(known[i], int(i)));
    return TokenId(hash % kVocabSize);
  }

  base::Result<sched::StepResult> run(const sched::StepPlan& plan) override {
    if (before_step) before_step(plan);
    for (const auto& [from, to] : plan.copies)
      for (int i = 0; i < kv::kBlockTokens; ++i) at(to, i) = at(from, i);
    for (const sched::StepPlan::Load& load : plan.loads)
      std::memcpy(&at(load.to, 0), load.from->bytes.data(), kBlockBytes);
    sched::StepResult result;
    for (const sched::StepPlan::Slice& slice : plan.slices) {
      CHECK(int(slice.blocks.size()) == kv::blocks_for(slice.num_computed + slice.num_rows), "a wrong table");
      for (int i = slice.num_computed; i < slice.num_computed + slice.num_rows; ++i)
        at(slice.blocks[i / kv::kBlockTokens], i % kv::kBlockTokens) = cell(token(slice, i), i);
      result.outcomes.emplace_back();
    }
    drawn_.clear();
    for (std::size_t s = 0; s < plan.slices.size(); ++s)
      if (plan.slices[s].wants_token()) {
        result.outcomes[s].token = wire::Token{next(plan.slices[s])};
        drawn_[plan.slices[s].sequence] = result.outcomes[s].token->id;
      }
    for (const sched::StepPlan::Store& store : plan.stores)
      result.stored.push_back(kv::sealed(
          std::string(reinterpret_cast<const char*>(&at(store.from, 0)), kBlockBytes), store.hash));
    num_rows += plan.load.prefill_tokens + plan.load.decode_sequences;
    return result;
  }

  kv::BlockForm block_form() const override { return {"toy", kBlockBytes}; }
  bool overlaps() const override { return pace_ == Pace::overlapped; }
  void start(const sched::StepPlan& plan) override {
    CHECK(started_.size() < 2, "a third step");
    started_.push_back(run(plan).value());
  }
  base::Result<sched::StepResult> collect() override {
    CHECK(!started_.empty(), "nothing was started");
    sched::StepResult result = std::move(started_.front());
    started_.pop_front();
    return result;
  }

  std::function<void(const sched::StepPlan&)> before_step;
  std::atomic<std::int64_t> num_rows = 0;

 private:
  static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    a = (a ^ b) * 0x9e3779b97f4a7c15u;
    return a ^ (a >> 29);
  }
  static std::uint64_t cell(TokenId token, int position) {
    return mixed(std::uint64_t(token) + 1, std::uint64_t(position) + 1);
  }
  // Token `i` of the slice. The device knows the token that it drew last before the engine does.
  TokenId token(const sched::StepPlan::Slice& slice, int i) const {
    if (i < int(slice.known.size())) return slice.known[i];
    CHECK(i == int(slice.known.size()) && slice.num_in_flight == 1, "an unknown token");
    return drawn_.at(slice.sequence);
  }
  std::uint64_t& at(kv::BlockId block, int i) { return cells_[std::size_t(block) * kv::kBlockTokens + i]; }
  TokenId next(const sched::StepPlan::Slice& slice) {
    std::uint64_t hash = slice.request->sampling.seed;
    for (int i = 0; i < slice.num_computed + slice.num_rows; ++i)
      hash = mixed(hash, at(slice.blocks[i / kv::kBlockTokens], i % kv::kBlockTokens));
    return TokenId(hash % kVocabSize);
  }

  const Pace pace_;
  std::vector<std::uint64_t> cells_;
  std::unordered_map<sched::SequenceId, TokenId> drawn_;  // tokens of the last step
  std::deque<sched::StepResult> started_;
};

}  // namespace kvasir::engine
