#include "grammar/char_dfa.h"

#include <algorithm>
#include <map>
#include <set>

namespace kvasir::grammar {
namespace {

// Any characters and the closing quote: the rest of a string once it differs from all forbidden ones. All
// strings of a grammar share this rule.
RuleId rest_of_json_string(Grammar& g) {
  return g.shared_rule("json rest of a string", [&] {
    const NodeId any = char_node(g, CodepointSet::all(), CharEncoding::json);
    return g.sequence({g.repeat(any, 0, kUnbounded), g.literal("\"")});
  });
}

std::string name_of_rest(const CodepointSet& set) {
  std::string name = "json rest of a string after";
  for (const auto& range : set.ranges()) name += fmt::format(" {:x}-{:x}", range.first, range.last);
  return name;
}

// A character of the set and the rest of a string. Parts that most large sets have in common are rules that
// the whole grammar shares, so that their tokens are found once.
NodeId char_and_rest(Grammar& g, CodepointSet set) {
  std::vector<NodeId> ways;
  const auto take = [&](const CodepointSet& part, const char* name) {
    if (set.intersect(part) != part) return;
    set = set.minus(part);
    const auto body = [&] {
      return g.sequence({char_node(g, part, CharEncoding::json), g.reference(rest_of_json_string(g))});
    };
    ways.push_back(g.reference(g.shared_rule(name, body)));
  };
  take({0x80, CodepointSet::kLast}, "json rest of a string after 0x7F");
  take({0, 0x1F}, "json rest of a string after a control character");
  if (!set.empty()) {
    ways.push_back(g.sequence({char_node(g, set, CharEncoding::json), g.reference(rest_of_json_string(g))}));
  }
  return g.choice(std::move(ways));
}

constexpr std::size_t kMaxPositions = 20'000;
constexpr std::size_t kMaxAtoms = 300;

base::Error too_large() {
  return base::error(base::ErrorCode::too_large, "the demands on a string are too large to combine");
}

// Splits all characters into atoms. Characters that no demand distinguishes are in one atom.
base::Result<std::vector<CodepointSet>> find_atoms(const std::set<CodepointSet>& sets) {
  std::vector<CodepointSet> atoms{CodepointSet::all()};
  for (const CodepointSet& set : sets) {
    std::vector<CodepointSet> next;
    for (const CodepointSet& atom : atoms) {
      CodepointSet inside = atom.intersect(set);
      CodepointSet outside = atom.minus(set);
      if (!inside.empty()) next.push_back(std::move(inside));
      if (!outside.empty()) next.push_back(std::move(outside));
    }
    atoms = std::move(next);
    if (atoms.size() > kMaxAtoms) return too_large();
  }
  return atoms;
}

// One regular expression as a nondeterministic automaton over atoms.
class Positions {
 public:
  using Set = std::vector<std::uint32_t>;

  Positions(const Regex& regex, const std::vector<CodepointSet>& atoms) : regex_(regex), atoms_(atoms) {
    start_ = add();
    end_ = unfold(regex.root, start_);
  }

  std::size_t size() const { return states_.size(); }
  bool too_large() const { return size() > kMaxPositions; }
  Set start() const { return close({start_}); }
  Set step(const Set& from, std::uint32_t atom) const {
    Set to;
    for (const std::uint32_t s : from) {
      const auto& chars = states_[s].atoms;
      if (std::binary_search(chars.begin(), chars.end(), atom)) to.push_back(states_[s].target);
    }
    return close(std::move(to));
  }
  bool accepts(const Set& set) const { return std::binary_search(set.begin(), set.end(), end_); }

 private:
  struct State {
    std::vector<std::uint32_t> atoms;
    std::uint32_t target = 0;
    std::vector<std::uint32_t> empty;
  };

  std::uint32_t add() {
    if (!too_large()) states_.emplace_back();
    return static_cast<std::uint32_t>(states_.size() - 1);
  }
  void link(std::uint32_t from, std::uint32_t to) { states_[from].empty.push_back(to); }

