#include "grammar/regex.h"

#include <algorithm>
#include <map>

#include "grammar/regex_parser.h"

namespace kvasir::grammar {
namespace {

using Node = std::uint32_t;
using Kind = Regex::Kind;

constexpr std::size_t kMaxNodes = 50'000;
// The most nodes that the removal of anchors may add, counted with their children.
constexpr std::size_t kMaxAdded = 200'000;

base::Error too_large() {
  return base::error(base::ErrorCode::too_large, "the regular expression is too large");
}

// The sides of a match that are open: other text may stand there, unless an anchor forbids it.
struct Open {
  bool left;
  bool right;
};

// Removes the anchors: `^` where a match may begin closes that side. Any text is allowed on the sides that
// stay open.
class AnchorResolver {
 public:
  explicit AnchorResolver(Regex& regex) : regex_(regex), anchored_(regex.nodes.size(), false) {
    for (Node i = 0; i < anchored_.size(); ++i) note(i);  // children come before their parents
  }

  base::Result<Node> resolve(Node id, Open open) {
    if (full()) return too_large();
    if (!anchored_[id]) return surround(id, open);
    const Regex::Node node = regex_.nodes[id];
    if (node.kind == Kind::begin) return surround(add({.kind = Kind::sequence}), {false, open.right});
    if (node.kind == Kind::end) return surround(add({.kind = Kind::sequence}), {open.left, false});
    if (node.kind == Kind::choice) {
      std::vector<Node> alternatives;
      for (const Node child : node.children) {
        TRY(const Node alternative, resolve(child, open));
        alternatives.push_back(alternative);
      }
      return add({.kind = Kind::choice, .children = std::move(alternatives)});
    }
    if (node.kind == Kind::sequence) return resolve_sequence(node.children, open);
    return inner_anchor();
  }

 private:
  static base::Error inner_anchor() {
    return base::error(base::ErrorCode::unsupported,
                       "regular expressions with an anchor ^ or $ inside are not supported");
  }

  base::Result<Node> resolve_sequence(std::vector<Node> parts, Open open) {
    const auto kind_of = [&](Node n) { return regex_.nodes[n].kind; };
    while (!parts.empty() && kind_of(parts.front()) == Kind::begin) {
      open.left = false;
      parts.erase(parts.begin());
    }
    while (!parts.empty() && kind_of(parts.back()) == Kind::end) {
      open.right = false;
      parts.pop_back();
    }
    if (parts.size() == 1) return resolve(parts[0], open);
    // An anchor is in a group at either end, so each alternative of the group becomes a sequence of its own.
    for (const std::size_t at : {std::size_t{0}, parts.size() - 1}) {
      if (parts.empty() || !anchored_[parts[at]]) continue;
      const Regex::Node group = regex_.nodes[parts[at]];
      if (group.kind != Kind::choice && group.kind != Kind::sequence) return inner_anchor();
      std::vector<std::vector<Node>> splices;
      if (group.kind == Kind::sequence) {
        splices.push_back(group.children);
      } else {
        for (const Node alternative : group.children) splices.push_back({alternative});
      }
      std::vector<Node> alternatives;
      for (const std::vector<Node>& splice : splices) {
        if (full()) return too_large();
        std::vector<Node> whole = parts;
        whole.erase(whole.begin() + static_cast<std::ptrdiff_t>(at));
        whole.insert(whole.begin() + static_cast<std::ptrdiff_t>(at), splice.begin(), splice.end());
        TRY(const Node alternative,
            resolve(add({.kind = Kind::sequence, .children = std::move(whole)}), open));
        alternatives.push_back(alternative);
      }
      return add({.kind = Kind::choice, .children = std::move(alternatives)});
    }
    if (std::ranges::any_of(parts, [&](Node n) { return anchored_[n]; })) return inner_anchor();
    return surround(add({.kind = Kind::sequence, .children = std::move(parts)}), open);
  }

  Node surround(Node id, Open open) {
    if (!open.left && !open.right) return id;
    const Node any = add({.kind = Kind::chars, .chars = CodepointSet::all()});
    const Node rest = add({.kind = Kind::repeat, .children = {any}, .min = 0, .max = kUnbounded});
    std::vector<Node> parts;
    if (open.left) parts.push_back(rest);
    parts.push_back(id);
    if (open.right) parts.push_back(rest);
    return add({.kind = Kind::sequence, .children = std::move(parts)});
  }

  bool full() const { return regex_.nodes.size() > kMaxNodes || num_added_ > kMaxAdded; }

  Node add(Regex::Node node) {
    num_added_ += node.children.size() + 1;
    regex_.nodes.push_back(std::move(node));
    const auto id = static_cast<Node>(regex_.nodes.size() - 1);
    anchored_.push_back(false);
    note(id);
    return id;
  }
  void note(Node id) {
    const Regex::Node& node = regex_.nodes[id];
    anchored_[id] = node.kind == Kind::begin || node.kind == Kind::end ||
                    std::ranges::any_of(node.children, [&](Node child) { return anchored_[child]; });
  }

  Regex& regex_;
  std::vector<bool> anchored_;  // contains an anchor
  std::size_t num_added_ = 0;   // nodes and their children
};

class RegexEmitter {
 public:
  RegexEmitter(Grammar& grammar, const Regex& regex, CharEncoding encoding)
      : grammar_(grammar), regex_(regex), encoding_(encoding) {}

  NodeId emit(Node id) {
    const Regex::Node& node = regex_.nodes[id];
    std::vector<NodeId> children;
    switch (node.kind) {
      case Kind::chars: {
        const auto [it, is_new] = chars_.try_emplace(node.chars, 0);
        if (is_new) it->second = char_node(grammar_, node.chars, encoding_);
        return it->second;
      }
      case Kind::repeat:
        return grammar_.repeat(emit(node.children[0]), node.min, node.max);
      default:
        for (const Node child : node.children) {
          if (grammar_.full()) break;
          children.push_back(emit(child));
        }
        return node.kind == Kind::choice ? grammar_.choice(std::move(children))
                                         : grammar_.sequence(std::move(children));
    }
  }

 private:
  Grammar& grammar_;
  const Regex& regex_;
  CharEncoding encoding_;
  std::map<CodepointSet, NodeId> chars_;
};

}  // namespace

base::Result<Regex> parse_regex(std::string_view pattern, RegexExtent extent, RegexFlags flags) {
  auto text = decode_utf8(pattern);
  if (!text) return base::error(base::ErrorCode::invalid_argument, "a regular expression that is not UTF-8");
  if (text->size() > kMaxNodes) return too_large();
  Regex regex;
  TRY(regex.root, RegexParser(std::move(*text), regex, flags).parse());
  const bool open = extent == RegexExtent::anywhere;
  TRY(regex.root, AnchorResolver(regex).resolve(regex.root, {open, open}));
  return regex;
}

NodeId regex_node(Grammar& grammar, const Regex& regex, CharEncoding encoding) {
  return RegexEmitter(grammar, regex, encoding).emit(regex.root);
}

base::Result<Grammar> grammar_of_regex(std::string_view pattern) {
  TRY(const Regex regex, parse_regex(pattern, RegexExtent::whole));
  Grammar grammar;
  const RuleId root = grammar.add_rule("root");
  grammar.define(root, regex_node(grammar, regex, CharEncoding::plain));
  grammar.set_root(root);
  TRY_OK(grammar.check());
  return grammar;
}

}  // namespace kvasir::grammar
