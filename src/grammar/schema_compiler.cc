#include "grammar/schema_compiler.h"

#include <algorithm>
#include <set>

#include "grammar/char_encoding.h"
#include "grammar/number_grammar.h"

namespace kvasir::grammar {
namespace {

namespace json = base::json;

const json::value& arguments_schema() {
  static const json::value kObjectSchema(json::object{{"type", "object"}});
  return kObjectSchema;
}

}  // namespace

SchemaCompiler::SchemaCompiler(Grammar& grammar, const json::value& schema, JsonSchemaOptions options)
    : g_(grammar), document_(schema, notes_), options_(options) {}

base::Result<RuleId> SchemaCompiler::compile() {
  return compile({document_.root()});
}

base::Result<RuleId> SchemaCompiler::compile_arguments() {
  declared_only_ = true;
  return compile({document_.root(), {&arguments_schema(), "#"}});
}

base::Result<RuleId> SchemaCompiler::compile(const Conjunction& schema) {
  TRY(const RuleId root, rule_of(schema));
  while (!work_.empty()) {
    const Work work = std::move(work_.back());
    work_.pop_back();
    TRY(const NodeId body, emit(work.alternative));
    g_.define(work.rule, body);
    TRY_OK(g_.check());
  }
  return root;
}

void SchemaCompiler::close_object(const Alternative& alternative, SchemaSpec& spec) const {
  bool declares = false;
  for (const SchemaAtom& atom : alternative) {
    for (const char* keyword :
         {"additionalProperties", "unevaluatedProperties", "propertyNames", "patternProperties"}) {
      if (atom.object->contains(keyword)) return;
    }
    declares |= atom.object->contains("properties") || atom.object == &arguments_schema().get_object();
  }
  if (!declares || spec.min_properties > spec.properties.size()) return;
  std::erase_if(spec.keys, [](const SchemaSpec::KeyClass& keys) { return keys.match.empty(); });
}

base::Result<NodeId> SchemaCompiler::value(const Conjunction& schema) {
  TRY(const RuleId rule, rule_of(schema));
  return g_.reference(rule);
}

base::Result<RuleId> SchemaCompiler::rule_of(const Conjunction& schema) {
  std::set<const void*> values;
  for (const SchemaRef& ref : schema) values.insert(ref.value);
  const auto [it, is_new] = conjunction_rules_.try_emplace({values.begin(), values.end()}, 0);
  if (!is_new) return it->second;
  const RuleId rule = it->second = g_.add_rule("schema");
  TRY(const auto alternatives, document_.expand(schema));
  std::vector<NodeId> ways;
  for (const Alternative& alternative : alternatives) ways.push_back(g_.reference(rule_of(alternative)));
  g_.define(rule, g_.choice(std::move(ways)));
  TRY_OK(g_.check());
  return rule;
}

RuleId SchemaCompiler::rule_of(const Alternative& alternative) {
  std::set<const void*> objects;
  for (const SchemaAtom& atom : alternative) objects.insert(atom.object);
  const auto [it, is_new] = alternative_rules_.try_emplace({objects.begin(), objects.end()}, 0);
  if (is_new) {
    it->second = g_.add_rule("alternative");
    work_.push_back({it->second, alternative});
  }
  return it->second;
}

base::Result<NodeId> SchemaCompiler::emit(const Alternative& alternative) {
  TRY(SchemaSpec spec, make_spec(alternative));
  if (declared_only_) close_object(alternative, spec);
  std::vector<NodeId> ways;
  if (spec.values) {
    TRY(const auto values, allowed_values(spec));
    for (const json::value& value : values) ways.push_back(emit_value(value));
    return g_.choice(std::move(ways));
  }
  if (spec.types & kNull) ways.push_back(g_.literal("null"));
  if (spec.types & kBoolean) ways.push_back(g_.choice({g_.literal("true"), g_.literal("false")}));
  if (spec.types & kNumber) {
    TRY(const NodeId number, emit_number(spec));
    ways.push_back(number);
  }
  if (spec.types & kString) {
    TRY(const NodeId string, emit_string(spec));
    ways.push_back(string);
  }
  if (spec.types & kArray) {
    TRY(const NodeId array, emit_array(spec));
    ways.push_back(array);
  }
  if (spec.types & kObject) {
    TRY(const NodeId object, emit_object(spec));
    ways.push_back(object);
  }
  return g_.choice(std::move(ways));
}

base::Result<std::vector<json::value>> SchemaCompiler::allowed_values(const SchemaSpec& spec) const {
  std::vector<json::value> values;
  for (const json::value& value : *spec.values) {
    if (value.is_array() || value.is_object()) {
      // A constant array or object can be combined only with a type.
      const bool plain = spec.properties.empty() && spec.prefix.empty() && spec.items.empty() &&
                         spec.min_items == 0 && spec.max_items == kUnbounded && spec.min_properties == 0 &&
                         spec.max_properties == kUnbounded && spec.keys.size() == 1 &&
                         spec.keys[0].schema.empty() && spec.name_patterns.empty();
      if (!plain)
        return unsupported_keyword(spec.path + "/enum", "lists and objects together with other keywords");
      if ((type_of(value) & spec.types) != 0) values.push_back(value);
      continue;
    }
    TRY(const bool allowed, spec.allows_scalar(value));
    if (allowed) values.push_back(value);
  }
  return values;
}

NodeId SchemaCompiler::emit_value(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return g_.literal("null");
    case json::kind::bool_:
      return g_.literal(value.get_bool() ? "true" : "false");
    case json::kind::string:
      return g_.literal(json_quoted(value.get_string()));
    case json::kind::int64:
      return g_.literal(fmt::format("{}", value.get_int64()));
    case json::kind::uint64:
      return g_.literal(fmt::format("{}", value.get_uint64()));
    case json::kind::double_:
      return g_.literal(fmt::format("{}", value.get_double()));
    case json::kind::array: {
      std::vector<NodeId> parts{g_.literal("["), space()};
      for (const json::value& item : value.get_array()) {
        if (parts.size() > 2) parts.insert(parts.end(), {g_.literal(","), space()});
        parts.push_back(emit_value(item));
      }
      if (parts.size() > 2) parts.push_back(space());
      parts.push_back(g_.literal("]"));
      return g_.sequence(std::move(parts));
    }
    case json::kind::object: {
      std::vector<NodeId> parts{g_.literal("{"), space()};
      for (const auto& member : value.get_object()) {
        if (parts.size() > 2) parts.insert(parts.end(), {g_.literal(","), space()});
        parts.push_back(g_.literal(json_quoted(member.key()) + ":"));
        parts.insert(parts.end(), {space(), emit_value(member.value())});
      }
      if (parts.size() > 2) parts.push_back(space());
      parts.push_back(g_.literal("}"));
      return g_.sequence(std::move(parts));
    }
  }
  return g_.never();
}

