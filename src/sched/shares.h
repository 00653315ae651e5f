#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kvasir::sched {

struct Sequence;
struct Account;

// The tokens that an answer is assumed to have, at most, until its length is known.
inline constexpr int kExpectedOutput = 128;
// For this long after a higher class last had work, steps without it are as short as is reasonable: the class
// may come back, and should not wait for long.
inline constexpr double kExpectHigher_s = 60;

// One client request. Its sequences take turns with those of the tenant's other requests, so that 128 choices
// of one request delay the next request no more than a single one would.
struct RequestShare {
  Account* account = nullptr;
  std::string id;      // its key in Account::requests; made up for a request without an id
  double tag = 0;      // the tag of its first sequence
  int num_joined = 0;  // sequences, alive or gone
  int num_live = 0;    // sequences that wait or run
  int num_running = 0;
};

std::uint64_t tenant_hash(std::string_view tenant);

// The waiting prompts of one tenant and priority.
struct WaitingLine {
  std::uint64_t tenant = 0;  // a hash of its name
  int priority = 0;
  double charge = 0;
  double weight = 1;
  double num_tokens = 0;  // to compute, as far as was known when they began to wait
  int num_sequences = 0;
};

// A tenant's requests at one priority.
struct Account {
  std::string tenant;
  std::uint64_t tenant_hash = 0;
  int priority = 0;
  double weight = 1;
  double charge = 0;      // tokens computed for it, over its weight
  double next_tag = 0;    // of its next request, unless the charge has passed it
  double newest_tag = 0;  // of the request that came last
  int num_live = 0;
  int num_running = 0;
  std::vector<Sequence*> waiting;  // by rank
  std::size_t line = 0;            // index of its line in its class, while some wait
  std::unordered_map<std::string, std::unique_ptr<RequestShare>> requests;
};

// Counts what each tenant has used of the device. Among tenants of one priority, the one with the lowest
// charge is next, so that over time tenants that always have work share the tokens by their weights. A tenant
// that comes back from idleness starts at the lowest charge of the tenants at work: idleness saves nothing
// up.
// Touched by the engine thread only.
class Shares {
 public:
  // The accounts of one priority.
  struct Class {
    std::unordered_map<std::string, std::unique_ptr<Account>> accounts;
    // One line for each account with waiting sequences. They are close together in memory, since each step
    // looks at them all.
    std::vector<WaitingLine> lines;
    std::vector<Account*> line_owners;    // the account of each of `lines`
    std::int64_t num_waiting_tokens = 0;  // the sum over `lines`
    int num_live = 0;                     // sequences
    int num_running = 0;                  // sequences
    double last_s = 0;                    // when one of its sequences was last alive, on the clock of steps
  };
  using Classes = std::map<int, Class, std::greater<>>;  // by priority, the highest first

  // Adds a sequence that arrives, and sets its rank. It waits at first.
  void join(Sequence& sequence);
  // Removes a sequence that ends at `now_s`.
  void leave(Sequence& sequence, double now_s);
  void wait(Sequence& sequence);
  void run(Sequence& sequence);
  // Charges for the first `num_computed` tokens, except those that were charged before.
  void charge(Sequence& sequence, int num_computed);
  // As above, for tokens found in the prefix cache, which cost little.
  void charge_cached(Sequence& sequence, int num_cached);

  const Classes& classes() const { return classes_; }
  // True if a sequence of a higher priority was alive within the last `seconds`.
  bool has_higher(int priority, double now_s, double seconds) const;

 private:
  Account& account_of(Class& of, const Sequence& sequence);
  void add_charge(Sequence& sequence, double tokens);
  // Called when a sequence begins or ceases to wait.
  void join_line(Account& account, Sequence& sequence);
  void leave_line(Account& account, Sequence& sequence);
  RequestShare& request_of(Account& account, const std::string& id);
  // The lowest charge of the accounts at work. Deletes idle accounts with a lower charge.
  static double lowest_charge(Class& of);

  Classes classes_;
  std::int64_t num_nameless_ = 0;  // requests without an id; each counts as a request of its own
};

}  // namespace kvasir::sched
