#include "api/answer/delta/choice.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "api/http/service/request_id.h"
#include "base/utf8.h"

namespace kvasir::api {

using base::num_characters;
using wire::FinishReason;

namespace {

// Removes up to `num` characters from the front. Returns how many were removed.
std::size_t remove_characters(std::string_view& text, std::size_t num) {
  const auto inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  std::size_t removed = 0;
  for (; removed < num && !text.empty(); ++removed) {
    std::size_t size = 1;
    while (size < text.size() && inside(text[size])) ++size;
    text.remove_prefix(size);
  }
  return removed;
}

}  // namespace

Choice::Choice(int index, std::shared_ptr<const text::Tokenizer> tokenizer, const Stops& stops,
               const AnswerReading& reading, std::shared_ptr<const EchoedPrompt> echo)
    : index_(index),
      min_tokens_(stops.min_tokens),
      tokenizer_(std::move(tokenizer)),
      detokenizer_(tokenizer_),
      stops_(stops.patterns),
      markers_(reading.markers),
      echo_(std::move(echo)) {
  if (!reading.syntax) return;
  parser_.emplace(reading.syntax);
  call_syntax_ = reading.syntax->syntax;
}

Delta Choice::push(const wire::TokenEvent& event) {
  Delta delta;
  delta.index = index_;
  usage_ = event.usage;
  delta.prompt = event.prompt;
  if (const auto echo = std::exchange(echo_, nullptr)) {
    echo_prompt(*echo, event.prompt, delta);
    if (echo->alone) finish_ = FinishReason::length;
  }
  for (const wire::Token& token : event.tokens) {
    if (finish_) break;
    take_token(token, delta);
  }
  if (finish_) {
    usage_.output_tokens = num_tokens_;  // the rest of the event comes after the stop string
  } else if (event.finish) {
    take_text(detokenizer_.flush(), delta);
    if (!finish_) {
      give_out(stops_.flush(), delta);
      finish_ = event.finish;
    }
    release_lines(delta);
  }
  delta.num_tokens = num_tokens_;
  delta.finish = finish_;
  delta.stop_string = stops_.found().value_or("");
  read_answer(delta);
  return delta;
}

void Choice::read_answer(Delta& delta) {
  if (!parser_) return;
  const std::string text = std::exchange(delta.text, {});
  const auto take = [&](text::AnswerPiece piece) {
    const std::size_t before = delta.text.size();
    delta.text += piece.content;
    delta.reasoning += piece.reasoning;
    for (text::CallPiece& call : piece.calls) {
      std::string id = call.name.empty() ? "" : make_call_id(call_syntax_);
      delta.calls.push_back({call.index, std::move(id), std::move(call.name), std::move(call.arguments),
                             before + call.content_before});
    }
  };
  take(parser_->push(text));
  if (!finish_) return;
  take(parser_->finish());
  // Calls that were complete when the token limit cut the answer count too.
  const bool whole = finish_ == FinishReason::stop || parser_->ends_in_whole_calls();
  delta.has_calls = whole && parser_->num_calls() > 0;
}

void Choice::echo_prompt(const EchoedPrompt& echo, const std::vector<wire::Token>& lines, Delta& delta) {
  delta.text += echo.text;
  num_echoed_chars_ = num_characters(echo.text);
  if (lines.empty()) return;
  text::Detokenizer words(tokenizer_);
  std::string_view rest = echo.text;
  std::size_t offset = 0;
  const auto add = [&](TokenId id, std::optional<wire::TokenLogprob> logprob) {
    delta.lines.push_back({id, std::move(logprob), offset, true});
    if (!tokenizer_->valid(id)) return;
    // An echoed prompt has a special token's text only if the client wrote it as text.
    const bool special = tokenizer_->is_special(id);
    const std::string text = special ? std::string(tokenizer_->bytes(id)) : words.push(id);
    if (special && !rest.starts_with(text)) return;
    offset += remove_characters(rest, num_characters(text));
  };
  add(echo.first_token, std::nullopt);
  for (const wire::Token& line : lines) add(line.id, line.logprob);
}

void Choice::take_token(const wire::Token& token, Delta& delta) {
  ++num_tokens_;
  const std::size_t begin = num_seen_bytes_;
  const std::size_t begin_chars = num_seen_chars_;
  // A padded output layer has ids that the vocabulary lacks. They have no text.
  if (std::ranges::find(markers_, token.id) != markers_.end())
    take_text(detokenizer_.flush() + std::string(tokenizer_->bytes(token.id)), delta);
  else if (tokenizer_->valid(token.id))
    take_text(detokenizer_.push(token.id), delta);
  if (token.logprob)
    held_.push_back({{token.id, *token.logprob, num_echoed_chars_ + begin_chars}, begin, num_seen_bytes_});
  release_lines(delta);  // after each token, so the result does not depend on how tokens form events
}

void Choice::take_text(const std::string& text, Delta& delta) {
  if (text.empty()) return;
  num_seen_bytes_ += text.size();
  num_seen_chars_ += num_characters(text);
  if (num_tokens_ <= min_tokens_) return give_out(text, delta);
  give_out(stops_.push(text), delta);
  if (stops_.found()) finish_ = FinishReason::stop;
}

void Choice::give_out(std::string_view text, Delta& delta) {
  delta.text += text;
  num_given_bytes_ += text.size();
}

void Choice::release_lines(Delta& delta) {
  while (!held_.empty()) {
    const HeldLine& front = held_.front();
    const bool cut = finish_ == FinishReason::stop && num_given_bytes_ < num_seen_bytes_;
    if (cut ? front.begin >= num_given_bytes_ : (!finish_ && front.end > num_given_bytes_)) break;
    delta.lines.push_back(std::move(held_.front().line));
    held_.pop_front();
  }
  if (finish_) held_.clear();
}

}  // namespace kvasir::api
