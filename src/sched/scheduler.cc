#include "sched/scheduler.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/check.h"
#include "sched/output.h"
#include "wire/worker_report.h"

namespace kvasir::sched {

namespace {

// Lower classes save up their time for at most this many chunks of one block.
constexpr double kCreditChunks = 2;
// How much the newest answer counts in the mean length of answers.
constexpr double kOutputFading = 1.0 / 64;
constexpr double kTailFading = 1.0 / 16;

void insert_by_rank(std::vector<Sequence*>& list, Sequence& sequence) {
  list.insert(std::ranges::lower_bound(list, &sequence, ByRank{}), &sequence);
}

wire::Usage usage_of(const Sequence& sequence) {
  return {.prompt_tokens = sequence.num_prompt,
          .cached_tokens = std::clamp(sequence.num_cached, 0, sequence.num_prompt),
          .output_tokens = sequence.num_output(),
          .num_preemptions = sequence.num_preemptions,
          .queued_s = sequence.first_row_s < 0 ? 0 : std::max(0.0, sequence.first_row_s - sequence.came_s),
          .prefill_s = sequence.first_token_s < 0 ? 0 : sequence.first_token_s - sequence.first_row_s,
          .charge = sequence.charge};
}

// Keeps only new lines, since rows are computed again after a preemption.
void keep_prompt_lines(Sequence& sequence, int num_computed, std::vector<wire::Token>& lines) {
  if (!sequence.wants_prompt_lines()) return;
  const auto first = static_cast<std::ptrdiff_t>(sequence.prompt_lines.size()) - num_computed;
  CHECK(first >= 0, "sequence {} has passed over a part of its prompt", sequence.id);
  if (first >= static_cast<std::ptrdiff_t>(lines.size())) return;
  std::move(lines.begin() + first, lines.end(), std::back_inserter(sequence.prompt_lines));
}

}  // namespace

base::Status check_fits(const SchedulerOptions& options, const wire::GenerateRequest& request) {
  using base::ErrorCode;
  if (request.prompt.empty()) return base::error(ErrorCode::invalid_argument, "the prompt has no tokens");
  if (request.max_tokens <= 0)
    return base::error(ErrorCode::invalid_argument, "max_tokens is {}", request.max_tokens);
  const std::int64_t capacity = std::int64_t{options.num_blocks} * kv::kBlockTokens;
  const std::int64_t wanted = static_cast<std::int64_t>(request.prompt.size()) + request.max_tokens;
  if (wanted - 1 > capacity)
    return base::error(ErrorCode::too_large,
                       "{} prompt tokens and up to {} more do not fit into the KV cache of {} tokens",
                       request.prompt.size(), request.max_tokens, capacity);
  if (std::ssize(request.resumed) > request.max_tokens)
    return base::error(ErrorCode::invalid_argument, "{} output tokens are resumed, and max_tokens is {}",
                       request.resumed.size(), request.max_tokens);
  return base::ok();
}

Scheduler::Scheduler(const SchedulerOptions& options) : state_(options), mean_output_(kExpectedOutput) {
  CHECK(options.max_batch_tokens > 0 && options.max_batch_sequences > 0, "an empty batch");
}

Scheduler::~Scheduler() = default;

base::Result<SequenceId> Scheduler::submit(wire::GenerateRequest request) {
  TRY(Resumption resumption, replay_output(request));
  if (resumption.finish) return base::error(base::ErrorCode::invalid_argument, "the output is whole");
  return submit(std::move(request), std::move(resumption));
}

base::Result<SequenceId> Scheduler::submit(wire::GenerateRequest request, Resumption resumption) {
  TRY_OK(check_fits(state_.options, request));
  CHECK(!resumption.finish, "a request whose output is whole");
  auto sequence = std::make_unique<Sequence>();
  sequence->id = next_id_++;
  sequence->tokens = std::exchange(request.prompt, {});
  sequence->num_prompt = sequence->num_tokens();
  for (const std::vector<TokenId>& output : {std::exchange(request.resumed, {}), resumption.forced})
    sequence->tokens.insert(sequence->tokens.end(), output.begin(), output.end());
  sequence->unsent = std::move(resumption.forced);
  // Only the prompt can be public: generated tokens belong to the tenant.
  const int num_public = std::clamp(request.num_public_tokens, 0, sequence->num_prompt);
  sequence->chain = kv::BlockChain({.cache_namespace = request.origin.cache_namespace,
                                    .num_public_tokens = num_public,
                                    .weight = std::max(1, request.origin.weight)});
  sequence->chain.extend(sequence->tokens);
  sequence->matcher = std::move(resumption.matcher);
  sequence->request = std::move(request);
  sequence->arrived_s = state_.busy_s;
  sequence->num_stored = sequence->request.first_block;
  sequence->awaits = sequence->request.arriving != nullptr;
  num_awaiting_ += sequence->awaits ? 1 : 0;
  sequence->num_to_compute = num_to_compute(*sequence);
  recent_.add(now_s_, sequence->num_to_compute);
  sequence->came_s = now_s_;
  state_.shares.join(*sequence);
  insert_by_rank(state_.waiting, *sequence);
  const SequenceId id = sequence->id;
  sequences_.emplace(id, std::move(sequence));
  return id;
}

std::vector<wire::LiveSequence> Scheduler::live() const {
  std::vector<wire::LiveSequence> all;
  all.reserve(sequences_.size());
  for (const std::vector<Sequence*>* list : {&state_.running, &state_.waiting})
    for (const Sequence* one : *list)
      all.push_back({.request_id = one->request.origin.request_id,
                     .tenant = one->request.origin.tenant,
                     .priority = one->request.priority,
                     .runs = one->runs,
                     .held = one->held,
                     .num_prompt = one->num_prompt,
                     .num_cached = std::max(0, one->num_cached),
                     .num_computed = one->num_computed,
                     .num_output = one->num_output(),
                     .max_output = one->request.max_tokens,
                     .num_blocks = one->blocks.size(),
                     .age_s = std::max(0.0, now_s_ - one->came_s)});
  return all;
}

std::map<int, int> Scheduler::waiting_by_priority() const {
  std::map<int, int> counts;
  for (const Sequence* one : state_.waiting) ++counts[one->request.priority];
  return counts;
}

Outlook Scheduler::outlook() const {
  Outlook outlook = make_outlook(state_);
  outlook.mean_output = mean_output_;
  outlook.mean_tail = mean_tail_;
  outlook.recent = recent_;
  outlook.now_s = now_s_;
  return outlook;
}

int Scheduler::num_to_compute(const Sequence& sequence) const {
  const int num_cached = state_.options.prefix_cache
                             ? static_cast<int>(state_.tree.num_published(sequence.chain)) * kv::kBlockTokens
                             : 0;
  // Blocks that are on their way count as cached.
  const int num_coming =
      sequence.awaits ? static_cast<int>(sequence.request.arriving->end()) * kv::kBlockTokens : 0;
  return std::max(1, sequence.num_tokens() - std::max(num_cached, num_coming));
}

void Scheduler::take_arrivals() {
  if (num_awaiting_ == 0) return;
  for (Sequence* sequence : state_.waiting)
    if (sequence->awaits) take_arrival(*sequence);
}

void Scheduler::take_arrival(Sequence& sequence) {
  const kv::ArrivingBlocks& arriving = *sequence.request.arriving;
  if (!arriving.settled() && now_s_ - sequence.came_s < arriving.patience_s()) return;
  sequence.arrived = sequence.request.arriving->take();
  sequence.request.arriving.reset();
  sequence.awaits = false;
  --num_awaiting_;
}

void Scheduler::abort(SequenceId id) {
  Sequence& sequence = find(id);
  retire_blocks(sequence);
  remove(sequence);
  ++stats_.num_aborted;
}

void Scheduler::hold(SequenceId id) {
  find(id).held = true;
}

void Scheduler::resume(SequenceId id) {
  find(id).held = false;
}

std::vector<SequenceEvent> Scheduler::commit(const StepPlan& plan, StepResult result) {
  begin(plan);
  return finish(plan, std::move(result));
}

void Scheduler::begin(const StepPlan& plan) {
  ++num_begun_;
  for (const SequenceId id : plan.preempted) preempt(find(id));
  // Prefix hits are shared before anything is evicted to make room.
  for (const StepPlan::Slice& slice : plan.slices)
    if (slice.admitted) admit(slice);
  for (const StepPlan::Store& store : plan.stores)
    find(plan.slices[store.slice].sequence).num_stored = static_cast<int>(store.index) + 1;
  stats_.num_loaded_blocks += std::ssize(plan.loads);
  stats_.num_stored_blocks += std::ssize(plan.stores);
  for (const StepPlan::Slice& slice : plan.slices) {
    Sequence& sequence = find(slice.sequence);
    take_blocks(sequence, slice);
    CHECK(sequence.num_computed == slice.num_computed, "sequence {} moved since the plan", sequence.id);
    sequence.num_computed += slice.num_rows;
    state_.shares.charge(sequence, sequence.num_computed);
    sequence.last_step = num_begun_;
    if (sequence.first_row_s < 0) sequence.first_row_s = now_s_;
    if (slice.num_computed < sequence.num_prompt) sequence.prefill.begin(num_begun_, slice.num_rows, now_s_);
    if (slice.wants_token()) ++sequence.num_in_flight;
  }
}

void Scheduler::refresh(StepPlan& plan) const {
  for (StepPlan::Slice& slice : plan.slices) {
    const auto found = sequences_.find(slice.sequence);
    const Sequence* sequence = found == sequences_.end() ? nullptr : found->second.get();
    slice.request = sequence != nullptr ? &sequence->request : nullptr;
    slice.matcher = sequence != nullptr ? sequence->matcher.get() : nullptr;
    slice.known =
        sequence != nullptr ? std::span<const TokenId>(sequence->tokens) : std::span<const TokenId>();
    slice.num_in_flight = 0;
  }
}

std::vector<SequenceEvent> Scheduler::finish(const StepPlan& plan, StepResult result) {
  CHECK(result.outcomes.size() == plan.slices.size(), "{} outcomes of {} slices", result.outcomes.size(),
        plan.slices.size());
  std::vector<SequenceEvent> events;
  events.reserve(plan.slices.size());
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    const auto found = sequences_.find(plan.slices[i].sequence);
    if (found == sequences_.end()) continue;
    wire::TokenEvent& event = events.emplace_back(SequenceEvent{.sequence = found->first}).event;
    advance(*found->second, plan.slices[i], result.outcomes[i], event);
    if (event.tokens.empty() && !event.last()) events.pop_back();
  }
  ++stats_.num_steps;
  stats_.num_prefill_tokens += plan.load.prefill_tokens;
  stats_.num_decode_tokens += plan.load.decode_sequences;
  state_.cost.observe(plan.load, result.seconds - result.moved_s);
  state_.busy_s += std::max(0.0, result.seconds);
  stats_.busy_s = state_.busy_s;
  stats_.long_prompts_s += long_prompts_s(plan, std::max(0.0, result.seconds));
  state_.pool.set_now(state_.busy_s);
  if (plan.has_lower) give_credit(plan, result.seconds);
  return events;
}

