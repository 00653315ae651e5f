#include "model/quantize/gguf_tokenizer.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "model/file/text_file.h"
#include "model/tokenizer/tokenizer_file.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::model {

using base::ErrorCode;
using text::TokenType;
namespace json = base::json;

namespace {

// GGUF's names for ways to split a text. The way that cuts the most is first: a vocabulary made with many
// cuts has no token across a cut, so a way with fewer cuts gives the same tokens for most texts.
constexpr std::string_view kSplits[] = {"smollm", "gpt-2",  "qwen2",   "llama-bpe",
                                        "gpt-4o", "tekken", "falcon3", "deepseek-v3"};

// Texts for which different splits give different tokens: runs of digits, contractions, spaces, lines, marks,
// scripts, a decomposed letter, whole words that are tokens.
constexpr std::string_view kProbes[] = {
    "Hello World! I'm here, you're THERE'S and they'll've gone.",
    "1 12 123 1234 12345 3.14159 0x1F 2024-01-02 007",
    "    four spaces\n\n\n three lines \r\n\ttab\t\ttabs   ",
    "int main() { return x->y[i] != 0 ? a++ : --b; } // done\n#define A_B(c) (c) /* … */",
    "naïve café cafe\xCC\x81 ÅNGSTRÖM straße İstanbul",
    "東京都 日本語テスト한국어 русский текст ελληνικά العربية हिन्दी ไทย",
    "🙂🚀👨‍👩‍👧 ½ ² ™ «quoted» “curly” don’t",
    "camelCaseWord HTTPServer iPhone McDonald's eBay's",
};

base::Error fail(std::string_view what) {
  return base::error(ErrorCode::unsupported, "tokenizer.json: {} cannot be written to GGUF", what);
}

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

base::Status place(text::Vocabulary& vocabulary, const json::value& id, std::string_view token,
                   TokenType type) {
  const auto size = static_cast<std::int64_t>(vocabulary.tokens.size());
  if (!id.is_int64() || id.get_int64() < 0 || id.get_int64() >= size)
    return base::error(ErrorCode::corrupt, "tokenizer.json: the model has no token {:?}", token);
  const auto at = static_cast<std::size_t>(id.get_int64());
  vocabulary.tokens[at] = token;
  vocabulary.types[at] = type;
  return base::ok();
}

base::Status add_tokens(const json::object& file, const json::object& vocab, text::Vocabulary& vocabulary) {
  for (const auto& entry : vocab) TRY_OK(place(vocabulary, entry.value(), entry.key(), TokenType::normal));
  const json::value* added = file.if_contains("added_tokens");
  if (added == nullptr || !added->is_array()) return base::ok();
  for (const json::value& item : added->get_array()) {
    const json::object* row = item.if_object();
    const json::value* id = row == nullptr ? nullptr : row->if_contains("id");
    if (id == nullptr) continue;
    const json::value* special = row->if_contains("special");
    const bool is_special = special != nullptr && special->is_bool() && special->get_bool();
    TRY_OK(place(vocabulary, *id, text_of(*row, "content"),
                 is_special ? TokenType::control : TokenType::user_defined));
  }
  return base::ok();
}

// Merges are "a b" in older files and ["a", "b"] in newer ones.
base::Status add_merges(const json::array& merges, text::Vocabulary& vocabulary) {
  for (const json::value& merge : merges) {
    if (const auto* both = merge.if_string()) {
      vocabulary.merges.emplace_back(*both);
      continue;
    }
    const json::array* pair = merge.if_array();
    if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string())
      return fail("a merge that is not two tokens");
    const auto& left = (*pair)[0].get_string();
    const auto& right = (*pair)[1].get_string();
    if (left.find(' ') != json::string::npos || right.find(' ') != json::string::npos)
      return fail("a merge of tokens with spaces");
    vocabulary.merges.push_back(std::string(left) + ' ' + std::string(right));
  }
  return base::ok();
}

