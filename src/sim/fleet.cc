#include "sim/fleet.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "router/pool.h"
#include "sim/modelled_worker.h"
#include "sim/worker_view.h"

namespace kvasir::sim {

namespace {

constexpr TokenId kAnswer = 1;

// A router's pool with its own view of each worker.
struct Gateway {
  Gateway(const FleetOptions& options, std::uint64_t seed)
      : pool("m", {.policy = options.policy, .seed = seed}) {}

  std::vector<std::shared_ptr<WorkerView>> views;
  router::Pool pool;
};

struct User {
  FleetTalk talk;
  std::size_t next_turn = 0;
  std::vector<TokenId> said;
};

// A request that is on its worker.
struct Live {
  std::size_t user = 0;
  SimRecord record;
  int output_tokens = 0;
  std::optional<router::WorkerLease> lease;
};

class FleetSimulation {
 public:
  FleetSimulation(const FleetOptions& options, const FleetLoad& load, std::uint64_t seed)
      : options_(options),
        load_(load),
        uses_(std::make_shared<router::Use::Count>("m", std::make_shared<router::UseListener>())),
        users_(static_cast<std::size_t>(load.num_users)),
        live_(static_cast<std::size_t>(options.num_workers)),
        random_(seed),
        thinking_(load.seed) {
    for (int w = 0; w < options.num_workers; ++w) add_worker(static_cast<std::size_t>(w), seed + 1 + w);
    for (int g = 0; g < options.num_gateways; ++g) add_gateway(seed + 1000 + g);
    for (std::size_t u = 0; u < users_.size(); ++u)
      come({.at_s = uniform(thinking_) * (1 + load.think_s), .kind = Kind::turn, .index = u});
    run_.requests.resize(workers_.size());
  }

  FleetRun run() {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_s_ = event.at_s;
      switch (event.kind) {
        case Kind::turn:
          take_turn(event.index);
          break;
        case Kind::step:
          workers_[event.index]->end_step();
          go_on(event.index);
          break;
        case Kind::report:
          report(event.index);
          break;
      }
    }
    for (const auto& worker : workers_) CHECK(worker->idle(), "a worker stands still");
    run_.all.end_s = last_s_;
    for (const auto& worker : workers_) {
      run_.all.stats.num_output_tokens += worker->stats().num_output_tokens;
      run_.all.stats.num_preemptions += worker->stats().num_preemptions;
      run_.all.stats.num_steps += worker->stats().num_steps;
      run_.all.stats.num_prefill_tokens += worker->stats().num_prefill_tokens;
    }
    return std::move(run_);
  }

 private:
  enum class Kind : std::uint8_t { step, report, turn };  // the order of events at the same time
  struct Event {
    double at_s = 0;
    Kind kind = Kind::step;
    std::size_t index = 0;  // index of the worker, of the gateway's view, or of the user

    bool operator>(const Event& other) const {
      return std::tie(at_s, kind, index) > std::tie(other.at_s, other.kind, other.index);
    }
  };

  // Own code, since the distributions of standard libraries differ.
  static double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

  void come(Event event) { events_.push(event); }

  void add_worker(std::size_t w, std::uint64_t seed) {
    auto worker = std::make_unique<ModelledWorker>(options_.scheduler, options_.costs, seed);
    worker->on_event([this, w](const sched::SequenceEvent& event, double at_s) { deliver(w, event, at_s); });
    worker->on_blocks([this, w](const wire::BlockChanges& changes) {
      for (const auto& gateway : gateways_) gateway->views[w]->note_blocks(changes);
    });
    workers_.push_back(std::move(worker));
  }

  void add_gateway(std::uint64_t seed) {
    auto gateway = std::make_unique<Gateway>(options_, seed);
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      gateway->views.push_back(
          std::make_shared<WorkerView>(*workers_[w], now_s_, options_.report_every_s <= 0));
      gateway->pool.add(fmt::format("w{}", w), gateway->views.back());
      if (options_.report_every_s > 0)
        come({uniform(random_) * options_.report_every_s, Kind::report,
              gateways_.size() * workers_.size() + w});
    }
    gateways_.push_back(std::move(gateway));
  }

  void report(std::size_t index) {
    gateways_[index / workers_.size()]->views[index % workers_.size()]->refresh();
    if (num_ended_ < num_begun_ || num_begun_ < load_.num_requests)
      come({now_s_ + options_.report_every_s, Kind::report, index});
  }

