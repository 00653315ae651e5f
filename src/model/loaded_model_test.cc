#include "model/loaded_model.h"

#include <gtest/gtest.h>

#include <stop_token>

#include "base/tests_dir_test.h"
#include "model/decoder/sequence_runner.h"
#include "model/golden_gguf.h"

namespace kvasir::model {
namespace {

using base::ErrorCode;

const std::filesystem::path kLlama = std::filesystem::path(base::kTestsDir) / "golden" / "models" / "llama";
constexpr int kVocab = 320;
constexpr TokenId kEnd = 257;
constexpr TokenId kStart = 258;

std::string utf8(int code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
}

// Returns the 256 bytes in GPT-2's spelling, one merge, the control tokens, and unused tokens up to the
// model's size.
std::vector<std::string> make_tokens() {
  std::vector<std::string> tokens;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    tokens.push_back(utf8(printable ? byte : next++));
  }
  tokens.insert(tokens.end(), {"he", "<|im_end|>", "<|im_start|>"});
  while (tokens.size() < kVocab) tokens.push_back(fmt::format("[PAD{}]", tokens.size()));
  return tokens;
}

std::vector<std::int32_t> make_types() {
  std::vector<std::int32_t> types(kVocab, 1);
  for (std::size_t id = kEnd; id < kVocab; ++id) types[id] = id <= kStart ? 3 : 5;
  return types;
}

GgufBuilder gguf() {
  GgufBuilder builder = GoldenGguf(kLlama).build();
  builder.key("general.name", "Tiny Llama")
      .key("tokenizer.ggml.model", "gpt2")
      .key("tokenizer.ggml.pre", "gpt-2")
      .key("tokenizer.ggml.token_type", make_types())
      .key("tokenizer.ggml.merges", std::vector<std::string>{"h e"})
      .key("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(kEnd));
  return builder;
}

base::Result<LoadedModel> open_bytes(const std::string& bytes, ops::ComputePool& pool) {
  const TemporaryDirectory directory;
  return open_model(directory.write("tiny.gguf", bytes), {}, pool);
}

text::Prompt render(const LoadedModel& model, std::string_view question) {
  text::TemplateInputs inputs;
  inputs.messages.push_back(base::json::object{{"role", "user"}, {"content", question}});
  auto prompt = model.chat_template->render(inputs);
  CHECK(prompt.ok(), "{}", prompt.error().message);
  return std::move(*prompt);
}

TEST(LoadedModel, OpensGguf) {
  ops::ComputePool pool(2);
  GgufBuilder builder = gguf();
  builder.key("tokenizer.ggml.tokens", make_tokens())
      .key("tokenizer.chat_template",
           "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}")
      .key("general.sampling.temp", 0.25F);
  auto model = open_bytes(builder.build(), pool);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->name, "Tiny Llama");
  EXPECT_EQ(model->context_length(), 512);
  EXPECT_EQ(model->end_tokens, std::vector<TokenId>{kEnd});
  EXPECT_EQ(model->sampling, wire::SamplingAdvice{.temperature = 0.25F});
  const std::vector<TokenId> tokens = model->tokenizer->encode(render(*model, "he!"));
  EXPECT_EQ(tokens, (std::vector<TokenId>{kStart, 256, '!', kEnd}));

  auto runner = SequenceRunner::create(*model->decoder, ops::KvType::f16, 16);
  ASSERT_TRUE(runner.ok());
  EXPECT_EQ(runner->feed(tokens, 1).size(), static_cast<std::size_t>(kVocab));
}

TEST(LoadedModel, SpeaksChatMlWithoutATemplate) {
  ops::ComputePool pool(1);
  const auto model = open_bytes(gguf().key("tokenizer.ggml.tokens", make_tokens()).build(), pool);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(render(*model, "he").text, "<|im_start|>user\nhe<|im_end|>\n<|im_start|>assistant\n");
}

TEST(LoadedModel, SpeaksPlainlyWithoutChatMlsTokens) {
  ops::ComputePool pool(1);
  std::vector<std::string> tokens = make_tokens();
  tokens[kStart] = "<|other|>";
  const auto model = open_bytes(gguf().key("tokenizer.ggml.tokens", tokens).build(), pool);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(render(*model, "he").text, "User: he\nAssistant:");
}

TEST(LoadedModel, NamesWhatIsWrong) {
  ops::ComputePool pool(1);
  EXPECT_EQ(open_bytes(gguf().build(), pool).error().code, ErrorCode::corrupt);
  std::vector<std::string> tokens = make_tokens();
  const auto broken_template = open_bytes(
      gguf().key("tokenizer.ggml.tokens", tokens).key("tokenizer.chat_template", "{% if %}").build(), pool);
  EXPECT_FALSE(broken_template.ok());
  // The vocabulary has one token more than the list of types and the embedding.
  tokens.push_back("more");
  EXPECT_EQ(open_bytes(gguf().key("tokenizer.ggml.tokens", tokens).build(), pool).error().code,
            ErrorCode::corrupt);
}

std::string tokenizer_json() {
  const std::vector<std::string> tokens = make_tokens();
  base::json::object vocabulary;
  for (int id = 0; id < kEnd; ++id) vocabulary[tokens[static_cast<std::size_t>(id)]] = id;
  base::json::array added;
  for (const TokenId id : {kEnd, kStart})
    added.push_back({{"id", id},
                     {"content", tokens[static_cast<std::size_t>(id)]},
                     {"special", true},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false}});
  const base::json::object byte_level{
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  return base::json::serialize(base::json::object{
      {"added_tokens", added},
      {"pre_tokenizer", byte_level},
      {"decoder", byte_level},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", base::json::array{"h e"}}}}});
}

TEST(LoadedModel, OpensADirectory) {
  ops::ComputePool pool(2);
  const TemporaryDirectory directory;
  for (const char* name : {"config.json", "model.safetensors"})
    std::filesystem::copy(kLlama / name, directory.path() / name);
  EXPECT_EQ(open_model(directory.path(), {}, pool).error().code, ErrorCode::not_found);

  directory.write("tokenizer.json", tokenizer_json());
  directory.write("generation_config.json", R"({"eos_token_id":[257,7,100000],
      "do_sample": true, "temperature": 0.7, "top_k": 20, "top_p": 7, "repetition_penalty": 1.1})");
  directory.write("chat_template.jinja", "{{ messages[0].content }}<|im_end|>");
  const auto model = open_model(directory.path(), {}, pool);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->name, directory.path().filename().string());
  // The end token 2 is from config.json. A number outside the vocabulary is ignored.
  EXPECT_EQ(model->end_tokens, (std::vector<TokenId>{2, 7, kEnd}));
  // Advice that is out of range for a request is ignored, too.
  EXPECT_EQ(model->sampling,
            (wire::SamplingAdvice{.temperature = 0.7F, .top_k = 20, .repetition_penalty = 1.1F}));
  EXPECT_EQ(model->tokenizer->encode(render(*model, "he")), (std::vector<TokenId>{256, kEnd}));

  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(open_model(directory.path(), {.stop = stop.get_token()}, pool).error().code,
            ErrorCode::cancelled);

  directory.write("generation_config.json", "{");
  EXPECT_EQ(open_model(directory.path(), {}, pool).error().code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace kvasir::model
