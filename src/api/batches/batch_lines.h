#pragma once

#include <string>
#include <vector>

#include "api/http/fields.h"
#include "store/batches.h"

namespace kvasir::api {

inline constexpr int kMaxBatchLines = 50'000;

// The requests of a batch's input file, or what is wrong with it, line by line.
struct BatchInput {
  std::vector<store::BatchLine> lines;
  json::array errors;  // {code, message, param, line}; the first hundred
};
BatchInput read_batch_input(const std::string& contents, const std::string& endpoint);

// Endpoints that a batch may ask.
bool is_batch_endpoint(std::string_view path);

json::object batch_object(const store::Batch& batch);

}  // namespace kvasir::api
