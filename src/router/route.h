#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wire/generate_request.h"

namespace kvasir::router {

// Why a request went where it went.
struct Route {
  std::string_view policy = "only";  // how it was decided; "only": there was one member
  int num_members = 1;               // that could have it
  int num_near = 1;                  // that were about as good as the best
  int num_cached = 0;                // tokens of the prompt that the member holds, as far as it has told
  int load = 0;                      // requests on the member, before this one
  double expected_ttft_s = 0;        // 0: not known
  // The member that computes the prompt's KV for it, and where that is; empty: it does so by itself.
  std::string prefill_member = {};
  std::optional<wire::PrefillElsewhere> prefill = std::nullopt;
  std::string scores = {};  // of the members that were weighed; empty unless the demand asks
};

// For a header: member=w2; policy=cache; cached=512; load=3; ttft_ms=41; near=2/4; scores=...
std::string short_form(const Route& route, std::string_view member);

}  // namespace kvasir::router
