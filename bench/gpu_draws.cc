#include "gpu_draws.h"

#include <memory>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "bench/random.h"
#include "grammar/grammar_compiler.h"

namespace kvasir::bench {

namespace {

// Lines of JSON over a vocabulary of made-up words, digits and marks.
std::shared_ptr<grammar::CompiledGrammar> json_lines(int vocab_size) {
  constexpr std::string_view kMarks = "{}[]\":, \n0123456789abcdefghijklmnopqrstuvwxyz";
  Random random(7);
  grammar::TokenTrie::Vocabulary vocabulary;
  for (const char mark : kMarks) vocabulary.token_bytes.emplace_back(1, mark);
  for (const std::string_view text : {"{\"", "\": ", "}\n", "\":", " \"", "\", \"", "{\"name\": \""})
    vocabulary.token_bytes.emplace_back(text);
  while (static_cast<int>(vocabulary.token_bytes.size()) < vocab_size - 1) {
    std::string word(2 + random.below(9), ' ');
    const bool is_number = random.below(50) == 0;
    for (char& c : word) c = static_cast<char>((is_number ? '0' : 'a') + random.below(is_number ? 10 : 26));
    vocabulary.token_bytes.push_back(std::move(word));
  }
  vocabulary.token_bytes.emplace_back("</s>");
  vocabulary.end = {vocab_size - 1};
  grammar::GrammarCompiler compiler(std::make_shared<const grammar::TokenTrie>(std::move(vocabulary)));
  auto compiled = compiler.compile(
      {.kind = grammar::GrammarSource::Kind::regex,
       .text = R"((?:\{"name": "[a-z]{1,60}", "count": [0-9]{1,9}, "tags": \["[a-z ]*"\]\}\n)+)"});
  CHECK(compiled.ok(), "{}", compiled.error().message);
  return *compiled;
}

}  // namespace

std::vector<DrawKind> draw_kinds(int vocab_size) {
  using wire::GenerateRequest;
  using wire::SamplingParams;
  std::vector<DrawKind> kinds;
  const auto add = [&kinds](std::string name, SamplingParams params) {
    kinds.push_back({std::move(name), [params](GenerateRequest& request, int i) {
                       request.sampling = params;
                       request.sampling.seed = static_cast<std::uint64_t>(i);
                     }});
  };
  add("greedy", {.temperature = 0});
  add("temperature", {});
  add("top-p 0.95", {.top_p = 0.95f});
  add("top-k 40", {.top_k = 40});
  add("min-p 0.05", {.min_p = 0.05f});
  add("temperature 2, top-p 0.95", {.temperature = 2, .top_p = 0.95f});
  add("frequency penalty", {.temperature = 0, .frequency_penalty = 0.5f});
  add("repetition penalty, top-p", {.top_p = 0.95f, .repetition_penalty = 1.1f});
  add("logit bias", {.temperature = 0, .logit_bias = {{100, 2.0f}, {200, -2.0f}, {300, -100.0f}}});
  add("5 logprobs", {.temperature = 0, .logprobs = true, .num_top_logprobs = 5});
  add("20 logprobs, top-p", {.top_p = 0.95f, .logprobs = true, .num_top_logprobs = 20});
  const std::shared_ptr<grammar::CompiledGrammar> grammar = json_lines(vocab_size);
  kinds.push_back({"grammar", [grammar](GenerateRequest& request, int) {
                     request.sampling.temperature = 0;
                     request.grammar = grammar;
                     request.min_tokens = request.max_tokens;
                   }});
  const std::vector<DrawKind> single = kinds;
  kinds.push_back({"one in 16 with a penalty", [single](GenerateRequest& request, int i) {
                     single[i % 16 == 0 ? 6 : 0].ask(request, i);
                   }});
  kinds.push_back({"all kinds mixed", [single](GenerateRequest& request, int i) {
                     single[static_cast<std::size_t>(i) % single.size()].ask(request, i);
                   }});
  return kinds;
}

}  // namespace kvasir::bench
