#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/loaded_model.h"

namespace kvasir::verify {

// How a real model compares with a reference that ran in float32 on the same, dequantised weights.
struct ChatCheck {
  // A run of tokens that was fed to both models.
  struct Tokens {
    std::string label;
    bool text_equal = true;  // the rendered template
    bool ids_equal = true;
    int num_tokens = 0;
    int num_equal = 0;         // tokens where the most likely token is the reference's
    int num_missed = 0;        // other tokens where the reference's margin is too large for a difference
    double logprob_error = 0;  // the mean
    double nll = 0;            // the mean
    double reference_nll = 0;
  };
  std::vector<Tokens> chats;
  std::vector<Tokens> texts;

  static constexpr int kMaxTokens = 4096;  // of a golden's sequence
  static constexpr double kMinMargin = 0.3;
  static constexpr double kMaxLogprobError = 0.03;
  static constexpr double kMaxNllError = 0.01;

  double chat_logprob_error() const;  // the mean over the chats' tokens
  // Returns a line for each figure that is over its bound. There are none if the model passed.
  std::vector<std::string> failures() const;
};

// The golden has `chat` (messages, prompt, input_ids, greedy tokens with logprob and margin) and `text`
// (text, ids, logprobs and argmax of each next token).
base::Result<ChatCheck> check_chat(const std::filesystem::path& golden, model::LoadedModel& model,
                                   ops::KvType kv_type);
// As above, for a model on a device, which has its own KV.
base::Result<ChatCheck> check_chat(const std::filesystem::path& golden, model::LoadedDeviceModel& model);

}  // namespace kvasir::verify
