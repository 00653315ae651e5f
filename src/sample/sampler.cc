#include "sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "sample/rng.h"

namespace kvasir::sample {

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
// OpenAI's logprob of a token with probability 0, since JSON has no -inf.
constexpr float kLeastLogprob = -9999.0f;

template <class Candidate>
bool heavier(const Candidate& a, const Candidate& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
}

bool cuts_by_count(const wire::SamplingParams& p, int vocab_size) {
  return p.top_k > 0 && p.top_k < vocab_size;
}

bool has_penalties(const wire::SamplingParams& p) {
  return p.presence_penalty != 0 || p.frequency_penalty != 0 || p.repetition_penalty != 1;
}

}  // namespace

Sampler::Sampler(int vocab_size) : vocab_size_(vocab_size) {
  CHECK(vocab_size > 0, "a vocabulary of {}", vocab_size);
}

base::Result<wire::Token> Sampler::sample(std::span<const float> logits, const SampleInput& input) {
  CHECK(static_cast<int>(logits.size()) == vocab_size_, "{} logits of {}", logits.size(), vocab_size_);
  const std::span<const float> adjusted = adjust(logits, input);
  const Largest max = largest(adjusted);
  if (max.value == kInf) return base::error(base::ErrorCode::internal, "the model's logits are not numbers");
  if (max.value == -kInf) return base::error(base::ErrorCode::internal, "every token is ruled out");
  wire::Token token;
  if (input.params.temperature <= 0) {
    token.id = static_cast<TokenId>(max.index);
  } else {
    token.id = draw(adjusted, max.value, input);
  }
  if (input.params.logprobs) token.logprob = logprob(logits, token.id, input.params.num_top_logprobs);
  return token;
}

std::span<const float> Sampler::adjust(std::span<const float> logits, const SampleInput& input) {
  if (!has_penalties(input.params) && input.params.logit_bias.empty() && input.forbidden.empty() &&
      input.allowed.empty())
    return logits;
  adjusted_.assign(logits.begin(), logits.end());
  if (has_penalties(input.params)) penalize(input);
  const auto known = [this](TokenId id) { return id >= 0 && id < vocab_size_; };
  for (const auto& [id, bias] : input.params.logit_bias)
    if (known(id)) adjusted_[id] += bias;
  for (const TokenId id : input.forbidden)
    if (known(id)) adjusted_[id] = -kInf;
  if (!input.allowed.empty()) keep_allowed(input.allowed);
  return adjusted_;
}

void Sampler::keep_allowed(std::span<const std::uint32_t> allowed) {
  const std::size_t size = adjusted_.size();
  for (std::size_t begin = 0; begin < size; begin += 32) {
    const std::uint32_t word = begin / 32 < allowed.size() ? allowed[begin / 32] : 0;
    if (word == ~std::uint32_t{0}) continue;
    const std::size_t end = std::min(begin + 32, size);
    for (std::size_t i = begin; i < end; ++i)
      if ((word >> (i - begin) & 1) == 0) adjusted_[i] = -kInf;
  }
}

void Sampler::penalize(const SampleInput& input) {
  const wire::SamplingParams& p = input.params;
  const auto output = input.known.subspan(input.num_prompt);
  counts_.resize(vocab_size_);
  if (p.repetition_penalty != 1) {
    for (const TokenId id : input.known) {
      if (counts_[id]++ > 0) continue;
      adjusted_[id] =
          adjusted_[id] > 0 ? adjusted_[id] / p.repetition_penalty : adjusted_[id] * p.repetition_penalty;
    }
    for (const TokenId id : input.known) counts_[id] = 0;
  }
  for (const TokenId id : output) ++counts_[id];
  for (const TokenId id : output) {
    if (counts_[id] == 0) continue;
    adjusted_[id] -= p.presence_penalty + p.frequency_penalty * static_cast<float>(counts_[id]);
    counts_[id] = 0;
  }
}

TokenId Sampler::draw(std::span<const float> logits, float max, const SampleInput& input) {
  const wire::SamplingParams& p = input.params;
  const double u = Rng(p.seed).uniform(input.known.size() - input.num_prompt);
  softmax(logits, max, p.temperature, softmax_);
  if (!cuts_by_count(p, vocab_size_) && p.top_p >= 1 && p.min_p <= 0) return draw_from_all(u);
  select(p);
  double total = 0;
  for (const Candidate& c : candidates_) total += c.weight;
  double left = u * total;
  for (const Candidate& c : candidates_) {
    left -= c.weight;
    if (left < 0) return c.id;
  }
  return candidates_.back().id;
}

