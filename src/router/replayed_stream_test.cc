#include "router/replayed_stream.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <map>

#include "router/scripted_model.h"
#include "wire/worker_lost.h"

namespace kvasir::router {
namespace {

constexpr int kNumTokens = 12;

base::Error lost_with(std::string_view reason) {
  return {.code = base::ErrorCode::unavailable, .message = "gone", .reason = std::string(reason)};
}

// Each token of an answer depends on all tokens before it, so a lost or doubled token changes the rest.
TokenId next_after(const std::vector<TokenId>& known) {
  std::uint32_t hash = 1;
  for (const TokenId token : known) hash = (hash ^ std::uint32_t(token)) * 16777619u;
  return TokenId(hash % 250);
}

std::vector<TokenId> whole_answer(std::vector<TokenId> prompt) {
  std::vector<TokenId> answer;
  while (answer.size() < kNumTokens) {
    answer.push_back(next_after(prompt));
    prompt.push_back(answer.back());
  }
  return answer;
}

// Workers that generate by that rule, `step_` tokens in an event, and are lost when the test says so.
class Fleet : public testing::Test {
 protected:
  void SetUp() override {
    router_.add("m");
    GeneratingModel model = scripted_model(nullptr);
    model.worker = nullptr;
    router_.set_ready("m", std::move(model));
  }

  std::shared_ptr<ScriptedWorker> add(const std::string& id) {
    auto worker = std::make_shared<ScriptedWorker>([this, id](const wire::GenerateRequest& request) {
      ++num_asked_[id];
      return answer(id, request);
    });
    router_.add_member("m", id, worker);
    return worker;
  }

  std::vector<wire::TokenEvent> answer(const std::string& id, const wire::GenerateRequest& request) {
    std::vector<TokenId> known = request.prompt;
    known.insert(known.end(), request.resumed.begin(), request.resumed.end());
    int num_output = int(request.resumed.size());
    std::vector<wire::TokenEvent> events;
    const auto cut = cut_after_.find(id);
    while (num_output < kNumTokens) {
      wire::TokenEvent event;
      if (cut != cut_after_.end() && cut->second <= num_output - int(request.resumed.size())) {
        event.error = error_;
        events.push_back(std::move(event));
        return events;
      }
      for (int i = 0; i < step_ && num_output < kNumTokens; ++i, ++num_output) {
        event.tokens.push_back({.id = next_after(known)});
        known.push_back(event.tokens.back().id);
      }
      event.usage = {.prompt_tokens = int(request.prompt.size()),
                     .cached_tokens = id == "a" ? 3 : 7,
                     .output_tokens = num_output,
                     .num_preemptions = 1,
                     .queued_s = id == "a" ? 1.0 : 5.0,
                     .charge = double(num_output)};
      if (num_output == kNumTokens) event.finish = wire::FinishReason::length;
      events.push_back(std::move(event));
    }
    return events;
  }

  std::shared_ptr<Itinerary> itinerary() {
    const ChatTextPtr text = router_.chat_text("m").value();
    const std::vector<std::string> others =
        first_only_ ? std::vector<std::string>{"b", "c"} : std::vector<std::string>{};
    const kv::BlockChain no_prompt(kv::CacheScope{});
    return std::make_shared<Itinerary>(
        router_, text, router_.pick(*text, {.prompt = no_prompt, .avoid = others}).value(), 100);
  }

  struct Got {
    std::vector<TokenId> tokens;
    std::vector<wire::Usage> usages;
    wire::TokenEvent last;
  };
  Got read(ReplayedStream& stream) {
    Got got;
    bool has_news = true;
    stream.on_event([&has_news] { has_news = true; });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!got.last.last() && std::chrono::steady_clock::now() < deadline) {
      if (!std::exchange(has_news, false)) {
        io_.restart();
        io_.run_one_for(std::chrono::seconds(1));
        continue;
      }
      std::optional<wire::TokenEvent> event = stream.take();
      if (!event) continue;
      has_news = true;
      for (const wire::Token& token : event->tokens) got.tokens.push_back(token.id);
      got.usages.push_back(event->usage);
      got.last = *std::move(event);
    }
    stream.on_event({});
    return got;
  }
  base::Result<std::shared_ptr<ReplayedStream>> begin(const std::shared_ptr<Itinerary>& itinerary) {
    return ReplayedStream::begin(itinerary, request_, io_.get_executor());
  }

