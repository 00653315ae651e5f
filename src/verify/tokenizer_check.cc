#include "verify/tokenizer_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "model/file/text_file.h"
#include "model/tokenizer/tokenizer_file.h"
#include "text/answer/stop_matcher.h"
#include "text/chat_template.h"
#include "text/tokenizer/detokenizer.h"
#include "verify/golden_json.h"

namespace kvasir::verify {

using base::ErrorCode;
namespace json = base::json;

namespace {

constexpr std::size_t kMaxFailures = 20;

std::string shortened(std::string_view text) {
  constexpr std::size_t kWidth = 80;
  const bool whole = text.size() <= kWidth;
  text = text.substr(0, base::utf8_valid_prefix(text.substr(0, kWidth)));
  return json::serialize(json::string(text)) + (whole ? "" : "...");
}

// Returns an index a little before the first difference, where a report begins, and the index of the
// difference.
template <class Sequence>
std::pair<std::size_t, std::size_t> difference(const Sequence& a, const Sequence& b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  return {at < 3 ? 0 : at - 3, at};
}

std::string ids_from(const std::vector<TokenId>& ids, std::size_t begin) {
  const std::size_t end = std::min(ids.size(), begin + 10);
  return fmt::format("{}", fmt::join(ids.begin() + static_cast<std::ptrdiff_t>(std::min(begin, end)),
                                     ids.begin() + static_cast<std::ptrdiff_t>(end), " "));
}

class Checker {
 public:
  explicit Checker(std::shared_ptr<const text::Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  base::Status check_text(const json::value& golden);
  base::Status check_chat(const json::value& golden);
  // Streams random tokens, which no text has in this order. Some of them are cut-off characters.
  void check_random_streams();
  TokenizerCheck take() { return std::move(result_); }

 private:
  void miss(std::string line) {
    ++result_.num_missed;
    if (result_.failures.size() < kMaxFailures) result_.failures.push_back(std::move(line));
  }
  void compare_ids(std::string_view what, std::string_view text, const std::vector<TokenId>& own,
                   const std::vector<TokenId>& reference) {
    if (own == reference) return;
    const auto [begin, at] = difference(own, reference);
    miss(fmt::format("{} of {} from {}: {} | {}", what, shortened(text), at, ids_from(own, begin),
                     ids_from(reference, begin)));
  }
  void compare_text(std::string_view what, const std::string& own, const std::string& reference) {
    if (own == reference) return;
    const auto [begin, at] = difference(own, reference);
    miss(fmt::format("{} from byte {}: {} | {}", what, at, shortened(own.substr(begin)),
                     shortened(reference.substr(begin))));
  }
  // Returns the text in pieces of whole characters, as a stream shows them.
  std::vector<std::string> stream(const std::vector<TokenId>& ids, text::SpecialOutput specials);
  // Compares streaming with decoding at once, both without a stop and with one somewhere in the text.
  void check_stream(const std::vector<TokenId>& ids, text::SpecialOutput specials);
  std::string bytes_of(std::optional<TokenId> token) const {
    return token ? std::string(tokenizer_->bytes(*token)) : std::string();
  }

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::optional<text::ChatTemplate> template_;
  TokenizerCheck result_;
  std::mt19937 random_;  // has the same seed every time
};

std::vector<std::string> Checker::stream(const std::vector<TokenId>& ids, text::SpecialOutput specials) {
  text::Detokenizer detokenizer(tokenizer_, specials);
  std::vector<std::string> pieces;
  for (const TokenId id : ids) {
    pieces.push_back(detokenizer.push(id));
    if (base::utf8_valid_prefix(pieces.back()) != pieces.back().size())
      miss(fmt::format("token {} streams half a character", id));
  }
  pieces.push_back(detokenizer.flush());
  return pieces;
}

void Checker::check_stream(const std::vector<TokenId>& ids, text::SpecialOutput specials) {
  ++result_.num_streams;
  const std::string text = tokenizer_->decode(ids, specials);
  const std::vector<std::string> pieces = stream(ids, specials);
  compare_text("streamed text", fmt::format("{}", fmt::join(pieces, "")), text);
  if (text.empty()) return;
  constexpr std::size_t kLongestStop = 24;
  const std::string stop = text.substr(random_() % text.size(), 1 + random_() % kLongestStop);
  text::StopMatcher matcher(std::make_shared<const text::StopPatterns>(std::vector<std::string>{stop}));
  std::string before;
  for (const std::string& piece : pieces) before += matcher.push(piece);
  before += matcher.flush();
  compare_text(fmt::format("text before the stop {}", shortened(stop)), before,
               text.substr(0, text.find(stop)));
}

void Checker::check_random_streams() {
  constexpr int kStreams = 500;
  for (int i = 0; i < kStreams; ++i) {
    std::vector<TokenId> ids(1 + random_() % 40);
    for (TokenId& id : ids) id = static_cast<TokenId>(random_() % static_cast<unsigned>(tokenizer_->size()));
    check_stream(ids, i % 2 == 0 ? text::SpecialOutput::skip : text::SpecialOutput::keep);
  }
}

base::Status Checker::check_text(const json::value& golden) {
  TRY(const std::string text, golden_string(golden, "text"));
  TRY(const std::vector<TokenId> ids, golden_tokens(golden, "ids"));
  ++result_.num_texts;
  const std::vector<TokenId> own = tokenizer_->encode(text, text::Specials::parse);
  compare_ids("ids", text, own, ids);
  const json::object& row = golden.as_object();
  if (row.contains("ids_special")) {
    TRY(const std::vector<TokenId> with_ends, golden_tokens(golden, "ids_special"));
    compare_ids("ids with ends", text, tokenizer_->with_ends(own), with_ends);
  }
  if (!row.contains("decoded")) return base::ok();
  TRY(const std::string decoded, golden_string(golden, "decoded"));
  for (const TokenId id : ids) {
    if (!tokenizer_->valid(id))
      return base::error(ErrorCode::invalid_argument, "the golden's token {} is of another tokenizer", id);
  }
  // The reference library shows a special token whose text its own normalizer changes (llama 2's <s>). Kvasir
  // does not show it.
  if (tokenizer_->decode(ids, text::SpecialOutput::keep) != decoded)
    compare_text("decoded text", tokenizer_->decode(ids), decoded);
  check_stream(ids, text::SpecialOutput::skip);
  return base::ok();
}

base::Status Checker::check_chat(const json::value& golden) {
  if (!template_) {
    if (tokenizer_->chat_template().empty())
      return base::error(ErrorCode::invalid_argument, "the golden has chats and the tokenizer no template");
    TRY(template_, text::ChatTemplate::parse(tokenizer_->chat_template()));
  }
  TRY(const json::array* messages, golden_array(golden, "conversation"));
  const json::object& row = golden.as_object();
  text::TemplateInputs inputs;
  inputs.messages = *messages;
  if (const auto* tools = row.if_contains("tools")) inputs.tools = *tools;
  if (const auto* add = row.if_contains("add_generation_prompt"))
    inputs.add_generation_prompt = add->is_bool() && add->get_bool();
  if (const auto* kwargs = row.if_contains("kwargs"); kwargs != nullptr && kwargs->is_object())
    inputs.kwargs = kwargs->get_object();
  if (const auto* now = row.if_contains("now"); now != nullptr && now->is_int64())
    inputs.now = now->get_int64();
  inputs.bos_token = bytes_of(tokenizer_->bos());
  inputs.eos_token = bytes_of(tokenizer_->eos());
  ++result_.num_chats;
  const auto rendered = template_->render(inputs);
  if (const auto* expected = row.if_contains("rendered"); expected != nullptr && expected->is_null()) {
    if (rendered.ok()) miss(fmt::format("chat {} renders, and must not", result_.num_chats));
    return base::ok();
  }
  TRY(const std::string reference, golden_string(golden, "rendered"));
  if (rendered.ok()) {
    compare_text(fmt::format("chat {}", result_.num_chats), rendered->text, reference);
  } else {
    miss(fmt::format("chat {}: {}", result_.num_chats, rendered.error().message));
  }
  return base::ok();
}

}  // namespace

base::Result<TokenizerCheck> check_tokenizer(const std::filesystem::path& tokenizer,
                                             const std::filesystem::path& golden,
                                             const model::TokenizerCache& cache) {
  TRY(const json::object file, model::read_json_file(golden));
  TRY(std::shared_ptr<const text::Tokenizer> loaded, model::read_tokenizer(tokenizer, cache));
  Checker checker(std::move(loaded));
  for (const auto& [key, check] :
       {std::pair{"encode", &Checker::check_text}, {"chat", &Checker::check_chat}}) {
    const json::value* list = file.if_contains(key);
    if (list == nullptr || !list->is_array()) continue;
    for (const json::value& row : list->get_array()) {
      if (!row.is_object())
        return base::error(ErrorCode::invalid_argument, "{}: a row of {} is no object", golden.string(), key);
      TRY_OK((checker.*check)(row));
    }
  }
  checker.check_random_streams();
  return checker.take();
}

}  // namespace kvasir::verify
