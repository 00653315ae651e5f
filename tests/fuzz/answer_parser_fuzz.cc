// Parses arbitrary answers that are cut anywhere. The result must not depend on the cuts, no text may be lost
// if no call is found, and the arguments of calls that no grammar enforced must be JSON objects.
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "text/answer/answer_parser.h"

namespace {

using namespace kvasir::text;

void require(bool condition) {
  if (!condition) std::abort();
}

struct Answer {
  std::string content;
  std::string reasoning;
  std::vector<std::pair<std::string, std::string>> calls;
  bool operator==(const Answer&) const = default;
};

void add(Answer& answer, const AnswerPiece& piece) {
  answer.content += piece.content;
  answer.reasoning += piece.reasoning;
  for (const CallPiece& call : piece.calls) {
    if (static_cast<std::size_t>(call.index) == answer.calls.size()) answer.calls.emplace_back(call.name, "");
    require(static_cast<std::size_t>(call.index) + 1 == answer.calls.size());
    answer.calls.back().second += call.arguments;
  }
}

// Cuts after every `stride` characters; 0: does not cut.
Answer parse(const std::string& text, const std::shared_ptr<AnswerSyntax>& syntax, std::size_t stride) {
  AnswerParser parser(syntax);
  Answer answer;
  std::size_t begin = 0;
  std::size_t num_characters = 0;
  for (std::size_t i = 1; stride > 0 && i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80 || ++num_characters % stride != 0) continue;
    add(answer, parser.push(std::string_view(text).substr(begin, i - begin)));
    begin = i;
  }
  add(answer, parser.push(std::string_view(text).substr(begin)));
  add(answer, parser.finish());
  return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  auto syntax = std::make_shared<AnswerSyntax>();
  syntax->syntax = static_cast<ToolSyntax>(data[0] % 5);
  syntax->calls = static_cast<AnswerSyntax::Calls>(data[1] % 4);
  syntax->reasoning = static_cast<AnswerSyntax::Reasoning>(data[2] % 3);
  syntax->tools = {
      {"f", [](const kvasir::base::json::value& arguments) { return arguments.as_object().size() < 2; }},
      {"get_x", {}}};
  std::string text;
  kvasir::base::Utf8Repair repair;
  repair.push({reinterpret_cast<const char*>(data) + 3, size - 3}, text);
  repair.finish(text);
  const Answer whole = parse(text, syntax, 0);
  for (const std::size_t stride : {1, 2, 3, 7}) require(parse(text, syntax, stride) == whole);
  const bool vouched =
      syntax->calls == AnswerSyntax::Calls::required || syntax->calls == AnswerSyntax::Calls::after_trigger;
  for (const auto& [name, arguments] : whole.calls) {
    if (vouched) continue;
    const auto value = kvasir::base::parse_json(arguments);
    require(syntax->find(name) != nullptr && value.ok() && value->is_object());
  }
  if (syntax->calls == AnswerSyntax::Calls::none && syntax->reasoning == AnswerSyntax::Reasoning::none)
    require(whole.content == text);
  return 0;
}
