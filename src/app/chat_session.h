#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/chat_client.h"
#include "base/result.h"

namespace kvasir::app {

struct ChatSessionOptions {
  ChatWish wish;
  std::string system;     // empty: none
  bool terminal = false;  // a person types: show prompts and a banner, drop control characters
};

// A conversation: reads lines, prints answers, and keeps the history. One thread calls `run`; any thread may
// call `interrupt`.
class ChatSession {
 public:
  ChatSession(const ChatClient& client, ChatSessionOptions options);

  // Runs until the end of the input or /exit. False if the last answer failed.
  bool run();

  // For Ctrl-C: stops the current answer, or clears the line that is being typed. Without a terminal it ends
  // the conversation.
  void interrupt();

 private:
  enum class Next { go_on, leave };

  std::optional<std::string> read_message();
  Next obey(const std::string& command);
  void answer(const std::string& text);
  void show_models();
  void switch_model(const std::string& name);
  void prompt() const;

  const ChatClient& client_;
  ChatSessionOptions options_;
  std::vector<ChatMessage> history_;  // without the system message
  bool failed_ = false;

  std::mutex mutex_;
  std::optional<std::stop_source> answering_;  // guarded by mutex_
};

// The text without control characters other than newline and tab.
std::string printable(std::string_view text);

}  // namespace kvasir::app
