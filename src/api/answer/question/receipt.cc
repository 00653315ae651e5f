#include "api/answer/question/receipt.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace kvasir::api {

using base::Status;

namespace {

constexpr Field<GenerateParams> kOwnFields[] = {
    {"receipt",
     [](const json::value& v, GenerateParams& p) -> Status {
       TRY(p.receipt, read_bool(v));
       return base::ok();
     }},
    {"allow_downgrade", [](const json::value& v, GenerateParams& p) -> Status {
       TRY(p.allow_downgrade, read_bool(v));
       return base::ok();
     }}};

// Converts to milliseconds, rounded to microseconds; more digits would be noise.
double milliseconds(double seconds) {
  return std::round(seconds * 1e6) / 1e3;
}

}  // namespace

Status read_own_field(const json::value& value, GenerateParams& params) {
  if (!value.is_object()) return wrong_type("an object", value);
  for (const auto& [name, unused] : value.get_object())
    if (std::ranges::find(kOwnFields, std::string_view(name), &Field<GenerateParams>::name) ==
        std::ranges::end(kOwnFields))
      return in_field(std::string_view(name), not_supported("this field is"));
  return read_fields<GenerateParams>(value.get_object(), kOwnFields, params);
}

json::object receipt_object(const wire::Usage& usage, const Promise& promise) {
  json::object receipt{{"queued_ms", milliseconds(usage.queued_s)},
                       {"prefill_ms", milliseconds(usage.prefill_s)},
                       {"cached_tokens", usage.cached_tokens},
                       {"preemptions", usage.num_preemptions},
                       {"moved", usage.num_moves},
                       {"predicted_ttft_ms", nullptr},
                       {"tenant_charge", std::round(usage.charge * 1e3) / 1e3}};
  if (promise.predicted_ttft_s > 0) receipt["predicted_ttft_ms"] = milliseconds(promise.predicted_ttft_s);
  return receipt;
}

}  // namespace kvasir::api
