#include "grammar/grammar_compiler.h"

#include <vector>

#include "grammar/choice.h"
#include "grammar/ebnf.h"
#include "grammar/regex.h"
#include "grammar/text_until.h"
#include "grammar/tool_calls.h"

namespace kvasir::grammar {
namespace {

std::string key_of(const GrammarSource& source) {
  return fmt::format("{}:{}:{}:{}", static_cast<int>(source.kind), static_cast<int>(source.preamble),
                     source.json.max_whitespace, source.text);
}

base::Result<Grammar> grammar_of_choice_list(const std::string& text) {
  TRY(const auto list, base::parse_json(text));
  std::vector<std::string> texts;
  const auto* items = list.if_array();
  for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
    if (!(*items)[i].is_string()) {
      items = nullptr;
      break;
    }
    texts.emplace_back((*items)[i].get_string());
  }
  if (items == nullptr) {
    return base::error(base::ErrorCode::invalid_argument, "a choice must be a list of strings");
  }
  return grammar_of_choice(texts);
}

base::Result<Grammar> grammar_of_output(const GrammarSource& source) {
  switch (source.kind) {
    case GrammarSource::Kind::json_object:
      return grammar_of_json_object(source.json);
    case GrammarSource::Kind::json_schema: {
      TRY(const auto schema, base::parse_json(source.text));
      return grammar_of_json_schema(schema, source.json);
    }
    case GrammarSource::Kind::regex:
      return grammar_of_regex(source.text);
    case GrammarSource::Kind::ebnf:
      return grammar_of_ebnf(source.text);
    case GrammarSource::Kind::choice:
      return grammar_of_choice_list(source.text);
    case GrammarSource::Kind::tool_calls:
      return grammar_of_tool_calls(source.text, source.json);
  }
  CHECK(false, "no such kind of grammar");
}

// Puts the reasoning before the root. Blank lines may stand between the two.
base::Status add_preamble(Grammar& grammar, GrammarSource::Preamble preamble) {
  if (preamble == GrammarSource::Preamble::none) return base::ok();
  const NodeId blanks = grammar.repeat(grammar.literal("\n"), 0, 3);
  NodeId reasoning = grammar.sequence({text_until(grammar, "</think>"), blanks});
  if (preamble == GrammarSource::Preamble::reasoning)
    reasoning = grammar.optional(grammar.sequence({grammar.literal("<think>"), reasoning}));
  const NodeId output = grammar.reference(grammar.root());
  const RuleId root = grammar.add_rule("answer");
  grammar.define(root, grammar.sequence({reasoning, output}));
  grammar.set_root(root);
  return grammar.check();
}

}  // namespace

base::Result<Grammar> grammar_of(const GrammarSource& source) {
  TRY(Grammar grammar, grammar_of_output(source));
  TRY_OK(add_preamble(grammar, source.preamble));
  return grammar;
}

GrammarCompiler::GrammarCompiler(std::shared_ptr<const TokenTrie> trie, Limits limits)
    : trie_(std::move(trie)), limits_(limits) {}

base::Result<std::shared_ptr<CompiledGrammar>> GrammarCompiler::make(const GrammarSource& source) const {
  TRY(const Grammar grammar, grammar_of(source));
  return CompiledGrammar::create(grammar, trie_, limits_.grammar,
                                 std::make_shared<const GrammarSource>(source));
}

base::Result<std::shared_ptr<CompiledGrammar>> GrammarCompiler::compile(const GrammarSource& source) {
  if (source.text.size() > limits_.max_source_bytes) {
    return base::error(base::ErrorCode::too_large, "a grammar of {} bytes is over the limit of {}",
                       source.text.size(), limits_.max_source_bytes);
  }
  const std::string key = key_of(source);
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto known = index_.find(key);
    if (known == index_.end()) break;
    if (known->second->grammar) {
      entries_.splice(entries_.begin(), entries_, known->second);
      ++stats_.num_reused;
      return known->second->grammar;
    }
    compiled_.wait(lock);
  }
  entries_.push_front({key, nullptr});
  index_[key] = entries_.begin();
  lock.unlock();
  auto made = make(source);
  lock.lock();
  ++stats_.num_compiled;
  const auto own = index_.find(key);
  if (made.ok()) {
    own->second->grammar = *made;
  } else {
    entries_.erase(own->second);
    index_.erase(own);
  }
  // The oldest go first. A grammar that is being compiled belongs to another thread and stays.
  for (auto it = entries_.end(); entries_.size() > limits_.max_grammars && it != entries_.begin();) {
    --it;
    if (!it->grammar || it->key == key) continue;
    index_.erase(it->key);
    it = entries_.erase(it);
  }
  compiled_.notify_all();
  return made;
}

bool GrammarCompiler::is_compiled(const GrammarSource& source) const {
  const std::lock_guard lock(mutex_);
  const auto known = index_.find(key_of(source));
  return known != index_.end() && known->second->grammar != nullptr;
}

GrammarCompiler::Stats GrammarCompiler::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace kvasir::grammar