base::Result<text::Vocabulary> read_vocabulary_json(const json::object& file, int size) {
  text::Vocabulary vocabulary{.model = "gpt2"};
  const json::value* model = file.if_contains("model");
  const json::object* fields = model == nullptr ? nullptr : model->if_object();
  const json::value* vocab = fields == nullptr ? nullptr : fields->if_contains("vocab");
  const json::value* merges = fields == nullptr ? nullptr : fields->if_contains("merges");
  if (vocab == nullptr || !vocab->is_object() || merges == nullptr || !merges->is_array())
    return fail("anything but BPE");
  for (int id = 0; id < size; ++id) vocabulary.tokens.push_back(fmt::format("[PAD{}]", id));
  vocabulary.types.assign(vocabulary.tokens.size(), TokenType::unused);
  TRY_OK(add_tokens(file, vocab->get_object(), vocabulary));
  TRY_OK(add_merges(merges->get_array(), vocabulary));
  return vocabulary;
}

bool encodes_alike(const text::Tokenizer& a, const text::Tokenizer& b) {
  for (const std::string_view probe : kProbes) {
    if (a.encode(probe, text::Specials::as_text) != b.encode(probe, text::Specials::as_text)) return false;
  }
  return true;
}

base::Status choose_split(const text::Tokenizer& own, text::Vocabulary& vocabulary) {
  for (const std::string_view split : kSplits) {
    vocabulary.pre = split;
    const auto tokenizer = text::Tokenizer::from_vocabulary(vocabulary);
    if (!tokenizer.ok()) return tokenizer.error();
    if (encodes_alike(own, **tokenizer)) return base::ok();
  }
  return fail("the way it splits a text");
}

void write_vocabulary(const text::Vocabulary& vocabulary, GgufWriter& writer) {
  writer.key("tokenizer.ggml.model", vocabulary.model);
  writer.key("tokenizer.ggml.pre", vocabulary.pre);
  writer.key("tokenizer.ggml.tokens", vocabulary.tokens);
  std::vector<std::int32_t> types;
  for (const TokenType type : vocabulary.types) types.push_back(static_cast<std::int32_t>(type));
  writer.key("tokenizer.ggml.token_type", types);
  writer.key("tokenizer.ggml.merges", vocabulary.merges);
  const auto id = [&](std::string_view key, const std::optional<TokenId>& token) {
    if (token) writer.key(key, static_cast<std::uint32_t>(*token));
  };
  id("tokenizer.ggml.bos_token_id", vocabulary.bos);
  id("tokenizer.ggml.eos_token_id", vocabulary.eos);
  id("tokenizer.ggml.padding_token_id", vocabulary.pad);
  writer.key_bool("tokenizer.ggml.add_bos_token", vocabulary.add_bos);
  if (!vocabulary.chat_template.empty()) writer.key("tokenizer.chat_template", vocabulary.chat_template);
}

}  // namespace

base::Result<text::Vocabulary> directory_vocabulary(const std::filesystem::path& directory, int size) {
  TRY(const auto own, read_directory_tokenizer(directory));
  TRY(const json::object file, read_json_file(directory / "tokenizer.json"));
  if (own->size() > size)
    return base::error(ErrorCode::corrupt, "{}: {} tokens for a model of {}", directory.string(), own->size(),
                       size);
  TRY(text::Vocabulary vocabulary, read_vocabulary_json(file, size));
  TRY_OK(choose_split(*own, vocabulary));
  vocabulary.bos = own->bos();
  vocabulary.eos = own->eos();
  vocabulary.pad = own->pad();
  vocabulary.add_bos = own->add_bos();
  TRY(vocabulary.chat_template, read_text_if_there(directory / "chat_template.jinja"));
  if (vocabulary.chat_template.empty()) vocabulary.chat_template = own->chat_template();
  return vocabulary;
}

base::Status write_gguf_tokenizer(const std::filesystem::path& directory, int size, GgufWriter& writer) {
  std::error_code ignored;
  if (!std::filesystem::exists(directory / "tokenizer.json", ignored)) {
    writer.key("tokenizer.ggml.model", "no_vocab");
    return base::ok();
  }
  TRY(const text::Vocabulary vocabulary, directory_vocabulary(directory, size));
  write_vocabulary(vocabulary, writer);
  return base::ok();
}

}  // namespace kvasir::model
