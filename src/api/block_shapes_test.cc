#include <gtest/gtest.h>

#include <random>

#include "api/answer/delta/choice.h"
#include "api/answer/write/stream_events.h"
#include "api/anthropic/messages_shape.h"
#include "api/ollama/ollama_shape.h"
#include "api/responses/responses_shape.h"
#include "router/scripted_model.h"

namespace kvasir::api {
namespace {

using wire::FinishReason;

const std::string kCallF = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"é\"}}\n</tool_call>";
const std::string kCallG = "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>";
const std::vector<std::string> kTexts = {
    "",
    "Hé, wörld ✓",
    "<think>Let me see.</think>The answer ✓",
    "I look.\n" + kCallF,
    "Before " + kCallF + " between ✓ " + kCallG + "\nbehind",
    "<think>Hm ✗</think>\n" + kCallF + "\n" + kCallG,
    "It ends here STOP and not there",
    "<think>never comes to an end",
};

AnswerReading reading() {
  auto syntax = std::make_shared<text::AnswerSyntax>();
  syntax->calls = text::AnswerSyntax::Calls::looked_for;
  syntax->reasoning = text::AnswerSyntax::Reasoning::tagged;
  for (const char* name : {"f", "g"})
    syntax->tools.push_back({name, [](const json::value&) { return true; }});
  return {.syntax = std::move(syntax)};
}

// Returns the deltas of an answer whose bytes come in events that are cut at `cuts`.
std::vector<Delta> deltas_of(const std::string& text, const std::vector<std::size_t>& cuts,
                             FinishReason end) {
  Choice::Stops stops{.patterns =
                          std::make_shared<const text::StopPatterns>(std::vector<std::string>{"STOP"})};
  Choice choice(0, router::byte_tokenizer(), stops, reading());
  std::vector<wire::Token> tokens = router::byte_tokens(text);
  if (text.find("<tool_call>") == std::string::npos)
    for (wire::Token& token : tokens) token.logprob = wire::TokenLogprob{.logprob = -0.5f};
  std::vector<Delta> deltas;
  std::size_t begin = 0;
  const auto push = [&](std::size_t to, std::optional<FinishReason> finish) {
    if (choice.finished()) return;
    const auto at = [&](std::size_t i) { return tokens.begin() + static_cast<std::ptrdiff_t>(i); };
    Delta delta = choice.push({.tokens = {at(begin), at(to)}, .finish = finish});
    if (!delta.empty()) deltas.push_back(std::move(delta));
    begin = to;
  };
  for (const std::size_t cut : cuts) push(cut, std::nullopt);
  push(text.size(), end);
  return deltas;
}

const wire::Usage kUsage{.prompt_tokens = 7, .cached_tokens = 2, .output_tokens = 5};

AnswerHead head() {
  return {.id = "x", .created_s = 1, .model = "m", .fingerprint = "f", .tokenizer = router::byte_tokenizer()};
}

std::string streamed(AnswerShape& shape, const std::vector<Delta>& deltas) {
  std::string events = shape.opening(1, {.prompt_tokens = 7});
  for (const Delta& delta : deltas) events += shape.chunks(delta);
  return events + shape.closing(kUsage);
}

json::object at_once(AnswerShape& shape, const std::vector<Delta>& deltas) {
  Delta sum;
  for (const Delta& delta : deltas) join(sum, delta);
  return base::parse_json(shape.whole({sum}, kUsage)).value().as_object();
}

// Removes ids, which are random. Everything else in two answers must be equal.
void forget_ids(json::value& value) {
  if (value.is_array())
    for (json::value& item : value.as_array()) forget_ids(item);
  if (!value.is_object()) return;
  for (auto& [key, item] : value.as_object()) {
    if (key == "id" || key == "call_id")
      item = "…";
    else
      forget_ids(item);
  }
}

// Joins a stream as Anthropic's SDK does.
json::object joined_message(const std::string& stream) {
  const std::vector<StreamEvent> events = stream_events(stream);
  json::object message = events.front().data.at("message").as_object();
  json::array& content = message["content"].as_array();
  std::string arguments;
  bool open = false;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const json::value& data = events[i].data;
    EXPECT_EQ(events[i].name, data.at("type").as_string());
    EXPECT_EQ(events[i].name == "message_start", i == 0);
    EXPECT_EQ(events[i].name == "message_stop", i + 1 == events.size());
    if (events[i].name.starts_with("content_block")) {
      EXPECT_EQ(open, events[i].name != "content_block_start");
      const std::size_t index = content.size() - (open ? 1 : 0);
      EXPECT_EQ(data.at("index").to_number<std::size_t>(), index);
    }
    if (events[i].name == "content_block_start") {
      open = true;
      arguments.clear();
      content.push_back(data.at("content_block"));
    } else if (events[i].name == "content_block_delta") {
      json::object& block = content.back().as_object();
      const json::object& delta = data.at("delta").as_object();
      for (const char* key : {"text", "thinking"})
        if (delta.contains(key))
          block[key] = std::string(block[key].as_string()) + std::string(delta.at(key).as_string());
      if (delta.contains("partial_json")) arguments += delta.at("partial_json").as_string();
    } else if (events[i].name == "content_block_stop") {
      open = false;
      if (!arguments.empty()) content.back().as_object()["input"] = base::parse_json(arguments).value();
    } else if (events[i].name == "message_delta") {
      for (const auto& [key, value] : data.at("delta").as_object()) message[key] = value;
      message["usage"] = data.at("usage");
    }
  }
  return message;
}

// Joins a response's stream as OpenAI's SDK does, and compares the result with the last event.
json::object joined_response(const std::string& stream) {
  const std::vector<StreamEvent> events = stream_events(stream);
  json::array output;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const json::object& data = events[i].data.as_object();
    EXPECT_EQ(events[i].name, data.at("type").as_string());
    EXPECT_EQ(data.at("sequence_number").to_number<std::size_t>(), i);
    if (data.contains("output_index")) {
      const std::size_t added = events[i].name == "response.output_item.added" ? 1 : 0;
      EXPECT_EQ(data.at("output_index").to_number<std::size_t>() + 1, output.size() + added);
    }
    const auto append = [&](json::value& to) {
      to = std::string(to.as_string()) + std::string(data.at("delta").as_string());
    };
    if (events[i].name == "response.output_item.added") {
      EXPECT_EQ(data.at("item").at("status").as_string(), "in_progress");
      output.push_back(data.at("item"));
    } else if (events[i].name == "response.content_part.added") {
      output.back().as_object()["content"].as_array().push_back(data.at("part"));
    } else if (events[i].name == "response.function_call_arguments.delta") {
      append(output.back().as_object()["arguments"]);
    } else if (events[i].name.ends_with("text.delta")) {
      append(output.back().as_object()["content"].as_array()[0].as_object()["text"]);
    } else if (events[i].name == "response.output_item.done") {
      const json::object& item = output.back().as_object();
      const json::object& done = data.at("item").as_object();
      EXPECT_EQ(done.at("id"), item.at("id"));
      if (item.contains("arguments")) {
        EXPECT_EQ(done.at("arguments"), item.at("arguments"));
      } else {
        EXPECT_EQ(done.at("content").at(0).at("text"), item.at("content").at(0).at("text"));
      }
      output.back() = done;
    }
  }
  json::object response = events.back().data.at("response").as_object();
  EXPECT_EQ(response.at("output").as_array(), output);
  return response;
}

