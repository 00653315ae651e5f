#include "model/sequence_runner.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace kvasir::model {

base::Result<SequenceRunner> SequenceRunner::create(Decoder& decoder, ops::KvType kv_type, int max_tokens) {
  const int num_blocks = (max_tokens + ops::kBlockTokens - 1) / ops::kBlockTokens;
  TRY(KvCache kv, KvCache::create(decoder.config(), kv_type, num_blocks));
  return SequenceRunner(decoder, std::move(kv));
}

SequenceRunner::SequenceRunner(Decoder& decoder, KvCache kv)
    : decoder_(&decoder), kv_(std::move(kv)), blocks_(static_cast<std::size_t>(kv_.num_blocks())) {
  std::iota(blocks_.begin(), blocks_.end(), 0);
}

std::span<const float> SequenceRunner::feed(std::span<const TokenId> tokens, int num_logits) {
  const int num_rows = static_cast<int>(tokens.size());
  CHECK(num_logits <= num_rows, "{} logits of {} rows", num_logits, num_rows);
  batch_.tokens.assign(tokens.begin(), tokens.end());
  batch_.slices.assign(1, {0, num_rows, num_computed_, blocks_});
  batch_.logit_rows.resize(static_cast<std::size_t>(num_logits));
  std::iota(batch_.logit_rows.begin(), batch_.logit_rows.end(), num_rows - num_logits);
  logits_.resize(static_cast<std::size_t>(num_logits) *
                 static_cast<std::size_t>(decoder_->config().vocab_size));
  decoder_->forward(batch_, kv_, logits_);
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
