#pragma once

#include "ops/draw/row_draw.h"
#include "ops/draw/select.h"

// Draws one row's token. Every thread of a team calls each function here.
namespace kvasir::ops {

inline constexpr std::uint32_t kInPrompt = 0x8000;

KVASIR_TEAM inline std::uint32_t count_of(const std::uint32_t* counts, int id) {
  return counts[id / 2] >> (16 * (id % 2)) & 0xffff;
}

template <class Team>
KVASIR_TEAM void count_tokens(Team& team, const DrawArgs& args, const RowDraw& draw) {
  std::uint32_t* counts = args.counts + static_cast<std::int64_t>(draw.history) * count_words(args.cols);
  if (draw.clears != 0) {
    for (int i = team.rank(); i < count_words(args.cols); i += team.size()) counts[i] = 0;
    team.barrier();
  }
  for (int i = team.rank(); i < draw.num_counted; i += team.size()) {
    const int id = args.lists.counted[draw.first_counted + i];
    const bool in_prompt = i < draw.num_prompt_counted;
    team.change(&counts[id / 2], [=](std::uint32_t word) {
      const int shift = 16 * (id % 2);
      if (in_prompt) return word | kInPrompt << shift;
      const bool is_full = (word >> shift & (kInPrompt - 1)) == kInPrompt - 1;
      return is_full ? word : word + (std::uint32_t{1} << shift);
    });
  }
  team.barrier();
}

KVASIR_TEAM inline float penalized(float logit, std::uint32_t count, const RowDraw& draw) {
  if (count == 0) return logit;
  if (draw.repetition_penalty != 1)
    logit = logit > 0 ? logit / draw.repetition_penalty : logit * draw.repetition_penalty;
  const std::uint32_t num_output = count & (kInPrompt - 1);
  if (num_output == 0) return logit;
  return logit - (draw.presence_penalty + draw.frequency_penalty * static_cast<float>(num_output));
}

// The inverse of penalized(): the logit before penalties.
KVASIR_TEAM inline float unpenalized(float logit, std::uint32_t count, const RowDraw& draw) {
  const std::uint32_t num_output = count & (kInPrompt - 1);
  if (num_output > 0)
    logit += draw.presence_penalty + draw.frequency_penalty * static_cast<float>(num_output);
  if (count == 0 || draw.repetition_penalty == 1) return logit;
  return logit > 0 ? logit * draw.repetition_penalty : logit / draw.repetition_penalty;
}

KVASIR_TEAM inline bool is_adjusted(const RowDraw& draw) {
  return draw.history >= 0 || draw.num_biases > 0 || draw.mask >= 0;
}

template <class Team>
KVASIR_TEAM void adjust(Team& team, const DrawArgs& args, const RowDraw& draw, float* row) {
  const std::uint32_t* counts =
      draw.history < 0 ? nullptr
                       : args.counts + static_cast<std::int64_t>(draw.history) * count_words(args.cols);
  const int mask_words = args.lists.mask_words;
  const std::uint32_t* mask =
      draw.mask < 0 ? nullptr : args.lists.masks + static_cast<std::int64_t>(draw.mask) * mask_words;
  if (counts != nullptr || mask != nullptr) {
    visit(team, row, args.cols, [&](int i, float logit) {
      const std::uint32_t count = counts != nullptr ? count_of(counts, i) : 0;
      const bool is_out = mask != nullptr && (i / 32 >= mask_words || (mask[i / 32] >> (i % 32) & 1) == 0);
      if (is_out)
        row[i] = -kInfinite;
      else if (count != 0)
        row[i] = penalized(logit, count, draw);
    });
    team.barrier();
  }
  for (int i = team.rank(); i < draw.num_biases; i += team.size()) {
    const TokenBias& bias = args.lists.biases[draw.first_bias + i];
    team.add(&row[bias.token], bias.bias);
  }
  team.barrier();
}

// The model's own logit of a token that was drawn from an adjusted row.
KVASIR_TEAM inline float unadjusted(const DrawArgs& args, const RowDraw& draw, float logit, int token) {
  for (int i = 0; i < draw.num_biases; ++i) {
    const TokenBias& bias = args.lists.biases[draw.first_bias + i];
    if (bias.token == token) logit -= bias.bias;
  }
  if (draw.history < 0) return logit;
  const std::int64_t first = static_cast<std::int64_t>(draw.history) * count_words(args.cols);
  return unpenalized(logit, count_of(args.counts + first, token), draw);
}

KVASIR_TEAM inline float logprob_of(float logit, double log_sum) {
  return fmaxf(static_cast<float>(logit - log_sum), kLeastLogprob);
}

// Returns the log of the sum of exp(logits), and writes the likeliest tokens to `top`. `row` must not yet be
// adjusted.
template <class Team>
KVASIR_TEAM double report(Team& team, const float* row, int cols, float max, int num_top, TopToken* top,
                          DrawScratch& s) {
  double own = 0;
  visit(team, row, cols, [&](int /*i*/, float logit) { own += exp_negative(plus(logit, -max)); });
  const double log_sum = max + log(team.sum(own));
  const int count = num_top < cols ? num_top : cols;
  if (count <= 0) return log_sum;
  const KeyedRow<DistanceKeys> keyed{row, cols, {max}, Tally::counts};
  fill_bins(team, keyed, {}, s.coarse);
  const Place end =
      locate(team, keyed, {Goal::Of::count, Goal::Reach::at_least, static_cast<double>(count)}, s);
  if (team.rank() == 0) s.num_listed = 0;
  team.barrier();
  visit(team, row, cols, [&](int i, float logit) {
    const std::uint32_t key = keyed.keys(logit);
    if (Place{key, i}.is_after(end)) return;
    const std::uint32_t bits = bits_of(logit);
    // The larger the logit, the smaller `order`.
    const std::uint32_t order = bits >> 31 != 0 ? bits : 0x7fffffffu - bits;
    s.list[team.take(&s.num_listed)] = {order, i};
  });
  team.barrier();
  sort_list(team, count, s);
  for (int i = team.rank(); i < count; i += team.size())
    top[i] = {s.list[i].id, logprob_of(row[s.list[i].id], log_sum)};
  team.barrier();
  return log_sum;
}

// Draws from the tokens that top-k and top-p leave, the heaviest first.
template <class Team>
KVASIR_TEAM int draw_from_heaviest(Team& team, const KeyedRow<WeightKeys>& row, const RowDraw& draw,
                                   int likeliest, DrawScratch& s) {
  fill_bins(team, row, {}, s.coarse);
  Place end{kNoKey, -1, 0};
  if (row.tally == Tally::both)
    end = locate(team, row, {Goal::Of::count, Goal::Reach::at_least, static_cast<double>(draw.top_k)}, s);
  else
    end.mass = total_mass(team, row, s);
  if (draw.top_p < 1)
    end = locate(team, row, {Goal::Of::mass, Goal::Reach::at_least, draw.top_p * end.mass}, s);
  const std::uint32_t last_key = key_of_weight(fminf(draw.min_p, 1.0f));
  if (draw.min_p > 0 && last_key < end.key)
    end = {last_key, 0x7fffffff, mass_through(team, row, last_key, s)};
  const Place place = locate(team, row, {Goal::Of::mass, Goal::Reach::above, draw.u * end.mass}, s);
  // After rounding, the place may be past the end. Then the last token is drawn.
  if (!place.is_after(end)) return place.id;
  return end.id < row.cols ? end.id : likeliest;
}

template <class Team>
KVASIR_TEAM int draw_token(Team& team, const float* row, int cols, const Largest& largest,
                           const RowDraw& draw, DrawScratch& s) {
  const WeightKeys keys{largest.value, 1.0f / fmaxf(draw.temperature, 1e-6f)};
  const bool by_count = draw.top_k > 0 && draw.top_k < cols;
  if (by_count || draw.top_p < 1)
    return draw_from_heaviest(team, {row, cols, keys, by_count ? Tally::both : Tally::masses}, draw,
                              largest.index, s);
  const float least = fminf(draw.min_p, 1.0f);
  const auto value_of = [&](int i) {
    const float weight = keys.weight(row[i]);
    return weight >= least ? static_cast<double>(weight) : 0.0;
  };
  const double total = sum_blocks(team, cols, value_of, s);
  return find_by_id(team, cols, value_of, {Goal::Of::mass, Goal::Reach::above, draw.u * total}, {}, s).index;
}

// Draws the token of row `r`.
template <class Team>
KVASIR_TEAM void draw_row(Team& team, const DrawArgs& args, int r, DrawScratch& s) {
  const RowDraw draw = args.draws[r];
  float* row = args.logits + static_cast<std::int64_t>(r) * args.cols;
  const auto is_number = [](const Largest& x) { return x.value < kInfinite && x.value > -kInfinite; };
  RowDrawn drawn;
  Largest largest;
  double log_sum = 0;
  if (draw.history >= 0) count_tokens(team, args, draw);
  if (draw.num_top >= 0 || !is_adjusted(draw)) largest = find_largest(team, row, args.cols);
  if (draw.num_top >= 0 && is_number(largest))
    log_sum = report(team, row, args.cols, largest.value, draw.num_top,
                     args.top + static_cast<std::int64_t>(r) * kMaxTopTokens, s);
  if (draw.given >= 0) {
    drawn = {draw.given, largest.value, logprob_of(row[draw.given], log_sum)};
  } else {
    if (is_adjusted(draw)) {
      adjust(team, args, draw, row);
      largest = find_largest(team, row, args.cols);
    }
    drawn = {largest.index, largest.value, 0};
    if (draw.temperature > 0 && is_number(largest))
      drawn.token = draw_token(team, row, args.cols, largest, draw, s);
    if (draw.num_top >= 0 && is_number(largest))
      drawn.logprob = logprob_of(unadjusted(args, draw, row[drawn.token], drawn.token), log_sum);
  }
  if (team.rank() == 0) args.drawn[r] = drawn;
}

}  // namespace kvasir::ops