void append(json::value& to, const json::value& text) {
  to = to.is_string() ? std::string(to.as_string()) + std::string(text.as_string())
                      : std::string(text.as_string());
}

void append_all(json::value& to, const json::value& items) {
  if (!to.is_array()) to = json::array();
  for (const json::value& item : items.as_array()) to.as_array().push_back(item);
}

// Joins a stream's lines as Ollama's clients do.
json::object joined_lines(std::string_view stream, std::string_view text_field) {
  json::object message;
  json::value logprobs;
  json::object last;
  while (!stream.empty()) {
    const std::size_t end = stream.find('\n');
    last = base::parse_json(stream.substr(0, end)).value().as_object();
    stream.remove_prefix(end + 1);
    EXPECT_EQ(last.at("done").as_bool(), stream.empty());
    const json::object& part = last.contains("message") ? last.at("message").as_object() : last;
    append(message[text_field], part.at(text_field));
    if (part.contains("thinking")) append(message["thinking"], part.at("thinking"));
    if (part.contains("tool_calls")) append_all(message["tool_calls"], part.at("tool_calls"));
    if (last.contains("logprobs")) append_all(logprobs, last.at("logprobs"));
  }
  json::object joined = last;
  if (!logprobs.is_null()) joined["logprobs"] = logprobs;
  json::object& place = joined.contains("message") ? joined["message"].as_object() : joined;
  for (const auto& [key, value] : message) place[key] = value;
  return joined;
}

