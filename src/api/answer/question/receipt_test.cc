#include "api/answer/question/receipt.h"

#include <gtest/gtest.h>

#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

class ReceiptTest : public ApiTest {
 protected:
  static constexpr const char* kAsked = R"(, "kvasir": {"receipt": true})";
  // The numbers are in the form that Boost writes.
  static constexpr const char* kReceipt =
      R"({"queued_ms":1.5E3,"prefill_ms":2.50125E2,"cached_tokens":2,"preemptions":1,)"
      R"("moved":0,"predicted_ttft_ms":null,"tenant_charge":1.05E1})";

  void SetUp() override {
    serve([](const wire::GenerateRequest& request) {
      std::vector<wire::TokenEvent> events = says("hello")(request);
      for (wire::TokenEvent& event : events) {
        event.usage.num_preemptions = 1;
        event.usage.queued_s = 1.5;
        event.usage.prefill_s = 0.250125;
        event.usage.charge = 10.5;
      }
      return events;
    });
  }
  static std::string receipt(const json::value& object) {
    const json::value* found = object.as_object().if_contains("kvasir");
    return found == nullptr ? "none" : json::serialize(*found);
  }
  // The data of a stream's last event of this type.
  static json::value last_event(const std::string& stream, const std::string& type) {
    const std::size_t at = stream.rfind("data: {\"type\":\"" + type + "\"");
    return base::parse_json(stream.substr(at + 6, stream.find('\n', at) - at - 6)).value();
  }
};

TEST(Receipt, HasThePredictionWhereThereIsOne) {
  const json::object receipt = receipt_object({.queued_s = 0.0123456}, {.predicted_ttft_s = 0.5});
  EXPECT_EQ(receipt.at("predicted_ttft_ms"), 500.0);
  EXPECT_EQ(receipt.at("queued_ms"), 12.346);
}

TEST_F(ReceiptTest, ChatsAndCompletionsHaveOneIfAskedFor) {
  EXPECT_EQ(receipt(post("/v1/chat/completions", chat_body(kAsked)).body), kReceipt);
  EXPECT_EQ(receipt(post("/v1/chat/completions", chat_body()).body), "none");
  EXPECT_EQ(receipt(post("/v1/chat/completions", chat_body(R"(, "kvasir": {"receipt": false})")).body),
            "none");
  const std::string prompt = R"({"model": "m", "prompt": "hi")";
  EXPECT_EQ(receipt(post("/v1/completions", prompt + kAsked + "}").body), kReceipt);
}

TEST_F(ReceiptTest, AStreamHasItInTheLastChunk) {
  const std::string streamed = std::string(kAsked) + R"(, "stream": true)";
  for (const std::string more : {"", R"(, "stream_options": {"include_usage": true})"}) {
    const auto events = events_of(post("/v1/chat/completions", chat_body(streamed + more)).text);
    EXPECT_EQ(receipt(events.back()), kReceipt);
    EXPECT_EQ(events.back().as_object().contains("usage"), !more.empty());
    EXPECT_TRUE(events.back().at("choices").as_array().empty());
    EXPECT_EQ(receipt(events[events.size() - 2]), "none");
  }
}

TEST_F(ReceiptTest, SeveralChoicesHaveTheTimesOfTheFirstAndTheSumOfTheRest) {
  const json::value body = post("/v1/chat/completions", chat_body(std::string(kAsked) + R"(, "n": 3)")).body;
  EXPECT_EQ(body.at("kvasir").at("queued_ms"), 1500.0);
  EXPECT_EQ(body.at("kvasir").at("preemptions"), 3);
  EXPECT_EQ(body.at("kvasir").at("tenant_charge"), 31.5);
}

TEST_F(ReceiptTest, ResponsesHaveItAndKeepIt) {
  const std::string asked = R"({"model": "m", "input": "hi")" + std::string(kAsked);
  const json::value whole = post("/v1/responses", asked + "}").body;
  EXPECT_EQ(receipt(whole), kReceipt);
  EXPECT_EQ(receipt(get("/v1/responses/" + std::string(whole.at("id").as_string())).body), kReceipt);
  const std::string stream = post("/v1/responses", asked + R"(, "stream": true})").text;
  EXPECT_EQ(receipt(last_event(stream, "response.completed").at("response")), kReceipt);
  EXPECT_EQ(receipt(last_event(stream, "response.created").at("response")), "none");
}

TEST_F(ReceiptTest, MessagesHaveIt) {
  const std::string asked =
      R"({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}])" +
      std::string(kAsked);
  EXPECT_EQ(receipt(post("/v1/messages", asked + "}").body), kReceipt);
  const std::string stream = post("/v1/messages", asked + R"(, "stream": true})").text;
  EXPECT_EQ(receipt(last_event(stream, "message_delta")), kReceipt);
  EXPECT_EQ(receipt(last_event(stream, "message_start").at("message")), "none");
}

TEST_F(ReceiptTest, MessagesOfConversationsHaveIt) {
  const Reply made = post("/v1/conversations", R"({"model": "m"})");
  const std::string id(made.body.at("id").as_string());
  const std::string path = "/v1/conversations/" + id + "/messages";
  const Reply turn = post(path, R"({"content": "hi")" + std::string(kAsked) + "}");
  EXPECT_EQ(receipt(turn.body), kReceipt);
  EXPECT_TRUE(turn.body.as_object().contains("message"));
}

TEST_F(ReceiptTest, AnUnknownFieldInsideIsRefused) {
  const Reply unknown = post("/v1/chat/completions", chat_body(R"(, "kvasir": {"recipe": true})"));
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(unknown.body.at("error").at("param"), "kvasir.recipe");
  EXPECT_EQ(unknown.body.at("error").at("code"), "unsupported_parameter");
  EXPECT_EQ(post("/v1/chat/completions", chat_body(R"(, "kvasir": {"receipt": 1})")).status, 400);
  EXPECT_EQ(post("/v1/chat/completions", chat_body(R"(, "kvasir": true)")).status, 400);
  EXPECT_EQ(post("/v1/chat/completions", chat_body(R"(, "kvasir": null)")).status, 200);
}

}  // namespace
}  // namespace kvasir::api
