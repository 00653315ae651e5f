#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wire/generate_request.h"

namespace kvasir::router {

// Why a request went to its member.
struct Route {
  std::string_view policy = "only";  // the policy that decided; "only": there was one member
  int num_members = 1;               // members that could get the request
  int num_near = 1;                  // members about as good as the best
  int num_cached = 0;                // tokens of the prompt that the member holds, as far as it has reported
  int load = 0;                      // requests on the member, before this one
  double expected_ttft_s = 0;        // 0: not known
  // The other member that computes the prompt's KV, and its address; empty: the member computes it itself.
  std::string prefill_member = {};
  std::optional<wire::PrefillElsewhere> prefill = std::nullopt;
  std::string scores = {};  // of the members that were weighed; empty unless the demand asks
};

// For a header: member=w2; policy=cache; cached=512; load=3; ttft_ms=41; near=2/4; scores=...
std::string short_form(const Route& route, std::string_view member);

}  // namespace kvasir::router
