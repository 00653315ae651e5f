#include "bench/workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace kvasir::bench {

namespace {

constexpr std::array<std::pair<std::string_view, WorkloadKind>, 4> kKinds = {{
    {"chat", WorkloadKind::chat},
    {"shared-prefix", WorkloadKind::shared_prefix},
    {"multi-turn", WorkloadKind::multi_turn},
    {"long-prompt", WorkloadKind::long_prompt},
}};

constexpr std::uint64_t kPrefixStream = std::uint64_t{1} << 62;

std::uint64_t stream_of(int phase, std::uint64_t index) {
  return (static_cast<std::uint64_t>(phase) << 40) + index;
}

int varied(Random& random, int tokens, double vary) {
  const double factor = 1 + vary * (2 * random.uniform() - 1);
  return std::max(1, static_cast<int>(std::lround(tokens * factor)));
}

std::string shared_prefix(const WorkloadOptions& options, const TokenScale& scale, int phase,
                          std::uint64_t index) {
  const std::uint64_t group = index % static_cast<std::uint64_t>(options.prefix_groups);
  Random random(options.seed, kPrefixStream + stream_of(phase, group));
  // The template's overhead is counted in the user's message.
  const TokenScale bare{scale.tokens_per_word, 0};
  return random_words(random, bare.words_for(options.prefix_tokens));
}

}  // namespace

base::Result<WorkloadKind> parse_workload(std::string_view name) {
  for (const auto& [known, kind] : kKinds)
    if (known == name) return kind;
  return base::error(base::ErrorCode::invalid_argument,
                     "no workload '{}': chat, shared-prefix, multi-turn or long-prompt", name);
}

std::string_view name_of(WorkloadKind kind) {
  for (const auto& [name, known] : kKinds)
    if (known == kind) return name;
  return "?";
}

Conversation make_conversation(const WorkloadOptions& options, const TokenScale& scale, int phase,
                               std::uint64_t index) {
  Random random(options.seed, stream_of(phase, index));
  Conversation conversation;
  if (options.kind == WorkloadKind::shared_prefix)
    conversation.opening.push_back({"system", shared_prefix(options, scale, phase, index)});
  const int num_turns = options.kind == WorkloadKind::multi_turn ? options.turns : 1;
  const auto every = static_cast<std::uint64_t>(options.long_every);
  const bool is_long = options.kind == WorkloadKind::long_prompt && index % every == every - 1;
  for (int i = 0; i < num_turns; ++i) {
    const int input = is_long ? options.long_tokens : varied(random, options.input_tokens, options.vary);
    const int words = scale.words_for(input);
    conversation.turns.push_back(
        {random_words(random, words), varied(random, options.output_tokens, options.vary)});
  }
  return conversation;
}

}  // namespace kvasir::bench
