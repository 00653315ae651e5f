#include <sys/eventfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "app/chat_client.h"
#include "app/command.h"
#include "app/server_flags.h"
#include "app/signal_watch.h"
#include "app/top_screen.h"
#include "app/top_view.h"

namespace kvasir::app {

namespace {

constexpr const char* kEvents = "/v1/machine/events";

struct TopFlags {
  ChatClient::Options server;
  bool once = false;
};

// Prints one frame as soon as rates are known.
base::Status print_once(const ChatClient& client) {
  TopView view(client.url());
  std::stop_source enough;
  const base::Status ended = client.follow(
      kEvents,
      [&](std::string_view event) -> base::Status {
        TRY_OK(view.take(event));
        if (view.num_looks() == 2) enough.request_stop();
        return base::ok();
      },
      enough.get_token());
  if (view.num_looks() < 2)
    return ended.ok() ? base::error(base::ErrorCode::unavailable, "the server ended its events") : ended;
  constexpr int kColumns = 200;
  for (const std::string& line : view.frame({.columns = kColumns})) fmt::print("{}\n", line);
  return base::ok();
}

// Wakes a thread that polls the descriptor.
class Bell {
 public:
  Bell() : file_(::eventfd(0, EFD_CLOEXEC)) {}
  ~Bell() { ::close(file_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  int file() const { return file_; }
  void ring() const { (void)::eventfd_write(file_, 1); }
  void hush() const {
    eventfd_t count = 0;
    (void)::eventfd_read(file_, &count);
  }

 private:
  const int file_;
};

// Draws until the user leaves or the server ends the events.
base::Status watch(const ChatClient& client) {
  const Bell changed;  // rung when there is something to draw, or when the watch is over
  std::atomic<bool> interrupted = false;
  const SignalWatch signals({SIGINT, SIGTERM, SIGWINCH}, [&](int signal) {
    if (signal != SIGWINCH) interrupted = true;
    changed.ring();
  });
  std::mutex mutex;
  TopView view(client.url());  // guarded by mutex
  base::Status ended = base::ok();
  std::atomic<bool> over = false;  // set after `ended`
  std::jthread reader([&](const std::stop_token& stop) {
    ended = client.follow(
        kEvents,
        [&](std::string_view event) {
          const std::lock_guard lock(mutex);
          base::Status taken = view.take(event);
          changed.ring();
          return taken;
        },
        stop);
    over = true;
    changed.ring();
  });
  {
    const TopScreen screen;
    while (!interrupted && !over && TopScreen::wait(changed.file())) {
      changed.hush();
      const std::lock_guard lock(mutex);
      TopScreen::draw(view.frame(TopScreen::size()));
    }
  }
  if (!over) return base::ok();
  return ended.ok() ? base::error(base::ErrorCode::unavailable, "the server ended its events") : ended;
}

}  // namespace

void add_top(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("top", "Watch a running server in the terminal");
  command->footer(
      "Twice a second: each model's tokens a second, percentiles of the last 20 s (at first since the "
      "server's\n"
      "start) of the time to the first token and of each further one, goodput, rows a step, KV blocks, the\n"
      "part of prompts from the prefix cache, the queue by priority, and what runs. q quits.\n"
      "A server with keys wants one of the scope admin.\n"
      "\n"
      "Examples:\n"
      "  kvasir top\n"
      "  kvasir top --url https://chat.example:8443 --api-key KEY\n"
      "  kvasir top --once | grep smollm2\n"
      "\n"
      "Exit status: 0 success, 1 no server, or it ended, 2 wrong usage.");
  auto flags = std::make_shared<TopFlags>();
  add_server_flags(*command, flags->server);
  command->add_flag("--once", flags->once,
                    "Print one frame as text and exit; the default without a terminal");
  command->callback([flags, &outcome] {
    const auto client = ChatClient::at(flags->server);
    if (!client.ok()) return report_usage(outcome, client.error());
    const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
    const base::Status ended = flags->once || !terminal ? print_once(*client) : watch(*client);
    if (!ended.ok()) report(outcome, ended.error());
  });
}

}  // namespace kvasir::app
