#include "text/tokenizer/tokenizer_source.h"

#include <boost/json/basic_parser_impl.hpp>
#include <limits>
#include <utility>

namespace kvasir::text {

using base::ErrorCode;
namespace json = base::json;

constexpr std::size_t kMaxRows = 1 << 22;

// Fills a SourceRows from a parser's events between the beginning and the end of a container.
class RowCollector {
 public:
  void begin(SourceRows& into, SourceRows::Kind kind) {
    rows_ = &into;
    into = {};
    into.kind_ = kind;
    nesting_ = 0;
  }
  bool is_full() const { return rows_->rows_.size() > kMaxRows; }
  bool is_at_its_own_level() const { return nesting_ == 0; }

  void add_key(std::string_view key) {
    if (nesting_ > 0) return;
    rows_->rows_.emplace_back();
    add_text(key, rows_->rows_.back());
  }
  void add_text(std::string_view text) { add_text(text, member()); }
  void add_number(double number) {
    SourceRows::Row& row = member();
    row.is_other = row.is_other || row.num_numbers > 0;
    row.number = number;
    row.num_numbers = 1;
  }
  void add_integer(double number) {
    add_number(number);
    rows_->rows_.back().is_integer = true;
  }
  void add_other() { member().is_other = true; }
  void open(SourceRows::Kind kind) {
    SourceRows::Row& row = member();
    row.is_list = true;
    row.is_other = row.is_other || nesting_ > 0 || kind != SourceRows::Kind::array;
    ++nesting_;
  }
  void close() { --nesting_; }

 private:
  SourceRows::Row& member() {
    if (nesting_ == 0 && rows_->kind_ == SourceRows::Kind::array) rows_->rows_.emplace_back();
    return rows_->rows_.back();
  }
  void add_text(std::string_view text, SourceRows::Row& row) {
    const auto begin = static_cast<std::uint32_t>(rows_->texts_.size());
    const auto size = static_cast<std::uint32_t>(text.size());
    row.is_other = row.is_other || row.num_texts == 2 || row.num_numbers > 0;
    if (row.num_texts == 0) {
      row.first_begin = begin;
      row.first_size = size;
    } else {
      row.second_begin = begin;
      row.second_size = size;
    }
    rows_->texts_ += text;
    if (row.num_texts < 2) ++row.num_texts;
  }

  SourceRows* rows_ = nullptr;
  int nesting_ = 0;
};

namespace {

// Handler for Boost's parser. It builds values, except for the long members of `model`, for which it builds
// rows.
class SourceHandler {
 public:
  using error_code = boost::system::error_code;
  using Text = json::string_view;
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;

  SourceHandler() { values_.reset(); }

  TokenizerSource source;
  json::value take() { return values_.release(); }

