#include "bench/workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace kvasir::bench {

namespace {

constexpr std::array<std::pair<std::string_view, WorkloadKind>, 8> kKinds = {{
    {"chat", WorkloadKind::chat},
    {"shared-prefix", WorkloadKind::shared_prefix},
    {"multi-turn", WorkloadKind::multi_turn},
    {"long-prompt", WorkloadKind::long_prompt},
    {"mixed", WorkloadKind::mixed},
    {"burst", WorkloadKind::burst},
    {"prefix", WorkloadKind::prefix},
    {"long", WorkloadKind::long_one},
}};

constexpr std::uint64_t kPrefixStream = std::uint64_t{1} << 62;
constexpr std::uint64_t kShapeStream = std::uint64_t{1} << 61;

std::uint64_t stream_of(int phase, std::uint64_t index) {
  return (static_cast<std::uint64_t>(phase) << 40) + index;
}

int varied(Random& random, int tokens, double vary) {
  const double factor = 1 + vary * (2 * random.uniform() - 1);
  return std::max(1, static_cast<int>(std::lround(tokens * factor)));
}

// Returns a random length around a median, at most 16 times the median.
int lognormal(Random& random, int median, double spread) {
  const double factor = std::min(std::exp(spread * random.normal()), 16.0);
  return std::max(1, static_cast<int>(std::lround(median * factor)));
}

bool has_spread(WorkloadKind kind) {
  return kind == WorkloadKind::mixed || kind == WorkloadKind::burst || kind == WorkloadKind::prefix ||
         kind == WorkloadKind::long_one;
}

bool has_prefix(WorkloadKind kind) {
  return kind == WorkloadKind::shared_prefix || kind == WorkloadKind::prefix;
}

bool is_long(const WorkloadOptions& options, std::uint64_t index) {
  const auto every = static_cast<std::uint64_t>(options.long_every);
  if (options.kind == WorkloadKind::long_one) return index + 1 == every;
  return options.kind == WorkloadKind::long_prompt && index % every == every - 1;
}

std::string shared_prefix(const WorkloadOptions& options, const TokenScale& scale, int phase,
                          std::uint64_t group) {
  Random random(options.seed, kPrefixStream + stream_of(phase, group));
  // The template's overhead is counted in the user's message, not in the system message.
  const TokenScale bare{scale.tokens_per_word, 0};
  return random_words(random, bare.words_for(options.prefix_tokens));
}

}  // namespace

base::Result<WorkloadKind> parse_workload(std::string_view name) {
  for (const auto& [known, kind] : kKinds)
    if (known == name) return kind;
  return base::error(base::ErrorCode::invalid_argument,
                     "no workload '{}': chat, shared-prefix, multi-turn, long-prompt, mixed, burst, prefix "
                     "or long",
                     name);
}

std::string_view name_of(WorkloadKind kind) {
  for (const auto& [name, known] : kKinds)
    if (known == kind) return name;
  return "?";
}

QuestionShape question_shape(const WorkloadOptions& options, int phase, std::uint64_t index) {
  Random random(options.seed, kShapeStream + stream_of(phase, index));
  const auto length = [&](int tokens) {
    return has_spread(options.kind) ? lognormal(random, tokens, options.spread)
                                    : varied(random, tokens, options.vary);
  };
  QuestionShape shape{.input_tokens = length(options.input_tokens),
                      .output_tokens = length(options.output_tokens)};
  if (is_long(options, index)) shape.input_tokens = options.long_tokens;
  if (has_prefix(options.kind))
    shape.prefix_group = index % static_cast<std::uint64_t>(options.prefix_groups);
  return shape;
}

Conversation make_conversation(const WorkloadOptions& options, const TokenScale& scale, int phase,
                               std::uint64_t index) {
  Random random(options.seed, stream_of(phase, index));
  Conversation conversation;
  const QuestionShape first = question_shape(options, phase, index);
  if (first.prefix_group)
    conversation.opening.push_back({"system", shared_prefix(options, scale, phase, *first.prefix_group)});
  conversation.turns.push_back(
      {random_words(random, scale.words_for(first.input_tokens)), first.output_tokens});
  for (int i = 1; options.kind == WorkloadKind::multi_turn && i < options.turns; ++i) {
    const int words = scale.words_for(varied(random, options.input_tokens, options.vary));
    conversation.turns.push_back(
        {random_words(random, words), varied(random, options.output_tokens, options.vary)});
  }
  return conversation;
}

}  // namespace kvasir::bench