template <class Check>
void at_random_cuts(Check check) {
  std::mt19937 random(11);
  for (const std::string& text : kTexts)
    for (const FinishReason end : {FinishReason::stop, FinishReason::length})
      for (int i = 0; i < 40; ++i) {
        std::vector<std::size_t> cuts;
        for (std::size_t at = 0; at < text.size(); ++at)
          if (random() % (1 + static_cast<unsigned>(i) % 7) == 0) cuts.push_back(at);
        check(deltas_of(text, {}, end), deltas_of(text, cuts, end));
      }
}

TEST(MessagesShape, AStreamIsTheMessageInPieces) {
  at_random_cuts([](const std::vector<Delta>& one, const std::vector<Delta>& many) {
    json::value whole = at_once(*messages_shape(head(), {"STOP"}), one);
    json::value joined = joined_message(streamed(*messages_shape(head(), {"STOP"}), many));
    forget_ids(whole);
    forget_ids(joined);
    EXPECT_EQ(base::json_text(joined), base::json_text(whole));
  });
}

// Sets the second in which a response was completed to 1, since it differs between two responses.
void forget_end(json::value& response) {
  json::value* const at = response.as_object().if_contains("completed_at");
  if (at != nullptr && at->is_int64()) *at = 1;
}

TEST(ResponsesShape, AStreamIsTheResponseInPieces) {
  at_random_cuts([](const std::vector<Delta>& one, const std::vector<Delta>& many) {
    json::value whole = at_once(*responses_shape(head(), {{"metadata", json::object()}}), one);
    json::value joined =
        joined_response(streamed(*responses_shape(head(), {{"metadata", json::object()}}), many));
    forget_ids(whole);
    forget_ids(joined);
    forget_end(whole);
    forget_end(joined);
    EXPECT_EQ(base::json_text(joined), base::json_text(whole));
  });
}

TEST(OllamaShape, AStreamIsTheAnswerInLines) {
  using Form = OllamaWriting::Form;
  const base::FakeClock clock;
  for (const auto& [form, field] :
       {std::pair(Form::message, "content"), std::pair(Form::response, "response")})
    at_random_cuts([&](const std::vector<Delta>& one, const std::vector<Delta>& many) {
      const OllamaWriting writing{form, "m", clock, clock.now()};
      json::value whole = at_once(*ollama_shape(head(), writing), one);
      json::value joined = joined_lines(streamed(*ollama_shape(head(), writing), many), field);
      forget_ids(whole);
      forget_ids(joined);
      whole.as_object().erase("created_at");
      joined.as_object().erase("created_at");
      EXPECT_EQ(joined, whole) << base::json_text(joined) << "\n" << base::json_text(whole);
    });
}