// Gives lower classes their share of the time, saved up so that it is enough for a chunk of a prompt. If a
// step with their rows takes longer than predicted, they are charged for it: the highest class must not lose
// more because rows cost more than was thought.
void Scheduler::give_credit(const StepPlan& plan, double seconds) {
  const double most_s = kCreditChunks * state_.cost.predict_s({.prefill_tokens = kv::kBlockTokens});
  const double own_s = plan.predicted_s - plan.lower_s;
  const double lower_s = plan.lower_s > 0 ? std::max(plan.lower_s, seconds - own_s) : 0;
  const double credit_s = state_.lower_credit_s + kLowerShare * seconds - lower_s;
  state_.lower_credit_s = std::clamp(credit_s, -most_s, most_s);
}

// A step with other rows would have been shorter without those of long prompts, by as much as the cost model
// says. The end of a prompt whose beginning was long counts as short, which is little.
double Scheduler::long_prompts_s(const StepPlan& plan, double seconds) const {
  StepLoad others = plan.load;
  for (const StepPlan::Slice& slice : plan.slices)
    if (slice.num_prompt - slice.num_computed >= wire::kLeastLongPrompt)
      others.remove(slice.num_computed, slice.num_rows);
  if (others.num_rows() == plan.load.num_rows()) return 0;
  const double all_s = state_.cost.predict_s(plan.load);
  if (others.num_rows() == 0 || !(all_s > 0)) return seconds;
  return seconds * std::clamp(1 - state_.cost.predict_s(others) / all_s, 0.0, 1.0);
}

