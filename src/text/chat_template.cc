#include "text/chat_template.h"

#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/parser.h"

namespace kvasir::text {
namespace {

using base::Result;

// ChatML as most models that were trained on it write it; no system message is made up.
constexpr const char* kChatMl =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

// What a model that was never trained to chat continues as a conversation.
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

constexpr std::size_t kMaxErrorBytes = 1000;

// A template may say anything in its exceptions.
base::Error bounded(const base::Error& error) {
  const std::string_view message = error.message;
  const std::size_t size = base::utf8_valid_prefix(message.substr(0, kMaxErrorBytes));
  const bool whole = message.size() <= kMaxErrorBytes;
  return base::error(error.code, "chat template: {}{}", whole ? message : message.substr(0, size),
                     whole ? "" : "...");
}

}  // namespace

ChatTemplate::ChatTemplate(std::shared_ptr<const jinja::Template> parsed) : parsed_(std::move(parsed)) {}

Result<ChatTemplate> ChatTemplate::parse(std::string source) {
  auto parsed = jinja::parse(source);
  if (!parsed.ok()) return bounded(parsed.error());
  return ChatTemplate(std::make_shared<const jinja::Template>(std::move(parsed).value()));
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
  TRY(auto variables, variables_of(inputs));
  jinja::Evaluator evaluator(inputs.now.value_or(std::time(nullptr)), std::move(variables));
  auto prompt = evaluator.render(*parsed_);
  if (!prompt.ok()) return bounded(prompt.error());
  return prompt;
}

}  // namespace kvasir::text
