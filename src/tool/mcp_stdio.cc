#include "tool/mcp_stdio.h"

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <utility>

#include "obs/log.h"

namespace kvasir::tool {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kMaxErrorBytes = 2048;
constexpr int kMaxPendingReads = 32;  // reads of 4 KiB: together twice what a pipe holds
constexpr std::size_t kMaxQueuedBytes = 4 << 20;
// Interval between checks whether a server that was told to end has ended.
constexpr std::chrono::milliseconds kLook{5};
constexpr std::chrono::seconds kWatch{1};

// Returns the last line that is not blank.
std::string last_words(std::string_view text) {
  text = text.substr(0, text.find_last_not_of("\r\n\t ") + 1);
  text = text.substr(text.find_last_of("\r\n") + 1);
  return bounded_text(text.substr(0, 300), 300);
}

}  // namespace

McpStdio::McpStdio(std::string program, std::unique_ptr<ChildProcess> child,
                   const asio::any_io_executor& executor, McpEvents events)
    : program_(std::move(program)),
      executor_(executor),
      child_(std::move(child)),
      events_(std::move(events)),
      watch_(executor) {}

Result<std::shared_ptr<McpStdio>> McpStdio::start(const ChildProcess::Command& command,
                                                  const asio::any_io_executor& executor, McpEvents events) {
  TRY(std::unique_ptr<ChildProcess> child, ChildProcess::start(command, executor));
  std::shared_ptr<McpStdio> transport(
      new McpStdio(command.program, std::move(child), executor, std::move(events)));
  const auto run = [&](auto member) {
    asio::co_spawn(
        executor, [transport, member]() -> asio::awaitable<void> { return (transport.get()->*member)(); },
        asio::detached);
  };
  run(&McpStdio::read_output);
  run(&McpStdio::read_errors);
  run(&McpStdio::watch_child);
  return transport;
}

asio::awaitable<void> McpStdio::read_output() {
  const auto self = shared_from_this();
  std::string line;
  std::array<char, 64 << 10> bytes;
  while (!lost_) {
    const auto [failure, size] = co_await child_->output().async_read_some(asio::buffer(bytes), kAwait);
    if (failure) break;
    std::string_view rest(bytes.data(), size);
    while (!rest.empty() && !lost_) {
      const std::size_t end = rest.find('\n');
      line += rest.substr(0, end);
      rest.remove_prefix(std::min(end, rest.size() - 1) + 1);
      if (line.size() > kMaxMessageBytes) lose("it sent a message that is too long");
      if (end == std::string_view::npos || lost_) continue;
      if (const Status taken = take_line(std::exchange(line, {})); !taken.ok()) lose(taken.error().message);
    }
  }
  lose("its process ended");
}

// Watches the child process itself, since a process that the child started may keep the output open after the
// child has ended.
asio::awaitable<void> McpStdio::watch_child() {
  const auto self = shared_from_this();
  while (!lost_) {
    watch_.expires_after(kWatch);
    boost::system::error_code ignored;
    co_await watch_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (!lost_ && child_->ended()) lose("its process ended");
  }
}

asio::awaitable<void> McpStdio::read_errors() {
  const auto self = shared_from_this();
  std::array<char, 4096> bytes;
  for (;;) {
    const auto [failure, size] = co_await child_->errors().async_read_some(asio::buffer(bytes), kAwait);
    if (failure) co_return;
    note_errors({bytes.data(), size});
  }
}

void McpStdio::note_errors(std::string_view bytes) {
  errors_ += bytes;
  if (errors_.size() > kMaxErrorBytes) errors_.erase(0, errors_.size() - kMaxErrorBytes);
}

// Reads the stderr output that is available. The last of it often arrives together with the end of the
// program.
void McpStdio::read_pending_errors() {
  boost::system::error_code failure;
  child_->errors().non_blocking(true, failure);
  std::array<char, 4096> bytes;
  for (int i = 0; i < kMaxPendingReads && !failure; ++i) {
    const std::size_t size = child_->errors().read_some(asio::buffer(bytes), failure);
    note_errors({bytes.data(), size});
  }
}

