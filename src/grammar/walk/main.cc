// Walks grammars at random, for tests and the benchmark. Reads one JSON object per line and answers with one:
//   {"kind": "json_schema", "source": ..., "seed": 1, "walks": 10, "max_tokens": 300}  →  {"texts": [...]}
//   {"kind": ..., "source": ..., "tokens": [...], "masks": "FILE"}  →  {"mask_ns": [...], ...}, and one mask
//   per token in FILE
// With an argument, the vocabulary is read from that file (JSON: {"tokens": [hex...], "special": [], "end":
// []}). Otherwise it is a small synthetic one.
#include <fmt/format.h>
#include <time.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include "base/json.h"
#include "grammar/char_encoding.h"
#include "grammar/grammar_compiler.h"
#include "grammar/matcher.h"

namespace kvasir::grammar {
namespace {

namespace json = base::json;

// This thread's time on a processor, so that other programs on the machine do not count.
struct Clock {
  using time_point = std::chrono::nanoseconds;
  static time_point now() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
};

// Every byte, pieces of JSON, words, digits, and characters of all lengths, whole and cut.
TokenTrie::Vocabulary synthetic_vocabulary() {
  TokenTrie::Vocabulary v;
  for (int b = 0; b < 256; ++b) v.token_bytes.emplace_back(1, static_cast<char>(b));
  for (const char* piece :
       {"{\"",    "\":", "\": ", "\",",     "\", \"",  "\"}",     "\"]",  "},",    "],",
        "[]",     "{}",  "[[",   "]]",      "}}",      ": ",      ", ",   ",\n",   "\n  ",
        "\n    ", "  ",  "true", "false",   "null",    "\\n",     "\\\"", "\\u",   "\\u00",
        "\\\\",   "0.",  "1.",   "-1",      "e1",      "E+",      "\"\"", "\":\"", "\":{\"",
        "\":[",   "\"a", " \"",  "\"},{\"", "\\ud83d", "\\ude00", "00",   "-0",    ".0"}) {
    v.token_bytes.emplace_back(piece);
  }
  std::mt19937 rng(20240607);
  const std::string letters = "etaoinshrdlucmfwypvbgkjqxz";
  for (int i = 0; i < 2500; ++i) {
    std::string word = rng() % 3 == 0 ? " " : "";
    for (std::uint32_t n = 1 + rng() % 8; n > 0; --n) word += letters[rng() % (1 + rng() % letters.size())];
    if (rng() % 12 == 0) word += "\"";
    if (rng() % 12 == 0) word[0] = static_cast<char>(word[0] & ~0x20);
    v.token_bytes.push_back(word);
  }
  for (int i = 0; i < 600; ++i) v.token_bytes.push_back(std::to_string(rng() % 1000));
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (std::uint32_t n = 1 + rng() % 2; n > 0; --n) {
      const std::uint32_t code = rng() % 4 == 0 ? 0x1F300 + rng() % 600
                                 : rng() % 2    ? 0x400 + rng() % 255
                                                : 0x4E00 + rng() % 5000;
      append_utf8(text, code);
    }
    if (rng() % 3 == 0) text.pop_back();
    if (rng() % 5 == 0) text.erase(0, 1);
    v.token_bytes.push_back(text);
  }
  v.special = {static_cast<TokenId>(v.token_bytes.size())};
  v.token_bytes.emplace_back("<|turn|>");
  v.end = {static_cast<TokenId>(v.token_bytes.size())};
  v.token_bytes.emplace_back("</s>");
  return v;
}

base::Result<TokenTrie::Vocabulary> read_vocabulary(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  TRY(const json::value root, base::parse_json(text.str()));
  TokenTrie::Vocabulary v;
  for (const json::value& token : root.at("tokens").get_array()) {
    const std::string_view hex = token.get_string();
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    }
    v.token_bytes.push_back(std::move(bytes));
  }
  for (const json::value& id : root.at("special").get_array())
    v.special.push_back(static_cast<TokenId>(id.as_int64()));
  for (const json::value& id : root.at("end").get_array())
    v.end.push_back(static_cast<TokenId>(id.as_int64()));
  return v;
}

GrammarSource source_of(const json::object& request) {
  GrammarSource source;
  const std::string_view kind = request.at("kind").as_string();
  using Kind = GrammarSource::Kind;
  source.kind = kind == "json_schema" ? Kind::json_schema
                : kind == "regex"     ? Kind::regex
                : kind == "ebnf"      ? Kind::ebnf
                : kind == "choice"    ? Kind::choice
                                      : Kind::json_object;
  if (const json::value* text = request.if_contains("source")) {
    source.text = text->is_string() && source.kind != Kind::json_schema ? std::string(text->get_string())
                                                                        : json::serialize(*text);
  }
  if (const json::value* blanks = request.if_contains("max_whitespace")) {
    source.json.max_whitespace = static_cast<std::uint32_t>(blanks->as_int64());
  }
  return source;
}

std::vector<TokenId> tokens_of(const std::vector<std::uint32_t>& bits) {
  std::vector<TokenId> ids;
  for (std::size_t w = 0; w < bits.size(); ++w) {
    for (std::uint32_t word = bits[w]; word != 0; word &= word - 1) {
      ids.push_back(static_cast<TokenId>(w * 32 + static_cast<std::size_t>(std::countr_zero(word))));
    }
  }
  return ids;
}

