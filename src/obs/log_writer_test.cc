#include "obs/log_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <utility>

namespace kvasir::obs {
namespace {

class LogWriterTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe(ends_.data()), 0); }
  void TearDown() override {
    for (const int end : ends_)
      if (end >= 0) ::close(end);
  }
  int write_end() const { return ends_[1]; }
  void close_write_end() { ::close(std::exchange(ends_[1], -1)); }
  // Waits for bytes; empty once the pipe is closed.
  std::string read_some() const {
    std::string bytes(std::size_t{1} << 16, '\0');
    const ssize_t n = ::read(ends_[0], bytes.data(), bytes.size());
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return bytes;
  }
  std::string read_all() const {
    std::string all;
    for (std::string some = read_some(); !some.empty(); some = read_some()) all += some;
    return all;
  }

  std::array<int, 2> ends_{-1, -1};
};

TEST_F(LogWriterTest, WritesWhatWaitsInItsOrder) {
  {
    LogWriter writer(write_end());
    for (const char* after : {" one", " two", " three"})
      writer.put("at ", after, LogWriter::Urgency::may_wait);
  }
  close_write_end();
  const std::string time = R"(at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)";
  EXPECT_TRUE(
      std::regex_match(read_all(), std::regex(time + " one\n" + time + " two\n" + time + " three\n")));
}

TEST_F(LogWriterTest, ALineThatComesAloneIsWritten) {
  LogWriter writer(write_end());
  for (const auto urgency : {LogWriter::Urgency::may_wait, LogWriter::Urgency::at_once})
    for (int i = 0; i < 3; ++i) {
      writer.put({}, " alone", urgency);
      EXPECT_TRUE(read_some().ends_with(" alone\n"));
    }
}

TEST_F(LogWriterTest, WhoDoesNotReadCostsTheOldestLinesAndNobodyWaits) {
  constexpr int kLines = 12'000;
  auto writer = std::make_unique<LogWriter>(write_end());
  const std::string filling(1000, 'x');
  for (int i = 0; i < kLines; ++i) writer->put({}, filling + std::to_string(i), LogWriter::Urgency::may_wait);
  std::thread end([&] {
    writer.reset();
    close_write_end();
  });
  const std::string text = read_all();
  end.join();
  EXPECT_LT(std::ranges::count(text, '\n'), kLines);
  EXPECT_TRUE(text.ends_with("x" + std::to_string(kLines - 1) + "\n"));
}

}  // namespace
}  // namespace kvasir::obs
