#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/tokenizer/prompt.h"

namespace kvasir::text::jinja {

class Dict;
class Value;
struct Loop;
struct Macro;
struct Method;

// Variables that `set ns.name = …` may change. Owned by the rendering, so that cycles are freed.
struct Namespace {
  std::unordered_map<std::string, std::shared_ptr<Value>> members;
};

struct Undefined {
  std::shared_ptr<const std::string> why;  // "'x' is undefined"; may be null
  bool operator==(const Undefined&) const { return true; }
};

// An ordered container. Python has several types of these.
struct Sequence {
  enum class Kind : std::uint8_t {
    list,
    tuple,
    group,  // a tuple of groupby; its parts also have names
    range,
    keys,  // of a dict, like the next two
    values,
    pairs,
    iterator,  // gives each item once; is always true; has no length or indices
  };
  std::vector<Value> items;
  Kind kind = Kind::list;
  int depth = 1;                         // nesting depth of containers, including this one
  std::size_t weight = 1;                // see Value::weight
  std::array<std::int64_t, 3> bounds{};  // for a range: start, stop, step
  mutable std::size_t num_taken = 0;     // for an iterator
};

// A string. If it is markup, it is not escaped again.
struct Characters {
  Prompt prompt;
  bool is_markup = false;
};

// A value of the template language, with Python's semantics. Immutable, except for namespaces; copies are
// cheap. Macro, Namespace and Loop pointers are valid as long as the rendering that made them.
class Value {
 public:
  using Text = std::shared_ptr<Characters>;  // changed only by its sole owner, which gives it up
  using Items = std::shared_ptr<const Sequence>;
  using Mapping = std::shared_ptr<const Dict>;
  using State = std::variant<Undefined, std::monostate, bool, std::int64_t, double, Text, Items, Mapping,
                             Namespace*, Loop*, const Macro*, std::shared_ptr<const Method>>;

  // The special members are defined in value.cc. If they were inlined, the variant's would make up most of
  // the evaluator's code.
  Value();
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  Value(bool value) : state_(value) {}
  Value(std::int64_t value) : state_(value) {}
  Value(double value) : state_(value) {}
  template <class T>
    requires(!std::is_arithmetic_v<std::decay_t<T>> && std::is_constructible_v<State, T>)
  Value(T&& state) : state_(std::forward<T>(state)) {}

  static Value undefined(std::string why);
  static Value none() { return Value(State(std::monostate{})); }
  static Value text(Prompt text) {
    return Value(std::make_shared<Characters>(Characters{.prompt = std::move(text)}));
  }
  static Value markup(Prompt text) {
    return Value(std::make_shared<Characters>(Characters{.prompt = std::move(text), .is_markup = true}));
  }
  static Value literal(std::string_view text);
  static Value input(std::string_view text);
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value sequence(Sequence::Kind kind, std::vector<Value> items);
  static Value iterator(std::vector<Value> items);
  // Makes the integers from bounds[0] up to, but not including, bounds[1] in steps of bounds[2]. The caller
  // limits their number.
  static Value range(std::array<std::int64_t, 3> bounds);
  static Value dict(Dict dict);
  static Value number(std::size_t count) { return Value(static_cast<std::int64_t>(count)); }

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(state_);
  }
  template <class T>
  const T* as() const {
    return std::get_if<T>(&state_);
  }
  bool is_undefined() const { return is<Undefined>(); }
  bool is_none() const { return is<std::monostate>(); }
  bool is_text() const { return is<Text>(); }
  bool is_markup() const { return is_text() && std::get<Text>(state_)->is_markup; }
  // A sequence of any kind.
  bool is_sequence() const { return is<Items>(); }
  bool is_list() const { return is(Sequence::Kind::list); }
  bool is_tuple() const { return is(Sequence::Kind::tuple) || is(Sequence::Kind::group); }
  bool is_iterator() const { return is(Sequence::Kind::iterator); }
  // Whether the value has indices: it is a list, a tuple or a range.
  bool is_indexed() const { return is_list() || is_tuple() || is(Sequence::Kind::range); }
  bool is(Sequence::Kind kind) const { return is_sequence() && std::get<Items>(state_)->kind == kind; }
  bool is_dict() const { return is<Mapping>(); }
  bool is_number() const { return is<std::int64_t>() || is<double>() || is<bool>(); }
  bool is_integer() const { return is<std::int64_t>() || is<bool>(); }
  bool is_callable() const {
    return is<const Macro*>() || is<std::shared_ptr<const Method>>() || is<Loop*>();
  }

  // Each function requires that the matching is_…() is true.
  const Prompt& prompt() const { return std::get<Text>(state_)->prompt; }
  const std::string& str() const { return prompt().text; }
  const std::vector<Value>& items() const { return std::get<Items>(state_)->items; }
  const Sequence& sequence() const { return *std::get<Items>(state_); }
  const Dict& mapping() const { return *std::get<Mapping>(state_); }
  std::int64_t integer() const;
  double real() const;

  bool truthy() const;
  // Whether both are the same macro, method, namespace, loop or iterator.
  bool same_object(const Value& other) const;
  // Python's `is`, except that equal strings and equal numbers of one type count as the same object.
  bool is_identical(const Value& other) const;
  int depth() const;
  // Returns the number of parts to visit. A part that occurs twice counts twice, so that a template cannot
  // hide an exponential walk in a small value. The number saturates.
  std::size_t weight() const;
  // Returns the name of the Python type, for messages.
  std::string_view type_name() const;
  // Moves the text out if no other value shares it, otherwise copies it. Requires `is_text()`.
  Prompt take_text() &&;

 private:
  State state_;
};

// A Python dict. Keys stay in the order in which they were first set.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  const std::vector<Entry>& entries() const { return entries_; }
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  // Requires `hashable(key)`.
  void set(Value key, Value value);
  int depth() const { return depth_; }
  std::size_t weight() const { return weight_; }

 private:
  // Below this many entries a scan is as fast as the index.
  static constexpr std::size_t kScanned = 8;

  std::size_t position(const Value& key) const;  // entries_.size() if absent

  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;  // by spelling; empty up to kScanned entries
  int depth_ = 1;
  std::size_t weight_ = 1;
};

// Whether a value may be a key of a dict.
bool hashable(const Value& value);
bool equal(const Value& a, const Value& b);
// Implements Python's `<`. Fails for types that have no order.
base::Result<bool> less(const Value& a, const Value& b);

// Implement Python's str() and repr(). The caller must have charged the value's weight to the budget.
Prompt to_text(const Value& value);
Prompt to_repr(const Value& value);
std::string real_repr(double value);

// Converts JSON. Strings in the value count as input. Fails if the value nests deeper than kMaxDepth.
base::Result<Value> from_json(const base::json::value& json);

inline constexpr int kMaxDepth = 100;

}  // namespace kvasir::text::jinja
