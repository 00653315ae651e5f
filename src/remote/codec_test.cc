#include "remote/codec.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>

namespace kvasir::remote {
namespace {

constexpr int kVocab = 500;

rc::Gen<std::vector<TokenId>> some_tokens() {
  return rc::gen::container<std::vector<TokenId>>(rc::gen::inRange(0, kVocab));
}

rc::Gen<double> number() {
  return rc::gen::map(rc::gen::inRange(-1'000'000, 1'000'000), [](int n) { return n / 128.0; });
}

// Turns a message into bytes and back, as the connection does.
template <class Message>
Message over_the_wire(const Message& message) {
  Message other;
  RC_ASSERT(other.ParseFromString(message.SerializeAsString()));
  return other;
}

wire::GenerateRequest any_request() {
  wire::GenerateRequest request;
  request.origin = {*rc::gen::arbitrary<std::string>(), *rc::gen::arbitrary<std::string>(),
                    *rc::gen::inRange(1, 100), *rc::gen::arbitrary<std::string>()};
  request.prompt = *rc::gen::nonEmpty(some_tokens());
  request.resumed = *some_tokens();
  request.num_public_tokens = *rc::gen::inRange(0, int(request.prompt.size()) + 1);
  request.sampling = {.temperature = float(*number()),
                      .top_p = float(*number()),
                      .top_k = *rc::gen::inRange(0, 100),
                      .min_p = float(*number()),
                      .presence_penalty = float(*number()),
                      .frequency_penalty = float(*number()),
                      .repetition_penalty = float(*number()),
                      .seed = *rc::gen::arbitrary<std::uint64_t>(),
                      .logprobs = *rc::gen::arbitrary<bool>(),
                      .num_top_logprobs = *rc::gen::inRange(0, 20)};
  for (const TokenId id : *some_tokens()) request.sampling.logit_bias.emplace_back(id, float(*number()));
  request.max_tokens = *rc::gen::inRange(1, 10000);
  request.min_tokens = *rc::gen::inRange(0, 10000);
  request.ignore_eos = *rc::gen::arbitrary<bool>();
  request.stop_tokens = *some_tokens();
  request.priority = *rc::gen::arbitrary<int>();
  request.slo_ttft_s = *number();
  request.slo_tpot_s = *number();
  if (*rc::gen::arbitrary<bool>()) request.num_prompt_logprobs = *rc::gen::inRange(0, 20);
  return request;
}

auto fields_of(const wire::SamplingParams& s) {
  return std::tie(s.temperature, s.top_p, s.top_k, s.min_p, s.presence_penalty, s.frequency_penalty,
                  s.repetition_penalty, s.seed, s.logit_bias, s.logprobs, s.num_top_logprobs);
}
auto fields_of(const wire::Origin& o) {
  return std::tie(o.request_id, o.tenant, o.weight, o.cache_namespace);
}
auto fields_of(const wire::GenerateRequest& r) {
  return std::tie(r.prompt, r.resumed, r.num_public_tokens, r.max_tokens, r.min_tokens, r.ignore_eos,
                  r.stop_tokens, r.priority, r.slo_ttft_s, r.slo_tpot_s, r.num_prompt_logprobs);
}

RC_GTEST_PROP(Codec, RequestsComeAsTheyWere, ()) {
  const wire::GenerateRequest request = any_request();
  proto::Generate message;
  encode(request, message);
  const auto decoded = decode(over_the_wire(message), kVocab);
  RC_ASSERT(decoded.ok());
  RC_ASSERT(fields_of(*decoded) == fields_of(request));
  RC_ASSERT(fields_of(decoded->sampling) == fields_of(request.sampling));
  RC_ASSERT(fields_of(decoded->origin) == fields_of(request.origin));
}

// Damaged bytes are refused or give a request that is safe for the engine.
RC_GTEST_PROP(Codec, DamagedRequestsAreRefusedOrSound, ()) {
  proto::Generate message;
  encode(any_request(), message);
  std::string bytes = message.SerializeAsString();
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  bytes[at] = *rc::gen::arbitrary<char>();
  proto::Generate damaged;
  if (!damaged.ParseFromString(bytes)) return;
  const auto decoded = decode(damaged, kVocab);
  if (!decoded.ok()) return;
  const auto known = [](TokenId id) { return id >= 0 && id < kVocab; };
  RC_ASSERT(!decoded->prompt.empty() && std::ranges::all_of(decoded->prompt, known));
  RC_ASSERT(std::ranges::all_of(decoded->resumed, known));
  for (const auto& [id, bias] : decoded->sampling.logit_bias) RC_ASSERT(known(id));
  RC_ASSERT(decoded->max_tokens > 0 && decoded->origin.weight > 0);
  RC_ASSERT(decoded->num_public_tokens >= 0 && decoded->num_public_tokens <= int(decoded->prompt.size()));
}

std::vector<wire::Token> any_tokens() {
  std::vector<wire::Token> tokens;
  for (const TokenId id : *some_tokens()) {
    wire::Token& token = tokens.emplace_back(wire::Token{.id = id});
    if (!*rc::gen::arbitrary<bool>()) continue;
    token.logprob = wire::TokenLogprob{.logprob = float(*number())};
    for (const TokenId other : *some_tokens()) token.logprob->top.emplace_back(other, float(*number()));
  }
  return tokens;
}

bool same(const std::vector<wire::Token>& a, const std::vector<wire::Token>& b) {
  return std::ranges::equal(a, b, [](const wire::Token& x, const wire::Token& y) {
    if (x.id != y.id || x.logprob.has_value() != y.logprob.has_value()) return false;
    return !x.logprob || (x.logprob->logprob == y.logprob->logprob && x.logprob->top == y.logprob->top);
  });
}

auto fields_of(const wire::Usage& u) {
  return std::tie(u.prompt_tokens, u.cached_tokens, u.output_tokens, u.num_preemptions, u.queued_s,
                  u.prefill_s, u.charge);
}
auto fields_of(const wire::PrefillChunk& c) {
  return std::tie(c.step, c.num_steps, c.num_tokens, c.began_s, c.ended_s);
}
auto fields_of(const base::Error& e) {
  return std::tie(e.code, e.message, e.field, e.reason, e.retry_after_s);
}

// Unchanged usage is not sent, so a whole stream is compared.
RC_GTEST_PROP(Codec, StreamsOfEventsComeAsTheyWere, ()) {
  wire::Usage sent;
  wire::Usage received;
  wire::Usage usage;
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
    wire::TokenEvent event;
    event.tokens = any_tokens();
    event.prompt = any_tokens();
    if (*rc::gen::arbitrary<bool>())
      event.finish = *rc::gen::element(wire::FinishReason::stop, wire::FinishReason::length);
    if (*rc::gen::arbitrary<bool>())
      event.error = base::Error{base::ErrorCode(*rc::gen::inRange(0, int(base::ErrorCode::internal) + 1)),
                                *rc::gen::arbitrary<std::string>(), *rc::gen::arbitrary<std::string>(),
                                *rc::gen::arbitrary<std::string>(), *number()};
    if (*rc::gen::arbitrary<bool>())
      usage = {.prompt_tokens = *rc::gen::inRange(0, 99),
               .cached_tokens = *rc::gen::inRange(0, 99),
               .num_preemptions = *rc::gen::inRange(0, 9),
               .queued_s = *number(),
               .prefill_s = *number()};
    usage.output_tokens += *rc::gen::inRange(0, 3);
    usage.charge += *number();
    event.usage = usage;
    if (*rc::gen::arbitrary<bool>())
      event.prefill.push_back({*rc::gen::inRange(0, 99), *rc::gen::inRange(0, 9), *rc::gen::inRange(0, 99),
                               *number(), *number()});
    proto::Event message;
    encode(event, sent, message);
    const auto decoded = decode(over_the_wire(message), received, kVocab);
    RC_ASSERT(decoded.ok());
    RC_ASSERT(same(decoded->tokens, event.tokens));
    RC_ASSERT(same(decoded->prompt, event.prompt));
    RC_ASSERT(decoded->finish == event.finish);
    RC_ASSERT(decoded->error.has_value() == event.error.has_value());
    if (event.error) RC_ASSERT(fields_of(*decoded->error) == fields_of(*event.error));
    RC_ASSERT(fields_of(decoded->usage) == fields_of(event.usage));
    RC_ASSERT(std::ranges::equal(decoded->prefill, event.prefill,
                                 [](const auto& a, const auto& b) { return fields_of(a) == fields_of(b); }));
  }
}

TEST(Codec, EventsWithForeignTokensAreRefused) {
  proto::Event message;
  message.add_tokens(kVocab);
  wire::Usage usage;
  EXPECT_FALSE(decode(message, usage, kVocab).ok());
  message.set_tokens(0, -1);
  EXPECT_FALSE(decode(message, usage, kVocab).ok());
  message.set_tokens(0, 1);
  EXPECT_TRUE(decode(message, usage, kVocab).ok());
  message.add_logprobs();
  message.add_logprobs();
  EXPECT_FALSE(decode(message, usage, kVocab).ok());
}

RC_GTEST_PROP(Codec, ForecastsOfAnOutlookAreTheSameElsewhere, ()) {
  sched::Outlook outlook;
  for (int i = 0; i < 40; ++i)
    outlook.cost.observe(
        {.prefill_tokens = *rc::gen::inRange(0, 500), .decode_sequences = *rc::gen::inRange(1, 9)},
        *rc::gen::inRange(1, 100) / 1000.0);
  outlook.slo = {.ttft_s = 0.5, .tpot_s = 0.05};
  outlook.order_ttft_s = 0.4;
  outlook.short_s = 0.1;
  outlook.prefill_share = 0.33;
  outlook.max_batch_tokens = 512;
  outlook.max_sequences = 32;
  outlook.num_free_tokens = *rc::gen::inRange(0, 100'000);
  outlook.mean_tail = *rc::gen::inRange(0, 16);
  outlook.mean_output = *rc::gen::inRange(1, 300);
  outlook.waited_s = 0.2;
  outlook.highest_recent = *rc::gen::inRange(-2, 2);
  outlook.in_flight_s = 0.03;
  outlook.now_s = 10;
  for (int i = *rc::gen::inRange(0, 100); i > 0; --i)
    outlook.recent.add(10 - i / 100.0, *rc::gen::inRange(1, 999));
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    outlook.prompts.push_back({*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange(-1, 2),
                               *rc::gen::inRange(1, 999), *rc::gen::arbitrary<bool>()});
    outlook.running.push_back({*rc::gen::inRange(-1, 2), *rc::gen::inRange(0, 9), *rc::gen::inRange(0, 999),
                               double(*rc::gen::inRange(0, 999)), *rc::gen::inRange(0, 9), *number()});
    outlook.waiting.push_back({*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange(-1, 2), *number(), 1.5,
                               double(*rc::gen::inRange(1, 999)), *rc::gen::inRange(1, 9)});
  }
  const seam::Prospect prospect{std::make_shared<const sched::Outlook>(outlook), outlook.waiting, 0.25};
  proto::Report message;
  encode(prospect, message);
  const auto decoded = decode_prospect(over_the_wire(message));
  RC_ASSERT(decoded.ok());
  const wire::Outline outline{.tenant = "t", .num_prompt_tokens = *rc::gen::inRange(1, 2000)};
  const wire::Forecast here = sched::forecast(outlook, outlook.waiting, outline, 16, 0.25);
  const wire::Forecast there =
      sched::forecast(*decoded->outlook, decoded->arrived, outline, 16, decoded->age_s);
  // A random outlook may make both forecasts NaN.
  const auto same_number = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  for (const auto latency : {&wire::Forecast::expected, &wire::Forecast::alone, &wire::Forecast::slo}) {
    RC_ASSERT(same_number((here.*latency).ttft_s, (there.*latency).ttft_s));
    RC_ASSERT(same_number((here.*latency).tpot_s, (there.*latency).tpot_s));
  }
  RC_ASSERT(here.is_idle == there.is_idle);
}

RC_GTEST_PROP(Codec, ReportsAndBlocksComeAsTheyWere, ()) {
  wire::WorkerReport report{*rc::gen::inRange(0, 99), *rc::gen::inRange(0, 99), *rc::gen::inRange(0, 99),
                            *rc::gen::inRange(0, 99), *rc::gen::inRange(0, 99)};
  report.waiting = *rc::gen::container<std::map<int, int>>(rc::gen::inRange(-5, 5), rc::gen::inRange(0, 9));
  report.progressing = *rc::gen::arbitrary<bool>();
  report.failed = *rc::gen::arbitrary<bool>();
  report.heartbeat_age_s = *number();
  report.busy_s = *number();
  report.long_prompts_s = *number();
  const auto fields = [](const wire::WorkerReport& r) {
    return std::tie(r.num_blocks, r.num_free_blocks, r.num_cached_blocks, r.num_running, r.num_waiting,
                    r.waiting, r.progressing, r.failed, r.heartbeat_age_s, r.busy_s, r.long_prompts_s);
  };
  proto::Report message;
  encode(report, message);
  const wire::WorkerReport decoded = decode_report(over_the_wire(message));
  RC_ASSERT(fields(decoded) == fields(report));

  wire::BlockChanges changes{.number = *rc::gen::arbitrary<std::uint64_t>(),
                             .anew = *rc::gen::arbitrary<bool>()};
  for (const std::uint64_t half : *rc::gen::arbitrary<std::vector<std::uint64_t>>()) {
    changes.added.push_back({half, ~half});
    changes.removed.push_back({half + 1, half});
  }
  proto::Blocks blocks;
  encode(changes, blocks);
  const auto back = decode(over_the_wire(blocks));
  RC_ASSERT(back.ok());
  RC_ASSERT(back->number == changes.number && back->anew == changes.anew);
  RC_ASSERT(back->added == changes.added && back->removed == changes.removed);
}

TEST(Codec, ReportsOfAnySizeAreBounded) {
  proto::Report message;
  message.set_num_running(std::numeric_limits<int>::max());
  message.set_num_waiting(std::numeric_limits<int>::max());
  message.set_num_free_blocks(-5);
  for (int i = 0; i < 100'000; ++i) {
    message.add_waiting_priorities(i);
    message.add_waiting_counts(-1);
  }
  const wire::WorkerReport report = decode_report(message);
  EXPECT_GT(report.num_running + report.num_waiting, 1'000'000) << "without an overflow";
  EXPECT_EQ(report.num_free_blocks, 0);
  EXPECT_LE(report.waiting.size(), 256u);
  EXPECT_EQ(report.waiting.begin()->second, 0);
}

TEST(Codec, CardsTextsAndActivityComeAsTheyWere) {
  const wire::WorkerCard card{
      "w", "a:1", "m", "fp", "digest", "0.1", "prefill", 4096, 77, 0, {"f16 2x2x3x4", 1536}};
  proto::Card card_message;
  encode(card, card_message);
  EXPECT_EQ(decode(card_message), card);

  TextAssets assets{.files = {{"a.json", ""}, {"b", ""}},
                    .context_length = 5,
                    .vocab_size = 6,
                    .num_parameters = 7,
                    .fingerprint = "fp",
                    .sampling = {.temperature = 0.5f,
                                 .top_p = 0.25f,
                                 .top_k = 3,
                                 .min_p = 0.125f,
                                 .repetition_penalty = 1.5f},
                    .facts = {"gguf", "llama", "Q8_0", "d", "mit", 1, 2, 3, 4, 5, 6, true}};
  proto::TextHead head;
  encode(assets, head);
  EXPECT_EQ(decode(head), assets);
  assets.sampling = {};
  proto::TextHead bare;
  encode(assets, bare);
  EXPECT_EQ(decode(bare), assets);

  wire::Activity activity{.now_s = 1};
  activity.counters = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  activity.steps.push_back({1, 2, 3, 4, 5, 6, 7, 8, {{"r", "t", 9, true}}});
  activity.sequences.push_back({"r", "t", -1, true, true, 1, 2, 3, 4, 5, 6, 7});
  proto::Activity message;
  encode(activity, message);
  const wire::Activity back = decode(message);
  proto::Activity again;
  encode(back, again);
  EXPECT_EQ(again.SerializeAsString(), message.SerializeAsString());
  EXPECT_EQ(back.counters.aborted, 9);
  EXPECT_EQ(back.counters.step_s, 10);
  EXPECT_EQ(back.steps.front().slices.front().num_rows, 9);
  EXPECT_EQ(back.sequences.front().num_blocks, 6);
}

}  // namespace
}  // namespace kvasir::remote
