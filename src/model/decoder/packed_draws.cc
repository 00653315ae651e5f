#include "model/decoder/packed_draws.h"

#include <algorithm>

#include "base/check.h"

namespace kvasir::model {

namespace {

ops::RowDraw plain_draw(const RowDraw& from) {
  ops::RowDraw draw;
  draw.temperature = from.temperature;
  draw.top_p = from.top_p;
  draw.min_p = from.min_p;
  draw.top_k = from.top_k;
  draw.u = from.u;
  draw.repetition_penalty = from.repetition_penalty;
  draw.frequency_penalty = from.frequency_penalty;
  draw.presence_penalty = from.presence_penalty;
  draw.history = from.history;
  draw.clears = from.clears_history ? 1 : 0;
  if (from.num_top) draw.num_top = std::clamp(*from.num_top, 0, ops::kMaxTopTokens);
  draw.given = from.given;
  return draw;
}

}  // namespace

void PackedDraws::pack(std::span<const RowDraw> from, int vocab_size, int num_histories) {
  draws.clear();
  counted.clear();
  biases.clear();
  masks.clear();
  mask_words = (vocab_size + 31) / 32;
  for (const RowDraw& one : from) {
    CHECK(one.history < num_histories && one.given < vocab_size, "history {}, token {}", one.history,
          one.given);
    ops::RowDraw& draw = draws.emplace_back(plain_draw(one));
    draw.first_counted = static_cast<std::int32_t>(counted.size());
    draw.num_prompt_counted = static_cast<std::int32_t>(one.prompt_counted.size());
    draw.num_counted = draw.num_prompt_counted + static_cast<std::int32_t>(one.output_counted.size());
    counted.insert(counted.end(), one.prompt_counted.begin(), one.prompt_counted.end());
    counted.insert(counted.end(), one.output_counted.begin(), one.output_counted.end());
    draw.first_bias = static_cast<std::int32_t>(biases.size());
    draw.num_biases = static_cast<std::int32_t>(one.biases.size());
    biases.insert(biases.end(), one.biases.begin(), one.biases.end());
    if (one.allowed.empty()) continue;
    draw.mask = static_cast<std::int32_t>(masks.size());
    masks.push_back(one.allowed);
  }
  // A token outside the vocabulary would make the device write outside the row.
  const auto is_known = [vocab_size](TokenId id) { return id >= 0 && id < vocab_size; };
  CHECK(std::ranges::all_of(counted, is_known), "a token to count is not in the vocabulary");
  CHECK(std::ranges::all_of(biases, is_known, &ops::TokenBias::token), "a bias is not of the vocabulary");
}

void PackedDraws::write_mask(std::size_t mask, std::span<std::uint32_t> to) const {
  const auto from = masks[mask].first(std::min(masks[mask].size(), to.size()));
  std::ranges::fill(std::ranges::copy(from, to.begin()).out, to.end(), 0u);
}

}  // namespace kvasir::model