base::Result<NodeId> SchemaCompiler::emit_number(const SchemaSpec& spec) {
  const bool whole = (spec.types & kFraction) == 0;
  const bool bounded = spec.bounds.min || spec.bounds.max;
  if (spec.multiples.empty()) {
    if (bounded) return whole ? bounded_integer_node(g_, spec.bounds) : bounded_number_node(g_, spec.bounds);
    return whole ? integer_node(g_) : number_node(g_);
  }
  const SchemaSpec::Multiple& multiple = spec.multiples[0];
  if (spec.multiples.size() > 1) return unsupported_keyword(multiple.path, "several factors at once");
  if (whole && multiple.factor == Decimal{false, "1", ""}) return bounded_integer_node(g_, spec.bounds);
  if (whole && !multiple.factor.is_whole()) {
    return unsupported_keyword(multiple.path, "a factor with a fraction for integers");
  }
  if (const auto node = multiple_node(g_, multiple.factor, spec.bounds)) return *node;
  if (const auto values = multiples_between(multiple.factor, spec.bounds)) {
    std::vector<NodeId> ways;
    for (const std::string& text : *values) ways.push_back(g_.literal(text));
    return g_.choice(std::move(ways));
  }
  return unsupported_keyword(multiple.path, "with these bounds, or so large a factor");
}

