// Time of the router's decisions: a pick among 64 workers that hold a million different blocks together, with
// each worker's real forecast, while nothing and while one thread changes blocks; and the rate and memory of
// what the index learns. Prints one JSON object, times in µs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "router/pool.h"
#include "sched/scheduler.h"
#include "sim/modelled_device.h"

namespace {

using namespace kvasir;

constexpr int kNumWorkers = 64;
constexpr int kNumChains = 4096;
constexpr int kChainBlocks = 250;  // 4,000 tokens; the first ones are those of others, too
constexpr int kSharedBlocks = 6;
constexpr int kNumPicks = 20000;

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A worker with 32 streams and some prompts that wait, as its gateway knows it.
class KnownWorker final : public seam::WorkerClient {
 public:
  explicit KnownWorker(int number) {
    const sim::DeviceCosts costs = sim::gpu_costs();
    sched::SchedulerOptions options{
        .num_blocks = 60000, .max_batch_tokens = 8192, .max_batch_sequences = 512};
    options.cost = sim::calibrated_cost(costs, 512, 8192);
    options.slo = {.ttft_s = 2, .tpot_s = 0.05};
    options.least_slo = options.slo;
    sched::Scheduler scheduler(options);
    for (int i = 0; i < 32; ++i) {
      wire::GenerateRequest request;
      request.prompt.assign(static_cast<std::size_t>(500 + 37 * (i % 7)), TokenId(1000 * number + i));
      request.max_tokens = 100;
      (void)scheduler.submit(std::move(request)).value();
    }
    for (int step = 0; step < 3; ++step) {
      const sched::StepPlan plan = scheduler.plan();
      sched::StepResult result;
      for (const auto& slice : plan.slices)
        result.outcomes.emplace_back().token =
            slice.wants_token() ? std::optional(wire::Token{.id = 1}) : std::nullopt;
      (void)scheduler.commit(plan, std::move(result));
    }
    for (int i = 0; i < number % 4; ++i) {
      wire::GenerateRequest request;
      request.prompt.assign(3000, TokenId(5'000'000 + 10 * number + i));
      request.max_tokens = 100;
      (void)scheduler.submit(std::move(request)).value();
    }
    outlook_ = scheduler.outlook();
    report_ = {.num_blocks = 60000,
               .num_free_blocks = 30000,
               .num_running = scheduler.num_running(),
               .num_waiting = scheduler.num_waiting(),
               .waiting = scheduler.waiting_by_priority()};
  }
  base::Result<seam::TokenReader> generate(wire::GenerateRequest, boost::asio::any_io_executor) override {
    return base::error(base::ErrorCode::unsupported, "a measurement generates nothing");
  }
  wire::Forecast forecast(const wire::Outline& outline) const override {
    const std::lock_guard lock(mutex_);
    return sched::forecast(outlook_, {}, outline, outline.num_cached_tokens.value_or(0), 0);
  }
  wire::WorkerReport report() const override {
    const std::lock_guard lock(mutex_);
    return report_;
  }
  void watch_blocks(std::shared_ptr<seam::BlockSink> sink) override { sink_ = std::move(sink); }

  void tell(wire::BlockChanges changes) {
    if (!sink_) return;
    changes.number = ++number_;
    sink_->on_blocks(std::move(changes));
  }

 private:
  mutable std::mutex mutex_;
  sched::Outlook outlook_;
  wire::WorkerReport report_;
  std::shared_ptr<seam::BlockSink> sink_;
  std::uint64_t number_ = 0;
};

kv::BlockChain chain_of(int number) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(kChainBlocks) * kv::kBlockTokens);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<TokenId>(i < kSharedBlocks * kv::kBlockTokens ? number % 64 : 1000 + number);
  kv::BlockChain chain{kv::CacheScope{}};
  chain.extend(tokens);
  return chain;
}

struct Times {
  double p50 = 0;
  double p99 = 0;
};

Times time_picks(const router::Pool& pool, const std::vector<kv::BlockChain>& chains) {
  const auto uses = std::make_shared<router::Use::Count>("m", std::make_shared<router::UseListener>());
  std::vector<double> times;
  for (int i = 0; i < kNumPicks; ++i) {
    const kv::BlockChain& chain = chains[static_cast<std::size_t>(i) * 7919 % chains.size()];
    const wire::Outline outline{.prompt_blocks = &chain,
                                .num_prompt_tokens = kChainBlocks * kv::kBlockTokens};
    const router::Demand demand{.prompt = chain, .num_tokens = 4200, .outline = &outline};
    const double began = now_us();
    const auto lease = pool.pick(pool.members(), demand, router::Use(uses));
    times.push_back(now_us() - began);
    CHECK(lease.ok(), "no worker");
  }
  std::ranges::sort(times);
  return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

}  // namespace

int main(int argc, char** argv) {
  router::Pool pool("m", {.policy = argc > 1 ? argv[1] : "cache"});
  std::vector<std::shared_ptr<KnownWorker>> workers;
  for (int i = 0; i < kNumWorkers; ++i) {
    workers.push_back(std::make_shared<KnownWorker>(i));
    pool.add("worker-" + std::to_string(i), workers.back());
  }
  for (const auto& worker : workers) worker->tell({.anew = true});
  std::vector<kv::BlockChain> chains;
  for (int i = 0; i < kNumChains; ++i) chains.push_back(chain_of(i));
  const auto tell = [&](int chain, bool is_there) {
    const auto hashes = chains[static_cast<std::size_t>(chain)].hashes();
    std::vector<kv::BlockHash> blocks(hashes.begin(), hashes.end());
    wire::BlockChanges changes;
    (is_there ? changes.added : changes.removed) = std::move(blocks);
    workers[static_cast<std::size_t>(chain % kNumWorkers)]->tell(std::move(changes));
  };
  const double began = now_us();
  for (int i = 0; i < kNumChains; ++i) tell(i, true);
  const double filled_us = now_us() - began;
  const double num_blocks = static_cast<double>(std::max<std::size_t>(1, pool.index().num_blocks()));

  const Times quiet = time_picks(pool, chains);
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> num_changed{0};
  double changing_us = now_us();
  std::jthread writer([&] {
    for (int i = 0; !stop; ++i, num_changed += kChainBlocks) tell(i / 2 % kNumChains, i % 2 == 1);
  });
  const Times busy = time_picks(pool, chains);
  stop = true;
  writer.join();
  changing_us = now_us() - changing_us;

  std::vector<double> finds;
  for (int i = 0; i < kNumPicks; ++i) {
    const kv::BlockChain& chain = chains[static_cast<std::size_t>(i) * 7919 % chains.size()];
    const double start = now_us();
    (void)pool.index().find(chain);
    finds.push_back(now_us() - start);
  }
  std::ranges::sort(finds);
  std::printf(
      "{\"blocks\": %.0f, \"pick_p50\": %.2f, \"pick_p99\": %.2f, \"pick_p50_while_changing\": %.2f, "
      "\"pick_p99_while_changing\": %.2f, \"find_p50\": %.2f, \"find_p99\": %.2f, "
      "\"blocks_added_per_s\": %.0f, \"blocks_changed_per_s\": %.0f, \"bytes_per_block\": %.1f, "
      "\"resolution\": %d}\n",
      num_blocks, quiet.p50, quiet.p99, busy.p50, busy.p99, finds[finds.size() / 2],
      finds[finds.size() * 99 / 100], num_blocks / filled_us * 1e6,
      static_cast<double>(num_changed) / changing_us * 1e6,
      static_cast<double>(pool.index().num_bytes()) / num_blocks, pool.index().resolution());
}
