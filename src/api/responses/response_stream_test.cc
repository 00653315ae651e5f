#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "api/answer/write/stream_events.h"
#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

class ResponseStreamTest : public ApiTest {
 protected:
  Reply create(const std::string& more = "") {
    return post("/v1/responses", R"({"model": "m", "input": "hi")" + more + "}");
  }
  static std::string id_of(const Reply& reply) { return std::string(reply.body.at("id").as_string()); }
  Reply stream(const std::string& id, const std::string& more = "") {
    return get("/v1/responses/" + id + "?stream=true" + more);
  }
  static std::string joined_text(const std::vector<StreamEvent>& events) {
    std::string text;
    for (const StreamEvent& event : events)
      if (event.name == "response.output_text.delta") text += event.data.at("delta").as_string();
    return text;
  }
  // Returns the names of the events without text deltas, whose number depends on how the text was cut.
  static std::string names_of(const std::vector<StreamEvent>& events) {
    std::string names;
    for (const StreamEvent& event : events)
      if (event.name != "response.output_text.delta") names += event.name + "\n";
    return names;
  }
};

TEST_F(ResponseStreamTest, AStoredResponseIsStreamedAsItWas) {
  serve(says("one two"));
  const auto live = stream_events(create(R"(, "stream": true)").text);
  const json::value& response = live.back().data.at("response");
  const Reply reply = stream(std::string(response.at("id").as_string()));
  ASSERT_EQ(reply.status, 200) << reply.text;
  const auto events = stream_events(reply.text);
  EXPECT_EQ(names_of(events), names_of(live));
  EXPECT_EQ(joined_text(events), "one two");
  EXPECT_EQ(events.back().data.at("response"), response);
  EXPECT_EQ(events.front().data.at("response"), live.front().data.at("response"));
  for (std::size_t i = 0; i < events.size(); ++i)
    EXPECT_EQ(events[i].data.at("sequence_number").as_int64(), static_cast<std::int64_t>(i));
}

TEST_F(ResponseStreamTest, CallsAreStreamedToo) {
  serve(says("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"));
  const Reply made = create(R"(, "tools": [{"type": "function", "name": "f"}])");
  const auto events = stream_events(stream(id_of(made)).text);
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[2].data.at_pointer("/item/arguments"), "");
  EXPECT_EQ(events[3].name, "response.function_call_arguments.delta");
  EXPECT_EQ(events[4].data.at("name"), "f");
  EXPECT_EQ(events[5].data.at("item"), made.body.at("output").at(0));
}

TEST_F(ResponseStreamTest, StartingAfterLeavesOutWhatWasSeen) {
  serve(says("one two"));
  const std::string id = id_of(create());
  const auto all = stream_events(stream(id).text);
  const auto rest = stream_events(stream(id, "&starting_after=3").text);
  ASSERT_EQ(rest.size() + 4, all.size());
  EXPECT_EQ(rest.front().data.at("sequence_number"), 4);
  const Reply nothing = stream(id, "&starting_after=" + std::to_string(all.size() - 1));
  EXPECT_EQ(nothing.status, 200);
  EXPECT_TRUE(stream_events(nothing.text).empty()) << nothing.text;
  const Reply beyond = stream(id, "&starting_after=" + std::to_string(all.size()));
  EXPECT_EQ(beyond.status, 400);
  EXPECT_EQ(beyond.body.at_pointer("/error/param"), "starting_after");
  EXPECT_EQ(get("/v1/responses/" + id + "?starting_after=1").status, 400);
  EXPECT_EQ(stream(id, "&starting_after=-1").status, 400);
  EXPECT_EQ(get("/v1/responses/" + id + "?stream=yes").status, 400);
  EXPECT_EQ(get("/v1/responses/" + id + "?stream=false").body.at("object"), "response");
}

