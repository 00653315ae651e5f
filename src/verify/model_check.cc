#include "verify/model_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "model/checkpoint/checkpoint.h"
#include "model/decoder/decoder.h"
#include "model/decoder/device_decoder.h"
#include "model/decoder/sequence_runner.h"
#include "model/file/text_file.h"
#include "verify/golden_json.h"

namespace kvasir::verify {

using base::ErrorCode;
namespace json = base::json;

namespace {

struct GreedyToken {
  TokenId token = 0;
  double logprob = 0;
  double margin = 0;
};

struct Golden {
  std::vector<TokenId> input;
  std::vector<std::vector<double>> logits;  // after the last tokens of the input
  std::vector<GreedyToken> greedy;

  int num_tokens() const { return static_cast<int>(input.size() + greedy.size()); }
};

base::Result<Golden> parse_golden(const json::object& root) {
  const json::value value(root);
  Golden golden;
  TRY(golden.input, golden_tokens(value, "input_ids"));
  TRY(const json::array* rows, golden_array(value, "logits_last8"));
  for (const json::value& row : *rows) {
    // Each row is wrapped in an object, so that golden_numbers() can read it. Its key is named in an error.
    TRY(golden.logits.emplace_back(), golden_numbers(json::object{{"logits_last8", row}}, "logits_last8"));
  }
  TRY(const json::array* greedy, golden_array(value, "greedy"));
  for (const json::value& entry : *greedy) {
    GreedyToken token;
    TRY(token.token, golden_token(entry, "token"));
    TRY(token.logprob, golden_number(entry, "logprob"));
    TRY(token.margin, golden_number(entry, "margin"));
    golden.greedy.push_back(token);
  }
  return golden;
}

base::Status check_fits(const Golden& golden, const model::ModelConfig& config) {
  const auto in_vocabulary = [&](TokenId token) { return token >= 0 && token < config.vocab_size; };
  bool fits = !golden.input.empty() && golden.logits.size() <= golden.input.size() && !golden.logits.empty();
  fits = fits && std::all_of(golden.input.begin(), golden.input.end(), in_vocabulary);
  for (const GreedyToken& token : golden.greedy) fits = fits && in_vocabulary(token.token);
  for (const auto& row : golden.logits) fits = fits && static_cast<int>(row.size()) == config.vocab_size;
  if (!fits) return base::error(ErrorCode::invalid_argument, "expected.json is of another model");
  return base::ok();
}

double relative_error(const std::vector<std::vector<double>>& wanted, std::span<const float> logits) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double worst = 0;
  std::size_t i = 0;
  for (const auto& row : wanted) {
    for (const double logit : row) {
      low = std::min(low, logit);
      high = std::max(high, logit);
      const double error = std::abs(logits[i++] - logit);
      // A NaN counts as an infinite error.
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
  }
  return worst / (high - low);
}

void check_greedy(const Golden& golden, model::SequenceRunner& runner, std::span<const float> logits,
                  ModelCheck& check) {
  for (const GreedyToken& wanted : golden.greedy) {
    const TokenId got = model::argmax(logits);
    check.logprob_error =
        std::max(check.logprob_error, std::abs(model::logprob(logits, wanted.token) - wanted.logprob));
    if (got == wanted.token) {
      ++check.num_equal;
    } else if (wanted.margin >= ModelCheck::kMinMargin) {
      if (check.num_missed++ == 0) check.first_missed = check.num_greedy;
    }
    ++check.num_greedy;
    logits = runner.feed({&wanted.token, 1}, 1);
  }
}

ModelCheck check_golden(const Golden& golden, model::SequenceRunner& runner) {
  ModelCheck check;
  const std::size_t vocab = golden.logits.front().size();
  const std::span<const float> logits = runner.feed(golden.input, static_cast<int>(golden.logits.size()));
  check.logit_error = relative_error(golden.logits, logits);
  check_greedy(golden, runner, logits.last(vocab), check);
  return check;
}

}  // namespace

base::Result<ModelCheck> check_model(const std::filesystem::path& directory, ops::ComputePool& pool) {
  return check_model(directory, directory / "expected.json", pool);
}

base::Result<ModelCheck> check_model(const std::filesystem::path& path, const std::filesystem::path& expected,
                                     ops::ComputePool& pool) {
  TRY(const json::object root, model::read_json_file(expected));
  TRY(const Golden golden, parse_golden(root));
  TRY(model::Checkpoint checkpoint, model::open_checkpoint(path));
  TRY_OK(check_fits(golden, checkpoint.config));
  auto loaded = model::Decoder::load(std::move(checkpoint), {.precision = ops::Precision::exact}, pool);
  if (!loaded.ok()) return base::error(loaded.error().code, "{}: {}", path.string(), loaded.error().message);
  const std::unique_ptr<model::Decoder> decoder = std::move(*loaded);
  TRY(model::SequenceRunner runner,
      model::SequenceRunner::create(*decoder, ops::KvType::f32, golden.num_tokens()));
  return check_golden(golden, runner);
}

base::Result<ModelCheck> check_model_on_cuda(const std::filesystem::path& directory, ops::ComputePool& pool) {
  TRY(const json::object root, model::read_json_file(directory / "expected.json"));
  TRY(const Golden golden, parse_golden(root));
  TRY(model::Checkpoint checkpoint, model::open_checkpoint(directory));
  TRY_OK(check_fits(golden, checkpoint.config));
  const int num_tokens = golden.num_tokens();
  const model::DeviceOptions options{.type = tensor::DType::f32,
                                     .num_blocks = num_tokens / ops::kBlockTokens + 1,
                                     .max_rows = num_tokens,
                                     .max_sequences = num_tokens};
  auto loaded = model::load_cuda_decoder(std::move(checkpoint), options, pool);
  if (!loaded.ok())
    return base::error(loaded.error().code, "{}: {}", directory.string(), loaded.error().message);
  const std::unique_ptr<model::DeviceDecoder> decoder = std::move(*loaded);
  TRY(model::SequenceRunner runner, model::SequenceRunner::create(*decoder, num_tokens));
  return check_golden(golden, runner);
}

}  // namespace kvasir::verify