void Sampler::select(const wire::SamplingParams& p) {
  // Weights are relative to the largest one, which is 1.
  const float least = std::min(p.min_p, 1.0f);
  double mass = softmax_.total;
  if (cuts_by_count(p, vocab_size_)) {
    mass = keep_top_k(p.top_k);
  } else {
    // All weights below the bound add up to less than the part 1 - top_p that is cut.
    const double bound = p.top_p < 1 ? (1.0 - p.top_p) * mass / vocab_size_ : 0;
    collect(std::min(1.0, std::max<double>(bound, least)));  // the largest weight always stays
  }
  if (p.top_p < 1) keep_top_p(p.top_p * mass);
  std::erase_if(candidates_, [least](const Candidate& c) { return c.weight < least; });
}

void Sampler::collect(double at_least) {
  candidates_.clear();
  for (std::size_t i = 0; i < softmax_.weights.size(); ++i) {
    const float w = softmax_.weights[i];
    if (w > 0 && w >= at_least) candidates_.push_back({w, static_cast<TokenId>(i)});
  }
}

double Sampler::keep_top_k(int top_k) {
  for (const double at_least : {1e-3, 1e-6, 0.0}) {
    collect(at_least);
    if (static_cast<int>(candidates_.size()) >= top_k) break;
  }
  if (static_cast<int>(candidates_.size()) > top_k) {
    std::ranges::nth_element(candidates_, candidates_.begin() + top_k, heavier<Candidate>);
    candidates_.resize(top_k);
  }
  std::ranges::sort(candidates_, heavier<Candidate>);  // draws go through the candidates in this order
  double mass = 0;
  for (const Candidate& c : candidates_) mass += c.weight;
  return mass;
}

// Sorts only as many candidates as necessary. In most distributions, 64 candidates have most of the mass.
void Sampler::keep_top_p(double mass) {
  double sum = 0;
  std::size_t num_sorted = 0;
  for (std::size_t n = 64; num_sorted < candidates_.size(); n *= 4) {
    const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(num_sorted);
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(std::min(n, candidates_.size()));
    if (end != candidates_.end()) std::ranges::nth_element(begin, end, candidates_.end(), heavier<Candidate>);
    std::ranges::sort(begin, end, heavier<Candidate>);
    for (auto c = begin; c != end; ++c) {
      sum += c->weight;
      if (sum < mass) continue;
      candidates_.erase(c + 1, candidates_.end());
      return;
    }
    num_sorted = static_cast<std::size_t>(end - candidates_.begin());
  }
}

TokenId Sampler::draw_from_all(double u) const {
  double left = u * softmax_.total;
  std::size_t block = 0;
  while (block + 1 < softmax_.block_sums.size() && left >= softmax_.block_sums[block])
    left -= softmax_.block_sums[block++];
  // Rounding may leave a remainder at the end. It belongs to the last token with a weight above 0.
  TokenId last = 0;
  for (std::size_t i = block * kSumBlock; i < softmax_.weights.size(); ++i) {
    if (softmax_.weights[i] <= 0) continue;
    last = static_cast<TokenId>(i);
    left -= softmax_.weights[i];
    if (left < 0) return last;
  }
  if (softmax_.weights[last] > 0) return last;
  return static_cast<TokenId>(std::ranges::max_element(softmax_.weights) - softmax_.weights.begin());
}

wire::TokenLogprob Sampler::logprob(std::span<const float> logits, TokenId id, int num_top) {
  const double log_sum = log_sum_exp(logits, largest(logits).value);
  const auto of = [&](float logit) { return std::max(static_cast<float>(logit - log_sum), kLeastLogprob); };
  wire::TokenLogprob out{.logprob = of(logits[id])};
  num_top = std::min(num_top, vocab_size_);
  if (num_top <= 0) return out;
  // This is a heap of the likeliest tokens so far. The least likely of them is in front.
  candidates_.clear();
  for (TokenId i = 0; i < vocab_size_; ++i) {
    const bool full = static_cast<int>(candidates_.size()) == num_top;
    if (full && !(logits[i] > candidates_.front().weight)) continue;
    if (full) {
      std::ranges::pop_heap(candidates_, heavier<Candidate>);
      candidates_.pop_back();
    }
    candidates_.push_back({logits[i], i});
    std::ranges::push_heap(candidates_, heavier<Candidate>);
  }
  std::ranges::sort(candidates_, heavier<Candidate>);
  for (const Candidate& c : candidates_) out.top.emplace_back(c.id, of(c.weight));
  return out;
}

}  // namespace kvasir::sample
