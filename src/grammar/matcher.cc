#include "grammar/matcher.h"

#include <algorithm>
#include <vector>

namespace kvasir::grammar {
namespace {

base::Error limit_error(Pushdown::Failure failure) {
  const char* why = failure == Pushdown::Failure::items  ? "is too ambiguous"
                    : failure == Pushdown::Failure::work ? "takes too long"
                                                         : "takes too much memory";
  return {.code = base::ErrorCode::too_large,
          .message = fmt::format("the grammar {} to follow", why),
          .reason = "grammar_too_complex"};
}

}  // namespace

Matcher::Matcher(std::shared_ptr<CompiledGrammar> grammar)
    : grammar_(std::move(grammar)),
      generation_(grammar_->generation()),
      work_left_(grammar_->limits().work_reserve) {
  const std::lock_guard lock(generation_->mutex);
  const ConfigId start = generation_->pushdown.start();
  history_.push_back({start, generation_->pushdown.is_complete(start), false});
}

template <class F>
base::Status Matcher::with_generation(F f) {
  for (int attempt = 0;; ++attempt) {
    Pushdown::Failure failure = Pushdown::Failure::none;
    {
      const std::lock_guard lock(generation_->mutex);
      generation_->pushdown.set_work(work_left_);
      const bool done = f(*generation_);
      work_left_ = std::max<std::int64_t>(0, generation_->pushdown.work_left());
      if (done) return base::ok();
      failure = generation_->pushdown.failure();
    }
    if (failure != Pushdown::Failure::memory || attempt > 0) return limit_error(failure);
    TRY_OK(move_to_new_generation());
  }
}

// Locks are always taken in the order older, then newer generation.
base::Status Matcher::move_to_new_generation() {
  const auto fresh = grammar_->renew(generation_);
  std::deque<Point> history = history_;
  {
    const std::lock_guard old_lock(generation_->mutex);
    const std::lock_guard new_lock(fresh->mutex);
    std::vector<ConfigId> configs;
    for (const Point& point : history) configs.push_back(point.config);
    const std::vector<ConfigId> adopted = fresh->pushdown.adopt(generation_->pushdown, configs);
    if (adopted.size() < configs.size()) return limit_error(Pushdown::Failure::memory);
    for (std::size_t i = 0; i < history.size(); ++i) history[i].config = adopted[i];
  }
  generation_ = fresh;
  history_ = std::move(history);
  return base::ok();
}

void Matcher::push(const Point& point) {
  history_.push_back(point);
  if (history_.size() > kMaxRollback + 1) history_.pop_front();
}

base::Result<bool> Matcher::accept(TokenId token) {
  if (is_ended()) return false;
  if (grammar_->trie().is_end(token)) {
    if (!is_complete()) return false;
    Point point = history_.back();
    point.ended = true;
    push(point);
    return true;
  }
  const std::string_view bytes = grammar_->trie().bytes_of(token);
  if (bytes.empty()) return false;
  return accept_bytes(bytes);
}

base::Result<bool> Matcher::accept_bytes(std::string_view bytes) {
  if (is_ended()) return false;
  Point point = history_.back();
  TRY_OK(with_generation([&](Generation& generation) {
    ConfigId config = history_.back().config;
    for (const char c : bytes) {
      config = generation.pushdown.step(config, static_cast<std::uint8_t>(c));
      if (config == Pushdown::kFailed) return false;
      if (config == Pushdown::kDead) break;
    }
    point.config = config;
    point.complete = generation.pushdown.is_complete(config);
    return true;
  }));
  if (point.config == Pushdown::kDead) return false;
  push(point);
  work_left_ = std::min(work_left_ + grammar_->limits().work_per_token, grammar_->limits().work_reserve);
  return true;
}

void Matcher::rollback(std::size_t num_steps) {
  CHECK(num_steps < history_.size(), "{} steps of {}", num_steps, history_.size() - 1);
  history_.resize(history_.size() - num_steps);
}

base::Status Matcher::fill_mask(std::span<std::uint32_t> bits) {
  if (is_ended()) {
    std::fill(bits.begin(), bits.end(), 0);
    return base::ok();
  }
  TRY_OK(with_generation([&](Generation& generation) {
    const MaskTable::Mask* mask = generation.masks.find(history_.back().config);
    if (mask != nullptr) generation.masks.write(*mask, bits);
    return mask != nullptr;
  }));
  if (is_complete()) {
    for (const TokenId token : grammar_->trie().end_tokens()) bits[token / 32] |= 1U << (token % 32);
  }
  return base::ok();
}

base::Result<std::string> Matcher::forced_bytes(std::size_t max_bytes) {
  std::string forced;
  if (is_ended()) return forced;
  TRY_OK(with_generation([&](Generation& generation) {
    Pushdown& pushdown = generation.pushdown;
    forced.clear();
    ConfigId config = history_.back().config;
    while (forced.size() < max_bytes && !pushdown.is_complete(config)) {
      const ByteSet next = pushdown.first_bytes(config);
      if (next.size() != 1) break;
      forced.push_back(static_cast<char>(next.first()));
      config = pushdown.step(config, next.first());
      if (config == Pushdown::kFailed) return false;
    }
    return true;
  }));
  return forced;
}

base::Result<std::optional<TokenId>> Matcher::forced_token() {
  std::optional<TokenId> forced;
  if (is_ended()) return forced;
  TRY_OK(with_generation([&](Generation& generation) {
    const MaskTable::Mask* mask = generation.masks.find(history_.back().config);
    if (mask == nullptr) return false;
    forced.reset();
    if (!mask->slices.empty() || !mask->words.empty() || is_complete() || mask->tokens.empty()) return true;
    const TokenId first = mask->tokens[0];
    if (std::ranges::all_of(mask->tokens, [&](TokenId t) { return t == first; })) forced = first;
    return true;
  }));
  return forced;
}

base::Result<std::vector<TokenId>> Matcher::forced_tokens(std::size_t max_tokens) {
  std::vector<TokenId> tokens;
  TRY(const std::string bytes, forced_bytes());
  if (bytes.empty() || max_tokens == 0) return tokens;
  const TokenTrie& trie = grammar_->trie();
  // A tokenizer may put a space before the text. Its tokens do not spell the text then, and are not used.
  std::size_t num_spelled = 0;
  for (const TokenId token : trie.tokenize(bytes)) {
    const std::string_view piece = trie.bytes_of(token);
    if (piece.empty() || !std::string_view(bytes).substr(num_spelled).starts_with(piece)) break;
    tokens.push_back(token);
    num_spelled += piece.size();
  }
  Matcher ahead = *this;
  TRY(const bool accepted, ahead.accept_bytes(bytes));
  TRY(const bool over, ahead.must_end());
  if (!tokens.empty() && !(accepted && over && num_spelled == bytes.size())) tokens.pop_back();
  if (tokens.size() > max_tokens) tokens.resize(max_tokens);
  if (!tokens.empty()) return tokens;
  TRY(const std::optional<TokenId> only, forced_token());
  if (only) tokens.push_back(*only);
  return tokens;
}

base::Result<bool> Matcher::must_end() {
  if (!is_complete()) return false;
  bool over = is_ended();
  if (over) return over;
  TRY_OK(with_generation([&](Generation& generation) {
    over = generation.pushdown.first_bytes(history_.back().config).empty();
    return true;
  }));
  return over;
}

}  // namespace kvasir::grammar
