#include <optional>
#include <utility>

#include "text/tokenizer/merge_table.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/tokenizer_json.h"

namespace kvasir::text {

using base::ErrorCode;
using base::Result;
using base::Status;
namespace json = base::json;

namespace {

using Kind = DecoderStep::Kind;

class Reader {
 public:
  Status read(const json::object& node, int nesting) {
    const std::string type = json_text(node, "type");
    if (type == "Sequence") return read_sequence(node, nesting);
    // After this step, all tokens are one text.
    if (type == "Fuse") {
      fused_ = true;
      return base::ok();
    }
    if (type == "Strip") return read_strip(node);
    if (fused_) return unknown(node);
    if (type == "ByteLevel") {
      decoder_.add({.kind = Kind::byte_level});
    } else if (type == "ByteFallback") {
      decoder_.add({.kind = Kind::byte_fallback});
    } else if (type == "Replace") {
      const auto* pattern = json_object(node, "pattern");
      std::string from = pattern != nullptr ? json_text(*pattern, "String") : std::string();
      std::string to = json_text(node, "content");
      if (from.empty() || to.size() > TokenTable::kMaxTokenBytes) return unknown(node);
      decoder_.add({.kind = Kind::replace, .from = std::move(from), .to = std::move(to)});
    } else if (type == "WordPiece") {
      decoder_.add({.kind = Kind::word_piece, .from = json_text(node, "prefix")});
      if (json_flag_or(node, "cleanup", true)) decoder_.add({.kind = Kind::clean_up});
    } else if (type == "Metaspace") {
      read_metaspace(node);
    } else {
      return unknown(node);
    }
    return base::ok();
  }

  Decoder take() { return std::move(decoder_); }

 private:
  static Status unknown(const json::object& node) {
    return base::error(ErrorCode::unsupported, "tokenizer.json: decoder {}", json::serialize(node));
  }

  Status read_sequence(const json::object& node, int nesting) {
    const auto* list = json_array(node, "decoders");
    if (list == nullptr || nesting >= kMaxJsonNesting)
      return base::error(ErrorCode::corrupt, "tokenizer.json: a decoder sequence has no list");
    for (const json::value& item : *list) {
      const auto* part = item.if_object();
      if (part == nullptr) return base::error(ErrorCode::corrupt, "tokenizer.json: a decoder is no object");
      TRY_OK(read(*part, nesting + 1));
    }
    return base::ok();
  }

  Status read_strip(const json::object& node) {
    const auto count = [&node](std::string_view key) {
      const json::value* value = node.if_contains(key);
      const std::int64_t number = value != nullptr && value->is_int64() ? value->get_int64() : 0;
      return number >= 0 && number <= 64 ? std::optional<int>(static_cast<int>(number)) : std::nullopt;
    };
    const std::string what = json_text(node, "content");
    const auto start = count("start");
    const auto stop = count("stop");
    if (what.empty() || !start || !stop) return unknown(node);
    if (!fused_) {
      decoder_.add({.kind = Kind::strip_left, .from = what, .count = *start});
      decoder_.add({.kind = Kind::strip_right, .from = what, .count = *stop});
      return base::ok();
    }
    if (what != " " || *stop != 0) return unknown(node);
    decoder_.strip_spaces_of_text(*start);
    return base::ok();
  }

  void read_metaspace(const json::object& node) {
    std::string mark = json_text(node, "replacement");
    if (mark.empty()) mark = kSpaceMark;
    const std::string scheme = json_text(node, "prepend_scheme");
    const bool never = scheme == "never" || (scheme.empty() && !json_flag_or(node, "add_prefix_space", true));
    decoder_.add({.kind = Kind::space_mark, .from = std::move(mark), .to = never ? " " : ""});
  }

  Decoder decoder_;
  bool fused_ = false;
};

}  // namespace

Result<Decoder> read_decoder(const json::object& file, ByteLevel byte_level) {
  Reader reader;
  const auto* node = json_object(file, "decoder");
  if (node == nullptr) {
    Decoder decoder;
    decoder.add({.kind = byte_level == ByteLevel::yes ? Kind::byte_level : Kind::join_words});
    return decoder;
  }
  TRY_OK(reader.read(*node, 0));
  Decoder decoder = reader.take();
  if (decoder.num_steps() > kMaxSteps)
    return base::error(ErrorCode::unsupported, "tokenizer.json: a decoder of {} steps", decoder.num_steps());
  return decoder;
}

}  // namespace kvasir::text
