#include <cstddef>
#include <string>
#include <utility>

#include "store/store_contract.h"

namespace kvasir::store {
namespace {

using base::ErrorCode;

TEST_P(StoreContract, FilesHoldAnyBytes) {
  Files& files = store_->files();
  const std::string bytes("a\0\xff\n", 4);
  ASSERT_TRUE(
      files.add({.id = "file_1", .tenant = kTenant, .name = "x.jsonl", .purpose = "batch"}, bytes).ok());
  ASSERT_TRUE(files.add({.id = "file_2", .tenant = kTenant, .purpose = "user_data"}, "").ok());
  reopen();
  Files& again = store_->files();
  EXPECT_EQ(again.contents(key("file_1")).value(), bytes);
  EXPECT_EQ(again.contents(key("file_2")).value(), "");
  EXPECT_EQ(again.find(key("file_1"))->num_bytes, 4);
  EXPECT_EQ(ids(again.list(kTenant, "", {}).value()), "file_2 file_1");
  EXPECT_EQ(ids(again.list(kTenant, "batch", {}).value()), "file_1");
  ASSERT_TRUE(again.remove(key("file_1")).ok());
  EXPECT_EQ(again.contents(key("file_1")).error().code, ErrorCode::not_found);
}

TEST_P(StoreContract, FilesAreReadInPieces) {
  Files& files = store_->files();
  std::string bytes(2 * kMaxPieceBytes + 1, 'x');
  bytes.back() = 'y';
  ASSERT_TRUE(files.add({.id = "file_1", .tenant = kTenant}, bytes).ok());
  ASSERT_TRUE(files.add({.id = "file_2", .tenant = kTenant}, "another").ok());
  std::string joined;
  for (int i = 0; i < 3; ++i) {
    const std::string piece = files.piece(key("file_1"), i).value();
    EXPECT_LE(piece.size(), kMaxPieceBytes);
    EXPECT_FALSE(piece.empty());
    joined += piece;
  }
  EXPECT_EQ(joined, bytes);
  EXPECT_EQ(files.contents(key("file_1")).value(), bytes);
  EXPECT_EQ(files.piece(key("file_1"), 3).value(), "");
  EXPECT_EQ(files.piece(key("nobody's"), 0).error().code, ErrorCode::not_found);
  ASSERT_TRUE(files.remove(key("file_1")).ok());
  EXPECT_EQ(files.piece(key("file_1"), 0).error().code, ErrorCode::not_found);
  EXPECT_EQ(files.piece(key("file_2"), 0).value(), "another");
}

TEST_P(StoreContract, ABatchGoesOnWhereADeadProcessLeftIt) {
  Batches& batches = store_->batches();
  ASSERT_TRUE(batches.add({.id = "batch_1", .tenant = kTenant, .input_file_id = "f", .created_ms = 1}).ok());
  ASSERT_EQ(batches.claim().value()->id, "batch_1");
  EXPECT_FALSE(batches.claim().value()) << "it is somebody's";
  ASSERT_TRUE(batches.begin(key("batch_1"), {{1, "a", "{}"}, {2, "b", "{}"}, {3, "c", "{}"}}, 2).ok());
  ASSERT_TRUE(batches.finish_line("batch_1", {.number = 2, .result = "two"}).ok());
  ASSERT_TRUE(batches.finish_line("batch_1", {.number = 2, .result = "two again"}).ok());
  ASSERT_TRUE(batches.finish_line("batch_1", {.number = 1, .result = "one", .failed = true}).ok());
  auto second = bed_->open();
  EXPECT_FALSE(second->batches().claim().value()) << "its process lives";
  store_ = std::move(second);
  Batches& again = store_->batches();
  const auto claimed = again.claim().value();
  ASSERT_TRUE(claimed);
  EXPECT_EQ(claimed->status, BatchStatus::in_progress);
  EXPECT_EQ(claimed->num_completed, 1);
  EXPECT_EQ(claimed->num_failed, 1);
  const auto open = again.open_lines("batch_1", 0, 10).value();
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].custom_id, "c");
  ASSERT_TRUE(again.finish_line("batch_1", {.number = 3, .result = "three"}).ok());
  const auto done = again.finish(key("batch_1"), {BatchStatus::completed, "file_out", "file_err", 7});
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(store_->files().contents(key("file_out")).value(), "two\nthree\n");
  EXPECT_EQ(store_->files().contents(key("file_err")).value(), "one\n");
  EXPECT_EQ(again.find(key("batch_1"))->entered_ms[static_cast<std::size_t>(BatchStatus::completed)], 7);
  EXPECT_EQ(
      again.advance(key("batch_1"), {BatchStatus::in_progress}, BatchStatus::cancelling, 8).error().code,
      ErrorCode::conflict);
  EXPECT_FALSE(again.claim().value());
}

TEST_P(StoreContract, ABatchWithoutFailuresHasNoErrorFile) {
  Batches& batches = store_->batches();
  ASSERT_TRUE(batches.add({.id = "batch_1", .tenant = kTenant}).ok());
  ASSERT_TRUE(batches.begin(key("batch_1"), {{1, "a", "{}"}}, 2).ok());
  ASSERT_TRUE(batches.finish_line("batch_1", {.number = 1, .result = "one"}).ok());
  const auto done = batches.finish(key("batch_1"), {BatchStatus::cancelled, "file_out", "file_err", 7});
  EXPECT_EQ(done->error_file_id, "");
  EXPECT_EQ(done->output_file_id, "file_out");
  ASSERT_TRUE(batches.add({.id = "batch_2", .tenant = kTenant}).ok());
  ASSERT_TRUE(batches.fail(key("batch_2"), R"([{"line":1}])", 9).ok());
  EXPECT_EQ(batches.find(key("batch_2"))->errors, R"([{"line":1}])");
  EXPECT_EQ(ids(batches.list(kTenant, {.limit = 1}).value()), "batch_2 ...");
}

}  // namespace
}  // namespace kvasir::store