TEST(OllamaShape, DurationsAreOfTheClockAndOfTheEngine) {
  base::FakeClock clock;
  const base::TimePoint began = clock.now();
  clock.advance(std::chrono::milliseconds(100));
  auto shape = ollama_shape(head(), {OllamaWriting::Form::message, "m:latest", clock, began});
  clock.advance(std::chrono::milliseconds(900));
  Delta end;
  end.finish = FinishReason::length;
  const wire::Usage usage{.prompt_tokens = 7, .output_tokens = 5, .queued_s = 0.2, .prefill_s = 0.3};
  const json::object whole = base::parse_json(shape->whole({end}, usage)).value().as_object();
  EXPECT_EQ(whole.at("total_duration").as_int64(), 1'000'000'000);
  EXPECT_EQ(whole.at("load_duration").as_int64(), 300'000'000);
  EXPECT_EQ(whole.at("prompt_eval_duration").as_int64(), 300'000'000);
  EXPECT_EQ(whole.at("eval_duration").as_int64(), 400'000'000);
  EXPECT_EQ(whole.at("done_reason").as_string(), "length");
  EXPECT_EQ(whole.at("model").as_string(), "m:latest");
}

TEST(OllamaShape, AnotherModelThanAskedForSaysItsName) {
  const base::FakeClock clock;
  auto shape = ollama_shape(head(), {OllamaWriting::Form::response, "auto", clock, clock.now()});
  EXPECT_EQ(at_once(*shape, deltas_of("a", {}, FinishReason::stop)).at("model").as_string(), "m");
}

TEST(MessagesShape, BlocksStandWhereTheModelWroteThem) {
  const json::object message =
      at_once(*messages_shape(head(), {}), deltas_of(kTexts[4], {}, FinishReason::stop));
  std::string kinds;
  for (const json::value& block : message.at("content").as_array())
    kinds += std::string(block.at("type").as_string()) + " ";
  EXPECT_EQ(kinds, "text tool_use text tool_use text ");
  EXPECT_EQ(message.at("content").at(1).at("input"), base::parse_json(R"({"a": "é"})").value());
  EXPECT_EQ(message.at("stop_reason").as_string(), "tool_use");
  EXPECT_EQ(message.at("usage").at("input_tokens").to_number<int>(), 5);
  EXPECT_EQ(message.at("usage").at("cache_read_input_tokens").to_number<int>(), 2);
}

TEST(MessagesShape, SaysWhichStopSequenceItWas) {
  const auto deltas = deltas_of(kTexts[6], {}, FinishReason::stop);
  const json::object own = at_once(*messages_shape(head(), {"x", "STOP"}), deltas);
  EXPECT_EQ(own.at("stop_reason").as_string(), "stop_sequence");
  EXPECT_EQ(own.at("stop_sequence").as_string(), "STOP");
  const json::object templates = at_once(*messages_shape(head(), {"x"}), deltas);
  EXPECT_EQ(templates.at("stop_reason").as_string(), "end_turn");
  EXPECT_TRUE(templates.at("stop_sequence").is_null());
}

TEST(MessagesShape, CallsThatWereCutOffHaveNoInput) {
  Delta cut;
  cut.calls.push_back({.index = 0, .id = "i", .name = "f", .arguments = "{\"a\": "});
  cut.finish = FinishReason::length;
  const json::object message = at_once(*messages_shape(head(), {}), {cut});
  EXPECT_EQ(message.at("stop_reason").as_string(), "max_tokens");
  EXPECT_TRUE(message.at("content").at(0).at("input").as_object().empty());
}

TEST(ResponsesShape, WhatWasCutOffIsIncomplete) {
  const json::object response =
      at_once(*responses_shape(head(), {}), deltas_of("ab", {}, FinishReason::length));
  EXPECT_EQ(response.at("status").as_string(), "incomplete");
  EXPECT_EQ(response.at("incomplete_details").at("reason").as_string(), "max_output_tokens");
  EXPECT_EQ(response.at("output").at(0).at("status").as_string(), "incomplete");
  EXPECT_EQ(response.at("output").at(0).at("content").at(0).at("logprobs").as_array().size(), 2u);
}

TEST(ResponsesShape, TheResponseThatIsKeptIsTheOneThatWasStreamed) {
  const auto deltas = deltas_of(kTexts[4], {3, 40, 60}, FinishReason::stop);
  auto shape = responses_shape(head(), {});
  const std::string stream = streamed(*shape, deltas);
  EXPECT_EQ(shape->finished({}, kUsage), joined_response(stream));
}

TEST(BlockShapes, AFailureIsTheLastEvent) {
  const base::Error error{base::ErrorCode::internal, "the worker is gone"};
  auto messages = messages_shape(head(), {});
  (void)messages->opening(1, {});
  const StreamEvent first = stream_events(messages->failure(error)).at(0);
  EXPECT_EQ(first.name, "error");
  EXPECT_EQ(first.data.at("error").at("type").as_string(), "api_error");
  auto responses = responses_shape(head(), {});
  (void)responses->opening(1, {});
  const StreamEvent second = stream_events(responses->failure(error)).at(0);
  EXPECT_EQ(second.name, "response.failed");
  EXPECT_EQ(second.data.at("sequence_number").to_number<int>(), 2);
  EXPECT_EQ(second.data.at("response").at("error").at("message").as_string(), "the worker is gone");
}

}  // namespace
}  // namespace kvasir::api
