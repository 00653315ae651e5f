#include "sched/planner.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "sched/grant.h"
#include "sched/plan_memory.h"
#include "sched/prompt_order.h"
#include "sched/reachable_slo.h"
#include "sched/row_turns.h"
#include "sched/share_rows.h"
#include "sched/step_end.h"
#include "sched/stream_slo.h"
#include "sched/write_plan.h"

namespace kvasir::sched {

namespace {

using kv::kBlockTokens;
using kv::kNoBlock;

// Without running streams, a step delays only arrivals and aborts, so it may take this many times longer.
constexpr double kSoloFactor = 4;
// The budget is reduced until the step is predicted to take at most this many times its target.
constexpr double kTolerance = 1.02;
constexpr int kMostTries = 6;
// With more streams than min_batch_decodes, their rows may take only this part of the target. The streams
// take turns then, so that a newcomer does not wait for thousands of others.
constexpr double kDecodeTarget = 0.25;
// The most rows of a step whose logits are needed for prompt logprobs. Each needs memory for a whole
// vocabulary.
constexpr int kMaxPromptRows = 64;
// When prompts are admitted, each counts for at most one part in this many of the budget, so that a long
// prompt does not keep short ones out.
constexpr int kMinPrefills = 4;
// highest_first: the highest class that has work comes first, and lower ones get the time and the places that
// are set apart for them. all_alike: no class holds another back.
enum class ClassRule { highest_first, all_alike };

class Planner {
 public:
  Planner(const SchedulerState& state, ClassRule rule) : s_(state), memory_(state) {
    if (rule == ClassRule::highest_first) find_highest();
  }

  bool has_lower() const { return has_lower_; }

  StepPlan build() {
    choose_running();
    waiting_ = waiting_in_order(s_);
    num_places_ = max_sequences() - num_chosen_;
    double target_s = step_s();
    add_lower_rows();
    if (target_s > 0) target_s += lower_s_;
    const int budget = prefill_budget(target_s);
    const StepLoad streams = load();
    admit_waiting(prefills_, budget);
    share_within(target_s, budget);
    if (chooses_length()) end_with_prompts(s_, streams, num_without_grant(), prefills_);
    serve_lower_prompts();
    int num_prompt_rows = kMaxPromptRows;
    limit_prompt_rows(prefills_, num_prompt_rows);
    limit_prompt_rows(lower_prefills_, num_prompt_rows);
    reserve_blocks();
    StepPlan plan = write_plan(grants_, memory_.preempted());
    plan.predicted_s = s_.cost.predict_s(plan.load);
    plan.has_lower = has_lower_;
    plan.lower_s = lower_s_;
    return plan;
  }

 private:
  void find_highest();
  bool is_lower(const Sequence& sequence) const { return has_lower_ && sequence.request.priority < highest_; }
  // If steps may take as long as they like, no sequence is displaced to give its time to another.
  bool guards_time() const { return s_.options.target_step_s > 0 || s_.options.slo.tpot_s > 0; }
  bool chooses_length() const { return s_.options.target_step_s <= 0 && s_.options.slo.tpot_s > 0; }
  bool has_prompts() const;
  int num_without_grant() const;
  void add_lower_rows();
  void serve_lower_prompts();
  bool claim_place(const Sequence& sequence);
  int num_kept_places(const Sequence& sequence) const;
  void drop_grant(const Sequence* sequence);
  int max_sequences() const { return std::min(s_.options.max_batch_sequences, s_.options.max_batch_tokens); }
  void choose_running();
  void limit_decodes(std::vector<RowTurn>& turns);
  double step_s() const;
  int prefill_budget(double target_s) const;
  void admit_waiting(std::vector<Grant>& prefills, int budget);
  bool waits_for_prefix(const Sequence& sequence) const;
  void count_as_computing(const Grant& grant);
  bool admit(const Sequence& sequence, std::vector<Grant>& prefills);
  static void use_arrived(Grant& grant);
  int num_needed_blocks(const Grant& grant);
  void share_within(double target_s, int budget);
  StepLoad load() const;
  void reserve_blocks();

