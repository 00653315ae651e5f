#include "app/chat_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "app/say.h"

namespace kvasir::app {

namespace {

constexpr std::size_t kMaxMessageBytes = 1024 * 1024;

constexpr const char* kHelp =
    "/model [NAME]   list the server's models, or talk to another\n"
    "/system [TEXT]  set the system message, or remove it\n"
    "/clear          forget the conversation so far\n"
    "/exit           leave (or Ctrl-D)\n"
    "Ctrl-C stops an answer. A line that ends with \\ goes on in the next.\n";

void show(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void complain(std::string_view message) {
  std::fflush(stdout);
  say(stderr, "kvasir: {}\n", message);
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

}  // namespace

std::string printable(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); i++) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c1) {
      i++;
    } else if ((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t') {
      kept += text[i];
    }
  }
  return kept;
}

ChatSession::ChatSession(const ChatClient& client, ChatSessionOptions options)
    : client_(client), options_(std::move(options)) {}

bool ChatSession::run() {
  if (options_.terminal)
    show(fmt::format("{} at {}. /help lists the commands, Ctrl-D quits.\n", options_.wish.model,
                     client_.url()));
  while (true) {
    prompt();
    const auto message = read_message();
    if (!message) {
      if (options_.terminal) show("\n");
      break;
    }
    const std::string text = trimmed(*message);
    if (text.empty()) continue;
    if (text[0] == '/') {
      if (obey(text) == Next::leave) break;
    } else {
      answer(*message);
    }
  }
  return !failed_;
}

void ChatSession::interrupt() {
  const std::lock_guard lock(mutex_);
  if (answering_)
    answering_->request_stop();
  else
    show("\n> ");
}

void ChatSession::prompt() const {
  if (options_.terminal) show("> ");
}

std::optional<std::string> ChatSession::read_message() {
  std::string message;
  for (int c = std::cin.get(); c != std::char_traits<char>::eof(); c = std::cin.get()) {
    if (c == '\n' && !message.ends_with('\\')) return message;
    if (c == '\n') message.pop_back();
    if (message.size() == kMaxMessageBytes) {
      complain(fmt::format("a message of over {} bytes is too long; leaving", kMaxMessageBytes));
      failed_ = true;
      return std::nullopt;
    }
    message += static_cast<char>(c);
    if (c == '\n' && options_.terminal) show(". ");
  }
  if (message.empty()) return std::nullopt;
  return message;
}

ChatSession::Next ChatSession::obey(const std::string& command) {
  const std::size_t space = command.find(' ');
  const std::string word = command.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : trimmed(command.substr(space));
  if (word == "/exit" || word == "/quit") return Next::leave;
  if (word == "/help") {
    show(kHelp);
  } else if (word == "/model") {
    if (rest.empty())
      show_models();
    else
      switch_model(rest);
  } else if (word == "/system") {
    options_.system = rest;
    show(rest.empty() ? "no system message\n" : "system message set\n");
  } else if (word == "/clear") {
    history_.clear();
    show("forgotten\n");
  } else {
    complain(fmt::format("there is no command '{}'; /help lists them", printable(word)));
  }
  return Next::go_on;
}

void ChatSession::show_models() {
  const auto models = client_.models({});
  if (!models.ok()) return complain(models.error().message);
  for (const ServedModel& model : *models)
    show(fmt::format("{} {}{}\n", model.id == options_.wish.model ? "*" : " ", printable(model.id),
                     model.ready ? "" : " (not ready yet)"));
}

void ChatSession::switch_model(const std::string& name) {
  const auto models = client_.models({});
  if (!models.ok()) return complain(models.error().message);
  for (const ServedModel& model : *models)
    if (model.id == name) {
      options_.wish.model = name;
      return show(fmt::format("now talking to {}{}\n", name, model.ready ? "" : ", which is not ready yet"));
    }
  complain(fmt::format("the server has no model '{}'; /model lists them", printable(name)));
}

void ChatSession::answer(const std::string& text) {
  std::vector<ChatMessage> messages;
  if (!options_.system.empty()) messages.push_back({"system", options_.system});
  messages.insert(messages.end(), history_.begin(), history_.end());
  messages.push_back({"user", text});
  std::stop_token stop;
  {
    const std::lock_guard lock(mutex_);
    stop = answering_.emplace().get_token();
  }
  std::string said;
  const base::Status status = client_.ask(
      options_.wish, messages,
      [&](std::string_view piece) {
        said += piece;
        show(options_.terminal ? printable(piece) : piece);
      },
      stop);
  {
    const std::lock_guard lock(mutex_);
    answering_.reset();
  }
  if (!said.empty() || status.ok()) show("\n");
  const bool stopped = !status.ok() && status.error().code == base::ErrorCode::cancelled;
  if (stopped && said.empty() && options_.terminal) show("\n");
  failed_ = !status.ok() && !stopped;
  if (failed_) complain(status.error().message);
  // An answer that was stopped becomes part of the history. A failed one does not.
  if (failed_ || said.empty()) return;
  history_.push_back({"user", text});
  history_.push_back({"assistant", said});
}

}  // namespace kvasir::app