  static wire::GenerateRequest request_of_test() {
    wire::GenerateRequest request;
    for (int i = 0; i < 40; ++i) request.prompt.push_back(i * 3 % 250);
    request.max_tokens = kNumTokens;
    return request;
  }

  boost::asio::io_context io_;
  base::FakeClock clock_;
  Router router_{{.policy = "round_robin"}, clock_};
  wire::GenerateRequest request_ = request_of_test();
  const std::vector<TokenId> whole_ = whole_answer(request_.prompt);
  std::map<std::string, int> cut_after_;  // new tokens that each member gives before it is lost
  std::map<std::string, int> num_asked_;
  base::Error error_ = lost_with(wire::kWorkerLost);
  int step_ = 2;
  bool first_only_ = true;
};

TEST_F(Fleet, CutAnywhereTheReaderSeesTheWholeAnswer) {
  add("a");
  add("b");
  for (const std::string_view reason : {"worker_lost", "engine_failed", "server_draining"}) {
    error_ = lost_with(reason);
    for (int cut = 0; cut <= kNumTokens; ++cut) {
      step_ = 1 + cut % 3;
      cut_after_ = {{"a", cut}};
      // Each round uses a fresh member, which has not been taken out.
      router_.remove_member("m", "a");
      add("a");
      const auto stream = begin(itinerary()).value();
      const Got got = read(*stream);
      EXPECT_EQ(got.tokens, whole_) << cut;
      EXPECT_EQ(got.last.finish, wire::FinishReason::length) << cut;
      EXPECT_FALSE(got.last.error);
      EXPECT_EQ(got.last.usage.output_tokens, kNumTokens);
      if (got.last.usage.num_moves == 0) continue;  // the answer ended at the cut
      EXPECT_EQ(got.last.usage.num_moves, 1);
      EXPECT_EQ(got.last.usage.cached_tokens, cut > 0 ? 3 : 7) << "what the first worker found";
      EXPECT_EQ(got.last.usage.queued_s, cut > 0 ? 1 : 5);
      EXPECT_EQ(got.last.usage.num_preemptions, cut > 0 ? 2 : 1);
    }
  }
  EXPECT_GT(router_.failures("m")->failovers.of(FailoverOutcome::moved), 30u);
}

TEST_F(Fleet, SequencesOfOneRequestGoOnTogether) {
  for (const char* id : {"a", "b", "c"}) add(id);
  cut_after_ = {{"a", 4}};
  const auto trip = itinerary();
  std::vector<std::shared_ptr<ReplayedStream>> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(begin(trip).value());
  for (const auto& stream : streams) EXPECT_EQ(read(*stream).tokens, whole_);
  EXPECT_EQ(num_asked_["a"], 4);
  EXPECT_EQ(num_asked_["b"] + num_asked_["c"], 4);
  EXPECT_TRUE(num_asked_["b"] == 0 || num_asked_["c"] == 0);
  EXPECT_FALSE(router_.failures("m")->ejections.any()) << "one request lost is one loss";
}

TEST_F(Fleet, AWorkerThatRefusesAtOnceIsPassedOver) {
  for (const char* id : {"b", "c"}) add(id);
  add("a")->refuse_with(lost_with(wire::kDraining));
  EXPECT_EQ(read(*begin(itinerary()).value()).tokens, whole_);
  // A refusal for another reason reaches the client.
  add("a")->refuse_with({.code = base::ErrorCode::exhausted, .message = "full", .reason = "full"});
  EXPECT_EQ(begin(itinerary()).error().reason, "full");
}

TEST_F(Fleet, OtherErrorsAndLocalWorkersEndTheStream) {
  add("b");
  add("a");
  cut_after_ = {{"a", 4}};
  error_ = {.code = base::ErrorCode::internal, .message = "not a number"};
  const Got got = read(*begin(itinerary()).value());
  EXPECT_EQ(got.last.error->message, "not a number");
  EXPECT_EQ(got.tokens.size(), 4u);
  error_ = lost_with("engine_failed");
  cut_after_ = {{kLocalMember, 4}};
  add(kLocalMember);
  router_.remove_member("m", "a");
  const Got local = read(*begin(itinerary()).value());
  EXPECT_EQ(local.last.error->reason, "engine_failed");
}

TEST_F(Fleet, ARequestThatEveryWorkerDiesOfIsGivenUp) {
  first_only_ = false;
  for (const char* id : {"a", "b", "c", "d", "e", "f"}) {
    add(id);
    cut_after_[id] = 1;
  }
  step_ = 1;
  const Got got = read(*begin(itinerary()).value());
  ASSERT_TRUE(got.last.error);
  EXPECT_EQ(got.last.error->reason, wire::kWorkerLost);
  EXPECT_EQ(got.last.error->message,
            "the worker of this request was lost, and so were others that tried to go on with it; try again");
  EXPECT_EQ(got.tokens, std::vector(whole_.begin(), whole_.begin() + 3));
  int num_asked = 0;
  for (const auto& [id, num] : num_asked_) num_asked += num;
  EXPECT_EQ(num_asked, Itinerary::kMaxLost);
  EXPECT_EQ(router_.failures("m")->failovers.of(FailoverOutcome::too_often), 1u);
}

// Workers that leave one after the other, as in a rolling restart, are no reason to give up.
TEST_F(Fleet, AStreamMayMoveManyTimesWithWorkersThatDrain) {
  first_only_ = false;
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    add(id);
    cut_after_[id] = 2;
  }
  error_ = lost_with(wire::kDraining);
  const Got got = read(*begin(itinerary()).value());
  EXPECT_EQ(got.tokens, whole_);
  EXPECT_EQ(got.last.usage.num_moves, 5);
}

