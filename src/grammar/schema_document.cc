#include "grammar/schema_document.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "grammar/schema_disjoint.h"
#include "grammar/schema_keywords.h"
#include "grammar/schema_negation.h"
#include "grammar/schema_spec.h"

namespace kvasir::grammar {
namespace {

namespace json = base::json;

// The types of a schema object; all of them if its type is not valid, which is an error elsewhere.
unsigned types_or_all(const json::object& schema, const json::value& type) {
  const auto types = types_named(type, "");
  if (!types.ok()) return kAllTypes;
  const json::value* nullable = schema.if_contains("nullable");
  return *types | (nullable != nullptr && *nullable == true ? kNull : 0U);
}

constexpr int kMaxDocumentDepth = 64;
constexpr std::size_t kMaxAlternatives = 500;
constexpr std::size_t kMaxAtoms = 200;
constexpr int kMaxOverlaps = 100;  // between branches of one oneOf

// Whether no value can meet all atoms, because their types exclude each other or a required property is
// forbidden.
bool contradicts_itself(const Alternative& atoms) {
  unsigned types = kAllTypes;
  std::set<std::string_view> required;
  std::set<std::string_view> forbidden;
  for (const SchemaAtom& atom : atoms) {
    if (const json::value* type = atom.object->if_contains("type"))
      types &= types_or_all(*atom.object, *type);
    if (const json::value* names = atom.object->if_contains("required");
        names != nullptr && names->is_array()) {
      for (const json::value& name : names->get_array()) {
        if (name.is_string()) required.insert(name.get_string());
      }
    }
    const json::value* properties = atom.object->if_contains("properties");
    if (properties == nullptr || !properties->is_object()) continue;
    for (const auto& member : properties->get_object()) {
      if (member.value() == false) forbidden.insert(member.key());
    }
  }
  if (types == 0) return true;
  return types == kObject &&
         std::ranges::any_of(forbidden, [&](std::string_view name) { return required.contains(name); });
}

// Combines every pair of alternatives, since both sides apply.
base::Status multiply(std::vector<Alternative>& left, const std::vector<Alternative>& right,
                      const std::string& path) {
  std::vector<Alternative> product;
  for (const Alternative& a : left) {
    for (const Alternative& b : right) {
      Alternative& both = product.emplace_back(a);
      for (const SchemaAtom& atom : b) {
        const auto same = [&](const SchemaAtom& known) { return known.object == atom.object; };
        if (std::ranges::none_of(both, same)) both.push_back(atom);
      }
      if (both.size() > kMaxAtoms) {
        return schema_error(base::ErrorCode::too_large, path, "too many schemas apply at once");
      }
      if (left.size() * right.size() > 1 && contradicts_itself(both)) product.pop_back();
      if (product.size() > kMaxAlternatives)
        return schema_error(base::ErrorCode::too_large, path, "too many combinations of alternatives");
    }
  }
  left = std::move(product);
  return base::ok();
}

std::string unescape_fragment(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16).ptr == text.data() + i + 3) {
      out += static_cast<char>(code);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string unescape_pointer(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '~' && i + 1 < text.size();
    if (escaped && text[i + 1] == '1') {
      out += '/';
      ++i;
    } else if (escaped && text[i + 1] == '0') {
      out += '~';
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

const json::value* child_of(const json::value& value, const std::string& key) {
  if (const auto* object = value.if_object()) return object->if_contains(key);
  const auto* array = value.if_array();
  std::size_t index = 0;
  const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (array == nullptr || code != std::errc() || end != key.data() + key.size()) return nullptr;
  return array->if_contains(index);
}

}  // namespace

base::Error schema_error(base::ErrorCode code, const std::string& path, std::string_view what) {
  base::Error error = base::error(code, "JSON schema: {} at {}", what, path);
  error.field = path;
  return error;
}

base::Error unsupported_keyword(const std::string& path, std::string_view why) {
  const std::string keyword = path.substr(path.rfind('/') + 1);
  base::Error error = base::error(base::ErrorCode::unsupported,
                                  "JSON schema: '{}' at {} is not supported: {}", keyword, path, why);
  error.field = path;
  return error;
}

std::string path_to(const std::string& path, std::string_view key) {
  std::string out = path + '/';
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

SchemaDocument::SchemaDocument(const json::value& root, Notes& notes)
    : root_(root), notes_(notes), negation_(std::make_unique<SchemaNegation>(*this)) {}
SchemaDocument::~SchemaDocument() = default;

base::Result<SchemaRef> SchemaDocument::resolve(const json::value& reference, const std::string& path) const {
  if (!reference.is_string())
    return schema_error(base::ErrorCode::invalid_argument, path, "$ref is not a string");
  const std::string_view text = reference.get_string();
  if (!text.starts_with('#')) return unsupported_keyword(path, "only references inside the document (#/...)");
  const std::string pointer = unescape_fragment(text.substr(1));
  if (!pointer.empty() && pointer[0] != '/') return unsupported_keyword(path, "references to anchors");
  const json::value* value = &root_;
  std::string_view rest = pointer;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find('/'), rest.size());
    value = child_of(*value, unescape_pointer(rest.substr(0, end)));
    if (value == nullptr) {
      return schema_error(base::ErrorCode::invalid_argument, path, fmt::format("{} does not exist", text));
    }
    rest.remove_prefix(end);
  }
  return SchemaRef{value, "#" + pointer};
}

base::Result<std::vector<Alternative>> SchemaDocument::expand(const Conjunction& conjunction,
                                                              OneOf one_of) const {
  std::vector<Alternative> out(1);
  for (const SchemaRef& schema : conjunction) TRY_OK(expand_into(schema, {one_of}, out));
  return out;
}

// Combines the alternatives of one schema into `out`.
base::Status SchemaDocument::expand_into(const SchemaRef& schema, Walk walk,
                                         std::vector<Alternative>& out) const {
  if (walk.depth > kMaxDocumentDepth) {
    return schema_error(base::ErrorCode::too_large, schema.path,
                        "references lead back to themselves or go too deep");
  }
  if (const bool* valid = schema.value->if_bool()) {
    if (!*valid) out.clear();
    return base::ok();
  }
  const auto* object = schema.value->if_object();
  if (object == nullptr) {
    return schema_error(base::ErrorCode::invalid_argument, schema.path,
                        "a schema must be an object or a boolean");
  }
  TRY_OK(check_keywords(*object, schema.path, notes_));
  TRY_OK(multiply(out, {{SchemaAtom{object, schema.path}}}, schema.path));
  if (const auto* reference = object->if_contains("$ref")) {
    TRY(const SchemaRef target, resolve(*reference, path_to(schema.path, "$ref")));
    TRY_OK(expand_into(target, walk.deeper(), out));
  }
  if (const auto* all = object->if_contains("allOf")) {
    const std::string path = path_to(schema.path, "allOf");
    if (!all->is_array()) return schema_error(base::ErrorCode::invalid_argument, path, "allOf is not a list");
    for (std::size_t i = 0; i < all->get_array().size(); ++i) {
      TRY_OK(expand_into({&all->get_array()[i], path_to(path, std::to_string(i))}, walk.deeper(), out));
    }
  }
  for (const char* keyword : {"anyOf", "oneOf"}) {
    if (const auto* any = object->if_contains(keyword)) {
      TRY_OK(expand_any({any, path_to(schema.path, keyword)}, walk.deeper(), out));
    }
  }
  return expand_conditions(schema, walk, out);
}

// Expands `not`, `if` and the dependencies as schemas without these keywords.
base::Status SchemaDocument::expand_conditions(const SchemaRef& schema, Walk walk,
                                               std::vector<Alternative>& out) const {
  const json::object& object = schema.value->get_object();
  if (const auto* negated = object.if_contains("not")) {
    const std::string path = path_to(schema.path, "not");
    const json::value& others = negation_->of(*negated);
    const bool is_any = *negated == true || (negated->is_object() && negated->get_object().empty());
    if (others == false && !is_any) return unsupported_keyword(path, "what it forbids cannot be left out");
    TRY_OK(expand_into({&others, path}, walk.deeper(), out));
  }
  if (object.contains("if") && (object.contains("then") || object.contains("else"))) {
    TRY_OK(expand_into({&negation_->of_condition(object), path_to(schema.path, "if")}, walk.deeper(), out));
  }
  for (const char* keyword : {"dependencies", "dependentRequired", "dependentSchemas"}) {
    const auto* dependencies = object.if_contains(keyword);
    if (dependencies == nullptr) continue;
    const std::string path = path_to(schema.path, keyword);
    if (!dependencies->is_object())
      return schema_error(base::ErrorCode::invalid_argument, path, "not an object");
    TRY_OK(expand_into({&negation_->of_dependencies(dependencies->get_object()), path}, walk.deeper(), out));
  }
  return base::ok();
}

base::Status SchemaDocument::expand_any(const SchemaRef& list, Walk walk,
                                        std::vector<Alternative>& out) const {
  const auto* schemas = list.value->if_array();
  if (schemas == nullptr || schemas->empty()) {
    return schema_error(base::ErrorCode::invalid_argument, list.path, "a list of schemas is missing");
  }
  std::vector<std::vector<Alternative>> branches;
  for (std::size_t i = 0; i < schemas->size(); ++i) {
    std::vector<Alternative> branch(1);
    TRY_OK(expand_into({&(*schemas)[i], path_to(list.path, std::to_string(i))}, walk, branch));
    branches.push_back(std::move(branch));
  }
  if (list.path.ends_with("/oneOf") && walk.one_of == OneOf::check)
    TRY_OK(exclude_others(list, walk, out, branches));
  std::vector<Alternative> any;
  for (auto& branch : branches) {
    std::move(branch.begin(), branch.end(), std::back_inserter(any));
    if (any.size() > kMaxAlternatives) {
      return schema_error(base::ErrorCode::too_large, list.path, "too many alternatives");
    }
  }
  return multiply(out, any, list.path);
}

// Exactly one branch holds if no two can hold together. If two can, each is narrowed to values that are not
// valid under the other.
base::Status SchemaDocument::exclude_others(const SchemaRef& list, Walk walk,
                                            const std::vector<Alternative>& base,
                                            std::vector<std::vector<Alternative>>& branches) const {
  const json::array& schemas = list.value->get_array();
  SchemaDisjoint disjoint(*this);
  std::vector<std::vector<Alternative>> narrowed = branches;
  std::string overlap;
  int num_overlaps = 0;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    for (std::size_t j = i + 1; j < branches.size(); ++j) {
      std::vector<Alternative> left = base;
      std::vector<Alternative> right = base;
      TRY_OK(multiply(left, branches[i], list.path));
      TRY_OK(multiply(right, branches[j], list.path));
      TRY(const bool apart, disjoint.are_disjoint(left, right));
      if (apart) continue;
      if (overlap.empty())
        overlap = fmt::format("its branches {} and {} may both hold; anyOf says that", i, j);
      if (++num_overlaps > kMaxOverlaps) return unsupported_keyword(list.path, overlap);
      for (const auto& [own, other] : {std::pair(i, j), std::pair(j, i)}) {
        const SchemaRef outside{&negation_->of(schemas[other]), path_to(list.path, std::to_string(other))};
        if (const auto done = expand_into(outside, walk.deeper(), narrowed[own]); !done.ok())
          return unsupported_keyword(list.path, overlap);
      }
    }
  }
  if (overlap.empty()) return base::ok();
  for (std::size_t i = 0; i < narrowed.size(); ++i) {
    std::vector<Alternative> whole = base;
    TRY_OK(multiply(whole, narrowed[i], list.path));
    if (!whole.empty() || branches[i].empty()) continue;
    narrowed[i].clear();
    notes_.add(fmt::format("branch {} of oneOf is left out: its values may be valid under another one", i),
               path_to(list.path, std::to_string(i)));
  }
  if (std::ranges::all_of(narrowed, [](const auto& branch) { return branch.empty(); }))
    return unsupported_keyword(list.path, overlap);
  branches = std::move(narrowed);
  return base::ok();
}

}  // namespace kvasir::grammar
