#include "engine/block_reporter.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/local_worker.h"
#include "engine/toy_runner_test.h"
#include "kv/block_table.h"
#include "kv/eviction_order.h"

namespace kvasir::engine {
namespace {

using Pair = std::pair<std::uint64_t, std::uint64_t>;

Pair as_pair(const kv::BlockHash& hash) {
  return {hash.high, hash.low};
}

// Follows the messages as a router would.
class Follower final : public seam::BlockSink {
 public:
  void on_blocks(wire::BlockChanges changes) override {
    const std::lock_guard lock(mutex_);
    if (last_ > 0 && changes.number != last_ + 1) ++num_gaps_;
    last_ = changes.number;
    if (changes.anew) blocks_.clear();
    num_anew_ += changes.anew ? 1 : 0;
    for (const kv::BlockHash& hash : changes.added) blocks_.insert(as_pair(hash));
    for (const kv::BlockHash& hash : changes.removed) {
      if (std::ranges::find(changes.added, hash) != changes.added.end()) ++num_gaps_;
      blocks_.erase(as_pair(hash));
    }
    changed_.notify_all();
  }
  // Waits until the set of blocks equals `blocks`.
  bool comes_to(const std::set<Pair>& blocks) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return blocks_ == blocks; });
  }
  bool begins() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return num_anew_ > 0; });
  }
  std::set<Pair> blocks() {
    const std::lock_guard lock(mutex_);
    return blocks_;
  }
  int num_gaps() {
    const std::lock_guard lock(mutex_);
    return num_gaps_;
  }
  std::uint64_t last() {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Pair> blocks_;
  std::uint64_t last_ = 0;
  int num_gaps_ = 0;
  int num_anew_ = 0;
};

// A tree with sequences that come, are computed, leave and are evicted.
struct World {
  explicit World(int num_blocks) : pool(num_blocks), tree(pool) { tree.publish_to(published); }

  // One sequence from its arrival to its end.
  void serve(const std::vector<TokenId>& tokens) {
    kv::BlockChain chain{kv::CacheScope{}};
    chain.extend(tokens);
    kv::BlockTable table;
    for (const kv::BlockId id : tree.find(chain, tokens).blocks) table.append(pool.share(id));
    while (table.size() < kv::blocks_for(static_cast<int>(tokens.size()))) {
      if (pool.num_available() == 0) break;
      const kv::BlockId id = kv::EvictionOrder(pool).next();
      if (pool.is_cached(id)) tree.evict(id);
      table.append(pool.take(id));
    }
    const auto known = std::min(tokens.size(), static_cast<std::size_t>(table.size()) * kv::kBlockTokens);
    table.publish(tree, chain, std::span(tokens).first(known));
    table.retire(tree, chain, std::span(tokens).first(known));
    chains.push_back(std::move(chain));
  }

  // The blocks that the tree holds, looked up with every chain that there ever was.
  std::set<Pair> held() const {
    std::set<Pair> held;
    for (const kv::BlockChain& chain : chains)
      for (std::size_t i = 0; i < tree.num_published(chain); ++i) held.insert(as_pair(chain.hashes()[i]));
    return held;
  }

  const std::shared_ptr<kv::PublishedBlocks> published = std::make_shared<kv::PublishedBlocks>();
  kv::BlockPool pool;
  kv::PrefixTree tree;
  std::vector<kv::BlockChain> chains;
};

std::vector<TokenId> some_tokens() {
  std::vector<TokenId> tokens(*rc::gen::inRange(1, 120), 0);
  const auto fork = static_cast<std::size_t>(*rc::gen::inRange(0, 120));
  if (fork < tokens.size()) tokens[fork] = *rc::gen::inRange(1, 3);
  return tokens;
}

