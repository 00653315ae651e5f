#include "base/result.h"

namespace kvasir::base {

BoxedError::BoxedError(const Error& error) : error_(new Error(error)) {}
BoxedError::BoxedError(Error&& error) : error_(new Error(std::move(error))) {}
BoxedError::BoxedError(const BoxedError& other)
    : error_(other.error_ != nullptr ? new Error(*other.error_) : nullptr) {}

void BoxedError::release() {
  delete error_;
}

void no_value(const Error& error) {
  CHECK(false, "value() of an error: {}", error.message);
}

void no_error() {
  CHECK(false, "error() of a value");
}

}  // namespace kvasir::base
