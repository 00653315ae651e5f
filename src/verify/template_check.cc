#include "verify/template_check.h"

#include <optional>
#include <utility>

#include "base/utf8.h"
#include "model/file/text_file.h"
#include "verify/golden_json.h"

namespace kvasir::verify {

namespace json = base::json;

namespace {

constexpr std::size_t kMaxFailures = 20;

std::string shortened(std::string_view text) {
  constexpr std::size_t kWidth = 80;
  const bool whole = text.size() <= kWidth;
  text = text.substr(0, base::utf8_valid_prefix(text.substr(0, kWidth)));
  return json::serialize(json::string(text)) + (whole ? "" : "...");
}

// Returns an empty string if both renderings are equal.
std::string compare(const base::Result<text::Prompt>& own, const json::value& chat) {
  const json::value* expected = chat.as_object().if_contains("rendered");
  if (expected == nullptr || !expected->is_string())
    return own.ok() ? fmt::format("renders {}, and must not", shortened(own->text)) : "";
  if (!own.ok()) return own.error().message;
  return text_difference(own->text, std::string(expected->get_string()));
}

base::Status check_template(const json::value& golden, TemplateCheck& result) {
  TRY(const std::string source, golden_string(golden, "source"));
  TRY(const std::string bos, golden_string(golden, "bos_token"));
  TRY(const std::string eos, golden_string(golden, "eos_token"));
  TRY(const json::array* chats, golden_array(golden, "chats"));
  ++result.num_templates;
  const auto parsed = text::ChatTemplate::parse(source);
  for (const json::value& chat : *chats) {
    TRY(text::TemplateInputs inputs, read_template_inputs(chat));
    inputs.bos_token = bos;
    inputs.eos_token = eos;
    ++result.num_renderings;
    const auto rendered = parsed.ok() ? parsed->render(inputs) : base::Result<text::Prompt>(parsed.error());
    const std::string difference = compare(rendered, chat);
    if (difference.empty()) continue;
    ++result.num_missed;
    if (result.failures.size() < kMaxFailures)
      result.failures.push_back(fmt::format("{}: {}", shortened(source), difference));
  }
  return base::ok();
}

}  // namespace

std::string text_difference(const std::string& own, const std::string& reference) {
  if (own == reference) return "";
  std::size_t at = 0;
  while (at < own.size() && at < reference.size() && own[at] == reference[at]) ++at;
  std::size_t begin = at < 3 ? 0 : at - 3;
  while (begin > 0 && (static_cast<unsigned char>(own[begin]) & 0xC0) == 0x80) --begin;
  return fmt::format("differs from byte {}: {} | {}", at, shortened(own.substr(begin)),
                     shortened(reference.substr(begin)));
}

base::Result<text::TemplateInputs> read_template_inputs(const json::value& chat) {
  TRY(const json::array* messages, golden_array(chat, "conversation"));
  const json::object& row = chat.as_object();
  text::TemplateInputs inputs;
  inputs.messages = *messages;
  if (const auto* tools = row.if_contains("tools")) inputs.tools = *tools;
  if (const auto* add = row.if_contains("add_generation_prompt"))
    inputs.add_generation_prompt = add->is_bool() && add->get_bool();
  if (const auto* kwargs = row.if_contains("kwargs"); kwargs != nullptr && kwargs->is_object())
    inputs.kwargs = kwargs->get_object();
  if (const auto* now = row.if_contains("now"); now != nullptr && now->is_int64())
    inputs.now = now->get_int64();
  return inputs;
}

base::Result<TemplateCheck> check_templates(const std::filesystem::path& golden) {
  TRY(const json::object file, model::read_json_file(golden));
  const json::value value(file);
  TRY(const json::array* templates, golden_array(value, "templates"));
  TemplateCheck result;
  for (const json::value& row : *templates) TRY_OK(check_template(row, result));
  return result;
}

}  // namespace kvasir::verify
