#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <random>
#include <semaphore>

#include "meter/log_fold.h"
#include "meter/log_folder.h"
#include "meter/meter_fixture.h"
#include "meter/segment.h"
#include "meter/usage_log.h"

namespace kvasir::meter {
namespace {

namespace fs = std::filesystem;

// Forbids files to grow, like a full disk.
class FullDisk {
 public:
  FullDisk() {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
};

class UsageLogTest : public testing::Test {
 protected:
  // Returns all readable records in their order.
  std::vector<UsageRecord> read_all() const {
    std::vector<UsageRecord> records;
    const auto segments = list_segments(folder_.path());
    for (const Segment& segment : segments.value()) {
      const std::string text = read_segment(segment, segment.begin, segment.end).value();
      FrameReader frames(text, segment.begin);
      while (const auto bytes = frames.next()) records.push_back(decode(*bytes).value());
    }
    return records;
  }
  static void append(UsageLog& log, int from, int to) {
    for (int i = from; i < to; ++i) log.append(encode(record_number(i)), {});
  }
  static void append_and_wait(UsageLog& log, int i) {
    std::binary_semaphore done(0);
    log.append(encode(record_number(i)), [&] { done.release(); });
    done.acquire();
  }

  store::TempFolder folder_;
};

TEST_F(UsageLogTest, RecordsComeBackInTheirOrder) {
  std::atomic<int> num_done = 0;
  {
    UsageLog log(folder_.path(), 7, {.max_segment_bytes = 500});
    for (int i = 0; i < 50; ++i) {
      log.append(encode(record_number(i)), [&] { ++num_done; });
      if (i % 10 != 9) continue;
      ASSERT_TRUE(eventually([&] { return num_done == i + 1; }));
    }
  }
  const std::vector<UsageRecord> records = read_all();
  ASSERT_EQ(records.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(records[static_cast<std::size_t>(i)], record_number(i));
  const auto segments = list_segments(folder_.path()).value();
  EXPECT_GT(segments.size(), 3u);
  EXPECT_EQ(segments.front().begin, 7);
  for (std::size_t i = 1; i < segments.size(); ++i) EXPECT_EQ(segments[i].begin, segments[i - 1].end);
}

TEST_F(UsageLogTest, ASegmentHasItsFullSizeWhileItIsWritten) {
  const auto size = [&] { return fs::file_size(list_segments(folder_.path())->back().path); };
  {
    UsageLog log(folder_.path(), 7, {.max_segment_bytes = 5000});
    append_and_wait(log, 0);
    EXPECT_EQ(size(), 5000u);
    EXPECT_EQ(read_all(), std::vector{record_number(0)}) << "as after a crash";
    append_and_wait(log, 1);
    EXPECT_EQ(size(), 5000u);
  }
  EXPECT_LT(size(), 5000u);
  EXPECT_EQ(read_all().size(), 2u);
}

TEST_F(UsageLogTest, RecordsThatComeTogetherShareASync) {
  std::atomic<int> num_syncs = 0;
  {
    UsageLog log(folder_.path(), 0, {.before_sync = [&] { ++num_syncs; }});
    append(log, 0, 1000);
  }
  EXPECT_EQ(read_all().size(), 1000u);
  EXPECT_LT(num_syncs, 200);
}

TEST_F(UsageLogTest, RecordsThatWakeTheThreadAfterTheLastOfThemShareASync) {
  std::atomic<int> num_syncs = 0;
  std::atomic<int> num_done = 0;
  UsageLog log(folder_.path(), 0, {.before_sync = [&] { ++num_syncs; }});
  const auto append_later = [&](int i) {
    return log.append(encode(record_number(i)), [&] { ++num_done; }, Wake::later);
  };
  EXPECT_TRUE(append_later(0)) << "somebody has to wake the thread";
  for (int i = 1; i < 5; ++i) EXPECT_FALSE(append_later(i));
  log.wake();
  ASSERT_TRUE(eventually([&] { return num_done == 5; }));
  EXPECT_EQ(num_syncs, 1);
  EXPECT_TRUE(append_later(5));
  log.stop();
  EXPECT_EQ(read_all().size(), 6u) << "records that nobody woke it for are written at the end";
}

TEST_F(UsageLogTest, AFullDiskLosesNothingThatFitsIntoMemory) {
  UsageLog log(folder_.path(), 0, {.first_pause = std::chrono::milliseconds(1)});
  std::atomic<int> num_done = 0;
  {
    const FullDisk full;
    for (int i = 0; i < 20; ++i) log.append(encode(record_number(i)), [&] { ++num_done; });
    // The thread has tried to write, since the file exists.
    ASSERT_TRUE(eventually([&] { return !list_segments(folder_.path())->empty(); }));
    EXPECT_EQ(num_done, 0);
    EXPECT_EQ(log.durable_end(), 0);
  }
  ASSERT_TRUE(eventually([&] { return num_done == 20; }));
  append(log, 20, 25);
  log.stop();
  EXPECT_EQ(read_all().size(), 25u);
  EXPECT_EQ(log.num_lost(), 0u);
}

TEST_F(UsageLogTest, WhatDoesNotFitIntoMemoryIsLostAndCounted) {
  UsageLog log(folder_.path(), 0, {.max_waiting_bytes = 1000, .first_pause = std::chrono::milliseconds(1)});
  std::atomic<int> num_done = 0;
  int num_kept = 0;
  {
    const FullDisk full;
    for (int i = 0; i < 100; ++i) log.append(encode(record_number(i)), [&] { ++num_done; });
    num_kept = 100 - static_cast<int>(log.num_lost());
    EXPECT_GT(num_kept, 0);
    EXPECT_LT(num_kept, 20);
    EXPECT_EQ(num_done, 100 - num_kept) << "nobody waits for what is lost";
  }
  log.stop();
  EXPECT_EQ(num_done, 100);
  EXPECT_EQ(static_cast<int>(read_all().size()), num_kept);
}

TEST_F(UsageLogTest, WhoeverWaitsForASlowDiskCanBeReleased) {
  std::binary_semaphore go(0);
  std::atomic<int> num_done = 0;
  UsageLog log(folder_.path(), 0, {.before_sync = [&] { go.acquire(); }});
  log.append(encode(record_number(0)), [&] { ++num_done; });
  log.append(encode(record_number(1)), [&] { ++num_done; });
  EXPECT_EQ(num_done, 0);
  log.release_waiters();
  EXPECT_EQ(num_done, 2);
  log.append(encode(record_number(2)), [&] { ++num_done; });
  EXPECT_EQ(num_done, 3) << "nobody waits any more";
  go.release();
  ASSERT_TRUE(eventually([&] { return log.durable_end() > 0; }));
  go.release();
  log.stop();
  EXPECT_EQ(read_all().size(), 3u);
}

TEST_F(UsageLogTest, ADamagedRecordCostsNoOther) {
  {
    UsageLog log(folder_.path(), 0, {});
    append(log, 0, 10);
  }
  const Segment segment = list_segments(folder_.path())->front();
  std::fstream file(segment.path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp((segment.end - segment.begin) / 2);
  file.write("\x55\x55\x55", 3);
  file.close();
  EXPECT_EQ(read_all().size(), 9u);
}

TEST_F(UsageLogTest, BytesOfAnotherPlaceAreNoRecord) {
  std::string text;
  append_frame(text, 100, "abc");
  EXPECT_TRUE(FrameReader(text, 100).next());
  EXPECT_FALSE(FrameReader(text, 101).next());
  EXPECT_FALSE(FrameReader(std::string_view(text).substr(0, text.size() - 1), 100).next());
}

TEST_F(UsageLogTest, AFolderHasOneHolder) {
  LogFolder own = LogFolder::make(folder_.path()).value();
  EXPECT_TRUE(LogFolder::claim(folder_.path())->empty());
  const std::string id = own.id();
  {
    const LogFolder gone = std::move(own);
  }
  auto claimed = LogFolder::claim(folder_.path()).value();
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed.front().id(), id);
  ASSERT_TRUE(claimed.front().remove().ok());
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

// A store whose process ends at a commit, so that its caller gets no result.
class CutStore final : public store::Usage {
 public:
  explicit CutStore(store::Usage& inner) : inner_(inner) {}
  int num_left = 0;      // calls until the process ends
  bool commits = false;  // whether the last call is committed

  base::Status fold(const store::UsageFold& fold) override {
    if (num_left-- > 0) return inner_.fold(fold);
    if (commits) (void)inner_.fold(fold);
    return base::error(base::ErrorCode::io, "the process is gone");
  }
  base::Result<std::int64_t> position(const std::string& log) override { return inner_.position(log); }
  base::Status forget(const std::string& log) override { return inner_.forget(log); }
  base::Result<std::vector<store::UsageRow>> totals(const store::UsageQuery& query) override {
    return inner_.totals(query);
  }

 private:
  store::Usage& inner_;
};

// A log may be cut anywhere, and a fold may end anywhere and be repeated: the totals contain exactly the
// whole records.
TEST_F(UsageLogTest, AnyCutAndAnyReplayGivesTheSameTotals) {
  std::mt19937 random(7);
  constexpr int kRecords = 24;
  for (int round = 0; round < 30; ++round) {
    const store::TempFolder place;
    const fs::path folder = place.path() / "log";
    fs::create_directories(folder);
    const std::int64_t begin = static_cast<std::int64_t>(random() % 1000);
    {
      UsageLog log(folder, begin, {.max_segment_bytes = 200 + static_cast<std::int64_t>(random() % 3000)});
      for (int i = 0; i < kRecords; ++i) {
        // Some records are written alone, some together.
        if (random() % 6 == 0)
          append_and_wait(log, i);
        else
          append(log, i, i + 1);
      }
    }
    const auto segments = list_segments(folder).value();
    const std::int64_t cut =
        begin + static_cast<std::int64_t>(random() % static_cast<unsigned>(segments.back().end - begin + 1));
    int num_whole = 0;
    std::int64_t at = begin;
    while (num_whole < kRecords) {
      at += frame_size(encode(record_number(num_whole)).size());
      if (at > cut) break;
      ++num_whole;
    }
    for (const Segment& segment : segments) {
      if (segment.begin >= cut) fs::remove(segment.path);
      if (segment.begin < cut && segment.end > cut)
        fs::resize_file(segment.path, static_cast<std::uintmax_t>(cut - segment.begin));
    }
    const auto store = store::SqliteStore::open(place.path() / "kvasir.db").value();
    CutStore cut_store(store->usage());
    cut_store.num_left = static_cast<int>(random() % 4);
    cut_store.commits = random() % 2 == 0;
    (void)LogFold(folder, "log", cut_store).fold_all();
    ASSERT_TRUE(LogFold(folder, "log", store->usage()).fold_all().ok());
    ASSERT_TRUE(LogFold(folder, "log", store->usage()).fold_all().ok());
    EXPECT_EQ(all_totals(store->usage()), expected_totals(num_whole)) << "round " << round << ", cut " << cut;
    EXPECT_TRUE(list_segments(folder)->empty());
  }
}

// Files may come back after their removal, for instance after a power loss. They must not change the totals.
TEST_F(UsageLogTest, ASegmentThatComesBackIsNotFoldedAgain) {
  const store::TempFolder place;
  const auto store = store::SqliteStore::open(place.path() / "kvasir.db").value();
  {
    UsageLog log(folder_.path(), 0, {.max_segment_bytes = 400});
    for (int i = 0; i < 20; ++i) append_and_wait(log, i);
  }
  const fs::path copy = place.path() / "copy";
  fs::copy(folder_.path(), copy);
  ASSERT_TRUE(LogFold(folder_.path(), "log", store->usage()).fold_all().ok());
  ASSERT_TRUE(LogFold(copy, "log", store->usage()).fold_all().ok());
  EXPECT_EQ(all_totals(store->usage()), expected_totals(20));
}

}  // namespace
}  // namespace kvasir::meter
