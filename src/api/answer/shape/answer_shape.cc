#include "api/answer/shape/answer_shape.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace kvasir::api {

namespace {

void join_calls(Delta& sum, std::vector<CallDelta> pieces) {
  for (CallDelta& piece : pieces) {
    if (!sum.calls.empty() && sum.calls.back().index == piece.index) {
      sum.calls.back().arguments += piece.arguments;
      continue;
    }
    piece.text_before += sum.text.size();
    sum.calls.push_back(std::move(piece));
  }
}

json::object token_object(std::string_view text, std::string_view bytes, float logprob) {
  json::array numbers;
  for (const char c : bytes) numbers.push_back(static_cast<unsigned char>(c));
  json::object object;
  object["token"] = text;
  object["logprob"] = finite_logprob(logprob);
  object["bytes"] = std::move(numbers);
  return object;
}

json::object token_object(const text::Tokenizer& tokenizer, TokenId id, float logprob) {
  const std::string_view bytes = tokenizer.valid(id) ? tokenizer.bytes(id) : std::string_view();
  return token_object(token_text(tokenizer, id), bytes, logprob);
}

json::object line_object(const text::Tokenizer* tokenizer, const TokenLine& line) {
  json::array top;
  json::object object;
  if (line.said) {
    for (const auto& [text, logprob] : line.said->top) top.push_back(token_object(text, text, logprob));
    object = token_object(line.said->text, line.said->text, line.said->logprob);
  } else {
    for (const auto& [id, logprob] : line.logprob->top) top.push_back(token_object(*tokenizer, id, logprob));
    object = token_object(*tokenizer, line.id, line.logprob->logprob);
  }
  object["top_logprobs"] = std::move(top);
  return object;
}

}  // namespace

void join(Delta& sum, Delta delta) {
  sum.index = delta.index;
  join_calls(sum, std::move(delta.calls));
  sum.text += delta.text;
  sum.reasoning += delta.reasoning;
  std::move(delta.lines.begin(), delta.lines.end(), std::back_inserter(sum.lines));
  std::move(delta.prompt.begin(), delta.prompt.end(), std::back_inserter(sum.prompt));
  for (ServerCall& call : delta.server_calls)
    if (call.ended()) sum.server_calls.push_back(std::move(call));
  if (delta.round)
    sum.round_ends.push_back(
        {sum.text.size(), sum.reasoning.size(), sum.calls.size(), sum.server_calls.size()});
  sum.num_tokens = delta.num_tokens;
  sum.finish = delta.finish;
  sum.has_calls = delta.has_calls;
  sum.stop_string = std::move(delta.stop_string);
}

void add_receipt(const AnswerHead& head, json::object& object) {
  if (!head.extra) return;
  if (const json::value* receipt = head.extra->if_contains("kvasir")) object["kvasir"] = *receipt;
}

void add_warnings(const AnswerHead& head, json::object& object) {
  if (!head.warnings.empty()) object["warnings"] = json::value_from(head.warnings);
}

std::string named_event(const json::object& event) {
  return fmt::format("event: {}\ndata: {}\n\n", std::string_view(event.at("type").as_string()),
                     base::json_text(event));
}

double finite_logprob(float logprob) {
  return std::max(static_cast<double>(logprob), -9999.0);
}

std::string token_text(const text::Tokenizer& tokenizer, TokenId id) {
  if (!tokenizer.valid(id)) return {};
  return tokenizer.decode(std::span(&id, 1), text::SpecialOutput::keep);
}

std::string line_text(const text::Tokenizer* tokenizer, const TokenLine& line) {
  return line.said ? line.said->text : token_text(*tokenizer, line.id);
}

std::vector<std::pair<std::string, float>> line_alternatives(const text::Tokenizer* tokenizer,
                                                             const TokenLine& line) {
  if (line.said) return line.said->top;
  std::vector<std::pair<std::string, float>> all;
  for (const auto& [id, logprob] : line.logprob->top) all.emplace_back(token_text(*tokenizer, id), logprob);
  return all;
}

json::array logprob_list(const text::Tokenizer* tokenizer, const std::vector<TokenLine>& lines) {
  json::array list;
  for (const TokenLine& line : lines) list.push_back(line_object(tokenizer, line));
  return list;
}

}  // namespace kvasir::api
