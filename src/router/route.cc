#include "router/route.h"

#include <fmt/format.h>

namespace kvasir::router {

std::string short_form(const Route& route, std::string_view member) {
  std::string text = fmt::format("member={}; policy={}", member, route.policy);
  if (route.prefill) text += fmt::format("; prefill={}", route.prefill_member);
  if (route.num_members == 1) return text;
  text += fmt::format("; cached={}; load={}; near={}/{}", route.num_cached, route.load, route.num_near,
                      route.num_members);
  if (route.expected_ttft_s > 0) text += fmt::format("; ttft_ms={:.0f}", route.expected_ttft_s * 1e3);
  if (!route.scores.empty()) text += "; scores=" + route.scores;
  return text;
}

}  // namespace kvasir::router