Sequence& Scheduler::find(SequenceId id) {
  const auto found = sequences_.find(id);
  CHECK(found != sequences_.end(), "sequence {} is not alive", id);
  return *found->second;
}

void Scheduler::admit(const StepPlan::Slice& slice) {
  Sequence& sequence = find(slice.sequence);
  const std::size_t num_hit_blocks = slice.blocks.size() - slice.num_new_blocks;
  for (const kv::BlockId id : slice.blocks.first(num_hit_blocks))
    sequence.blocks.append(state_.pool.share(id));
  sequence.num_computed = slice.num_computed;
  if (sequence.num_cached < 0) {
    sequence.num_cached = slice.num_computed - slice.num_loaded * kv::kBlockTokens;
    mean_tail_ += kTailFading * (slice.num_computed % kv::kBlockTokens - mean_tail_);
    stats_.num_cached_tokens += sequence.num_cached;
  }
  sequence.arrived = {};  // the plan keeps the blocks that it loads
  state_.shares.charge_cached(sequence, sequence.num_computed);
  state_.shares.run(sequence);
  std::erase(state_.waiting, &sequence);
  insert_by_rank(state_.running, sequence);
}

void Scheduler::preempt(Sequence& sequence) {
  retire_blocks(sequence);
  sequence.num_computed = 0;
  ++sequence.num_preemptions;
  ++stats_.num_preemptions;
  sequence.num_to_compute = num_to_compute(sequence);
  state_.shares.wait(sequence);
  std::erase(state_.running, &sequence);
  insert_by_rank(state_.waiting, sequence);
}

