#include "verify/embed_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "model/checkpoint/checkpoint.h"
#include "model/file/text_file.h"
#include "verify/golden_json.h"

namespace kvasir::verify {

using base::ErrorCode;
namespace json = base::json;

namespace {

struct Golden {
  std::string text;  // empty if the golden has none
  std::vector<TokenId> ids;
  std::vector<double> embedding;
};

struct Keys {
  const char* text;  // null: goldens have no text
  const char* ids;
  const char* embedding;
};

base::Result<std::vector<Golden>> read_goldens(const std::filesystem::path& path, const Keys& keys) {
  TRY(const json::value root, model::read_json_value(path));
  const auto* list = root.if_array();
  if (!list || list->empty())
    return base::error(ErrorCode::invalid_argument, "{}: not a list of embeddings", path.string());
  std::vector<Golden> goldens;
  for (const json::value& entry : *list) {
    Golden& golden = goldens.emplace_back();
    if (keys.text) {
      TRY(golden.text, golden_string(entry, keys.text));
    }
    TRY(golden.ids, golden_tokens(entry, keys.ids));
    TRY(golden.embedding, golden_numbers(entry, keys.embedding));
  }
  return goldens;
}

// Returns 1 - cosine. The distance is infinite if there is a NaN.
double distance(const std::vector<double>& wanted, std::span<const float> got) {
  double dot = 0;
  double a = 0;
  double b = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    dot += wanted[i] * got[i];
    a += wanted[i] * wanted[i];
    b += static_cast<double>(got[i]) * got[i];
  }
  const double cosine = dot / std::sqrt(a * b);
  return std::isnan(cosine) ? std::numeric_limits<double>::infinity() : 1 - cosine;
}

base::Status compare(const std::vector<Golden>& goldens, std::span<const std::vector<TokenId>> tokens,
                     model::Encoder& encoder, EmbedCheck& check) {
  const auto dim = static_cast<std::size_t>(encoder.config().hidden_size);
  for (const Golden& golden : goldens) {
    if (golden.embedding.size() != dim)
      return base::error(ErrorCode::invalid_argument, "the golden is of another model: {} numbers, not {}",
                         golden.embedding.size(), dim);
  }
  TRY(const std::vector<float> vectors, encoder.encode(tokens));
  for (std::size_t i = 0; i < goldens.size(); ++i) {
    const std::span<const float> vector = std::span(vectors).subspan(i * dim, dim);
    check.texts.push_back({.label = goldens[i].text,
                           .num_tokens = static_cast<int>(tokens[i].size()),
                           .ids_equal = tokens[i] == goldens[i].ids,
                           .distance = distance(goldens[i].embedding, vector)});
  }
  return base::ok();
}

}  // namespace

double EmbedCheck::largest_distance() const {
  double largest = 0;
  for (const Text& text : texts) largest = std::max(largest, text.distance);
  return largest;
}

bool EmbedCheck::passed() const {
  return largest_distance() <= kMaxDistance &&
         std::all_of(texts.begin(), texts.end(), [](const Text& text) { return text.ids_equal; });
}

base::Result<EmbedCheck> check_embeddings(const std::filesystem::path& golden, model::LoadedEncoder& model) {
  TRY(const std::vector<Golden> goldens, read_goldens(golden, {"text", "ids", "embedding"}));
  std::size_t limit = 0;
  for (const Golden& entry : goldens) limit = std::max(limit, entry.ids.size());
  limit = std::min(limit, static_cast<std::size_t>(model.encoder->config().context_length));
  std::vector<std::vector<TokenId>> tokens;
  for (const Golden& entry : goldens) tokens.push_back(model.tokens(entry.text, static_cast<int>(limit)));
  EmbedCheck check;
  TRY_OK(compare(goldens, tokens, *model.encoder, check));
  return check;
}

base::Result<EmbedCheck> check_encoder(const std::filesystem::path& directory, ops::ComputePool& pool) {
  return check_encoder(directory, directory / "expected.json", pool);
}

base::Result<EmbedCheck> check_encoder(const std::filesystem::path& path,
                                       const std::filesystem::path& expected, ops::ComputePool& pool) {
  TRY(const std::vector<Golden> goldens,
      read_goldens(expected, {nullptr, "input_ids", "mean_pooled_normalized"}));
  TRY(model::EncoderCheckpoint checkpoint, model::open_encoder_checkpoint(path));
  auto encoder = model::Encoder::load(std::move(checkpoint), {.precision = ops::Precision::exact}, pool);
  if (!encoder.ok())
    return base::error(encoder.error().code, "{}: {}", path.string(), encoder.error().message);
  std::vector<std::vector<TokenId>> tokens;
  for (const Golden& entry : goldens) tokens.push_back(entry.ids);
  EmbedCheck check;
  TRY_OK(compare(goldens, tokens, **encoder, check));
  return check;
}

}  // namespace kvasir::verify
