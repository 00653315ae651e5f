#include "sched/prompt_order.h"

#include <algorithm>
#include <cstddef>

namespace kvasir::sched {

namespace {

// The most prompts that one plan sorts by their work. The others wait in the order of rank, since examining
// thousands would take milliseconds.
constexpr std::size_t kMostJudged = 256;

int num_known(const SchedulerState& state, const Sequence& sequence) {
  if (sequence.blocks.size() > 0 || !state.options.prefix_cache || sequence.wants_prompt_lines())
    return sequence.num_computed;
  return static_cast<int>(state.tree.num_published(sequence.chain)) * kv::kBlockTokens;
}

// A tenant's waiting sequences: its first in rank, then the others in the order of service.
struct Line {
  double charge = 0;  // with what was taken of it so far
  double weight = 1;
  std::vector<Prompt> prompts;
  std::size_t num_taken = 0;

  bool is_empty() const { return num_taken == prompts.size(); }
};

std::vector<const Account*> who_waits(const Shares::Class& of, std::size_t most) {
  std::vector<const Account*> accounts;
  for (const auto& [name, account] : of.accounts)
    if (!account->waiting.empty()) accounts.push_back(account.get());
  if (accounts.size() > most) {
    std::ranges::nth_element(accounts, accounts.begin() + static_cast<std::ptrdiff_t>(most), {},
                             &Account::charge);
    accounts.resize(most);
  }
  return accounts;
}

std::vector<Line> lines_of(const SchedulerState& state, const Shares::Class& of, std::size_t most) {
  const std::vector<const Account*> accounts = who_waits(of, most);
  std::vector<Line> lines;
  lines.reserve(accounts.size());
  for (const Account* account : accounts) {
    Line& line = lines.emplace_back(Line{.charge = account->charge, .weight = account->weight});
    for (const Sequence* sequence : account->waiting) {
      if (line.prompts.size() * accounts.size() >= most) break;
      if (!sequence->held) line.prompts.push_back(judge(state, *sequence));
    }
    if (line.prompts.size() > 2) std::sort(line.prompts.begin() + 1, line.prompts.end(), is_served_before);
  }
  std::erase_if(lines, &Line::is_empty);
  return lines;
}

// Always the next one of the line that was charged least, which is charged for it. The rank decides between
// equal ones, so that the order does not depend on where an account lies.
bool is_later(const Line* a, const Line* b) {
  if (a->charge != b->charge) return a->charge > b->charge;
  return ByRank{}(b->prompts[b->num_taken].sequence, a->prompts[a->num_taken].sequence);
}

void merge(std::vector<Line>& lines, std::vector<Prompt>& merged) {
  std::vector<Line*> heap;
  for (Line& line : lines) heap.push_back(&line);
  std::ranges::make_heap(heap, is_later);
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, is_later);
    Line& line = *heap.back();
    const Prompt& next = merged.emplace_back(line.prompts[line.num_taken++]);
    line.charge +=
        (next.num_left + std::min(next.sequence->request.max_tokens, kExpectedOutput)) / line.weight;
    if (line.is_empty())
      heap.pop_back();
    else
      std::ranges::push_heap(heap, is_later);
  }
}

}  // namespace

Prompt judge(const SchedulerState& state, const Sequence& sequence) {
  const int num_done = std::min(num_known(state, sequence), sequence.num_tokens() - 1);
  Prompt prompt{.sequence = &sequence,
                .num_left = sequence.num_tokens() - num_done,
                .is_stream = sequence.num_output() > 0};
  prompt.awaited = {.work_s = state.cost.prefill_s(prompt.num_left, num_done),
                    .alone_s = state.cost.prefill_s(sequence.num_prompt, 0),
                    .waited_s = state.busy_s - sequence.arrived_s,
                    .ttft_s = sequence.request.slo_ttft_s};
  return prompt;
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
  if (a.num_left != b.num_left) return a.num_left < b.num_left;
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
    std::vector<Line> lines = lines_of(state, of, kMostJudged - prompts.size());
    merge(lines, prompts);
    if (prompts.size() >= kMostJudged) break;
  }
  return prompts;
}

}  // namespace kvasir::sched