  const SchedulerState& s_;
  PlanMemory memory_;
  int num_chosen_ = 0;           // running sequences that may continue in this step or soon
  bool takes_turns_ = false;     // some of them must wait for later steps
  std::vector<Grant> decodes_;   // one row each, by rank or by turn
  std::vector<Grant> prefills_;  // the running ones by rank, then the admitted ones
  // Sequences of classes below the highest one.
  std::vector<RowTurn> lower_turns_;
  std::vector<Grant> lower_prefills_;
  bool has_lower_ = false;
  int highest_ = 0;
  double lower_s_ = 0;           // what lower classes' rows add to the step
  int num_places_ = 0;           // free places in the batch
  std::vector<Prompt> waiting_;  // in the order of service
  std::vector<Grant*> grants_;   // decodes and prefills: running ones by rank, then admitted ones by rank
  // Full blocks that prefills will publish, each with the first in rank of the sequences that compute it.
  std::unordered_map<kv::BlockHash, const Sequence*, kv::BlockHashHasher> computing_;
};

void Planner::choose_running() {
  std::vector<RowTurn> turns;
  turns.reserve(s_.running.size());
  for (const Sequence* sequence : s_.running) {
    if (sequence->held || sequence->is_complete()) continue;
    if (num_chosen_ == max_sequences()) break;
    ++num_chosen_;
    Grant grant{.sequence = sequence, .num_computed = sequence->num_computed};
    count_as_computing(grant);
    if (sequence->num_pending() == 1)
      (is_lower(*sequence) ? lower_turns_ : turns).push_back({sequence->last_step, sequence});
    else
      (is_lower(*sequence) ? lower_prefills_ : prefills_).push_back(std::move(grant));
  }
  limit_decodes(turns);
  decodes_.reserve(turns.size());
  for (const RowTurn& turn : turns)
    decodes_.push_back(
        {.sequence = turn.sequence, .num_computed = turn.sequence->num_computed, .num_rows = 1});
}

// Leaves out the streams whose turn has not come.
void Planner::limit_decodes(std::vector<RowTurn>& turns) {
  const SchedulerOptions& o = s_.options;
  const double target_s = o.target_step_s > 0 ? o.target_step_s : o.slo.tpot_s > 0 ? o.short_step_s : 0;
  const int least = o.min_batch_decodes;
  if (target_s <= 0 || std::ssize(turns) <= least) return;
  sort_by_turn(turns);
  StepLoad load;
  const auto fits = [&](const RowTurn& turn) {
    ++load.decode_sequences;
    load.kv_tokens += turn.sequence->num_tokens();
    return load.decode_sequences <= least || s_.cost.predict_s(load) <= target_s * kDecodeTarget;
  };
  const auto rest = std::ranges::find_if_not(turns, fits);
  takes_turns_ = rest != turns.end();
  turns.erase(rest, turns.end());
}

// The target time of the step; 0: no target.
double Planner::step_s() const {
  const SchedulerOptions& o = s_.options;
  if (!has_prompts()) return 0;
  const double decode_s = s_.cost.predict_s(load());
  const double least_s = decode_s * (1 + o.prefill_share);
  // If streams take turns, prefill gets only its share of their time.
  if (takes_turns_) return least_s;
  if (o.target_step_s > 0) return std::max(o.target_step_s * (decodes_.empty() ? kSoloFactor : 1), least_s);
  if (o.slo.tpot_s <= 0) return 0;
  std::vector<Prompt> prompts;
  for (const Grant& grant : prefills_) prompts.push_back(judge(s_, *grant.sequence));
  for (const Prompt& prompt : waiting_)
    if (!is_lower(*prompt.sequence)) prompts.push_back(prompt);
  std::ranges::sort(prompts, is_served_before);
  std::vector<AwaitedPrompt> awaited;
  for (const Prompt& prompt : prompts) awaited.push_back(prompt.awaited);
  const int priority = prompts.front().sequence->request.priority;
  const Slo slo = tightened_slo(s_.cost, o.max_batch_sequences, o.least_slo, o.slo);
  const StepTarget target =
      choose_step({.slo = slo,
                   .tpot_s = strictest_tpot_s(decodes_, slo.tpot_s) / (has_lower_ ? 1 + kLowerShare : 1),
                   .short_s = o.short_step_s,
                   .decode_s = decodes_.empty() ? 0 : decode_s,
                   .prefill_share = o.prefill_share},
                  awaited);
  StepLoad whole = load();
  whole.prefill_tokens += prompts.front().num_left;
  const double chosen_s = target.reaching(s_.cost.predict_s(whole));
  if (!s_.shares.has_higher(priority, s_.busy_s, kExpectHigher_s)) return chosen_s;
  return std::min(chosen_s, std::max(expecting_step_s(s_.cost, o.short_step_s), least_s));
}

// The number of prefill rows that fit, without counting the cost of attention.
int Planner::prefill_budget(double target_s) const {
  const int most = std::max(0, s_.options.max_batch_tokens - static_cast<int>(decodes_.size()));
  if (has_lower_ && !has_prompts()) return 0;
  if (target_s <= 0) return most;
  return std::max(s_.cost.prefill_room(load(), target_s, most), std::min(kMinChunk, most));
}

// The highest class that can go on, if there is a lower one.
void Planner::find_highest() {
  if (!guards_time()) return;
  const auto can_go_on = [](const Sequence* sequence) {
    return !sequence->stands_still() && !sequence->is_complete();
  };
  const auto running = std::ranges::find_if(s_.running, can_go_on);
  const auto waiting = std::ranges::find_if(s_.waiting, can_go_on);
  if (running == s_.running.end() && waiting == s_.waiting.end()) return;
  if (running != s_.running.end()) highest_ = (*running)->request.priority;
  if (waiting != s_.waiting.end() && (running == s_.running.end() || (*waiting)->request.priority > highest_))
    highest_ = (*waiting)->request.priority;
  for (const auto& [priority, of] : s_.shares.classes())
    has_lower_ = has_lower_ || (priority < highest_ && of.num_live > 0);
}

bool Planner::has_prompts() const {
  return !prefills_.empty() || (!waiting_.empty() && !is_lower(*waiting_.front().sequence));
}

// Waiting prompts that were not admitted and are not of a lower class.
int Planner::num_without_grant() const {
  const auto num_waiting =
      std::ranges::count_if(waiting_, [this](const Prompt& prompt) { return !is_lower(*prompt.sequence); });
  return static_cast<int>(num_waiting - std::ranges::count_if(prefills_, &Grant::admitted));
}

// Streams of lower classes go on within the time that is set apart for them.
void Planner::add_lower_rows() {
  if (lower_turns_.empty()) return;
  sort_by_turn(lower_turns_);
  std::ranges::stable_sort(lower_turns_, std::greater<>(),
                           [](const RowTurn& turn) { return turn.sequence->request.priority; });
  StepLoad with = load();
  const double own_s = s_.cost.predict_s(with);
  for (const RowTurn& turn : lower_turns_) {
    with.add(turn.sequence->num_computed, 1);
    const double added_s = s_.cost.predict_s(with) - own_s;
    if (added_s > s_.lower_credit_s) break;
    lower_s_ = added_s;
    decodes_.push_back(
        {.sequence = turn.sequence, .num_computed = turn.sequence->num_computed, .num_rows = 1});
  }
}

void Planner::serve_lower_prompts() {
  if (!has_lower_) return;
  const StepLoad so_far = load();
  const double so_far_s = s_.cost.predict_s(so_far);
  const int most = s_.options.max_batch_tokens - so_far.num_rows();
  const int budget = s_.cost.prefill_room(so_far, so_far_s + s_.lower_credit_s - lower_s_, std::max(0, most));
  if (budget < kMinChunk) return;
  admit_waiting(lower_prefills_, budget);
  share_rows(s_, lower_prefills_, budget);
  lower_s_ += s_.cost.predict_s(load()) - so_far_s;
}

void Planner::admit_waiting(std::vector<Grant>& prefills, int budget) {
  const int count_most = std::max(1, budget / kMinPrefills);
  int num_wanted = 0;
  for (const Grant& grant : prefills) num_wanted += std::min(grant.num_left(), count_most);
  for (const Prompt& prompt : waiting_) {
    const Sequence& sequence = *prompt.sequence;
    if (num_wanted >= budget) break;
    if (is_lower(sequence) != (&prefills == &lower_prefills_)) continue;
    if (waits_for_prefix(sequence)) continue;
    if (num_places_ <= num_kept_places(sequence) && !claim_place(sequence)) continue;
    if (!admit(sequence, prefills)) break;
    --num_places_;
    num_wanted += std::min(prefills.back().num_left(), count_most);
  }
}

bool Planner::claim_place(const Sequence& sequence) {
  if (!guards_time()) return false;
  const Sequence* displaced = memory_.displace_for(sequence);
  if (displaced) drop_grant(displaced);
  return displaced;
}

// The number of empty places that this sequence may not take.
int Planner::num_kept_places(const Sequence& sequence) const {
  return has_lower_ ? std::min(memory_.claims().num_kept_from(sequence), max_sequences() / 2) : 0;
}

void Planner::drop_grant(const Sequence* sequence) {
  const auto is_its = [sequence](const Grant& grant) { return grant.sequence == sequence; };
  const std::size_t num_dropped = std::erase_if(decodes_, is_its) + std::erase_if(prefills_, is_its) +
                                  std::erase_if(lower_prefills_, is_its);
  const bool had_turn = std::ranges::find(lower_turns_, sequence, &RowTurn::sequence) != lower_turns_.end();
  if (num_dropped > 0 || had_turn) ++num_places_;
}

// True while another sequence, on which this one may rely, is about to publish the next block that this one
// needs: sequences that come together compute a prefix once. The waiting sequence holds nothing, and the
// computing one advances in its turn, so no sequence waits in a circle or for one that starves.
bool Planner::waits_for_prefix(const Sequence& sequence) const {
  if (!s_.options.prefix_cache || sequence.wants_prompt_lines()) return false;
  const std::size_t num_useful = (sequence.tokens.size() - 1) / kBlockTokens;
  const std::size_t num_published = s_.tree.num_published(sequence.chain, num_useful);
  if (num_published == num_useful) return false;
  const int num_known = sequence.num_known_blocks(static_cast<int>(num_published));
  if (num_known > static_cast<int>(num_published)) return false;  // the next blocks have come from elsewhere
  const auto found = computing_.find(sequence.chain.hashes()[num_published]);
  return found != computing_.end() && may_rely_on(*found->second, sequence);
}

void Planner::count_as_computing(const Grant& grant) {
  if (!s_.options.prefix_cache) return;
  const auto hashes = grant.sequence->chain.hashes();
  // Blocks of a step in flight are computed but not published yet.
  const int num_done = grant.admitted
                           ? grant.num_old_blocks()
                           : std::min(grant.num_computed / kBlockTokens, grant.sequence->blocks.num_shared());
  for (auto i = static_cast<std::size_t>(num_done); i < hashes.size(); ++i) {
    const Sequence*& first = computing_.try_emplace(hashes[i], grant.sequence).first->second;
    if (ByRank{}(grant.sequence, first)) first = grant.sequence;
  }
}

bool Planner::admit(const Sequence& sequence, std::vector<Grant>& prefills) {
  Grant grant{.sequence = &sequence, .admitted = true};
  if (s_.options.prefix_cache && !sequence.wants_prompt_lines())
    grant.hit = s_.tree.find(sequence.chain, sequence.tokens);
  use_arrived(grant);
  // The source of a copy must stay for the step, which takes one block more. If there is no room for it,
  // nothing is copied.
  if (grant.hit.tail != kNoBlock && num_needed_blocks(grant) > memory_.num_spare()) {
    grant.hit.tail = kNoBlock;
    grant.hit.num_tail_tokens = 0;
  }
  while (num_needed_blocks(grant) > memory_.num_spare() + memory_.num_held_blocks())
    if (!claim_place(sequence)) return false;
  const int num_needed = num_needed_blocks(grant);
  for (const kv::BlockId id : grant.hit.blocks) memory_.ledger().reserve(id);
  if (grant.hit.tail != kNoBlock) memory_.ledger().reserve(grant.hit.tail);
  if (!memory_.spare_blocks(sequence, num_needed)) return false;
  grant.num_computed = grant.hit.num_tokens() + grant.num_loaded * kBlockTokens;
  count_as_computing(grant);
  prefills.push_back(std::move(grant));
  return true;
}

// Loads blocks that have come from elsewhere, after the last full block found in the cache.
void Planner::use_arrived(Grant& grant) {
  const auto num_hit = static_cast<int>(grant.hit.blocks.size());
  grant.num_loaded = grant.sequence->num_known_blocks(num_hit) - num_hit;
  if (grant.num_loaded == 0) return;
  grant.hit.tail = kNoBlock;
  grant.hit.num_tail_tokens = 0;
}

// The number of available blocks that an admitted sequence takes, for all tokens that it knows and the next
// one.
int Planner::num_needed_blocks(const Grant& grant) {
  const Sequence& sequence = *grant.sequence;
  int num_needed = kv::blocks_for(std::min(sequence.num_tokens() + 1, sequence.capacity()));
  for (const kv::BlockId id : grant.hit.blocks) num_needed -= memory_.ledger().in_use(id) ? 1 : 0;
  return num_needed + (grant.hit.tail != kNoBlock ? 1 : 0);
}

// The load that has been granted so far.
StepLoad Planner::load() const {
  StepLoad load;
  for (const Grant& grant : decodes_) load.add(grant.num_computed, grant.num_rows);
  for (const Grant& grant : prefills_) load.add(grant.num_computed, grant.num_rows);
  for (const Grant& grant : lower_prefills_) load.add(grant.num_computed, grant.num_rows);
  return load;
}

// Shares the budget. If attention makes the step too long, shares a smaller one.
void Planner::share_within(double target_s, int budget) {
  const double decode_s = s_.cost.predict_s(load());
  share_rows(s_, prefills_, budget);
  for (int i = 0; i < kMostTries && target_s > 0; ++i) {
    const double seconds = s_.cost.predict_s(load());
    if (seconds <= target_s * kTolerance || budget <= kMinChunk) return;
    const double part = std::max(0.0, target_s - decode_s) / (seconds - decode_s);
    budget = std::max(kMinChunk, std::min(budget - 1, static_cast<int>(budget * part)));
    for (Grant& grant : prefills_) grant.num_rows = 0;
    share_rows(s_, prefills_, budget);
  }
}

// Goes by rank, so that no sequence is preempted that has been given blocks already.
void Planner::reserve_blocks() {
  BlockLedger& ledger = memory_.ledger();
  grants_.reserve(decodes_.size() + prefills_.size());
  for (Grant& grant : decodes_) grants_.push_back(&grant);
  for (Grant& grant : prefills_) grants_.push_back(&grant);
  for (Grant& grant : lower_prefills_) grants_.push_back(&grant);
  std::ranges::stable_sort(grants_, [](const Grant* a, const Grant* b) {
    if (a->admitted != b->admitted) return b->admitted;
    return ByRank{}(a->sequence, b->sequence);
  });
  for (Grant* grant : grants_) {
    if (memory_.is_preempted(grant->sequence)) grant->num_rows = 0;
    if (grant->num_rows == 0) continue;
    const int num_old = grant->num_old_blocks();
    int num_new = kv::blocks_for(grant->num_computed + grant->num_rows) - num_old;
    while (num_new > ledger.num_available() && !grant->admitted && memory_.preempt_for(grant->sequence)) {
    }
    if (num_new > ledger.num_available()) {
      num_new = ledger.num_available();
      grant->num_rows = std::max(0, (num_old + num_new) * kBlockTokens - grant->num_computed);
    }
    if (grant->num_rows == 0) continue;
    for (int i = 0; i < num_new; ++i) grant->new_blocks.push_back(ledger.take());
  }
}

}  // namespace

StepPlan make_plan(const SchedulerState& state) {
  Planner planner(state, ClassRule::highest_first);
  StepPlan plan = planner.build();
  // If no sequence of the highest class can go on, the others do not wait for it.
  if (plan.empty() && planner.has_lower()) return Planner(state, ClassRule::all_alike).build();
  return plan;
}

}  // namespace kvasir::sched
