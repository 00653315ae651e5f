#include "verify/chat_check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/decoder/sequence_runner.h"
#include "model/file/text_file.h"
#include "verify/golden_json.h"

namespace kvasir::verify {

using base::ErrorCode;
namespace json = base::json;

namespace {

constexpr int kMaxTokens = ChatCheck::kMaxTokens;

class Checker {
 public:
  Checker(const model::Speech& speech, int vocab_size, model::SequenceRunner runner)
      : speech_(speech), vocab_size_(vocab_size), runner_(std::move(runner)) {}

  base::Result<ChatCheck::Tokens> chat(const json::value& golden);
  base::Result<ChatCheck::Tokens> text(const json::value& golden);

 private:
  base::Status check_tokens(std::span<const TokenId> tokens) const;
  base::Result<text::Prompt> render(const json::array& messages) const;
  std::string bytes_of(std::optional<TokenId> token) const {
    return token ? std::string(speech_.tokenizer->bytes(*token)) : std::string();
  }
  // Compares the logits with the reference at `token`, which is the reference's token or the next token of
  // its text.
  void compare(std::span<const float> logits, TokenId token, double reference_logprob,
               ChatCheck::Tokens& tokens) const {
    const double own = model::logprob(logits, token);
    tokens.logprob_error += std::abs(own - reference_logprob);
    tokens.nll -= own;
    tokens.reference_nll -= reference_logprob;
    ++tokens.num_tokens;
  }

  const model::Speech& speech_;
  const int vocab_size_;
  model::SequenceRunner runner_;
};

void divide(ChatCheck::Tokens& tokens) {
  const double count = std::max(tokens.num_tokens, 1);
  tokens.logprob_error /= count;
  tokens.nll /= count;
  tokens.reference_nll /= count;
}

base::Status Checker::check_tokens(std::span<const TokenId> tokens) const {
  const bool valid = !tokens.empty() && std::all_of(tokens.begin(), tokens.end(), [&](TokenId token) {
    return token >= 0 && token < vocab_size_;
  });
  if (!valid) return base::error(ErrorCode::invalid_argument, "the golden's tokens are of another model");
  if (static_cast<int>(tokens.size()) > kMaxTokens)
    return base::error(ErrorCode::invalid_argument, "the golden has a sequence of over {} tokens",
                       kMaxTokens);
  return base::ok();
}

base::Result<text::Prompt> Checker::render(const json::array& messages) const {
  text::TemplateInputs inputs;
  inputs.messages = messages;
  inputs.bos_token = bytes_of(speech_.tokenizer->bos());
  inputs.eos_token = bytes_of(speech_.tokenizer->eos());
  return speech_.chat_template->render(inputs);
}

base::Result<ChatCheck::Tokens> Checker::chat(const json::value& golden) {
  ChatCheck::Tokens result;
  TRY(const json::array* messages, golden_array(golden, "messages"));
  TRY(const std::string prompt, golden_string(golden, "prompt"));
  TRY(const std::vector<TokenId> input, golden_tokens(golden, "input_ids"));
  TRY(const json::array* greedy, golden_array(golden, "greedy"));
  if (!messages->empty()) {
    TRY(result.label, golden_string(messages->back(), "content"));
  }
  TRY(const text::Prompt rendered, render(*messages));
  result.text_equal = rendered.text == prompt;
  result.ids_equal = speech_.tokenizer->encode(rendered) == input;

  TRY_OK(check_tokens(input));
  if (greedy->size() + input.size() > kMaxTokens)
    return base::error(ErrorCode::invalid_argument, "a chat of over {} tokens", kMaxTokens);
  runner_.restart();
  std::span<const float> logits = runner_.feed(input, 1);
  for (const json::value& entry : *greedy) {
    TRY(const double id, golden_number(entry, "id"));
    TRY(const double reference, golden_number(entry, "logprob"));
    TRY(const double margin, golden_number(entry, "margin"));
    const auto token = static_cast<TokenId>(id);
    TRY_OK(check_tokens({&token, 1}));
    compare(logits, token, reference, result);
    if (model::argmax(logits) == token)
      ++result.num_equal;
    else if (margin >= ChatCheck::kMinMargin)
      ++result.num_missed;
    logits = runner_.feed({&token, 1}, 1);
  }
  divide(result);
  return result;
}

base::Result<ChatCheck::Tokens> Checker::text(const json::value& golden) {
  ChatCheck::Tokens result;
  TRY(const std::string text, golden_string(golden, "text"));
  TRY(const std::vector<TokenId> ids, golden_tokens(golden, "ids"));
  TRY(const std::vector<double> reference, golden_numbers(golden, "logprobs"));
  TRY(const std::vector<TokenId> most_likely, golden_tokens(golden, "argmax"));
  TRY_OK(check_tokens(ids));
  if (reference.size() + 1 != ids.size() || most_likely.size() != reference.size())
    return base::error(ErrorCode::invalid_argument, "the golden's text has lists of different lengths");
  result.label = text;
  result.ids_equal = speech_.tokenizer->encode(text, text::Specials::as_text) == ids;

  const auto vocab = static_cast<std::size_t>(vocab_size_);
  const int num_next = static_cast<int>(reference.size());
  runner_.restart();
  const std::span<const float> logits = runner_.feed(std::span(ids).first(reference.size()), num_next);
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const std::span<const float> row = logits.subspan(i * vocab, vocab);
    compare(row, ids[i + 1], reference[i], result);
    if (model::argmax(row) == most_likely[i]) ++result.num_equal;
  }
  divide(result);
  return result;
}

base::Result<ChatCheck> run(const std::filesystem::path& golden, Checker checker) {
  TRY(const json::object root, model::read_json_file(golden));
  const json::value value(root);
  TRY(const json::array* chats, golden_array(value, "chat"));
  TRY(const json::array* texts, golden_array(value, "text"));
  ChatCheck check;
  for (const json::value& chat : *chats) {
    TRY(check.chats.emplace_back(), checker.chat(chat));
  }
  for (const json::value& text : *texts) {
    TRY(check.texts.emplace_back(), checker.text(text));
  }
  return check;
}

}  // namespace

