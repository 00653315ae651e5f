#include "grammar/compiled_grammar.h"

#include <algorithm>

namespace kvasir::grammar {

CompiledGrammar::Generation::Generation(const CompiledGrammar& grammar)
    : pushdown(grammar.automaton_, {.max_bytes = grammar.limits_.max_configuration_bytes,
                                    .max_items = grammar.limits_.max_items}),
      masks(pushdown, *grammar.trie_, grammar.limits_.max_mask_bytes) {}

base::Result<std::shared_ptr<CompiledGrammar>> CompiledGrammar::create(
    const Grammar& grammar, std::shared_ptr<const TokenTrie> trie, GrammarLimits limits,
    std::shared_ptr<const GrammarSource> source) {
  TRY(auto automaton, Automaton::build(grammar, {.max_states = limits.max_states}));
  // A grammar whose every token needs a walk over the vocabulary must never run out of work.
  const auto walk_work = static_cast<std::int64_t>(3 * trie->nodes().size());
  limits.work_per_token = std::max(limits.work_per_token, walk_work);
  limits.work_reserve = std::max(limits.work_reserve, 4 * walk_work);
  std::shared_ptr<CompiledGrammar> compiled(new CompiledGrammar(automaton, std::move(trie), limits));
  compiled->notes_ = grammar.notes();
  compiled->source_ = std::move(source);
  const auto generation = compiled->generation();
  if (generation->pushdown.start() == Pushdown::kFailed) {
    return base::error(base::ErrorCode::too_large, "the grammar begins with too many alternatives");
  }
  // Walks the vocabulary here, so that the first tokens need not wait for it.
  const auto deadline = std::chrono::steady_clock::now() + limits.max_compile_time;
  for (std::size_t i = 0; i < automaton->num_bodies(); ++i) {
    if (std::chrono::steady_clock::now() > deadline)
      return base::error(base::ErrorCode::too_large, "the grammar takes too long to compile");
    compiled->trie_->slice(automaton->body(static_cast<std::int32_t>(i)));
  }
  generation->pushdown.set_work(limits.warm_up_work);
  generation->masks.warm_up();
  generation->pushdown.set_work(limits.work_reserve);
  (void)generation->masks.find(generation->pushdown.start());
  return compiled;
}

std::shared_ptr<CompiledGrammar::Generation> CompiledGrammar::generation() {
  const std::lock_guard lock(mutex_);
  if (!generation_) generation_ = std::make_shared<Generation>(*this);
  return generation_;
}

std::shared_ptr<CompiledGrammar::Generation> CompiledGrammar::renew(const std::shared_ptr<Generation>& old) {
  const std::lock_guard lock(mutex_);
  if (generation_ == old) generation_ = std::make_shared<Generation>(*this);
  return generation_;
}

}  // namespace kvasir::grammar
