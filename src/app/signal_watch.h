#pragma once

#include <signal.h>

#include <functional>
#include <initializer_list>
#include <thread>

namespace kvasir::app {

// Handles signals in its own thread, where a handler may do anything. Create it before other threads, so that
// they inherit the blocked signals. SIGHUP stays ignored if it already is: nohup starts processes that way so
// that they outlive their terminal.
class SignalWatch {
 public:
  SignalWatch(std::initializer_list<int> signals, std::function<void(int)> on_signal);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  sigset_t watched_;
  sigset_t before_;
  std::jthread thread_;
};

}  // namespace kvasir::app