  std::uint32_t unfold(std::uint32_t id, std::uint32_t from) {
    if (too_large()) return from;
    const Regex::Node& node = regex_.nodes[id];
    if (node.kind == Regex::Kind::chars) {
      const std::uint32_t at = add();
      const std::uint32_t to = add();
      link(from, at);
      for (std::uint32_t a = 0; a < atoms_.size(); ++a) {
        if (node.chars.has(atoms_[a].ranges()[0].first)) states_[at].atoms.push_back(a);
      }
      states_[at].target = to;
      return to;
    }
    if (node.kind == Regex::Kind::sequence) {
      for (const std::uint32_t child : node.children) from = unfold(child, from);
      return from;
    }
    const std::uint32_t end = add();
    if (node.kind == Regex::Kind::choice) {
      for (const std::uint32_t child : node.children) link(unfold(child, from), end);
      return end;
    }
    for (std::uint32_t i = 0; i < node.min && !too_large(); ++i) from = unfold(node.children[0], from);
    if (node.max == kUnbounded) {
      const std::uint32_t again = add();
      link(from, again);
      link(unfold(node.children[0], again), again);
      link(again, end);
      return end;
    }
    link(from, end);
    for (std::uint32_t i = node.min; i < node.max && !too_large(); ++i) {
      from = unfold(node.children[0], from);
      link(from, end);
    }
    return end;
  }

  Set close(Set seeds) const {
    std::vector<bool> seen(states_.size(), false);
    Set closed;
    while (!seeds.empty()) {
      const std::uint32_t s = seeds.back();
      seeds.pop_back();
      if (seen[s]) continue;
      seen[s] = true;
      if (s == end_ || !states_[s].atoms.empty()) closed.push_back(s);
      seeds.insert(seeds.end(), states_[s].empty.begin(), states_[s].empty.end());
    }
    std::sort(closed.begin(), closed.end());
    return closed;
  }

  const Regex& regex_;
  const std::vector<CodepointSet>& atoms_;
  std::vector<State> states_;
  std::uint32_t start_ = 0;
  std::uint32_t end_ = 0;
};

// Combines the names into one regular expression, so that they are one demand.
Regex regex_of_names(const std::vector<std::string>& names) {
  Regex regex;
  const auto add = [&](Regex::Node node) {
    regex.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(regex.nodes.size() - 1);
  };
  std::vector<std::uint32_t> alternatives;
  for (const std::string& name : names) {
    std::vector<std::uint32_t> chars;
    for (const char32_t c : decode_utf8(name).value_or(U"")) {
      chars.push_back(add({.kind = Regex::Kind::chars, .chars = {c, c}}));
    }
    alternatives.push_back(add({.kind = Regex::Kind::sequence, .children = std::move(chars)}));
  }
  regex.root = add({.kind = Regex::Kind::choice, .children = std::move(alternatives)});
  return regex;
}

}  // namespace

// Builds the product of all demands. A state is a length and the positions in each expression.
class CharDfaBuilder {
 public:
  explicit CharDfaBuilder(const StringDemands& demands)
      : demands_(demands), names_(regex_of_names(demands.not_equal)), regexes_(demands.match) {
    regexes_.insert(regexes_.end(), demands.not_match.begin(), demands.not_match.end());
    if (!demands.not_equal.empty()) regexes_.push_back(&names_);
  }