Status McpStdio::take_line(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return base::ok();
  auto messages = read_messages(line);
  if (!messages.ok()) return base::error(ErrorCode::corrupt, "it sent what is no message");
  for (json::object& message : *messages) take_message(std::move(message));
  return base::ok();
}

void McpStdio::take_message(json::object message) {
  const json::value* id = message.if_contains("id");
  if (const json::value* method = message.if_contains("method")) {
    if (id != nullptr)
      (void)send(answer_to(message));
    else if (method->is_string() && method->get_string() == "notifications/tools/list_changed")
      events_.tools_changed();
    return;
  }
  if (id == nullptr || !id->is_int64()) return;
  const auto it = waiting_.find(id->get_int64());
  if (it == waiting_.end()) return;  // the request has given up already
  it->second->answer = result_of(std::move(message));
  it->second->wake.cancel();
}

void McpStdio::lose(std::string reason) {
  if (lost_) return;
  read_pending_errors();
  // The program's stderr may contain secrets. It is for the operator, not for clients.
  if (const std::string words = last_words(errors_); !closing_ && !words.empty())
    obs::Log::warn("tool_server_said", {{"program", program_}, {"reason", reason}, {"last_words", words}});
  lost_ = std::move(reason);
  for (const auto& [id, one] : waiting_) one->wake.cancel();
  watch_.cancel();
  boost::system::error_code ignored;
  child_->input().close(ignored);
  child_->output().close(ignored);
  child_->errors().close(ignored);
  events_.lost();
}

Status McpStdio::send(const json::object& message) {
  if (lost_) return base::error(ErrorCode::unavailable, "the tool server is gone: {}", *lost_);
  std::string line = base::json_text(message) + "\n";
  if (num_queued_bytes_ + line.size() > kMaxQueuedBytes)
    return base::error(ErrorCode::exhausted, "the tool server does not read what it is sent");
  num_queued_bytes_ += line.size();
  queued_.push_back(std::move(line));
  if (std::exchange(writing_, true)) return base::ok();
  asio::co_spawn(
      executor_, [self = shared_from_this()]() -> asio::awaitable<void> { return self->write_queued(); },
      asio::detached);
  return base::ok();
}

asio::awaitable<void> McpStdio::write_queued() {
  const auto self = shared_from_this();
  while (!queued_.empty() && !lost_) {
    const auto [failure, size] =
        co_await asio::async_write(child_->input(), asio::buffer(queued_.front()), kAwait);
    if (failure) {
      lose("it closed its input");
      break;
    }
    num_queued_bytes_ -= queued_.front().size();
    queued_.pop_front();
  }
  writing_ = false;
}

asio::awaitable<Result<json::object>> McpStdio::request(std::string_view method, json::object params,
                                                        Lifeline& line) {
  const auto self = shared_from_this();
  const std::int64_t id = next_id_++;
  Waiting waiting(executor_);
  Status sent = send(request_message(id, method, std::move(params)));
  if (!sent.ok()) co_return std::move(sent).error();
  waiting_[id] = &waiting;
  line.on_end([&waiting] { waiting.wake.cancel(); });
  while (!waiting.answer && !lost_ && !line.over()) {
    boost::system::error_code ignored;
    co_await waiting.wake.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  line.on_end({});
  waiting_.erase(id);
  if (waiting.answer) co_return std::move(*waiting.answer);
  if (lost_) co_return base::error(ErrorCode::unavailable, "the tool server is gone: {}", *lost_);
  if (method != "initialize")
    (void)send(notification_message("notifications/cancelled",
                                    {{"requestId", id}, {"reason", line.error().message}}));
  co_return line.error();
}

asio::awaitable<Status> McpStdio::notify(std::string_view method, json::object params, Lifeline&) {
  co_return send(notification_message(method, std::move(params)));
}

asio::awaitable<void> McpStdio::close(Lifeline& line) {
  const auto self = shared_from_this();
  events_ = {};
  closing_ = true;
  lose("it was closed");  // closing its input tells it to end
  asio::steady_timer look(executor_);
  while (!child_->ended() && !line.over()) {
    look.expires_after(kLook);
    boost::system::error_code ignored;
    co_await look.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

}  // namespace kvasir::tool
