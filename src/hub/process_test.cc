#include "hub/process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <memory>

namespace kvasir::hub {
namespace {

CommandSink into(std::string& text) {
  CommandSink sink;
  sink.output = [&text](std::string_view bytes) {
    text += bytes;
    return base::ok();
  };
  return sink;
}

TEST(Process, GivesOutputErrorsAndStatus) {
  std::string output;
  const auto result =
      run_command({{"sh", "-c", "echo out; echo \"$GREETING\" >&2; cat; exit 3"}, {{"GREETING", "hello"}}},
                  into(output), {});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(output, "out\n");
  EXPECT_EQ(result->errors, "hello\n");
  EXPECT_EQ(result->status, 3);
}

TEST(Process, ArgumentsAreNoShellWords) {
  std::string output;
  const auto result = run_command({{"printf", "%s", "$(id) ; `id`"}, {}}, into(output), {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(output, "$(id) ; `id`");
}

TEST(Process, AProgramThatIsNotThereIsNotFound) {
  std::string output;
  const auto result = run_command({{"kvasir-no-such-program"}, {}}, into(output), {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, base::ErrorCode::not_found);
}

TEST(Process, LargeOutputArrivesWhole) {
  std::string output;
  const auto result = run_command({{"sh", "-c", "head -c 3000000 /dev/zero"}, {}}, into(output), {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(output.size(), 3'000'000u);
}

TEST(Process, EndlessErrorsAreCut) {
  std::string output;
  const auto result =
      run_command({{"sh", "-c", "head -c 300000 /dev/zero >&2; echo end >&2"}, {}}, into(output), {});
  ASSERT_TRUE(result.ok());
  EXPECT_LT(result->errors.size(), 100'000u);
  EXPECT_TRUE(result->errors.ends_with("end\n"));
}

// The command's child writes its pid, so that the test can see whether the child still lives.
TEST(Process, StoppingKillsTheWholeGroup) {
  std::string output;
  const auto halt = std::make_unique<std::stop_source>();
  CommandSink sink = into(output);
  sink.tick = [&] {
    if (output.ends_with('\n')) halt->request_stop();
    return base::ok();
  };
  const auto result = run_command({{"sh", "-c", "sleep 1000 & echo $!; wait"}, {}}, sink, halt->get_token());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, base::ErrorCode::cancelled);
  const pid_t grandchild = static_cast<pid_t>(std::stol(output));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (::kill(grandchild, 0) == 0 && std::chrono::steady_clock::now() < deadline) {
    // An orphan that no process has reaped yet is also dead.
    std::string state;
    const auto ps =
        run_command({{"ps", "-o", "stat=", "-p", std::to_string(grandchild)}, {}}, into(state), {});
    if (!ps.ok() || state.empty() || state[0] == 'Z') break;
  }
  EXPECT_LT(std::chrono::steady_clock::now(), deadline);
}

TEST(Process, WhatItLeavesRunningDoesNotHoldItUp) {
  std::string output;
  const auto start = std::chrono::steady_clock::now();
  const auto result = run_command({{"sh", "-c", "sleep 1000 & echo done"}, {}}, into(output), {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(output, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Process, AnErrorFromTheSinkEndsTheCommand) {
  CommandSink sink;
  sink.output = [](std::string_view) -> base::Status {
    return base::error(base::ErrorCode::corrupt, "too much");
  };
  const auto result = run_command({{"sh", "-c", "echo x; sleep 1000"}, {}}, sink, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "too much");
}

TEST(Process, LastLineIsTheLastThatSaysSomething) {
  EXPECT_EQ(last_line("a\n  b c \n\n"), "b c");
  EXPECT_EQ(last_line("one"), "one");
  EXPECT_EQ(last_line("\n \n"), "");
  EXPECT_EQ(last_line(""), "");
}

}  // namespace
}  // namespace kvasir::hub