  base::Result<CharDfa> build() {
    TRY_OK(find_parts());
    // Lengths beyond the last one that matters count as that one.
    last_length_ = demands_.max_length == kUnbounded ? demands_.min_length : demands_.max_length + 1;
    if (last_length_ > demands_.max_states) return too_large();
    Key start{0, {}};
    for (const Positions& part : parts_) start.second.push_back(part.start());
    state_of(std::move(start));
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_.size() > demands_.max_states || work_ > kMaxWork) return too_large();
      add_state(i);
    }
    dfa_.prune();
    dfa_.merge_equal_states();
    return std::move(dfa_);
  }

 private:
  using Key = std::pair<std::uint32_t, std::vector<Positions::Set>>;
  static constexpr std::size_t kMaxWork = 20'000'000;

  base::Status find_parts() {
    std::set<CodepointSet> sets;
    for (const Regex* regex : regexes_) {
      for (const Regex::Node& node : regex->nodes) {
        if (node.kind == Regex::Kind::chars && !node.chars.empty()) sets.insert(node.chars);
      }
    }
    TRY(dfa_.atoms_, find_atoms(sets));
    for (const Regex* regex : regexes_) {
      parts_.emplace_back(*regex, dfa_.atoms_);
      if (parts_.back().too_large()) return too_large();
    }
    return base::ok();
  }

  std::uint32_t state_of(Key key) {
    if (demands_.max_length != kUnbounded && key.first > demands_.max_length) return CharDfa::kDead;
    for (std::size_t i = 0; i < demands_.match.size(); ++i) {
      if (key.second[i].empty()) return CharDfa::kDead;
    }
    const auto [it, is_new] = ids_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
    if (is_new) keys_.push_back(std::move(key));
    return it->second;
  }

  void add_state(std::size_t index) {
    const Key key = keys_[index];
    CharDfa::State state;
    state.accept = key.first >= demands_.min_length;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const bool wanted = p < demands_.match.size();
      if (parts_[p].accepts(key.second[p]) != wanted) state.accept = false;
      work_ += (key.second[p].size() + parts_[p].size() / 64) * dfa_.atoms_.size();
    }
    for (std::uint32_t a = 0; a < dfa_.atoms_.size(); ++a) {
      Key to{std::min(key.first + 1, last_length_), {}};
      for (std::size_t p = 0; p < parts_.size(); ++p) to.second.push_back(parts_[p].step(key.second[p], a));
      state.next.push_back(state_of(std::move(to)));
    }
    dfa_.states_.push_back(std::move(state));
  }

  const StringDemands& demands_;
  Regex names_;
  std::vector<const Regex*> regexes_;  // those that must match come first
  CharDfa dfa_;
  std::vector<Positions> parts_;  // by expression
  std::uint32_t last_length_ = 0;
  std::map<Key, std::uint32_t> ids_;
  std::vector<Key> keys_;
  std::size_t work_ = 0;
};

base::Result<CharDfa> CharDfa::make(const StringDemands& demands) {
  return CharDfaBuilder(demands).build();
}

// Keeps only states that can still match.
void CharDfa::prune() {
  std::vector<std::vector<std::uint32_t>> from(states_.size());
  std::vector<std::uint32_t> todo;
  std::vector<bool> alive(states_.size(), false);
  for (std::uint32_t s = 0; s < states_.size(); ++s) {
    for (const std::uint32_t to : states_[s].next) {
      if (to != kDead) from[to].push_back(s);
    }
    if (states_[s].accept) todo.push_back(s);
  }
  while (!todo.empty()) {
    const std::uint32_t s = todo.back();
    todo.pop_back();
    if (alive[s]) continue;
    alive[s] = true;
    todo.insert(todo.end(), from[s].begin(), from[s].end());
  }
  if (!alive[0]) {
    states_.clear();
    return;
  }
  for (State& state : states_) {
    for (std::uint32_t& to : state.next) {
      if (to != kDead && !alive[to]) to = kDead;
    }
  }
}

