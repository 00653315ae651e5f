#include "sched/shares.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/check.h"
#include "sched/sequence.h"

namespace kvasir::sched {

namespace {

// The cost of a token from the prefix cache, relative to a computed one.
constexpr double kCachedCost = 1.0 / 16;
double expected_cost(const Sequence& sequence) {
  return sequence.num_prompt + std::min(sequence.request.max_tokens, kExpectedOutput);
}

}  // namespace

std::uint64_t tenant_hash(std::string_view tenant) {
  return std::hash<std::string_view>{}(tenant);
}

void Shares::join(Sequence& sequence) {
  Class& of = classes_[sequence.request.priority];
  Account& account = account_of(of, sequence);
  ++of.num_live;
  ++account.num_live;
  RequestShare& request = request_of(account, sequence.request.origin.request_id);
  ++request.num_live;
  sequence.share = &request;
  sequence.tenant = account.tenant_hash;
  sequence.turn = request.num_joined++;
  const double cost = expected_cost(sequence) / account.weight;
  if (sequence.turn == 0) {
    request.tag = std::max(account.charge, account.next_tag);
    account.newest_tag = request.tag;
    account.next_tag = request.tag + cost;
  }
  sequence.tag = request.tag + sequence.turn * cost;
  wait(sequence);
}

void Shares::leave(Sequence& sequence, double now_s) {
  RequestShare& request = *sequence.share;
  Account& account = *request.account;
  Class& of = classes_.at(account.priority);
  if (sequence.runs) {
    --request.num_running, --account.num_running, --of.num_running;
  } else {
    leave_line(account, sequence);
  }
  // The tenant's next requests get back what was counted too much, but stay after the requests that are here.
  if (sequence.turn == 0) {
    const double unused = std::max(0.0, expected_cost(sequence) - sequence.num_charged) / account.weight;
    account.next_tag = std::max(account.newest_tag, account.next_tag - unused);
  }
  sequence.share = nullptr;
  of.last_s = now_s;
  --account.num_live;
  if (--request.num_live == 0) account.requests.erase(request.id);
  if (--of.num_live == 0) of.accounts.clear();
}

void Shares::wait(Sequence& sequence) {
  Account& account = *sequence.share->account;
  if (std::exchange(sequence.runs, false))
    --sequence.share->num_running, --account.num_running, --classes_.at(account.priority).num_running;
  join_line(account, sequence);
}

void Shares::join_line(Account& account, Sequence& sequence) {
  Class& of = classes_.at(account.priority);
  if (account.waiting.empty()) {
    account.line = of.lines.size();
    of.lines.push_back({.tenant = account.tenant_hash,
                        .priority = account.priority,
                        .charge = account.charge,
                        .weight = account.weight});
    of.line_owners.push_back(&account);
  }
  account.waiting.insert(std::ranges::lower_bound(account.waiting, &sequence, ByRank{}), &sequence);
  of.lines[account.line].num_tokens += sequence.num_to_compute;
  of.num_waiting_tokens += sequence.num_to_compute;
  ++of.lines[account.line].num_sequences;
}

void Shares::leave_line(Account& account, Sequence& sequence) {
  if (std::erase(account.waiting, &sequence) == 0) return;
  Class& of = classes_.at(account.priority);
  of.lines[account.line].num_tokens -= sequence.num_to_compute;
  of.num_waiting_tokens -= sequence.num_to_compute;
  --of.lines[account.line].num_sequences;
  if (!account.waiting.empty()) return;
  of.lines[account.line] = of.lines.back();
  of.line_owners[account.line] = of.line_owners.back();
  of.line_owners[account.line]->line = account.line;
  of.lines.pop_back();
  of.line_owners.pop_back();
}

void Shares::add_charge(Sequence& sequence, double tokens) {
  Account& account = *sequence.share->account;
  account.charge += tokens / account.weight;
  sequence.charge += tokens / account.weight;
  if (!account.waiting.empty()) classes_.at(account.priority).lines[account.line].charge = account.charge;
}

void Shares::run(Sequence& sequence) {
  Account& account = *sequence.share->account;
  leave_line(account, sequence);
  sequence.runs = true;
  ++sequence.share->num_running, ++account.num_running, ++classes_.at(account.priority).num_running;
}

void Shares::charge(Sequence& sequence, int num_computed) {
  if (num_computed <= sequence.num_charged) return;
  add_charge(sequence, num_computed - sequence.num_charged);
  sequence.num_charged = num_computed;
}

void Shares::charge_cached(Sequence& sequence, int num_cached) {
  if (num_cached <= sequence.num_charged) return;
  add_charge(sequence, kCachedCost * (num_cached - sequence.num_charged));
  sequence.num_charged = num_cached;
}

bool Shares::has_higher(int priority, double now_s, double seconds) const {
  for (const auto& [other, of] : classes_) {
    if (other <= priority) return false;
    if (of.num_live > 0 || now_s - of.last_s < seconds) return true;
  }
  return false;
}

Account& Shares::account_of(Class& of, const Sequence& sequence) {
  const wire::Origin& origin = sequence.request.origin;
  const auto found = of.accounts.find(origin.tenant);
  double charge = found == of.accounts.end() ? 0 : found->second->charge;
  if (found == of.accounts.end() || found->second->num_live == 0)
    charge = std::max(charge, lowest_charge(of));
  std::unique_ptr<Account>& account = of.accounts[origin.tenant];
  if (!account) account = std::make_unique<Account>();
  account->tenant = origin.tenant;
  account->tenant_hash = tenant_hash(origin.tenant);
  account->priority = sequence.request.priority;
  account->weight = std::max(1, origin.weight);
  account->charge = charge;
  if (!account->waiting.empty()) {
    of.lines[account->line].charge = account->charge;
    of.lines[account->line].weight = account->weight;
  }
  return *account;
}

RequestShare& Shares::request_of(Account& account, const std::string& id) {
  const std::string key = id.empty() ? std::string("\0", 1) + std::to_string(num_nameless_++) : id;
  std::unique_ptr<RequestShare>& slot = account.requests[key];
  if (!slot) slot = std::make_unique<RequestShare>(RequestShare{.account = &account, .id = key});
  return *slot;
}

double Shares::lowest_charge(Class& of) {
  double lowest = std::numeric_limits<double>::max();
  for (const auto& [name, account] : of.accounts)
    if (account->num_live > 0) lowest = std::min(lowest, account->charge);
  if (lowest == std::numeric_limits<double>::max()) return 0;
  std::erase_if(of.accounts, [lowest](const auto& entry) {
    return entry.second->num_live == 0 && entry.second->charge < lowest;
  });
  return lowest;
}

}  // namespace kvasir::sched