double ChatCheck::chat_logprob_error() const {
  double sum = 0;
  int count = 0;
  for (const Tokens& chat : chats) {
    sum += chat.logprob_error * chat.num_tokens;
    count += chat.num_tokens;
  }
  return count == 0 ? 0 : sum / count;
}

std::vector<std::string> ChatCheck::failures() const {
  std::vector<std::string> lines;
  for (const Tokens& chat : chats) {
    if (!chat.text_equal) lines.push_back(fmt::format("{:?}: the template's text differs", chat.label));
    if (!chat.ids_equal) lines.push_back(fmt::format("{:?}: the token ids differ", chat.label));
    if (chat.num_missed > 0)
      lines.push_back(fmt::format("{:?}: {} tokens differ where the margin is at least {}", chat.label,
                                  chat.num_missed, kMinMargin));
  }
  // Not written with `>`, so that NaN fails.
  if (!(chat_logprob_error() <= kMaxLogprobError))
    lines.push_back(fmt::format("the chats' mean logprob error is {:.4f}, over {}", chat_logprob_error(),
                                kMaxLogprobError));
  for (const Tokens& text : texts) {
    if (!text.ids_equal) lines.push_back(fmt::format("{:.40?}: the token ids differ", text.label));
    if (!(std::abs(text.nll - text.reference_nll) <= kMaxNllError))
      lines.push_back(fmt::format("{:.40?}: mean NLL {:.4f}, the reference's {:.4f}", text.label, text.nll,
                                  text.reference_nll));
  }
  return lines;
}

base::Result<ChatCheck> check_chat(const std::filesystem::path& golden, model::LoadedModel& model,
                                   ops::KvType kv_type) {
  TRY(model::SequenceRunner runner, model::SequenceRunner::create(*model.decoder, kv_type, kMaxTokens));
  return run(golden, Checker(model, model.config().vocab_size, std::move(runner)));
}

base::Result<ChatCheck> check_chat(const std::filesystem::path& golden, model::LoadedDeviceModel& model) {
  TRY(model::SequenceRunner runner, model::SequenceRunner::create(*model.decoder, kMaxTokens));
  return run(golden, Checker(model, model.config().vocab_size, std::move(runner)));
}

}  // namespace kvasir::verify
