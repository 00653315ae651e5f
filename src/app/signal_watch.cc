#include "app/signal_watch.h"

#include <ctime>

namespace kvasir::app {

namespace {

// Must be called before the signal is blocked: a blocked signal is queued for sigwait even if it is ignored.
bool is_ignored(int signal) {
  struct sigaction now = {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

SignalWatch::SignalWatch(std::initializer_list<int> signals, std::function<void(int)> on_signal) {
  ::sigemptyset(&watched_);
  for (const int signal : signals)
    if (signal != SIGHUP || !is_ignored(signal)) ::sigaddset(&watched_, signal);
  ::pthread_sigmask(SIG_BLOCK, &watched_, &before_);
  thread_ = std::jthread([this, on_signal = std::move(on_signal)](const std::stop_token& stop) {
    constexpr timespec kLookUp{.tv_sec = 0, .tv_nsec = 50'000'000};
    while (!stop.stop_requested())
      if (const int signal = ::sigtimedwait(&watched_, nullptr, &kLookUp); signal > 0) on_signal(signal);
  });
}

SignalWatch::~SignalWatch() {
  thread_.request_stop();
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace kvasir::app
