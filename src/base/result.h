#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace kvasir::base {

// Why an operation on input from outside failed. The API turns it into an HTTP answer; the program turns it
// into an exit status and one line on stderr.
enum class ErrorCode {
  invalid_argument,  // the caller's input is wrong
  not_found,
  unauthenticated,  // the caller is unknown
  forbidden,        // the caller is known but not allowed to do this
  unsupported,      // understood, but not supported by Kvasir
  too_large,        // over a limit that is a setting
  conflict,         // something else changed or holds the record: read it again
  exhausted,        // a queue or a quota is full: try later
  unavailable,      // not ready, draining, or unreachable
  timeout,
  cancelled,
  corrupt,  // a file or a message contradicts itself
  io,
  internal,
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  std::string field = {};    // the field, flag or key that the error is about, if there is one
  std::string reason = {};   // a code for programs that clients' SDKs know, e.g. "model_not_found"
  double retry_after_s = 0;  // when a retry may help; 0: unknown, negative: never
};

template <class... Args>
Error error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::format(format, std::forward<Args>(args)...)};
}

// An Error on the heap. A Result holds one, so that the code of its error path is compiled once, in
// result.cc, and not wherever a Result is returned (5 to 8 % of the code in folders that read files). Empty
// only if moved from.
class BoxedError {
 public:
  explicit BoxedError(const Error& error);
  explicit BoxedError(Error&& error);
  BoxedError(const BoxedError& other);
  BoxedError(BoxedError&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  BoxedError& operator=(BoxedError other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~BoxedError() {
    if (error_ != nullptr) [[unlikely]]
      release();
  }

  const Error& operator*() const { return *error_; }
  Error& operator*() { return *error_; }

 private:
  void release();

  Error* error_;
};

// Both functions abort the program like a CHECK, because the wrong side of a Result was read.
[[noreturn]] void no_value(const Error& error);
[[noreturn]] void no_error();

// A value, or the Error that prevented it. Reading the wrong side is a bug and aborts.
template <class T = std::monostate>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(const Error& error) : state_(std::in_place_index<1>, error) {}
  Result(Error&& error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    if (!ok()) [[unlikely]]
      no_value(error());
    return std::get<0>(state_);
  }
  const T& value() const& {
    if (!ok()) [[unlikely]]
      no_value(error());
    return std::get<0>(state_);
  }
  T&& value() && {
    if (!ok()) [[unlikely]]
      no_value(error());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    if (ok()) [[unlikely]]
      no_error();
    return *std::get<1>(state_);
  }
  Error&& error() && {
    if (ok()) [[unlikely]]
      no_error();
    return std::move(*std::get<1>(state_));
  }

 private:
  std::variant<T, BoxedError> state_;
};

using Status = Result<std::monostate>;
inline Status ok() {
  return std::monostate{};
}

}  // namespace kvasir::base

#define KVASIR_CONCAT_(a, b) a##b
#define KVASIR_CONCAT(a, b) KVASIR_CONCAT_(a, b)

// TRY(auto x, f()): declares x from f()'s value, or returns f()'s error from the enclosing function.
#define TRY(declaration, expression) TRY_(declaration, expression, KVASIR_CONCAT(try_result_, __LINE__))
#define TRY_(declaration, expression, name)       \
  auto name = (expression);                       \
  if (!name.ok()) return std::move(name).error(); \
  declaration = std::move(name).value()

// TRY_OK(f()): returns f()'s error from the enclosing function; drops its value.
#define TRY_OK(expression)                                                                      \
  do {                                                                                          \
    if (auto try_status = (expression); !try_status.ok()) return std::move(try_status).error(); \
  } while (false)
