#include "sched/prompt_order.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace kvasir::sched {

namespace {

// The most prompts that one plan sorts by their work. The others wait in the order of rank, since examining
// thousands would take milliseconds.
constexpr std::size_t kMostJudged = 128;
// Parts of the SLO for the first token: the longest work of a small prompt, and the most work that may wait
// while small prompts are served as they come.
constexpr double kSmallPart = 0.25;
constexpr double kBacklogPart = 0.5;

int num_known(const SchedulerState& state, const Sequence& sequence) {
  if (sequence.blocks.size() > 0 || !state.options.prefix_cache || sequence.wants_prompt_lines())
    return sequence.num_computed;
  const auto num_published = static_cast<int>(state.tree.num_published(sequence.chain));
  return sequence.num_known_blocks(num_published) * kv::kBlockTokens;
}

// A tenant's waiting sequences: its first in rank, then the others in the order of service.
struct Line {
  double charge = 0;  // includes the prompts that were taken so far
  const Account* account = nullptr;
  std::span<const Prompt> prompts = {};  // not taken yet
};

// The next prompt of a line, with the keys that decide when its turn is. Small, since a heap moves it about.
struct Next {
  double charge = 0;  // of its line
  double tag = 0;
  SequenceId id = 0;
  Line* line = nullptr;
};

Next next_of(Line& line) {
  const Sequence& sequence = *line.prompts.front().sequence;
  return {.charge = line.charge, .tag = sequence.tag, .id = sequence.id, .line = &line};
}

// The lines of the tenants with waiting sequences in this class: at most `most`, those that were charged
// least.
std::vector<Line> who_waits(const Shares::Class& of, std::size_t most) {
  std::vector<std::pair<double, const Account*>> accounts(of.lines.size());
  for (std::size_t i = 0; i < accounts.size(); ++i) accounts[i] = {of.lines[i].charge, of.line_owners[i]};
  if (accounts.size() > most) {
    std::ranges::nth_element(accounts, accounts.begin() + static_cast<std::ptrdiff_t>(most), {},
                             [](const auto& account) { return account.first; });
    accounts.resize(most);
  }
  std::vector<Line> lines(accounts.size());
  for (std::size_t i = 0; i < lines.size(); ++i)
    lines[i] = {.charge = accounts[i].first, .account = accounts[i].second};
  return lines;
}

// Gives each line its prompts, which are kept in `judged`.
void judge_lines(const SchedulerState& state, std::size_t most, std::vector<Line>& lines,
                 std::vector<Prompt>& judged) {
  const std::size_t most_of_line = lines.empty() ? 0 : (most + lines.size() - 1) / lines.size();
  judged.reserve(lines.size() * most_of_line);
  const double most_small = lines.empty() ? 0 : most_small_tokens(state, lines.front().account->priority);
  for (Line& line : lines) {
    const std::size_t first = judged.size();
    for (const Sequence* sequence : line.account->waiting) {
      if (judged.size() - first >= most_of_line) break;
      if (!sequence->stands_still()) judged.push_back(judge(state, *sequence, most_small));
    }
    const auto prompts = std::span(judged).subspan(first);
    if (prompts.size() > 2) std::sort(prompts.begin() + 1, prompts.end(), is_served_before);
    line.prompts = prompts;
  }
  std::erase_if(lines, [](const Line& line) { return line.prompts.empty(); });
}

// The next prompt is always one of the line with the lowest charge, which is then charged for it. The rank
// decides between equal charges, so that the order does not depend on the addresses of accounts.
bool is_later(const Next& a, const Next& b) {
  if (a.charge != b.charge) return a.charge > b.charge;
  return a.tag != b.tag ? a.tag > b.tag : a.id > b.id;
}

void merge(std::vector<Line>& lines, std::vector<Prompt>& merged) {
  std::vector<Next> heap;
  heap.reserve(lines.size());
  for (Line& line : lines) heap.push_back(next_of(line));
  std::ranges::make_heap(heap, is_later);
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, is_later);
    Line& line = *heap.back().line;
    heap.pop_back();
    const Prompt& next = merged.emplace_back(line.prompts.front());
    line.prompts = line.prompts.subspan(1);
    if (line.prompts.empty()) continue;
    line.charge +=
        (next.num_left + std::min(next.sequence->request.max_tokens, kExpectedOutput)) / line.account->weight;
    heap.push_back(next_of(line));
    std::ranges::push_heap(heap, is_later);
  }
}

}  // namespace

