#include <gtest/gtest.h>

#include <algorithm>

#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

const std::vector<std::string> kFim = {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>",
                                       "<|fim_pad|>",    "<|repo_name|>",  "<|file_sep|>"};

// The model "m" cannot fill in the middle; "fim" can, and its special tokens for that have ids from 258 on.
class InfillTest : public ApiTest {
 protected:
  void serve_fim(const std::string& answer = "xyz", int context_length = 4096,
                 const std::vector<std::string>& tokens = kFim) {
    serve(says("m"));
    worker_ = std::make_shared<router::ScriptedWorker>(says(answer));
    tokenizer_ = router::byte_tokenizer({}, tokens);
    router::GeneratingModel model = router::scripted_model(worker_, context_length);
    model.text.tokenizer = tokenizer_;
    router_.add("fim");
    router_.set_ready("fim", std::move(model));
  }
  Reply complete(const std::string& fields) {
    return post("/v1/completions", R"({"model": "fim", )" + fields + "}");
  }
  Reply infill(const std::string& fields) { return post("/infill", "{" + fields + "}"); }
  wire::GenerateRequest asked(std::size_t number) { return worker_->wait_for(number).request; }
  // The prompt as the model sees it.
  std::string prompt(std::size_t number) {
    return tokenizer_->decode(asked(number).prompt, text::SpecialOutput::keep);
  }
  static std::string error_of(const Reply& reply, const char* key) {
    return std::string(reply.body.at("error").at(key).as_string());
  }
  static std::string text_of(const Reply& reply) {
    return std::string(reply.body.at("choices").at(0).at("text").as_string());
  }

  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

TEST_F(InfillTest, ASuffixGoesAroundTheGap) {
  serve_fim();
  const Reply reply = complete(R"("prompt": "ab", "suffix": "cd")");
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_EQ(text_of(reply), "xyz");
  EXPECT_EQ(asked(0).prompt, (std::vector<TokenId>{258, 'a', 'b', 259, 'c', 'd', 260}));
  EXPECT_EQ(reply.body.at("usage").at("prompt_tokens"), 7);
  // Each of these tokens ends the answer.
  for (TokenId id = 258; id < 264; ++id) EXPECT_EQ(std::ranges::count(asked(0).stop_tokens, id), 1) << id;
  ASSERT_EQ(complete(R"("prompt": [[104], "i"], "suffix": "c", "n": 2)").status, 200);
  EXPECT_EQ(prompt(1), "<|fim_prefix|>h<|fim_suffix|>c<|fim_middle|>");
  EXPECT_EQ(prompt(4), "<|fim_prefix|>i<|fim_suffix|>c<|fim_middle|>");
  // An empty suffix is the same as no suffix.
  ASSERT_EQ(complete(R"("prompt": "ab", "suffix": "")").status, 200);
  EXPECT_EQ(prompt(5), "ab");
  EXPECT_TRUE(asked(5).stop_tokens.empty());
}

TEST_F(InfillTest, SpecialTokensInTheTextStayText) {
  serve_fim();
  ASSERT_EQ(complete(R"("prompt": "<|fim_middle|>", "suffix": "<|im_end|><|file_sep|>")").status, 200);
  const std::vector<TokenId> tokens = asked(0).prompt;
  EXPECT_EQ(std::ranges::count_if(tokens, [](TokenId id) { return id >= 256; }), 3);
  EXPECT_EQ(prompt(0), "<|fim_prefix|><|fim_middle|><|fim_suffix|><|im_end|><|file_sep|><|fim_middle|>");
}

TEST_F(InfillTest, AnEchoHasThePromptAndNotTheSuffix) {
  serve_fim();
  EXPECT_EQ(text_of(complete(R"("prompt": "ab", "suffix": "cd", "echo": true)")), "abxyz");
  EXPECT_EQ(text_of(complete(R"("prompt": [97, 98], "suffix": "cd", "echo": true)")), "abxyz");
  EXPECT_EQ(text_of(complete(R"("prompt": "ab", "suffix": "cd", "echo": true, "max_tokens": 0)")), "ab");
  const Reply reply = complete(R"("prompt": "ab", "suffix": "cd", "echo": true, "logprobs": 1)");
  EXPECT_EQ(error_of(reply, "param"), "echo");
}

TEST_F(InfillTest, StreamsStopsAndLogprobs) {
  serve_fim("xy\nz");
  const Reply stopped = complete(R"("prompt": "a", "suffix": "b", "stop": ["\n"], "logprobs": 1)");
  EXPECT_EQ(text_of(stopped), "xy");
  EXPECT_EQ(stopped.body.at_pointer("/choices/0/logprobs/tokens").as_array().size(), 2u);
  std::string streamed;
  for (const json::value& event : events_of(complete(R"("prompt": "a", "suffix": "b", "stream": true)").text))
    for (const json::value& choice : event.at("choices").as_array())
      streamed += std::string(choice.at("text").as_string());
  EXPECT_EQ(streamed, "xy\nz");
}

TEST_F(InfillTest, WhatCannotBeFilledIsRefused) {
  serve_fim("x", 16);
  const Reply other = post("/v1/completions", R"({"model": "m", "prompt": "a", "suffix": "b"})");
  EXPECT_EQ(other.status, 400);
  EXPECT_EQ(error_of(other, "code"), "model_not_supported");
  EXPECT_EQ(error_of(other, "param"), "suffix");
  EXPECT_EQ(error_of(infill(R"("model": "m", "input_suffix": "b")"), "code"), "model_not_supported");
  EXPECT_EQ(error_of(complete(R"("prompt": "abcdefg", "suffix": "hijklmn")"), "code"),
            "context_length_exceeded");
  EXPECT_EQ(error_of(infill(R"("input_prefix": "abcdefg", "input_suffix": "hijklmn")"), "param"),
            "input_prefix");
  EXPECT_EQ(error_of(complete(R"("prompt": "a", "suffix": 7)"), "param"), "suffix");
  EXPECT_EQ(error_of(complete(R"("prompt": "a", "suffix": "b", "truncate_prompt_tokens": 3)"), "param"),
            "truncate_prompt_tokens");
  EXPECT_EQ(error_of(complete(R"("prompt": [999], "suffix": "b")"), "param"), "prompt");
  EXPECT_EQ(post("/v1/chat/completions", chat_body(R"(, "suffix": "b")")).status, 400);
  EXPECT_EQ(error_of(infill(R"("input_extra": [{"filename": "a"}])"), "param"), "input_extra[0].text");
  EXPECT_EQ(error_of(infill(R"("input_extra": "a")"), "param"), "input_extra");
  EXPECT_EQ(error_of(infill(R"("input_prefix": 7)"), "param"), "input_prefix");
  EXPECT_EQ(error_of(infill(R"("n_probs": 3)"), "param"), "n_probs");
}

TEST_F(InfillTest, ModelsSayWhetherTheyCan) {
  serve_fim();
  EXPECT_EQ(get("/v1/models/fim").body.at("fill_in_the_middle"), true);
  EXPECT_EQ(get("/v1/models/m").body.at("fill_in_the_middle"), false);
  // A request without a model, or for "auto", gets a model that can fill in the middle.
  EXPECT_EQ(infill(R"("input_suffix": "b")").body.at("model"), "fim");
  const Reply chosen = post("/v1/completions", R"({"model": "auto", "prompt": "a", "suffix": "b"})");
  EXPECT_EQ(chosen.body.at("model"), "fim");
}

TEST_F(InfillTest, NoModelCan) {
  serve(says("m"));
  EXPECT_EQ(error_of(infill(R"("input_suffix": "b")"), "code"), "model_not_supported");
}

TEST_F(InfillTest, TheAnswerHasTheShapeOfLlamacpp) {
  serve_fim("x\ny");
  const Reply reply = infill(
      R"("input_prefix": "ab", "input_suffix": "cd", "prompt": "e", "n_predict": 8, "temperature": 0)");
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_EQ(asked(0).prompt, (std::vector<TokenId>{258, 'a', 'b', 259, 'c', 'd', 260, 'e'}));
  EXPECT_EQ(asked(0).max_tokens, 8);
  const json::value& body = reply.body;
  EXPECT_EQ(body.at("content"), "x\ny");
  EXPECT_EQ(body.at("stop"), true);
  EXPECT_EQ(body.at("stop_type"), "eos");
  EXPECT_EQ(body.at("has_new_line"), true);
  EXPECT_EQ(body.at("tokens_predicted"), 3);
  EXPECT_EQ(body.at("tokens_evaluated"), 8);
  EXPECT_EQ(body.at("tokens_cached"), 2);
  EXPECT_EQ(body.at("truncated"), false);
  EXPECT_EQ(body.at_pointer("/generation_settings/n_ctx"), 4096);
  EXPECT_EQ(body.at_pointer("/timings/predicted_n"), 3);
  const Reply stopped = infill(R"("input_prefix": "ab", "stop": ["\n"])");
  EXPECT_EQ(stopped.body.at("content"), "x");
  EXPECT_EQ(stopped.body.at("stop_type"), "word");
  EXPECT_EQ(stopped.body.at("stopping_word"), "\n");
  const Reply two = infill(R"("input_prefix": "ab", "n_cmpl": 2)");
  ASSERT_EQ(two.body.as_array().size(), 2u) << two.text;
  EXPECT_EQ(two.body.at(1).at("index"), 1);
  EXPECT_EQ(two.body.at(1).at("tokens_predicted"), 3);
}

TEST_F(InfillTest, AStreamEndsWithTheWholeOfTheFigures) {
  serve_fim("x\nz");
  const Reply reply = infill(R"("input_prefix": "ab", "input_suffix": "cd", "stream": true)");
  std::string content;
  std::vector<json::value> events;
  for (std::size_t at = 0; at < reply.text.size();) {
    const std::size_t end = reply.text.find("\n\n", at);
    const std::string line = reply.text.substr(at, end - at);
    at = end + 2;
    if (line.starts_with("data: ")) events.push_back(base::parse_json(line.substr(6)).value());
  }
  ASSERT_GT(events.size(), 1u) << reply.text;
  for (const json::value& event : events) {
    EXPECT_EQ(event.at("stop"), &event == &events.back());
    content += std::string(event.at("content").as_string());
  }
  EXPECT_EQ(content, "x\nz");
  EXPECT_EQ(events.back().at("has_new_line"), true);
  EXPECT_EQ(events.back().at("tokens_predicted"), 3);
  EXPECT_EQ(events.back().at("stop_type"), "eos");
}

TEST_F(InfillTest, FilesComeFirstAndTheOldestAreLeftOut) {
  serve_fim("x", 128);
  const std::string around = R"("input_prefix": "ab", "input_suffix": "cd", "n_predict": 8, )";
  const Reply all =
      infill(around + R"("input_extra": [{"filename": "a.py", "text": "1"}, {"text": "2", "time": 3}])");
  ASSERT_EQ(all.status, 200) << all.text;
  EXPECT_EQ(prompt(0),
            "<|repo_name|>project\n<|file_sep|>a.py\n1\n<|file_sep|>tmp\n2\n<|file_sep|>filename\n"
            "<|fim_prefix|>ab<|fim_suffix|>cd<|fim_middle|>");
  EXPECT_FALSE(all.body.as_object().contains("warnings"));
  const std::string files = R"("input_extra": [{"filename": "a", "text": "1"}, {"filename": "b", "text": ")" +
                            std::string(100, 'b') + R"("}, {"filename": "c", "text": "3"}])";
  const Reply cut = infill(around + files + R"(, "stop": ["no"])");
  ASSERT_EQ(cut.status, 200) << cut.text;
  EXPECT_EQ(prompt(1).find("<|file_sep|>b\nbbb"), std::string::npos) << prompt(1);
  EXPECT_NE(prompt(1).find("<|file_sep|>c\n3\n<|file_sep|>filename\n<|fim_prefix|>ab"), std::string::npos);
  ASSERT_EQ(cut.body.at("warnings").as_array().size(), 1u) << cut.text;
  EXPECT_NE(cut.headers.at("x-kvasir-warning").find("2 of 3"), std::string::npos);
  // A very large extra text is not even tokenized.
  const Reply huge = infill(around + R"("input_extra": [{"text": ")" + std::string(100'000, 'b') + R"("}])");
  EXPECT_EQ(huge.status, 200);
  EXPECT_EQ(prompt(2), "<|fim_prefix|>ab<|fim_suffix|>cd<|fim_middle|>");
}

