#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/jinja/callable.h"

namespace kvasir::text::jinja {
namespace {

std::size_t saturating_sum(std::size_t a, std::size_t b) {
  std::size_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::size_t>::max() : sum;
}

Value finished(Sequence made) {
  for (const Value& item : made.items) {
    made.depth = std::max(made.depth, item.depth() + 1);
    made.weight = saturating_sum(made.weight, item.weight());
  }
  return Value(std::make_shared<const Sequence>(std::move(made)));
}

// Returns a spelling that is the same for equal keys, even if they are numbers of different types.
std::string key_spelling(const Value& key) {
  if (key.is_text()) return "s" + key.str();
  if (key.is_sequence()) {
    std::string parts = "t";
    for (const Value& item : key.items()) {
      const std::string part = key_spelling(item);
      parts += fmt::format("{}:{}", part.size(), part);
    }
    return parts;
  }
  if (key.is_integer()) return fmt::format("n{}", key.integer());
  if (const auto* real = key.as<double>()) {
    const bool whole =
        std::floor(*real) == *real && std::abs(*real) < 9.2e18;  // those an integer could equal
    return whole ? fmt::format("n{}", static_cast<std::int64_t>(*real)) : fmt::format("n{}", *real);
  }
  return key.is_undefined() ? "Undefined" : "None";
}

using Kind = Sequence::Kind;

bool is_tuple_like(Kind kind) {
  return kind == Kind::tuple || kind == Kind::group;
}

// Whether values of these kinds are compared by their items.
bool comparable(Kind a, Kind b) {
  if (is_tuple_like(a)) return is_tuple_like(b);
  return a == b && a != Kind::values && a != Kind::iterator;
}

// Converts an integer or a double exactly: a long double holds every value of both types.
long double exact(const Value& number) {
  return number.is_integer() ? static_cast<long double>(number.integer())
                             : static_cast<long double>(number.real());
}

// A sole owner may change the text: no other value sees it, and a new share could only come from this owner.
bool is_sole_owner(const std::shared_ptr<Characters>& text) {
  return text.use_count() == 1;
}

}  // namespace

Value::Value() = default;
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value Value::undefined(std::string why) {
  return Value(Undefined{std::make_shared<const std::string>(std::move(why))});
}

Value Value::literal(std::string_view text) {
  return Value::text(Prompt{.text = std::string(text), .from_input = {}});
}

Value Value::input(std::string_view text) {
  Prompt prompt;
  prompt.append_input(text);
  return Value::text(std::move(prompt));
}

Value Value::list(std::vector<Value> items) {
  return finished({.items = std::move(items)});
}

Value Value::tuple(std::vector<Value> items) {
  return sequence(Kind::tuple, std::move(items));
}

Value Value::sequence(Sequence::Kind kind, std::vector<Value> items) {
  return finished({.items = std::move(items), .kind = kind});
}

Value Value::iterator(std::vector<Value> items) {
  return sequence(Kind::iterator, std::move(items));
}

Value Value::range(std::array<std::int64_t, 3> bounds) {
  const auto [start, stop, step] = bounds;
  Sequence made{.kind = Kind::range, .bounds = bounds};
  for (std::int64_t at = start; step > 0 ? at < stop : at > stop;) {
    made.items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return finished(std::move(made));
}

Value Value::dict(Dict dict) {
  return Value(std::make_shared<const Dict>(std::move(dict)));
}

std::int64_t Value::integer() const {
  if (const auto* flag = as<bool>()) return *flag ? 1 : 0;
  return std::get<std::int64_t>(state_);
}

double Value::real() const {
  if (const auto* real = as<double>()) return *real;
  return static_cast<double>(integer());
}

bool Value::truthy() const {
  if (is_undefined() || is_none()) return false;
  if (is_number()) return real() != 0;
  if (is_text()) return !str().empty();
  if (is_sequence()) return is_iterator() || !items().empty();
  if (is_dict()) return !mapping().entries().empty();
  return true;
}

bool Value::same_object(const Value& other) const {
  const bool is_object = is<Namespace*>() || is_callable() || is(Kind::iterator) || is(Kind::values);
  return is_object && state_ == other.state_;
}

bool Value::is_identical(const Value& other) const {
  if (state_.index() != other.state_.index()) return false;
  if (is_text()) return str() == other.str();
  return is_undefined() || state_ == other.state_;
}

int Value::depth() const {
  if (const auto* items = as<Items>()) return (*items)->depth;
  if (is_dict()) return mapping().depth();
  if (const auto* method = as<std::shared_ptr<const Method>>()) return (*method)->receiver.depth() + 1;
  return 0;
}

std::size_t Value::weight() const {
  if (const auto* items = as<Items>()) return (*items)->weight;
  if (is_dict()) return mapping().weight();
  return is_text() ? 1 + str().size() / 64 : 1;
}

std::string_view Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (is<bool>()) return "bool";
  if (is<std::int64_t>()) return "int";
  if (is<double>()) return "float";
  if (is_text()) return "str";
  if (is_sequence()) {
    constexpr std::array<std::string_view, 8> kNames = {
        "list", "tuple", "tuple", "range", "dict_keys", "dict_values", "dict_items", "generator"};
    return kNames[static_cast<std::size_t>(sequence().kind)];
  }
  if (is_dict()) return "dict";
  if (is<Namespace*>()) return "Namespace";
  if (is<Loop*>()) return "LoopContext";
  return is<const Macro*>() ? "Macro" : "method";
}

Prompt Value::take_text() && {
  auto& text = std::get<Text>(state_);
  return is_sole_owner(text) ? std::move(text->prompt) : text->prompt;
}

std::size_t Dict::position(const Value& key) const {
  if (entries_.size() > kScanned) {
    const auto found = index_.find(key_spelling(key));
    return found == index_.end() ? entries_.size() : found->second;
  }
  std::size_t at = 0;
  while (at < entries_.size() && !equal(entries_[at].first, key)) ++at;
  return at;
}

const Value* Dict::find(const Value& key) const {
  const std::size_t at = position(key);
  return at == entries_.size() ? nullptr : &entries_[at].second;
}

const Value* Dict::find(std::string_view key) const {
  if (entries_.size() > kScanned) return find(Value::literal(key));
  for (const Entry& entry : entries_) {
    if (entry.first.is_text() && entry.first.str() == key) return &entry.second;
  }
  return nullptr;
}

void Dict::set(Value key, Value value) {
  depth_ = std::max({depth_, key.depth() + 1, value.depth() + 1});
  const std::size_t at = position(key);
  weight_ = saturating_sum(weight_, saturating_sum(key.weight(), value.weight()));
  if (at < entries_.size()) {
    entries_[at].second = std::move(value);
    return;
  }
  entries_.emplace_back(std::move(key), std::move(value));
  if (entries_.size() <= kScanned) return;
  for (std::size_t i = index_.size(); i < entries_.size(); ++i) {
    index_.emplace(key_spelling(entries_[i].first), i);
  }
}

bool hashable(const Value& value) {
  constexpr std::size_t kMaxKeyWeight = 1000;  // limited because a tuple may repeat one part many times
  if (value.is_tuple())
    return value.weight() <= kMaxKeyWeight &&
           std::all_of(value.items().begin(), value.items().end(), hashable);
  return value.is_text() || value.is_number() || value.is_none() || value.is_undefined();
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return exact(a) == exact(b);
  }
  if (a.is_text() && b.is_text()) return a.str() == b.str();
  if (a.is_sequence() && b.is_sequence() && comparable(a.sequence().kind, b.sequence().kind)) {
    return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), equal);
  }
  if (a.is_dict() && b.is_dict()) {
    if (a.mapping().entries().size() != b.mapping().entries().size()) return false;
    return std::all_of(a.mapping().entries().begin(), a.mapping().entries().end(), [&](const auto& entry) {
      const Value* other = b.mapping().find(entry.first);
      return other != nullptr && equal(entry.second, *other);
    });
  }
  if (a.is_none() && b.is_none()) return true;
  if (a.is_undefined() && b.is_undefined()) return true;
  return a.same_object(b);
}

base::Result<bool> less(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return exact(a) < exact(b);
  }
  if (a.is_text() && b.is_text()) return a.str() < b.str();
  if ((a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple())) {
    const std::size_t common = std::min(a.items().size(), b.items().size());
    for (std::size_t i = 0; i < common; ++i) {
      if (!equal(a.items()[i], b.items()[i])) return less(a.items()[i], b.items()[i]);
    }
    return a.items().size() < b.items().size();
  }
  return base::error(base::ErrorCode::invalid_argument,
                     "'<' not supported between instances of '{}' and '{}'", a.type_name(), b.type_name());
}

}  // namespace kvasir::text::jinja
