#include "verify/golden_json.h"

#include <limits>
#include <optional>

namespace kvasir::verify {

using base::ErrorCode;
namespace json = base::json;

namespace {

base::Error wrong(std::string_view key, std::string_view wanted) {
  return base::error(ErrorCode::invalid_argument, "the golden's {:?} is no {}", key, wanted);
}

const json::value* find(const json::value& object, std::string_view key) {
  const auto* fields = object.if_object();
  return fields ? fields->if_contains(key) : nullptr;
}

}  // namespace

base::Result<const json::array*> golden_array(const json::value& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (!value || !value->is_array()) return wrong(key, "array");
  return &value->get_array();
}

base::Result<std::string> golden_string(const json::value& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (!value || !value->is_string()) return wrong(key, "string");
  return std::string(value->get_string());
}

base::Result<double> golden_number(const json::value& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (!value || !value->is_number()) return wrong(key, "number");
  boost::system::error_code ignored;
  return value->to_number<double>(ignored);
}

namespace {

// The range is checked before the cast, which is undefined outside the target's range.
std::optional<TokenId> as_token(double number) {
  if (!(number >= 0 && number <= std::numeric_limits<TokenId>::max())) return std::nullopt;
  return static_cast<TokenId>(number);
}

}  // namespace

base::Result<TokenId> golden_token(const json::value& object, std::string_view key) {
  TRY(const double number, golden_number(object, key));
  const auto token = as_token(number);
  if (!token) return wrong(key, "token");
  return *token;
}

base::Result<std::vector<TokenId>> golden_tokens(const json::value& object, std::string_view key) {
  TRY(const std::vector<double> numbers, golden_numbers(object, key));
  std::vector<TokenId> tokens;
  for (const double number : numbers) {
    const auto token = as_token(number);
    if (!token) return wrong(key, "list of tokens");
    tokens.push_back(*token);
  }
  return tokens;
}

base::Result<std::vector<double>> golden_numbers(const json::value& object, std::string_view key) {
  TRY(const json::array* array, golden_array(object, key));
  std::vector<double> numbers;
  boost::system::error_code ignored;
  for (const json::value& value : *array) {
    if (!value.is_number()) return wrong(key, "list of numbers");
    numbers.push_back(value.to_number<double>(ignored));
  }
  return numbers;
}

}  // namespace kvasir::verify
