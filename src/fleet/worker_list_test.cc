#include "fleet/worker_list.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace kvasir::fleet {
namespace {

class WorkerListTest : public testing::Test {
 protected:
  base::Result<std::vector<WorkerPlace>> read(std::string_view text) {
    std::ofstream(path_) << text;
    return read_worker_list(path_);
  }
  std::string message(std::string_view text) {
    const auto list = read(text);
    return list.ok() ? "" : list.error().message;
  }
  ~WorkerListTest() override { std::filesystem::remove(path_); }

  const std::string path_ = testing::TempDir() + "workers-" + std::to_string(::getpid()) + ".toml";
};

TEST_F(WorkerListTest, ReadsIdsAndAddresses) {
  const auto list =
      read("[[worker]]\nid = \"a\"\naddress = \"127.0.0.1:1\"\n[[worker]]\naddress = \"127.0.0.1:2\"\n");
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(*list, (std::vector<WorkerPlace>{{"a", "127.0.0.1:1"}, {"127.0.0.1:2", "127.0.0.1:2"}}));
}

TEST_F(WorkerListTest, ErrorsNameTheLine) {
  EXPECT_EQ(message("[[worker]]\nid = \"a\"\n"), path_ + ":1: a worker without an address");
  EXPECT_EQ(message("[[worker]]\naddress = \"x:1\"\nweight = 2\n"),
            path_ + ":3: a worker has an address and an id, nothing else");
  EXPECT_EQ(message("[[worker]]\naddress = \"x:1\"\n[[worker]]\naddress = \"x:1\"\n"),
            path_ + ":3: two workers have one id");
  EXPECT_EQ(message("workers = 3\n"), path_ + ": expected [[worker]] tables and nothing else");
  EXPECT_NE(message("[[worker"), "");
}

TEST_F(WorkerListTest, AMissingFileIsAnError) {
  EXPECT_FALSE(read_worker_list(path_ + ".not").ok());
}

}  // namespace
}  // namespace kvasir::fleet