TEST(BlockReporter, AfterAnyMixTheWatcherHasWhatTheTreeHas) {
  EXPECT_TRUE(rc::check([] {
    World world(*rc::gen::inRange(1, 24));
    BlockReporter reporter(world.published);
    std::shared_ptr<Follower> follower;
    const int num_operations = *rc::gen::inRange(0, 60);
    for (int i = 0; i < num_operations; ++i) {
      const int kind = *rc::gen::inRange(0, 10);
      if (kind < 6) {
        world.serve(some_tokens());
      } else if (kind == 6) {
        follower = *rc::gen::arbitrary<bool>() ? std::make_shared<Follower>() : nullptr;
        reporter.watch(follower);
      } else if (kind == 7 && follower) {
        reporter.watch(follower);  // the same watcher starts anew
      } else {
        reporter.tell();
        if (follower) RC_ASSERT(follower->blocks() == world.held());
      }
      if (follower) RC_ASSERT(follower->num_gaps() == 0);
    }
    reporter.tell();
    if (follower) RC_ASSERT(follower->blocks() == world.held());
  }));
}

TEST(BlockReporter, KeepsNothingWhileNobodyWatches) {
  World world(8);
  BlockReporter reporter(world.published);
  auto follower = std::make_shared<Follower>();
  reporter.watch(follower);
  reporter.tell();
  world.serve(std::vector<TokenId>(40, 1));
  reporter.tell();
  reporter.tell();
  EXPECT_EQ(follower->last(), 2u) << "a step without changes sends nothing";
  reporter.watch(nullptr);
  EXPECT_TRUE(reporter.has_news());
  reporter.tell();
  EXPECT_FALSE(reporter.has_news());
  world.serve(std::vector<TokenId>(100, 2));
  EXPECT_TRUE(world.published->take_changes().added.empty());
  EXPECT_EQ(follower->blocks().size(), 2u);
  EXPECT_EQ(follower.use_count(), 1) << "nobody holds it any more";
}

// Calls `watch_blocks` during its first two reports of all blocks, as a watcher may do.
class Restless final : public seam::BlockSink {
 public:
  explicit Restless(LocalWorker& worker) : worker_(worker) {}
  void on_blocks(wire::BlockChanges changes) override {
    if (!changes.anew || ++num_begun_ >= 3) return;
    worker_.watch_blocks(next_);
    if (num_begun_ == 2) worker_.watch_blocks(then_);
  }
  std::shared_ptr<seam::BlockSink> next_;
  std::shared_ptr<seam::BlockSink> then_;

 private:
  LocalWorker& worker_;
  int num_begun_ = 0;
};

// An idle engine answers a watch at once; evictions and new prompts reach the watcher without being asked.
TEST(BlockReporter, AnEngineTellsOfEveryStep) {
  const base::RealClock clock;
  boost::asio::io_context io;
  LocalWorker worker(
      {.scheduler = {.num_blocks = 12, .max_batch_tokens = 64}, .vocab_size = ToyRunner::kVocabSize},
      std::make_unique<ToyRunner>(12), clock);
  auto follower = std::make_shared<Follower>();
  auto restless = std::make_shared<Restless>(worker);
  restless->next_ = restless;
  restless->then_ = follower;
  worker.watch_blocks(restless);
  ASSERT_TRUE(follower->begins());
  for (TokenId salt = 0; salt < 20; ++salt) {
    wire::GenerateRequest request;
    request.prompt.assign(64, salt % 7 + 1);
    request.max_tokens = 1;
    kv::BlockChain chain{kv::CacheScope{}};
    chain.extend(request.prompt);
    std::set<Pair> own;
    for (const kv::BlockHash& hash : chain.hashes()) own.insert(as_pair(hash));
    const auto reader = worker.generate(std::move(request), io.get_executor()).value();
    // In the end its blocks are reported, and never more than the cache can hold.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!std::ranges::includes(follower->blocks(), own)) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << salt;
      std::this_thread::yield();
    }
    EXPECT_LE(follower->blocks().size(), 12u);
    EXPECT_EQ(follower->num_gaps(), 0);
  }
  // A new watcher gets the same blocks.
  auto second = std::make_shared<Follower>();
  worker.watch_blocks(second);
  ASSERT_TRUE(second->begins());
  EXPECT_TRUE(second->comes_to(follower->blocks()));
  worker.stop();
  restless->next_.reset();
}

}  // namespace
}  // namespace kvasir::engine
