#include "engine/step_rows.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "sample/rng.h"

namespace kvasir::engine {
namespace {

// Whether the mask allows any token besides these.
bool allows_other(std::span<const std::uint32_t> mask, std::span<const TokenId> tokens) {
  const auto bit = [&](TokenId id) { return mask[static_cast<std::size_t>(id) / 32] >> (id % 32) & 1; };
  int num_allowed = 0;
  for (const std::uint32_t word : mask) num_allowed += std::popcount(word);
  std::vector<TokenId> counted;
  for (const TokenId id : tokens) {
    if (id < 0 || static_cast<std::size_t>(id) / 32 >= mask.size() || bit(id) == 0) continue;
    if (std::ranges::find(counted, id) == counted.end()) counted.push_back(id);
  }
  return num_allowed > static_cast<int>(counted.size());
}

bool is_too_short(const sched::StepPlan::Slice& slice) {
  return slice.num_tokens() - slice.num_prompt < slice.request->min_tokens;
}

}  // namespace

void fill_batch(const sched::StepPlan& plan, model::StepBatch& batch) {
  batch.tokens.clear();
  batch.slices.clear();
  batch.logit_rows.clear();
  for (const sched::StepPlan::Slice& slice : plan.slices) {
    const auto fed = slice.known.subspan(static_cast<std::size_t>(slice.num_computed));
    const auto num_fed = std::min(fed.size(), static_cast<std::size_t>(slice.num_rows));
    batch.slices.push_back({.first_row = static_cast<int>(batch.tokens.size()),
                            .num_rows = slice.num_rows,
                            .num_computed = slice.num_computed,
                            .blocks = slice.blocks});
    for (int row = 0; row < slice.num_prompt_rows(); ++row)
      batch.logit_rows.push_back(static_cast<std::int32_t>(batch.tokens.size()) + row);
    batch.tokens.insert(batch.tokens.end(), fed.begin(), fed.begin() + static_cast<std::ptrdiff_t>(num_fed));
    batch.tokens.resize(batch.tokens.size() + static_cast<std::size_t>(slice.num_rows) - num_fed);
    if (slice.wants_token()) batch.logit_rows.push_back(static_cast<std::int32_t>(batch.tokens.size()) - 1);
  }
}

base::Result<TokenRules> rules_of(const sched::StepPlan::Slice& slice, std::vector<std::uint32_t>& mask) {
  TokenRules rules;
  const bool too_short = is_too_short(slice);
  if (too_short) rules.forbidden = slice.request->stop_tokens;
  if (slice.matcher == nullptr) return rules;
  mask.resize(slice.matcher->num_mask_words());
  TRY_OK(slice.matcher->fill_mask(mask));
  // If the grammar allows only the end here, the answer ends, however short it is.
  if (too_short && !allows_other(mask, slice.request->stop_tokens)) rules.forbidden = {};
  rules.allowed = mask;
  return rules;
}

double draw_position(const sched::StepPlan::Slice& slice) {
  const auto num_output = static_cast<std::uint64_t>(slice.num_tokens() - slice.num_prompt);
  return sample::Rng(slice.request->sampling.seed).uniform(num_output);
}

wire::Token RowSampler::prompt_token(const sched::StepPlan::Slice& slice, int row,
                                     std::span<const float> logits) {
  const TokenId id = slice.known[static_cast<std::size_t>(slice.num_computed + row + 1)];
  return {.id = id, .logprob = sampler_.logprob(logits, id, *slice.request->num_prompt_logprobs)};
}

void RowSampler::sample(const sched::StepPlan::Slice& slice, std::span<const float> logits,
                        sched::StepResult::Outcome& outcome) {
  base::Result<TokenRules> rules = rules_of(slice, mask_);
  if (!rules.ok()) {
    outcome.error = std::move(rules).error();
    return;
  }
  base::Result<wire::Token> token = sampler_.sample(logits, {.params = slice.request->sampling,
                                                             .known = slice.known,
                                                             .num_prompt = slice.num_prompt,
                                                             .forbidden = rules->forbidden,
                                                             .allowed = rules->allowed});
  if (token.ok())
    outcome.token = std::move(token).value();
  else
    outcome.error = std::move(token).error();
}

}  // namespace kvasir::engine
