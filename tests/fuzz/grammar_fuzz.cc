// Compiles arbitrary grammars. Compiling must never crash, hang or grow without bound, a mask must never
// contain a token that the matcher refuses, and texts of a JSON schema must be JSON.
#include <cstdlib>
#include <memory>
#include <string>

#include "base/json.h"
#include "grammar/grammar_compiler.h"
#include "grammar/matcher.h"
#include "grammar/tool_calls.h"

namespace {

using namespace kvasir::grammar;

std::shared_ptr<const TokenTrie> make_trie() {
  TokenTrie::Vocabulary vocabulary;
  for (int b = 0; b < 256; ++b) vocabulary.token_bytes.emplace_back(1, static_cast<char>(b));
  vocabulary.end = {256};
  vocabulary.token_bytes.emplace_back("</s>");
  for (const char* word :
       {"{\"", "\":", "\",", "\"}", "true", "null", "12", "abc", " a", "\\u00", "\xC3", "é\""})
    vocabulary.token_bytes.emplace_back(word);
  return std::make_shared<const TokenTrie>(std::move(vocabulary));
}

void require(bool condition) {
  if (!condition) std::abort();
}

// Follows tokens that the seed picks from each mask, up to a limit.
void walk(const std::shared_ptr<CompiledGrammar>& grammar, GrammarSource::Kind kind, std::uint32_t seed) {
  Matcher matcher(grammar);
  std::vector<std::uint32_t> bits(matcher.num_mask_words());
  std::string text;
  for (int step = 0; step < 24; ++step) {
    if (!matcher.fill_mask(bits).ok()) return;
    std::vector<kvasir::TokenId> allowed;
    for (std::size_t i = 0; i < grammar->trie().num_tokens(); ++i)
      if (bits[i / 32] >> (i % 32) & 1) allowed.push_back(static_cast<kvasir::TokenId>(i));
    if (allowed.empty()) return;
    seed = seed * 1664525 + 1013904223;
    const kvasir::TokenId token = allowed[(seed >> 8) % allowed.size()];
    const auto accepted = matcher.accept(token);
    if (!accepted.ok()) return;
    require(*accepted);
    if (matcher.is_ended()) break;
    text += grammar->trie().bytes_of(token);
  }
  const bool is_json = kind == GrammarSource::Kind::json_schema || kind == GrammarSource::Kind::json_object ||
                       kind == GrammarSource::Kind::tool_calls;
  if (is_json && matcher.is_complete())
    require(kvasir::base::parse_json("[" + text + "]", {.max_depth = 1000}).ok());
}

// The source of a call whose one argument follows a Lark grammar.
std::string call_with(const std::string& lark) {
  ToolCallGrammar calls;
  calls.text.before_name = "{\"name\": \"";
  calls.text.after_name = "\", \"arguments\": ";
  calls.text.after = "}";
  calls.tools.push_back(
      {.name = "f", .schema = kvasir::base::json::object(), .lark = lark, .lark_argument = "input"});
  return tool_calls_text(calls);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto trie = make_trie();
  if (size < 2) return 0;
  constexpr GrammarSource::Kind kKinds[] = {
      GrammarSource::Kind::json_schema, GrammarSource::Kind::json_schema, GrammarSource::Kind::regex,
      GrammarSource::Kind::ebnf,        GrammarSource::Kind::choice,      GrammarSource::Kind::tool_calls};
  GrammarSource source{.kind = kKinds[data[0] % 6]};
  source.text.assign(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (source.kind == GrammarSource::Kind::tool_calls) source.text = call_with(source.text);
  source.json.max_whitespace = data[1] % 3;
  const auto grammar = grammar_of(source);
  if (!grammar.ok()) return 0;
  const auto compiled = CompiledGrammar::create(*grammar, trie);
  if (!compiled.ok()) return 0;
  for (std::uint32_t seed = 0; seed < 3; ++seed) walk(*compiled, source.kind, seed + data[1]);
  return 0;
}