  static bool on_document_begin(error_code&) { return true; }
  static bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code& code) { return open(SourceRows::Kind::object, code); }
  bool on_array_begin(error_code& code) { return open(SourceRows::Kind::array, code); }
  bool on_object_end(std::size_t size, error_code&) {
    if (close()) values_.push_object(size);
    return true;
  }
  bool on_array_end(std::size_t size, error_code&) {
    if (close()) values_.push_array(size);
    return true;
  }
  bool on_key_part(Text part, std::size_t, error_code&) {
    part_ += part;
    return true;
  }
  bool on_key(Text last, std::size_t, error_code& code) {
    const std::string_view key = whole(last);
    if (collecting_) {
      rows_.add_key(key);
    } else {
      values_.push_key(key);
      is_model_ = depth_ == 1 && key == "model";
      long_member_ = nullptr;
      if (depth_ == 2 && in_model_) {
        if (key == "vocab") long_member_ = &source.vocab;
        if (key == "merges") long_member_ = &source.merges;
      }
    }
    part_.clear();
    return check(code);
  }
  bool on_string_part(Text part, std::size_t, error_code&) {
    part_ += part;
    return true;
  }
  bool on_string(Text last, std::size_t, error_code& code) {
    const std::string_view text = whole(last);
    if (collecting_) {
      rows_.add_text(text);
    } else {
      values_.push_string(text);
    }
    part_.clear();
    return check(code);
  }
  static bool on_number_part(Text, error_code&) { return true; }
  bool on_int64(std::int64_t number, Text, error_code& code) {
    if (collecting_) {
      rows_.add_integer(static_cast<double>(number));
    } else {
      values_.push_int64(number);
    }
    return check(code);
  }
  bool on_uint64(std::uint64_t number, Text, error_code& code) {
    if (collecting_) {
      rows_.add_integer(static_cast<double>(number));
    } else {
      values_.push_uint64(number);
    }
    return check(code);
  }
  bool on_double(double number, Text, error_code& code) {
    if (collecting_) {
      rows_.add_number(number);
    } else {
      values_.push_double(number);
    }
    return check(code);
  }
  bool on_bool(bool value, error_code& code) {
    if (collecting_) {
      rows_.add_other();
    } else {
      values_.push_bool(value);
    }
    return check(code);
  }
  bool on_null(error_code& code) {
    if (collecting_) {
      rows_.add_other();
    } else {
      values_.push_null();
    }
    return check(code);
  }
  static bool on_comment_part(Text, error_code&) { return true; }
  static bool on_comment(Text, error_code&) { return true; }

 private:
  std::string_view whole(Text last) {
    if (part_.empty()) return {last.data(), last.size()};
    part_ += last;
    return part_;
  }
  bool check(error_code& code) const {
    if (collecting_ && rows_.is_full()) code = json::error::array_too_large;
    return !code;
  }

  bool open(SourceRows::Kind kind, error_code& code) {
    if (collecting_) {
      rows_.open(kind);
      return check(code);
    }
    if (long_member_ != nullptr && depth_ == 2) {
      collecting_ = true;
      rows_.begin(*std::exchange(long_member_, nullptr), kind);
      return true;
    }
    if (depth_ == 1) in_model_ = is_model_ && kind == SourceRows::Kind::object;
    ++depth_;
    return true;
  }
  // Ends a container. Returns whether it becomes a value.
  bool close() {
    if (!collecting_) {
      --depth_;
      return true;
    }
    if (rows_.is_at_its_own_level()) {
      collecting_ = false;
      values_.push_null();
    } else {
      rows_.close();
    }
    return false;
  }

  json::value_stack values_;
  std::string part_;  // the beginning of a text that comes in several parts
  int depth_ = 0;     // number of open containers
  bool is_model_ = false;
  bool in_model_ = false;
  SourceRows* long_member_ = nullptr;  // set if the last key names a long member
  bool collecting_ = false;
  RowCollector rows_;
};

}  // namespace

base::Result<TokenizerSource> read_source(std::string_view tokenizer_json) {
  if (tokenizer_json.size() > (std::size_t{1} << 31))
    return base::error(ErrorCode::corrupt, "tokenizer.json has {} bytes", tokenizer_json.size());
  json::parse_options options;
  options.max_depth = static_cast<std::size_t>(base::JsonLimits{}.max_depth);
  json::basic_parser<SourceHandler> parser(options);
  boost::system::error_code code;
  const std::size_t consumed = parser.write_some(false, tokenizer_json.data(), tokenizer_json.size(), code);
  if (code || consumed < tokenizer_json.size()) {
    const auto whole = base::parse_json(tokenizer_json);
    return base::error(ErrorCode::corrupt, "tokenizer.json: {}",
                       whole.ok() ? std::string("a list is too long") : whole.error().message);
  }
  json::value value = parser.handler().take();
  if (!value.is_object()) return base::error(ErrorCode::corrupt, "tokenizer.json is not an object");
  TokenizerSource source = std::move(parser.handler().source);
  source.rest = std::move(value.get_object());
  return source;
}

}  // namespace kvasir::text
