#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/tokenizer/prompt.h"

namespace kvasir::text {

namespace jinja {
struct Template;
}

// The input of a chat template. Every text except the token strings counts as the client's input.
struct TemplateInputs {
  base::json::array messages;  // OpenAI's shape: role, content, tool_calls, …
  base::json::value tools;     // an array, or null
  bool add_generation_prompt = true;
  std::string bos_token;
  std::string eos_token;
  base::json::object kwargs;       // extra variables by name, such as enable_thinking
  std::optional<std::time_t> now;  // for strftime_now; the current time if unset
};

// The form in which a template takes a message's content: a string, a list of parts ({"type": "text", …}), or
// either.
enum class ContentShape : std::uint8_t { text, parts, either };

// The form of messages that a template takes, determined when it is loaded. If the template takes several
// forms, messages keep the form that OpenAI's clients send, and a call's arguments are JSON.
struct MessageShape {
  ContentShape content = ContentShape::text;
  bool calls_without_content = false;  // calls are shown only if the content is none instead of ""
  bool arguments_as_text = false;      // a call's arguments are a string of JSON
};

// A model's Jinja template, parsed once. Immutable and cheap to copy; any thread may render. Rendering has
// limits on steps, bytes and depth, so no template and no input can hang or exhaust a server.
// The dialect is Jinja2 as Hugging Face's transformers configures it: blocks are trimmed, `tojson` does not
// escape, and loop controls, `generation` blocks, raise_exception and strftime_now exist.
class ChatTemplate {
 public:
  // Parses a template. An error names the line.
  static base::Result<ChatTemplate> parse(std::string source);
  // The templates for models whose file has none. `chatml` is for models with ChatML's tokens in their
  // vocabulary. `dialogue` is for all others: plain words after bos_token.
  static const ChatTemplate& chatml();
  static const ChatTemplate& dialogue();

  const MessageShape& message_shape() const { return message_shape_; }
  const std::string& source() const { return *source_; }

  // Texts that begin another speaker's turn: an answer ends before them. Empty if a token ends the template's
  // answers.
  const std::vector<std::string>& stops() const { return stops_; }

  // Renders the prompt. Fails with `invalid_argument` if the template raised an exception or does not accept
  // these messages.
  base::Result<Prompt> render(const TemplateInputs& inputs) const;

 private:
  ChatTemplate(std::string source, std::shared_ptr<const jinja::Template> parsed);

  std::shared_ptr<const std::string> source_;
  std::shared_ptr<const jinja::Template> parsed_;
  std::vector<std::string> stops_;
  MessageShape message_shape_;
};

}  // namespace kvasir::text
