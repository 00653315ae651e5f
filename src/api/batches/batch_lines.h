#pragma once

#include <string>
#include <vector>

#include "api/http/json/fields.h"
#include "store/batches.h"

namespace kvasir::api {

inline constexpr int kMaxBatchLines = 50'000;

// The requests in a batch's input file, one per line, or the errors in it.
struct BatchInput {
  std::vector<store::BatchLine> lines;
  json::array errors;  // {code, message, param, line}; the first hundred
};
BatchInput read_batch_input(const std::string& contents, const std::string& endpoint);

// Whether a batch may call this endpoint.
bool is_batch_endpoint(std::string_view path);

json::object batch_object(const store::Batch& batch);

}  // namespace kvasir::api