TEST_F(InfillTest, AModelWithoutTokensForFilesReadsThemAsText) {
  serve_fim("x", 4096, {kFim.begin(), kFim.begin() + 3});
  ASSERT_EQ(infill(R"("input_prefix": "ab", "input_extra": [{"filename": "a.py", "text": "1"}])").status,
            200);
  EXPECT_EQ(prompt(0), "1\n<|fim_prefix|>ab<|fim_suffix|><|fim_middle|>");
}

TEST_F(InfillTest, WhatEditorsSendIsTaken) {
  serve_fim();
  const Reply reply = infill(
      R"("input_prefix": "ab", "input_suffix": "cd", "input_extra": [], "prompt": "", "n_predict": 4, "top_k": 40,
         "top_p": 0.99, "stream": false, "n_indent": 2, "samplers": ["top_k", "top_p", "infill"],
         "cache_prompt": true, "t_max_prompt_ms": 500, "t_max_predict_ms": 1000, "id_slot": 0, "seed": -1,
         "response_fields": ["content", "timings/prompt_n", "timings/no", "none"])");
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_EQ(reply.text, R"({"content":"xyz","prompt_n":5})");
  for (const char* field : {"samplers", "n_indent", "t_max_prompt_ms", "t_max_predict_ms"})
    EXPECT_NE(reply.headers.at("x-kvasir-warning").find("ignored"), std::string::npos) << field;
  // The prompt is only read in advance.
  const Reply warm = infill(R"("input_extra": [{"text": "1"}], "n_predict": 0)");
  ASSERT_EQ(warm.status, 200) << warm.text;
  EXPECT_EQ(warm.body.at("content"), "");
  EXPECT_EQ(warm.body.at("tokens_predicted"), 0);
  EXPECT_EQ(warm.body.at("stop_type"), "limit");
}

}  // namespace
}  // namespace kvasir::api
