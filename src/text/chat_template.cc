#include "text/chat_template.h"

#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/parser.h"

namespace kvasir::text {
namespace {

using base::Result;

// ChatML as most models that were trained on it write it. The template adds no system message of its own.
constexpr const char* kChatMl =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

// A conversation in plain words, for a model that was not trained to chat.
constexpr const char* kDialogue =
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{{ message['role'] | capitalize + ': ' + message['content'] + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}";

Result<std::unordered_map<std::string, jinja::Value>> variables_of(const TemplateInputs& inputs) {
  std::unordered_map<std::string, jinja::Value> variables;
  for (const auto& entry : inputs.kwargs) {
    TRY(variables[std::string(entry.key())], jinja::from_json(entry.value()));
  }
  std::vector<jinja::Value> messages;
  messages.reserve(inputs.messages.size());
  for (const auto& message : inputs.messages) {
    TRY(messages.emplace_back(), jinja::from_json(message));
  }
  variables["messages"] = jinja::Value::list(std::move(messages));
  TRY(variables["tools"], jinja::from_json(inputs.tools));
  variables["add_generation_prompt"] = jinja::Value(inputs.add_generation_prompt);
  variables["bos_token"] = jinja::Value::literal(inputs.bos_token);
  variables["eos_token"] = jinja::Value::literal(inputs.eos_token);
  return variables;
}

Result<Prompt> render_within(jinja::Budget budget, const jinja::Template& parsed,
                             const TemplateInputs& inputs) {
  TRY(auto variables, variables_of(inputs));
  jinja::Evaluator evaluator(inputs.now.value_or(std::time(nullptr)), std::move(variables), budget);
  return evaluator.render(parsed);
}

// Renders the messages with a small budget, since slow templates must not delay the load. Empty if that
// fails.
std::string tried(const jinja::Template& parsed, base::json::array messages) {
  const auto prompt = render_within(jinja::Budget(100'000, 4 << 20), parsed,
                                    {.messages = std::move(messages), .now = std::time_t{0}});
  return prompt.ok() ? prompt->text : std::string();
}

bool shows_both(const std::string& text) {
  return text.find("kvasir-one") != std::string::npos && text.find("kvasir-two") != std::string::npos;
}

base::json::object user_message(base::json::value content) {
  return {{"role", "user"}, {"content", std::move(content)}};
}

ContentShape content_shape_of(const jinja::Template& parsed) {
  const base::json::array parts = {{{"type", "text"}, {"text", "kvasir-one"}},
                                   {{"type", "text"}, {"text", "kvasir-two"}}};
  const std::string of_parts = tried(parsed, {user_message(parts)});
  // If the template printed the list itself, the text of a part's "type" key shows up.
  const bool printed =
      of_parts.find("'type'") != std::string::npos || of_parts.find("\"type\"") != std::string::npos;
  if (!shows_both(of_parts) || printed) return ContentShape::text;
  const bool takes_text = shows_both(tried(parsed, {user_message("kvasir-one kvasir-two")}));
  return takes_text ? ContentShape::either : ContentShape::parts;
}

// Whether the template shows a call of an earlier turn.
bool shows_calls(const jinja::Template& parsed, const MessageShape& shape) {
  const base::json::object arguments = {{"a", "kvasir-two"}};
  base::json::object function = {{"name", "kvasir-one"}, {"arguments", arguments}};
  if (shape.arguments_as_text) function["arguments"] = base::json_text(arguments);
  base::json::object call = {{"id", "call00001"}, {"type", "function"}, {"function", std::move(function)}};
  base::json::object message = {{"role", "assistant"}, {"content", ""}};
  if (shape.calls_without_content) message["content"] = nullptr;
  message["tool_calls"] = base::json::array{std::move(call)};
  const base::json::object result = {{"role", "tool"}, {"tool_call_id", "call00001"}, {"content", ""}};
  return shows_both(tried(parsed, {user_message(""), std::move(message), result}));
}

MessageShape shape_of(const jinja::Template& parsed) {
  const MessageShape shape{.content = content_shape_of(parsed)};
  for (const auto& [without_content, as_text] :
       {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
    MessageShape other = shape;
    other.calls_without_content = without_content;
    other.arguments_as_text = as_text;
    if (shows_calls(parsed, other)) return other;
  }
  return shape;
}

constexpr std::size_t kMaxErrorBytes = 1000;

// Truncates the error's message, since a template may raise any text.
base::Error bounded(const base::Error& error) {
  const std::string_view message = error.message;
  const std::size_t size = base::utf8_valid_prefix(message.substr(0, kMaxErrorBytes));
  const bool whole = message.size() <= kMaxErrorBytes;
  base::Error told = base::error(error.code, "chat template: {}{}", whole ? message : message.substr(0, size),
                                 whole ? "" : "...");
  told.reason = error.reason;
  return told;
}

}  // namespace

ChatTemplate::ChatTemplate(std::string source, std::shared_ptr<const jinja::Template> parsed)
    : source_(std::make_shared<const std::string>(std::move(source))), parsed_(std::move(parsed)) {}

Result<ChatTemplate> ChatTemplate::parse(std::string source) {
  auto parsed = jinja::parse(source);
  if (!parsed.ok()) return bounded(parsed.error());
  ChatTemplate made(std::move(source), std::make_shared<const jinja::Template>(std::move(parsed).value()));
  made.message_shape_ = shape_of(*made.parsed_);
  return made;
}

const ChatTemplate& ChatTemplate::chatml() {
  static const ChatTemplate kTemplate = parse(kChatMl).value();
  return kTemplate;
}

const ChatTemplate& ChatTemplate::dialogue() {
  static const ChatTemplate kTemplate = [] {
    ChatTemplate dialogue = parse(kDialogue).value();
    dialogue.stops_ = {"\nUser:", "\nSystem:", "\nAssistant:"};
    return dialogue;
  }();
  return kTemplate;
}

Result<Prompt> ChatTemplate::render(const TemplateInputs& inputs) const {
  auto prompt = render_within({}, *parsed_, inputs);
  if (!prompt.ok()) return bounded(prompt.error());
  return prompt;
}

}  // namespace kvasir::text
