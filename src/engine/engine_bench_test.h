#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "engine/engine.h"

namespace kvasir::engine {

// Everything that a reader has received for one sequence.
struct Answer {
  std::shared_ptr<seam::TokenStream> stream;
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  std::vector<wire::Token> prompt;
  std::vector<wire::Usage> usages;  // one for each event
  std::optional<wire::TokenEvent> end;
};

inline boost::asio::awaitable<void> read_all(Answer& answer) {
  while (!answer.end) {
    std::optional<wire::TokenEvent> event = co_await answer.stream->next(std::chrono::hours(1));
    if (!event) continue;
    answer.usages.push_back(event->usage);
    answer.prompt.insert(answer.prompt.end(), event->prompt.begin(), event->prompt.end());
    for (const wire::Token& token : event->tokens) {
      answer.tokens.push_back(token.id);
      if (token.logprob) answer.logprobs.push_back(token.logprob->logprob);
    }
    if (event->last()) answer.end = std::move(event);
  }
}

// An engine and its readers, stepped by hand on one thread.
class EngineBench {
 public:
  EngineBench(const EngineOptions& options, Runner& runner) : engine(options, runner, clock) {}

  Answer& submit(wire::GenerateRequest request) {
    Answer& answer = *answers.emplace_back(std::make_unique<Answer>());
    answer.stream = std::make_shared<seam::TokenStream>(io.get_executor());
    engine.submit(std::move(request), answer.stream);
    boost::asio::co_spawn(io, read_all(answer), boost::asio::detached);
    poll();
    return answer;
  }
  void poll() {
    io.restart();
    io.poll();
  }
  bool step() {
    const bool ran = engine.step();
    poll();
    return ran;
  }
  void finish() {
    for (int i = 0; i < 100000 && !engine.idle(); ++i) step();
    ASSERT_TRUE(engine.idle());
    EXPECT_EQ(engine.scheduler().pool().num_available(), engine.scheduler().pool().num_blocks());
  }

  base::FakeClock clock;
  std::vector<std::unique_ptr<Answer>> answers;
  boost::asio::io_context io;
  Engine engine;
};

}  // namespace kvasir::engine
