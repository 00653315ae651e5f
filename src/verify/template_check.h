#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/chat_template.h"

namespace kvasir::verify {

// How chat templates compare with a reference's renderings.
struct TemplateCheck {
  int num_templates = 0;
  int num_renderings = 0;
  int num_missed = 0;
  std::vector<std::string> failures;  // the first failures, one line each
};

// The golden has `templates`: source, bos_token, eos_token and `chats`, each as `read_template_inputs` takes
// it, with `rendered`: null if the reference refuses the template or the conversation.
base::Result<TemplateCheck> check_templates(const std::filesystem::path& golden);

// Reads a golden's chat: its conversation, and optionally tools, add_generation_prompt, kwargs and now. The
// result lacks bos_token and eos_token.
base::Result<text::TemplateInputs> read_template_inputs(const base::json::value& chat);

// Returns in one line what differs between two texts, or an empty string if they are equal.
std::string text_difference(const std::string& own, const std::string& reference);

}  // namespace kvasir::verify
