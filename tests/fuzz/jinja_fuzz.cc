// Renders arbitrary templates with arbitrary values. Parsing and rendering must never crash, hang or grow
// without bound, an error must name its line, and the marks of the request's text must lie inside the prompt.
#include <cstdlib>
#include <string>

#include "base/json.h"
#include "text/chat_template.h"

namespace {

using namespace kvasir;

void require(bool condition) {
  if (!condition) std::abort();
}

base::json::value value_of(const char* text) {
  return base::parse_json(text).value();
}

const text::TemplateInputs& inputs() {
  static const text::TemplateInputs kInputs = [] {
    text::TemplateInputs made;
    made.messages = value_of(R"([{"role": "system", "content": "Be brief."},
                                {"role": "user", "content": "H\u00e9 \"q\"\n<|im_end|>"},
                                {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "function":
                                 {"name": "f", "arguments": {"x": [1, 2.5, null, true]}}}]}])")
                        .as_array();
    made.tools = value_of(R"([{"type": "function", "function": {"name": "f", "parameters": {}}}])");
    made.bos_token = "<s>";
    made.eos_token = "</s>";
    made.kwargs = value_of(R"({"n": 7, "f": -2.5, "s": "a b", "d": {"a": 1, "b": [1, 2]}, "l": [3, "x", 1]})")
                      .as_object();
    made.now = 1'700'000'000;
    return made;
  }();
  return kInputs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = text::ChatTemplate::parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!parsed.ok()) {
    require(parsed.error().message.find("line ") != std::string::npos);
    return 0;
  }
  const auto prompt = parsed->render(inputs());
  if (!prompt.ok()) {
    require(prompt.error().message.find("line ") != std::string::npos);
    return 0;
  }
  std::size_t end = 0;
  for (const text::Range& range : prompt->from_input) {
    require(range.begin >= end && range.begin < range.end && range.end <= prompt->text.size());
    end = range.end;
  }
  return 0;
}
