#include "text/tokenizer/decoder.h"

#include <algorithm>
#include <utility>

#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/token_table.h"

namespace kvasir::text {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || text.find(from) == std::string::npos) return;
  std::string replaced;
  std::size_t at = 0;
  for (std::size_t found = 0; (found = text.find(from, at)) != std::string::npos; at = found + from.size()) {
    replaced += std::string_view(text).substr(at, found - at);
    replaced += to;
  }
  replaced += std::string_view(text).substr(at);
  text = std::move(replaced);
}

void clean_up(std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kRules) replace_all(text, from, to);
}

void word_piece(std::string& text, std::string_view prefix, Decoder::Place place) {
  if (place == Decoder::Place::first) return;
  if (text.starts_with(prefix)) {
    text.erase(0, prefix.size());
  } else {
    text.insert(0, 1, ' ');
  }
}

void strip_left(std::string& text, std::string_view what, int count) {
  for (; count > 0 && text.starts_with(what); --count) text.erase(0, what.size());
}

void strip_right(std::string& text, std::string_view what, int count) {
  for (; count > 0 && text.ends_with(what); --count) text.resize(text.size() - what.size());
}

}  // namespace

std::string Decoder::bytes(std::string_view spelling, Place place) const {
  std::string text(spelling);
  for (const DecoderStep& step : steps_) {
    if (text.size() > TokenTable::kMaxTokenBytes) break;
    switch (step.kind) {
      case DecoderStep::Kind::byte_level:
        if (auto bytes = bytes_of_spelling(text)) text = std::move(*bytes);
        break;
      case DecoderStep::Kind::replace:
        replace_all(text, step.from, step.to);
        break;
      case DecoderStep::Kind::byte_fallback:
        if (const auto byte = byte_of_name(text)) text.assign(1, *byte);
        break;
      case DecoderStep::Kind::word_piece:
        word_piece(text, step.from, place);
        break;
      case DecoderStep::Kind::clean_up:
        clean_up(text);
        break;
      case DecoderStep::Kind::space_mark:
        replace_all(text, step.from, place == Place::first ? step.to : " ");
        break;
      case DecoderStep::Kind::strip_left:
        strip_left(text, step.from, step.count);
        break;
      case DecoderStep::Kind::strip_right:
        strip_right(text, step.from, step.count);
        break;
      case DecoderStep::Kind::join_words:
        if (place == Place::later) text.insert(0, 1, ' ');
        break;
    }
  }
  return text;
}

bool Decoder::first_differs() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const DecoderStep& step) {
    return step.kind == DecoderStep::Kind::word_piece || step.kind == DecoderStep::Kind::space_mark ||
           step.kind == DecoderStep::Kind::join_words;
  });
}

}  // namespace kvasir::text