double most_small_tokens(const StepCost& cost, double slo_ttft_s, double num_waiting) {
  constexpr int kMany = 1024;
  const double backlog_s = cost.prefill_s(static_cast<int>(std::min(num_waiting, 1e9)), 0);
  if (backlog_s > kBacklogPart * slo_ttft_s) return 0;
  return kMany * kSmallPart * slo_ttft_s / std::max(cost.prefill_s(kMany, 0), 1e-9);
}

double prompt_size(double most_small, double num_tokens) {
  if (most_small <= 0) return num_tokens;
  double size = 0;
  for (double most = most_small; num_tokens > most; most *= kSizeFactor) ++size;
  return size;
}

double most_small_tokens(const SchedulerState& state, int priority) {
  double num_waiting = 0;
  for (const auto& [its_priority, of] : state.shares.classes()) {
    if (its_priority < priority) break;
    num_waiting += static_cast<double>(of.num_waiting_tokens);
  }
  return most_small_tokens(state.cost, state.options.slo.ttft_s, num_waiting);
}

Prompt judge(const SchedulerState& state, const Sequence& sequence, double most_small) {
  const int num_done = std::min(num_known(state, sequence), sequence.num_tokens() - 1);
  const int num_left = sequence.num_tokens() - num_done;
  return {.sequence = &sequence,
          .num_left = num_left,
          .size = prompt_size(most_small, num_left),
          .is_stream = sequence.num_output() > 0,
          .awaited = {.work_s = state.cost.prefill_s(num_left, num_done),
                      .alone_s = state.cost.prefill_s(sequence.num_prompt, 0),
                      .waited_s = state.busy_s - sequence.arrived_s,
                      .ttft_s = sequence.request.slo_ttft_s}};
}

Prompt judge(const SchedulerState& state, const Sequence& sequence) {
  return judge(state, sequence, most_small_tokens(state, sequence.request.priority));
}

bool is_served_before(const Prompt& a, const Prompt& b) {
  const int priority_a = a.sequence->request.priority;
  const int priority_b = b.sequence->request.priority;
  if (priority_a != priority_b) return priority_a > priority_b;
  if (a.is_stream != b.is_stream) return a.is_stream;
  // Rows go to the tenant that was charged least, and in one tenant to the requests in turn.
  const Account* account_a = a.sequence->share->account;
  const Account* account_b = b.sequence->share->account;
  if (account_a != account_b && account_a->charge != account_b->charge)
    return account_a->charge < account_b->charge;
  if (a.sequence->turn != b.sequence->turn) return a.sequence->turn < b.sequence->turn;
  if (a.size != b.size) return a.size < b.size;
  return ByRank{}(a.sequence, b.sequence);
}

bool may_rely_on(const Sequence& running, const Sequence& waiting) {
  if (running.request.priority != waiting.request.priority)
    return running.request.priority > waiting.request.priority;
  const Account& computes = *running.share->account;
  const double num_public = static_cast<double>(waiting.chain.num_public_blocks()) * kv::kBlockTokens;
  return computes.charge <= waiting.share->account->charge + num_public / computes.weight;
}

std::vector<Prompt> waiting_in_order(const SchedulerState& state) {
  std::vector<Prompt> prompts;
  for (const auto& [priority, of] : state.shares.classes()) {
    const std::size_t most = kMostJudged - prompts.size();
    std::vector<Line> lines = who_waits(of, most);
    std::vector<Prompt> judged;
    judge_lines(state, most, lines, judged);
    merge(lines, prompts);
    if (prompts.size() >= kMostJudged) break;
  }
  return prompts;
}

}  // namespace kvasir::sched
