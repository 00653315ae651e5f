#include "verify/drift_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "model/decoder/sequence_runner.h"

namespace kvasir::verify {

using base::ErrorCode;

namespace {

constexpr int kMaxTokens = 4096;
constexpr std::size_t kChunk = 64;  // tokens whose logits are kept together

double log_sum_exp(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  return top + std::log(sum);
}

double divergence(std::span<const float> exact, std::span<const float> fast) {
  const double exact_norm = log_sum_exp(exact);
  const double fast_norm = log_sum_exp(fast);
  double sum = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double logprob = exact[i] - exact_norm;
    sum += std::exp(logprob) * (logprob - (fast[i] - fast_norm));
  }
  return sum;
}

void compare(std::span<const float> exact, std::span<const float> fast, DriftCheck& check) {
  const double kl = divergence(exact, fast);
  check.mean_divergence += kl;
  check.largest_divergence = std::max(check.largest_divergence, kl);
  if (model::argmax(exact) == model::argmax(fast)) ++check.num_agreed;
  ++check.num_tokens;
}

}  // namespace

std::vector<std::string> DriftCheck::failures() const {
  std::vector<std::string> lines;
  // Not written with `>`, so that NaN fails.
  if (!(mean_divergence <= kMaxDivergence))
    lines.push_back(
        fmt::format("the mean KL divergence is {:.2e}, over {:.0e}", mean_divergence, kMaxDivergence));
  if (!(agreement() >= kMinAgreement))
    lines.push_back(fmt::format("the most likely token agrees at {:.2f} % of the tokens, under {:.1f} %",
                                100 * agreement(), 100 * kMinAgreement));
  return lines;
}

base::Result<DriftCheck> check_drift(std::span<const std::string> texts, model::LoadedModel& exact,
                                     model::LoadedModel& fast, ops::KvType kv_type) {
  const auto vocab = static_cast<std::size_t>(exact.config().vocab_size);
  CHECK(fast.config().vocab_size == exact.config().vocab_size, "two models");
  const int limit = std::min(kMaxTokens, exact.context_length());
  TRY(model::SequenceRunner exact_runner,
      model::SequenceRunner::create(*exact.decoder, ops::KvType::f32, limit));
  TRY(model::SequenceRunner fast_runner, model::SequenceRunner::create(*fast.decoder, kv_type, limit));
  DriftCheck check;
  for (const std::string& text : texts) {
    std::vector<TokenId> tokens = exact.tokenizer->encode(text, text::Specials::as_text);
    tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(limit)));
    exact_runner.restart();
    fast_runner.restart();
    for (std::size_t i = 0; i < tokens.size(); i += kChunk) {
      const auto chunk = std::span(tokens).subspan(i, std::min(kChunk, tokens.size() - i));
      const std::span<const float> wanted = exact_runner.feed(chunk, static_cast<int>(chunk.size()));
      const std::span<const float> seen = fast_runner.feed(chunk, static_cast<int>(chunk.size()));
      for (std::size_t row = 0; row < chunk.size(); ++row)
        compare(wanted.subspan(row * vocab, vocab), seen.subspan(row * vocab, vocab), check);
    }
  }
  if (check.num_tokens == 0) return base::error(ErrorCode::invalid_argument, "the texts are empty");
  check.mean_divergence /= check.num_tokens;
  return check;
}

}  // namespace kvasir::verify