void Scheduler::take_blocks(Sequence& sequence, const StepPlan::Slice& slice) {
  for (const kv::BlockId id : slice.blocks.last(slice.num_new_blocks)) {
    if (state_.pool.is_cached(id)) state_.tree.evict(id);
    sequence.blocks.append(state_.pool.take(id));
  }
}

void Scheduler::advance(Sequence& sequence, const StepPlan::Slice& slice, StepResult::Outcome& outcome,
                        wire::TokenEvent& event) {
  if (slice.num_computed < sequence.num_prompt) sequence.prefill.end(now_s_);
  if (outcome.error) {
    event.prefill = sequence.prefill.take();
    event.error = std::move(outcome.error);
    event.usage = usage_of(sequence);
    sequence.blocks.clear();
    remove(sequence);
    ++stats_.num_failed;
    return;
  }
  keep_prompt_lines(sequence, slice.num_computed, outcome.prompt);
  const int num_done = slice.num_computed + slice.num_rows;
  // If a step that began since has preempted the sequence, fewer tokens are computed, and the preemption has
  // published the blocks.
  if (state_.options.prefix_cache && sequence.num_computed >= num_done)
    sequence.blocks.publish(state_.tree, sequence.chain,
                            std::span(sequence.tokens).first(static_cast<std::size_t>(num_done)));
  if (!slice.wants_token()) return;
  CHECK(outcome.token.has_value(), "the runner gave sequence {} no token", sequence.id);
  --sequence.num_in_flight;
  if (sequence.first_token_s < 0) sequence.first_token_s = now_s_;
  event.prompt = std::exchange(sequence.prompt_lines, {});
  event.prefill = sequence.prefill.take();
  stats_.num_output_tokens += std::ssize(sequence.unsent);
  for (const TokenId token : std::exchange(sequence.unsent, {})) event.tokens.push_back({.id = token});
  append(sequence, *std::move(outcome.token), event);
  append_forced(sequence, event);
  event.usage = usage_of(sequence);
  if (!event.last()) return;
  retire_blocks(sequence);
  ++(event.error ? stats_.num_failed : stats_.num_finished);
  mean_output_ += kOutputFading * (sequence.num_output() - mean_output_);
  remove(sequence);
}

void Scheduler::append(Sequence& sequence, wire::Token token, wire::TokenEvent& event) {
  const int num_output = sequence.num_output();
  sequence.tokens.push_back(token.id);
  sequence.chain.extend(sequence.tokens);
  ++stats_.num_output_tokens;
  const base::Result<TakenToken> taken =
      take_token(sequence.request, sequence.matcher.get(), num_output, token.id);
  if (!taken.ok()) {
    event.error = taken.error();
    return;
  }
  event.finish = taken->finish;
  if (taken->is_text) event.tokens.push_back(std::move(token));
}

void Scheduler::append_forced(Sequence& sequence, wire::TokenEvent& event) {
  if (event.last()) return;
  base::Result<std::vector<TokenId>> forced = forced_tokens(sequence.request, sequence.matcher.get());
  if (!forced.ok()) {
    event.error = std::move(forced).error();
    return;
  }
  // A step that was begun since would draw a token in the place of the first forced one, so it draws none.
  if (!forced->empty()) sequence.num_in_flight = 0;
  for (const TokenId token : *forced) {
    append(sequence, {.id = token}, event);
    if (event.last()) return;
  }
  const base::Result<bool> over = must_end(sequence.matcher.get());
  if (!over.ok())
    event.error = over.error();
  else if (*over)
    event.finish = wire::FinishReason::stop;
}

void Scheduler::remove(Sequence& sequence) {
  std::erase(state_.running, &sequence);
  std::erase(state_.waiting, &sequence);
  state_.shares.leave(sequence, state_.busy_s);
  num_awaiting_ -= sequence.awaits ? 1 : 0;
  sequences_.erase(sequence.id);
}

// Steps in flight may still write these blocks. They run before any step that gets the blocks next.
void Scheduler::retire_blocks(Sequence& sequence) {
  if (!state_.options.prefix_cache) return sequence.blocks.clear();
  const auto num_computed = std::min(static_cast<std::size_t>(sequence.num_computed), sequence.tokens.size());
  sequence.blocks.retire(state_.tree, sequence.chain, std::span(sequence.tokens).first(num_computed));
}

}  // namespace kvasir::sched