TEST_F(ResponseStreamTest, AResumableStreamGoesOnWithItsOwnEvents) {
  serve(says("one two"));
  const auto live = stream_events(create(R"(, "stream": true, "stream_options": {"resumable": true})").text);
  const std::string id(live.back().data.at_pointer("/response/id").as_string());
  const auto rest = stream_events(stream(id, "&starting_after=5").text);
  ASSERT_EQ(rest.size() + 6, live.size());
  for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_EQ(rest[i].data, live[i + 6].data);
  EXPECT_EQ(stream_events(stream(id).text).size(), live.size());
  ASSERT_EQ(exchange("DELETE /v1/responses/" + id + " HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
  EXPECT_EQ(stream(id, "&starting_after=5").status, 404);
  EXPECT_EQ(get("/v1/streams/" + id + "?after=0").status, 404);
}

TEST_F(ResponseStreamTest, StreamsOfOtherKindsAreNoResponses) {
  serve(says("one two"));
  const Reply chat = post("/v1/chat/completions",
                          R"({"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": true,
                              "stream_options": {"resumable": true}})");
  const std::string id(stream_events(chat.text).front().data.at("id").as_string());
  ASSERT_EQ(get("/v1/streams/" + id + "?after=0").status, 200);
  EXPECT_EQ(stream(id, "&starting_after=0").status, 404);
}

TEST_F(ResponseStreamTest, WhatIsNotThereIsCalledByItsName) {
  serve(says("x"));
  for (const Reply& reply : {get("/v1/responses/resp_x"), stream("resp_x")}) {
    EXPECT_EQ(reply.status, 404);
    EXPECT_EQ(reply.body.at_pointer("/error/message"), "Response with id 'resp_x' not found.");
    EXPECT_EQ(reply.body.at_pointer("/error/type"), "invalid_request_error");
  }
  const Reply lost = create(R"(, "previous_response_id": "resp_x")");
  EXPECT_EQ(lost.status, 400);
  EXPECT_EQ(lost.body.at_pointer("/error/code"), "previous_response_not_found");
  EXPECT_EQ(lost.body.at_pointer("/error/param"), "previous_response_id");
}

TEST_F(ResponseStreamTest, AnItemOfAStoredResponseCanBeReferredTo) {
  serve(says("Hello Ada."));
  const Reply first = create();
  const std::string item(first.body.at_pointer("/output/0/id").as_string());
  const auto ask = [&](const std::string& reference) {
    return post("/v1/responses", R"({"model": "m", "input": [{"role": "user", "content": "I am Ada."}, )" +
                                     reference + R"(, {"role": "user", "content": "Who am I?"}]})");
  };
  const Reply second = ask(R"({"type": "item_reference", "id": ")" + item + "\"}");
  ASSERT_EQ(second.status, 200) << second.text;
  ASSERT_EQ(ask(R"({"id": ")" + item + "\"}").status, 200);
  for (const std::size_t number : {1, 2}) {
    const std::string prompt =
        router::byte_tokenizer()->decode(worker_->wait_for(number).request.prompt, text::SpecialOutput::keep);
    EXPECT_NE(prompt.find("<|im_start|>assistant\nHello Ada.<|im_end|>"), std::string::npos) << prompt;
  }
  // A response that continues this one has the item in its input, too.
  const std::string next = R"(, "previous_response_id": ")" + id_of(second) + "\"";
  ASSERT_EQ(create(next).status, 200);
  EXPECT_EQ(get("/v1/responses/" + id_of(second) + "/input_items?order=asc")
                .body.at_pointer("/data/1/id")
                .as_string(),
            item);
  for (const char* wrong : {"msg_x", "msg_", "_", "", "msg_x_0", "item_1"}) {
    const Reply lost = ask(R"({"type": "item_reference", "id": ")" + std::string(wrong) + "\"}");
    EXPECT_EQ(lost.status, 404) << wrong;
    EXPECT_EQ(lost.body.at_pointer("/error/code"), "item_not_found");
    EXPECT_EQ(lost.body.at_pointer("/error/param"), "input");
  }
  EXPECT_EQ(ask(R"({"type": "item_reference"})").status, 400);
}

TEST_F(ResponseStreamTest, ShortReferencesToLongItemsAreCounted) {
  serve(says(std::string(2000, 'x')));
  const Reply first = create();
  const std::string reference =
      R"({"id": ")" + std::string(first.body.at_pointer("/output/0/id").as_string()) + "\"}";
  const auto ask = [&](int count) {
    std::string items = reference;
    for (int i = 1; i < count; ++i) items += "," + reference;
    return post("/v1/responses", R"({"model": "m", "input": [)" + items + "]}");
  };
  const Reply some = ask(2);
  EXPECT_EQ(some.status, 200) << some.text;
  const Reply many = ask(10'000);
  EXPECT_EQ(many.status, 413);
  EXPECT_EQ(many.body.at_pointer("/error/code"), "history_too_large");
}

TEST_F(ResponseStreamTest, InputTokensAreThoseOfTheRequest) {
  serve(says("x"));
  const Reply first = create();
  const std::string more =
      R"({"model": "m", "input": "and now?", "previous_response_id": ")" + id_of(first) + "\"}";
  const Reply counted = post("/v1/responses/input_tokens", more);
  ASSERT_EQ(counted.status, 200) << counted.text;
  EXPECT_EQ(counted.body.at("object"), "response.input_tokens");
  EXPECT_EQ(counted.body.at("input_tokens"),
            post("/v1/responses", more).body.at_pointer("/usage/input_tokens"));
  EXPECT_EQ(post("/v1/responses/input_tokens", R"({"model": "m"})").status, 400);
}

// A server that accepts deeply nested requests.
class DeepResponseTest : public ApiTest {
 protected:
  static ServiceOptions deep_options() {
    ServiceOptions options;
    options.max_json_depth = 1024;
    return options;
  }
  DeepResponseTest() : ApiTest(deep_options()) {}
};

TEST_F(DeepResponseTest, WhatWasTakenCanBeReadAgain) {
  serve(says("x"));
  const std::string deep = std::string(900, '[') + std::string(900, ']');
  const Reply first = post("/v1/responses", R"({"model": "m", "input": [{"role": "user", "content": "hi", )"
                                            R"("more": )" +
                                                deep + "}]}");
  ASSERT_EQ(first.status, 200) << first.text;
  const std::string id(first.body.at("id").as_string());
  const Reply second =
      post("/v1/responses", R"({"model": "m", "input": "and?", "previous_response_id": ")" + id + "\"}");
  EXPECT_EQ(second.status, 200) << second.text;
  EXPECT_EQ(get("/v1/responses/" + id + "/input_items").status, 200);
}

}  // namespace
}  // namespace kvasir::api
