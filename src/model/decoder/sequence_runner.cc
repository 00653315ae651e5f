#include "model/decoder/sequence_runner.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "model/decoder/kv_cache.h"

namespace kvasir::model {

namespace {

int blocks_for(int max_tokens) {
  return (max_tokens + ops::kBlockTokens - 1) / ops::kBlockTokens;
}

}  // namespace

base::Result<SequenceRunner> SequenceRunner::create(Decoder& decoder, ops::KvType kv_type, int max_tokens) {
  TRY(KvCache kv, KvCache::create(decoder.config(), kv_type, blocks_for(max_tokens)));
  auto cache = std::make_shared<KvCache>(std::move(kv));
  const auto forward = [&decoder, cache](const StepBatch& batch, std::span<float> logits) {
    decoder.forward(batch, *cache, logits);
  };
  return SequenceRunner(forward, decoder.config().vocab_size, cache->num_blocks());
}

base::Result<SequenceRunner> SequenceRunner::create(DeviceDecoder& decoder, int max_tokens) {
  const int num_blocks = blocks_for(max_tokens);
  if (num_blocks > decoder.num_blocks())
    return base::error(base::ErrorCode::too_large, "{} blocks for {} tokens", decoder.num_blocks(),
                       max_tokens);
  const auto forward = [&decoder](const StepBatch& batch, std::span<float> logits) {
    const std::size_t num_rows = batch.logit_rows.size();
    std::vector<RowChoice> choices(num_rows);
    base::Status status = decoder.forward(batch, std::vector<RowDraw>(num_rows), choices);
    const std::size_t vocab = num_rows == 0 ? 0 : logits.size() / num_rows;
    for (std::size_t row = 0; row < num_rows && status.ok(); ++row)
      status = decoder.fetch_logits(static_cast<int>(row), logits.subspan(row * vocab, vocab));
    CHECK(status.ok(), "{}", status.error().message);
  };
  return SequenceRunner(forward, decoder.config().vocab_size, num_blocks);
}

SequenceRunner::SequenceRunner(Forward forward, int vocab_size, int num_blocks)
    : forward_(std::move(forward)),
      vocab_size_(static_cast<std::size_t>(vocab_size)),
      blocks_(static_cast<std::size_t>(num_blocks)) {
  std::iota(blocks_.begin(), blocks_.end(), 0);
}

std::span<const float> SequenceRunner::feed(std::span<const TokenId> tokens, int num_logits) {
  const int num_rows = static_cast<int>(tokens.size());
  CHECK(num_logits <= num_rows, "{} logits of {} rows", num_logits, num_rows);
  batch_.tokens.assign(tokens.begin(), tokens.end());
  batch_.slices.assign(1, {0, num_rows, num_computed_, blocks_});
  batch_.logit_rows.resize(static_cast<std::size_t>(num_logits));
  std::iota(batch_.logit_rows.begin(), batch_.logit_rows.end(), num_rows - num_logits);
  logits_.resize(static_cast<std::size_t>(num_logits) * vocab_size_);
  forward_(batch_, logits_);
  num_computed_ += num_rows;
  return logits_;
}

TokenId argmax(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double logprob(std::span<const float> logits, TokenId token) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  return logits[static_cast<std::size_t>(token)] - top - std::log(sum);
}

}  // namespace kvasir::model