TEST_F(Fleet, ItWaitsForAWorkerThatComesBack) {
  add("a");
  cut_after_ = {{"a", 4}};
  const auto stream = begin(itinerary()).value();
  router_.remove_member("m", "a");
  boost::asio::steady_timer restarts(io_, std::chrono::milliseconds(120));
  restarts.async_wait([this](const boost::system::error_code&) {
    cut_after_.clear();
    add("a");
  });
  const Got got = read(*stream);
  EXPECT_EQ(got.tokens, whole_);
  EXPECT_EQ(got.last.usage.num_moves, 1);
}

TEST_F(Fleet, ACancelledStreamLooksForNobody) {
  add("a");
  cut_after_ = {{"a", 4}};
  auto stream = begin(itinerary()).value();
  router_.remove_member("m", "a");
  io_.poll();
  EXPECT_EQ(stream->take()->tokens.size(), 4u);
  stream->cancel();
  stream.reset();
  io_.restart();
  io_.run();  // ends: no timer is left
  EXPECT_EQ(num_asked_["a"], 1);
}

TEST_F(Fleet, TooManyLossesAtOnceAreNotAllBegunAgain) {
  add("a");
  add("b");
  cut_after_ = {{"a", 2}, {"b", 2}};
  int num_given_up = 0;
  for (int i = 0; i < 60; ++i) {
    const Got got = read(*begin(itinerary()).value());
    ASSERT_TRUE(got.last.error);
    num_given_up += got.last.error->message.find("too many others") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(num_given_up, 20);
  EXPECT_EQ(router_.failures("m")->failovers.of(FailoverOutcome::over_budget), std::uint64_t(num_given_up));
}

TEST_F(Fleet, AMemberThatLosesRequestsGetsNoneUntilItsTimeIsOver) {
  first_only_ = false;
  add("a");
  add("b");
  add("c");
  cut_after_ = {{"a", 2}};
  for (int i = 0; i < 30; ++i) EXPECT_EQ(read(*begin(itinerary()).value()).tokens, whole_);
  EXPECT_EQ(num_asked_["a"], 3);
  EXPECT_EQ(router_.failures("m")->ejections.counts().at("a"), 1u);
  cut_after_.clear();
  clock_.advance(std::chrono::seconds(1));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(read(*begin(itinerary()).value()).tokens, whole_);
  EXPECT_GT(num_asked_["a"], 5);
  EXPECT_FALSE(router_.failures("m")->ejections.any());
}

}  // namespace
}  // namespace kvasir::router