  void take_turn(std::size_t u) {
    if (num_begun_ >= load_.num_requests) return;
    ++num_begun_;
    User& user = users_[u];
    if (user.next_turn == user.talk.turns.size()) {
      user.talk = load_.talk(num_talks_++);
      user.said = user.talk.opening;
      user.next_turn = 0;
    }
    const FleetTalk::Turn& turn = user.talk.turns[user.next_turn++];
    user.said.insert(user.said.end(), turn.tokens.begin(), turn.tokens.end());
    wire::GenerateRequest request{.prompt = user.said, .max_tokens = turn.output_tokens, .ignore_eos = true};
    send(u, std::move(request));
  }

  void send(std::size_t u, wire::GenerateRequest request) {
    Gateway& gateway = *gateways_[static_cast<std::size_t>(random_()) % gateways_.size()];
    kv::BlockChain chain{kv::CacheScope{}};
    chain.extend(request.prompt);
    const wire::Outline outline{.prompt_blocks = &chain,
                                .num_prompt_tokens = static_cast<std::int64_t>(request.prompt.size())};
    const router::Demand demand{
        .prompt = chain,
        .num_tokens = static_cast<std::int64_t>(request.prompt.size()) + request.max_tokens,
        .outline = &outline};
    auto lease = gateway.pool.pick(gateway.pool.members(), demand, router::Use(uses_));
    CHECK(lease.ok(), "{}", lease.error().message);
    const auto w = static_cast<std::size_t>(std::stoi(lease->member().substr(1)));
    gateway.views[w]->note_sent(request);
    ++run_.requests[w];
    Live live{.user = u,
              .record = {.arrived_s = now_s_,
                         .prompt_tokens = static_cast<int>(request.prompt.size()),
                         .predicted_s = lease->route().expected_ttft_s},
              .output_tokens = request.max_tokens};
    live.lease.emplace(std::move(*lease));
    const auto id = workers_[w]->submit(std::move(request), now_s_);
    if (!id.ok()) {
      ++run_.all.num_refused;
      ++num_ended_;
      users_[u].next_turn = users_[u].talk.turns.size();
      return come({now_s_ + load_.think_s, Kind::turn, u});
    }
    live_[w].emplace(*id, std::move(live));
    ++num_in_flight_;
    run_.all.peak_in_flight = std::max(run_.all.peak_in_flight, num_in_flight_);
    go_on(w);
  }

  void go_on(std::size_t w) {
    const bool ran = workers_[w]->step_ends_s().has_value();
    workers_[w]->begin_step(now_s_);
    if (const auto ends_s = workers_[w]->step_ends_s(); ends_s && !ran) come({*ends_s, Kind::step, w});
  }

  void deliver(std::size_t w, const sched::SequenceEvent& event, double at_s) {
    const auto found = live_[w].find(event.sequence);
    CHECK(found != live_[w].end(), "sequence {} has no user", event.sequence);
    SimRecord& record = found->second.record;
    record.tokens_s.insert(record.tokens_s.end(), event.event.tokens.size(), at_s);
    if (!event.event.last()) return;
    record.cached_tokens = event.event.usage.cached_tokens;
    run_.num_prompt_tokens += record.prompt_tokens;
    run_.num_cached_tokens += record.cached_tokens;
    User& user = users_[found->second.user];
    user.said.insert(user.said.end(), static_cast<std::size_t>(found->second.output_tokens), kAnswer);
    // A random time from half to one and a half times the mean.
    come({at_s + load_.think_s * (0.5 + uniform(thinking_)), Kind::turn, found->second.user});
    run_.all.records.push_back(std::move(record));
    live_[w].erase(found);
    --num_in_flight_;
    ++num_ended_;
    last_s_ = at_s;
  }

  const FleetOptions& options_;
  const FleetLoad& load_;
  const std::shared_ptr<router::Use::Count> uses_;
  double now_s_ = 0;
  double last_s_ = 0;
  std::vector<std::unique_ptr<ModelledWorker>> workers_;
  std::vector<std::unique_ptr<Gateway>> gateways_;
  std::vector<User> users_;
  std::vector<std::map<sched::SequenceId, Live>> live_;  // by worker
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::mt19937_64 random_;
  std::mt19937_64 thinking_;
  std::uint64_t num_talks_ = 0;
  int num_begun_ = 0;
  int num_ended_ = 0;
  int num_in_flight_ = 0;
  FleetRun run_;
};

}  // namespace

FleetRun simulate_fleet(const FleetOptions& options, const FleetLoad& load, std::uint64_t seed) {
  return FleetSimulation(options, load, seed).run();
}

}  // namespace kvasir::sim
