#include "seam/token_stream.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <deque>
#include <thread>

namespace kvasir::seam {
namespace {

namespace asio = boost::asio;
using std::chrono::hours;
using std::chrono::nanoseconds;
using wire::FinishReason;
using wire::Token;
using wire::TokenEvent;

TokenEvent tokens(std::initializer_list<TokenId> ids) {
  TokenEvent event;
  for (const TokenId id : ids) event.tokens.push_back({.id = id});
  return event;
}

TokenEvent end_of(TokenEvent event) {
  event.finish = FinishReason::stop;
  event.usage.output_tokens = 7;
  return event;
}

// The result of one call of `next`.
struct Taken {
  bool done = false;
  std::optional<TokenEvent> event;
};

asio::awaitable<void> take(std::shared_ptr<TokenStream> stream, nanoseconds wait, Taken& taken) {
  taken.event = co_await stream->next(wait);
  taken.done = true;
}

class TokenStreamTest : public testing::Test {
 protected:
  std::shared_ptr<TokenStream> stream_on(asio::io_context& context) {
    return std::make_shared<TokenStream>(context.get_executor());
  }
  Taken& start(const std::shared_ptr<TokenStream>& stream, nanoseconds wait = hours(1)) {
    Taken& taken = taken_.emplace_back();
    asio::co_spawn(io, take(stream, wait, taken), asio::detached);
    io.restart();
    io.poll();
    return taken;
  }
  void poll() {
    io.restart();
    io.poll();
  }

  asio::io_context io;
  std::deque<Taken> taken_;
};

TEST_F(TokenStreamTest, AWaitingReaderIsWoken) {
  const auto stream = stream_on(io);
  const Taken& taken = start(stream);
  EXPECT_FALSE(taken.done);
  TokenStream::send({{stream, tokens({1, 2})}});
  EXPECT_EQ(stream->backlog(), 2);
  poll();
  ASSERT_TRUE(taken.done);
  EXPECT_EQ(taken.event->tokens.size(), 2u);
  EXPECT_EQ(stream->backlog(), 0);
}

TEST_F(TokenStreamTest, WhatCameBeforeTheCallIsTakenAtOnceAndMerged) {
  const auto stream = stream_on(io);
  TokenStream::send({{stream, tokens({1})}});
  poll();
  TokenStream::send({{stream, tokens({2, 3})}});
  TokenStream::send({{stream, end_of(tokens({4}))}});
  poll();
  const Taken& taken = start(stream);
  ASSERT_TRUE(taken.done);
  ASSERT_EQ(taken.event->tokens.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(taken.event->tokens[i].id, i + 1);
  EXPECT_TRUE(taken.event->last());
  EXPECT_EQ(taken.event->usage.output_tokens, 7);
  // After the last event, `next` does not wait.
  EXPECT_TRUE(start(stream).done);
  EXPECT_FALSE(taken_.back().event);
}

TEST_F(TokenStreamTest, AWakeThatIsOnItsWayWhenTheCallIsMadeIsNotLost) {
  const auto stream = stream_on(io);
  TokenStream::send({{stream, tokens({1})}});
  // The posted event runs after the reader has begun to wait.
  Taken taken;
  asio::co_spawn(io, take(stream, hours(1), taken), asio::detached);
  poll();
  EXPECT_TRUE(taken.done);
  EXPECT_TRUE(taken.event);
}

TEST_F(TokenStreamTest, WaitingEndsWithNothing) {
  const auto stream = stream_on(io);
  Taken taken;
  asio::co_spawn(io, take(stream, nanoseconds(1), taken), asio::detached);
  io.run();
  EXPECT_TRUE(taken.done);
  EXPECT_FALSE(taken.event);
  // The stream still works after the timeout.
  TokenStream::send({{stream, tokens({1})}});
  EXPECT_FALSE(start(stream, nanoseconds::max()).event == std::nullopt);
}

TEST_F(TokenStreamTest, ErrorsEndTheStream) {
  const auto stream = stream_on(io);
  const Taken& taken = start(stream);
  TokenStream::send(
      {{stream, tokens({1})}, {stream, {.error = base::error(base::ErrorCode::internal, "no logits")}}});
  poll();
  EXPECT_EQ(taken.event->tokens.size(), 1u);
  EXPECT_EQ(taken.event->error->message, "no logits");
}

TEST_F(TokenStreamTest, OnePostForEachExecutor) {
  asio::io_context other;
  const auto strand = asio::make_strand(io);
  std::vector<std::shared_ptr<TokenStream>> streams{stream_on(io), stream_on(other), stream_on(io),
                                                    stream_on(other), std::make_shared<TokenStream>(strand)};
  std::vector<TokenStream::Delivery> deliveries;
  for (const auto& stream : streams) deliveries.push_back({stream, tokens({1})});
  TokenStream::send(std::move(deliveries));
  EXPECT_EQ(other.poll(), 1u);
  EXPECT_EQ(io.poll(), 2u);
  TokenStream::send({});
}

TEST_F(TokenStreamTest, TheReaderMayGoFirst) {
  auto stream = stream_on(io);
  stream->cancel();
  EXPECT_TRUE(stream->cancelled());
  std::weak_ptr<TokenStream> seen = stream;
  TokenStream::send({{std::move(stream), tokens({1})}});
  EXPECT_FALSE(seen.expired());
  poll();
  EXPECT_TRUE(seen.expired());
}

TEST_F(TokenStreamTest, AReaderCancelsWhenItGoesBeforeTheEnd) {
  const auto left = stream_on(io);
  {
    TokenReader reader(left);
    const TokenReader moved = std::move(reader);
    EXPECT_FALSE(left->cancelled());
  }
  EXPECT_TRUE(left->cancelled());

  const auto replaced = stream_on(io);
  const auto ended = stream_on(io);
  {
    TokenReader reader(replaced);
    reader = TokenReader(ended);
    EXPECT_TRUE(replaced->cancelled());
    TokenStream::send({{ended, end_of(tokens({1}))}});
    poll();
    EXPECT_TRUE(reader->take());
  }
  EXPECT_FALSE(ended->cancelled());
}

TEST_F(TokenStreamTest, TheSenderMayGoFirstWhileTheReaderWaits) {
  Taken taken;
  std::weak_ptr<TokenStream> seen;
  {
    auto stream = stream_on(io);
    seen = stream;
    asio::co_spawn(io, take(stream, hours(1), taken), asio::detached);
    poll();
    TokenStream::send({{std::move(stream), end_of({})}});
  }
  EXPECT_FALSE(seen.expired());
  poll();
  EXPECT_TRUE(taken.done);
  EXPECT_TRUE(seen.expired());
}

TEST_F(TokenStreamTest, AThreadSendsWhileAnotherReads) {
  constexpr int kEvents = 20000;
  const auto stream = stream_on(io);
  int num_taken = 0;
  bool in_order = true;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        for (;;) {
          const std::optional<TokenEvent> event = co_await stream->next(hours(1));
          if (!event) continue;
          for (const Token& token : event->tokens) in_order &= token.id == num_taken++;
          if (event->last()) co_return;
        }
      },
      asio::detached);
  std::thread sender([&] {
    for (int i = 0; i < kEvents; ++i) TokenStream::send({{stream, tokens({i})}});
    TokenStream::send({{stream, end_of({})}});
  });
  io.run();
  sender.join();
  EXPECT_EQ(num_taken, kEvents);
  EXPECT_TRUE(in_order);
  EXPECT_EQ(stream->backlog(), 0);
}

}  // namespace
}  // namespace kvasir::seam