// Picks a token for the walk: any allowed one, but sometimes one that closes something, since texts would
// never end otherwise. Once the walk is long, it picks only those.
TokenId pick(const TokenTrie& trie, const std::vector<TokenId>& allowed, bool hurry, std::mt19937& rng) {
  std::vector<TokenId> closing;
  const std::size_t start = rng() % allowed.size();
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    const TokenId token = allowed[(start + i) % allowed.size()];
    if (trie.is_end(token) && (hurry || rng() % 2 == 0)) return token;
    const std::string_view bytes = trie.bytes_of(token);
    const bool closes =
        !bytes.empty() && bytes.find_first_not_of(hurry ? "\"}]" : "\"}],:") == std::string_view::npos;
    if (closes && bytes != "\"\"") closing.push_back(token);
  }
  if (!closing.empty() && (hurry || rng() % 3 == 0)) return closing[rng() % closing.size()];
  return allowed[start];
}

base::Result<json::value> walk(const std::shared_ptr<CompiledGrammar>& grammar, const json::object& request) {
  const TokenTrie& trie = grammar->trie();
  std::mt19937 rng(static_cast<std::uint32_t>(request.at("seed").as_int64()));
  const std::int64_t max_tokens = request.at("max_tokens").as_int64();
  json::array texts;
  std::int64_t num_unfinished = 0;
  std::vector<std::uint32_t> bits(trie.num_mask_words());
  for (std::int64_t w = request.at("walks").as_int64(); w > 0; --w) {
    Matcher matcher(grammar);
    std::string text;
    for (std::int64_t i = 0; i < 4 * max_tokens && !matcher.is_ended(); ++i) {
      TRY_OK(matcher.fill_mask(bits));
      const std::vector<TokenId> allowed = tokens_of(bits);
      if (allowed.empty()) return base::error(base::ErrorCode::internal, "stuck after {}", text);
      const TokenId token = pick(trie, allowed, i > max_tokens, rng);
      TRY(const bool accepted, matcher.accept(token));
      if (!accepted) return base::error(base::ErrorCode::internal, "token {} refused after {}", token, text);
      if (!matcher.is_ended()) text += trie.bytes_of(token);
    }
    if (!matcher.is_ended()) {
      ++num_unfinished;
      continue;
    }
    if (!decode_utf8(text)) return base::error(base::ErrorCode::internal, "not UTF-8: {}", text);
    texts.emplace_back(text);
  }
  return json::value(json::object{{"texts", texts}, {"unfinished", num_unfinished}});
}

// Follows the given tokens. Reports the time of each mask, and writes the masks to a file for comparison.
base::Result<json::value> follow(const std::shared_ptr<CompiledGrammar>& grammar,
                                 const json::object& request) {
  std::ofstream masks;
  if (const json::value* path = request.if_contains("masks"))
    masks.open(path->as_string().c_str(), std::ios::binary);
  Matcher matcher(grammar);
  std::vector<std::uint32_t> bits(grammar->trie().num_mask_words());
  json::array mask_ns;
  json::array accept_ns;
  const auto nanoseconds = [](std::chrono::nanoseconds d) { return d.count(); };
  for (const json::value& token : request.at("tokens").get_array()) {
    const auto start = Clock::now();
    TRY_OK(matcher.fill_mask(bits));
    const auto filled = Clock::now();
    TRY(const bool accepted, matcher.accept(static_cast<TokenId>(token.as_int64())));
    const auto done = Clock::now();
    if (masks.is_open()) {
      masks.write(reinterpret_cast<const char*>(bits.data()), static_cast<std::streamsize>(bits.size() * 4));
    }
    mask_ns.push_back(nanoseconds(filled - start));
    accept_ns.push_back(nanoseconds(done - filled));
    if (!accepted) break;
  }
  return json::value(
      json::object{{"mask_ns", mask_ns}, {"accept_ns", accept_ns}, {"complete", matcher.is_complete()}});
}

base::Result<json::value> answer(GrammarCompiler& compiler, const std::string& line) {
  TRY(const json::value request, base::parse_json(line));
  const json::object& object = request.get_object();
  const auto start = Clock::now();
  TRY(const auto grammar, compiler.compile(source_of(object)));
  const double compile_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  TRY(json::value result, object.contains("tokens") ? follow(grammar, object) : walk(grammar, object));
  result.get_object()["compile_ms"] = compile_ms;
  result.get_object()["states"] = grammar->automaton().num_states();
  return result;
}

int run(int argc, char** argv) {
  auto vocabulary = argc > 1 ? read_vocabulary(argv[1]) : synthetic_vocabulary();
  if (!vocabulary.ok()) {
    std::cerr << vocabulary.error().message << "\n";
    return 1;
  }
  GrammarCompiler compiler(std::make_shared<const TokenTrie>(std::move(*vocabulary)));
  for (std::string line; std::getline(std::cin, line);) {
    const auto result = answer(compiler, line);
    if (result.ok()) {
      std::cout << json::serialize(*result) << std::endl;
    } else {
      const base::Error& error = result.error();
      const char* code = error.code == base::ErrorCode::unsupported ? "unsupported"
                         : error.code == base::ErrorCode::internal  ? "internal"
                         : error.code == base::ErrorCode::too_large ? "too_large"
                                                                    : "invalid";
      std::cout << json::serialize(
                       json::object{{"error", error.message}, {"code", code}, {"field", error.field}})
                << std::endl;
    }
  }
  return 0;
}

}  // namespace
}  // namespace kvasir::grammar

int main(int argc, char** argv) {
  return kvasir::grammar::run(argc, argv);
}