// Splits the states into classes until all states of a class lead to the same classes, and keeps one state of
// each.
void CharDfa::merge_equal_states() {
  constexpr std::size_t kMaxMerged = 600;  // the time grows with the square
  if (states_.empty() || states_.size() > kMaxMerged) return;
  std::vector<std::uint32_t> class_of(states_.size());
  for (std::size_t s = 0; s < states_.size(); ++s) class_of[s] = states_[s].accept ? 1 : 0;
  for (std::size_t num_classes = 0;;) {
    std::map<std::vector<std::uint32_t>, std::uint32_t> classes;
    std::vector<std::uint32_t> refined;
    for (std::size_t s = 0; s < states_.size(); ++s) {
      std::vector<std::uint32_t> key{class_of[s]};
      for (const std::uint32_t to : states_[s].next) key.push_back(to == kDead ? kDead : class_of[to]);
      refined.push_back(
          classes.try_emplace(std::move(key), static_cast<std::uint32_t>(classes.size())).first->second);
    }
    class_of = std::move(refined);
    if (classes.size() == num_classes) break;
    num_classes = classes.size();
  }
  std::vector<State> merged;
  for (std::size_t s = 0; s < states_.size(); ++s) {
    if (class_of[s] < merged.size()) continue;  // classes are numbered in the order of their first state
    for (std::uint32_t& to : states_[s].next) to = to == kDead ? kDead : class_of[to];
    merged.push_back(std::move(states_[s]));
  }
  states_ = std::move(merged);
}

bool CharDfa::matches(std::string_view utf8) const {
  const auto text = decode_utf8(utf8);
  if (!text || empty()) return false;
  std::uint32_t s = 0;
  for (const char32_t c : *text) {
    const auto atom = std::find_if(atoms_.begin(), atoms_.end(), [&](const auto& a) { return a.has(c); });
    s = states_[s].next[static_cast<std::size_t>(atom - atoms_.begin())];
    if (s == kDead) return false;
  }
  return states_[s].accept;
}

// Whether every continuation from here is accepted.
bool CharDfa::takes_anything(std::uint32_t s) const {
  return states_[s].accept && std::ranges::all_of(states_[s].next, [s](std::uint32_t to) { return to == s; });
}

// Emits one rule for each state. If a state leads to itself, its rule begins with a loop, for which masks are
// fast.
NodeId CharDfa::emit(Grammar& grammar, CharEncoding encoding) const {
  if (empty()) return grammar.never();
  std::vector<RuleId> rules;
  for (std::uint32_t s = 0; s < states_.size(); ++s) {
    const bool shared = encoding == CharEncoding::json && takes_anything(s);
    rules.push_back(shared ? rest_of_json_string(grammar) : grammar.add_rule("string"));
  }
  std::map<CodepointSet, NodeId> chars;
  for (std::uint32_t s = 0; s < states_.size() && !grammar.full(); ++s) {
    if (encoding == CharEncoding::json && takes_anything(s)) continue;
    std::map<std::uint32_t, CodepointSet> targets;
    for (std::uint32_t a = 0; a < atoms_.size(); ++a) {
      if (states_[s].next[a] != kDead) targets[states_[s].next[a]].add(atoms_[a]);
    }
    std::vector<NodeId> ways;
    std::vector<NodeId> body;
    for (const auto& [to, set] : targets) {
      if (to == s) {
        body.push_back(grammar.repeat(char_node(grammar, set, encoding), 0, kUnbounded));
        continue;
      }
      if (encoding == CharEncoding::json && takes_anything(to)) {
        const auto body = [&] { return char_and_rest(grammar, set); };
        ways.push_back(grammar.reference(grammar.shared_rule(name_of_rest(set), body)));
        continue;
      }
      const auto [it, is_new] = chars.try_emplace(set, 0);
      if (is_new)
        it->second = encoding == CharEncoding::json ? compact_char_node(grammar, set)
                                                    : char_node(grammar, set, encoding);
      ways.push_back(grammar.sequence({it->second, grammar.reference(rules[to])}));
    }
    if (states_[s].accept)
      ways.push_back(encoding == CharEncoding::json ? grammar.literal("\"") : grammar.empty());
    body.push_back(grammar.choice(std::move(ways)));
    grammar.define(rules[s], grammar.sequence(std::move(body)));
  }
  const NodeId body = grammar.reference(rules[0]);
  return encoding == CharEncoding::json ? grammar.sequence({grammar.literal("\""), body}) : body;
}

}  // namespace kvasir::grammar