base::Result<NodeId> SchemaCompiler::emit_string(const SchemaSpec& spec) {
  if (spec.min_length > spec.max_length) return g_.never();
  if (spec.is_any_string()) return any_string();
  const bool any_length = spec.min_length == 0 && spec.max_length == kUnbounded;
  if (spec.not_patterns.empty() && spec.not_strings.empty()) {
    if (spec.patterns.empty()) {
      const NodeId quote = g_.literal("\"");
      return g_.sequence({quote, g_.repeat(any_char(), spec.min_length, spec.max_length), quote});
    }
    if (spec.patterns.size() == 1 && any_length) return emit_pattern(*spec.patterns[0].regex);
  }
  auto dfa = spec.string_dfa();
  if (!dfa.ok() && spec.max_length != kUnbounded) {
    // Each length is a state. A grammar of shorter texts only is still correct, since they are all valid.
    constexpr std::uint32_t kFewCharacters = 128;
    SchemaSpec shorter = spec;
    shorter.max_length = std::max(spec.min_length, kFewCharacters);
    if (shorter.max_length < spec.max_length) dfa = shorter.string_dfa();
  }
  if (!dfa.ok()) {
    const std::string& path = spec.patterns.empty() ? spec.path : spec.patterns[0].path;
    return schema_error(dfa.error().code, path, "a pattern too large to combine with others");
  }
  return dfa->emit(g_, CharEncoding::json);
}

// A small deterministic automaton has faster masks, above all if a match may be anywhere. Counts are better
// left to the regular expression.
NodeId SchemaCompiler::emit_pattern(const Regex& regex) {
  constexpr std::size_t kMaxPatternStates = 64;
  const auto small = CharDfa::make({.match = {&regex}, .max_states = kMaxPatternStates});
  if (small.ok()) return small->emit(g_, CharEncoding::json);
  return g_.sequence({g_.literal("\""), regex_node(g_, regex, CharEncoding::json), g_.literal("\"")});
}

RuleId SchemaCompiler::shared(std::string_view name, NodeId (SchemaCompiler::*make)()) {
  const std::string key = fmt::format("json {} {}", name, options_.max_whitespace);
  return g_.shared_rule(key, [&] { return (this->*make)(); });
}

NodeId SchemaCompiler::any_char() {
  if (!any_char_) any_char_ = json_any_char(g_);
  return *any_char_;
}

NodeId SchemaCompiler::space() {
  if (!space_) {
    ByteSet blanks;
    for (const char c : {' ', '\n', '\r', '\t'}) blanks.add(static_cast<std::uint8_t>(c));
    space_ = g_.repeat(g_.bytes(blanks), 0, options_.max_whitespace);
  }
  return *space_;
}

NodeId SchemaCompiler::any_value() {
  return g_.reference(shared("value", &SchemaCompiler::make_value));
}
NodeId SchemaCompiler::any_string() {
  return g_.reference(shared("string", &SchemaCompiler::make_string));
}
RuleId SchemaCompiler::any_object() {
  return shared("object", &SchemaCompiler::make_object);
}

NodeId SchemaCompiler::make_string() {
  return g_.sequence({g_.literal("\""), g_.repeat(any_char(), 0, kUnbounded), g_.literal("\"")});
}

NodeId SchemaCompiler::make_object() {
  const NodeId member = g_.sequence({any_string(), g_.literal(":"), space(), any_value()});
  const NodeId more = g_.repeat(g_.sequence({g_.literal(","), space(), member}), 0, kUnbounded);
  const NodeId members = g_.optional(g_.sequence({member, more, space()}));
  return g_.sequence({g_.literal("{"), space(), members, g_.literal("}")});
}

NodeId SchemaCompiler::make_value() {
  const NodeId more = g_.repeat(g_.sequence({g_.literal(","), space(), any_value()}), 0, kUnbounded);
  const NodeId items = g_.optional(g_.sequence({any_value(), more, space()}));
  const NodeId array = g_.sequence({g_.literal("["), space(), items, g_.literal("]")});
  return g_.choice({g_.reference(any_object()), array, any_string(), number_node(g_), g_.literal("true"),
                    g_.literal("false"), g_.literal("null")});
}

}  // namespace kvasir::grammar
