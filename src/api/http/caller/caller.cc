#include "api/http/caller/caller.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "api/http/caller/site_guard.h"
#include "api/http/service/route.h"
#include "api/http/service/service.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using store::KeyScope;

namespace {

bool is_bearer(std::string_view scheme) {
  return std::ranges::equal(scheme, std::string_view("bearer"),
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

// Finds the key: OpenAI's clients send "Authorization: Bearer KEY", and Anthropic's "x-api-key: KEY".
std::optional<std::string_view> shown_key(const net::HttpRequest& head) {
  if (const auto given = head.header("authorization")) {
    const std::size_t space = given->find(' ');
    if (space != std::string_view::npos && is_bearer(given->substr(0, space))) {
      const std::size_t begin = given->find_first_not_of(' ', space);
      return begin == std::string_view::npos ? std::string_view() : given->substr(begin);
    }
  }
  return head.header("x-api-key");
}

bool may(KeyScope key, Scope wanted) {
  switch (wanted) {
    case Scope::anyone:
    case Scope::holder:
      return true;
    case Scope::metrics:
      return key == KeyScope::metrics || key == KeyScope::admin;
    case Scope::tenant:
      return key == KeyScope::tenant;
    case Scope::machine:
    case Scope::admin:
      return key == KeyScope::admin;
  }
  return false;
}

Error no_key() {
  return {.code = ErrorCode::unauthenticated,
          .message = "no API key was given; send one as 'Authorization: Bearer KEY' or 'x-api-key: KEY'",
          .reason = "invalid_api_key"};
}

Error wrong_key() {
  return {.code = ErrorCode::unauthenticated,
          .message = "the API key is not known here: it is mistyped, revoked or expired",
          .reason = "invalid_api_key"};
}

Error only_this_machine() {
  return {.code = ErrorCode::forbidden,
          .message = "without keys, only clients on this machine may do this; make an admin key first",
          .reason = "insufficient_scope"};
}

Error wrong_scope(KeyScope key) {
  return {.code = ErrorCode::forbidden,
          .message = fmt::format("the API key has the scope '{}', which does not reach this", name_of(key)),
          .reason = "insufficient_scope"};
}

}  // namespace

Result<tenancy::Caller> caller_of(const tenancy::Directory& directory, const net::HttpRequest& head,
                                  Scope scope) {
  // The address is not known yet while only the head is read.
  const bool is_elsewhere = !head.peer.empty() && !is_loopback(head.peer);
  if (scope == Scope::machine && !directory.needs_key() && is_elsewhere) return only_this_machine();
  if (scope == Scope::anyone || (scope != Scope::admin && !directory.needs_key()))
    return tenancy::anonymous_at(head.peer);
  const std::optional<std::string_view> key = shown_key(head);
  if (!key || key->empty()) return no_key();
  std::optional<tenancy::Directory::Holder> holder = directory.find(*key);
  if (!holder) return wrong_key();
  if (!may(holder->scope, scope)) return wrong_scope(holder->scope);
  return std::move(holder->caller);
}

void set_anonymous_tier(const Service& service, tenancy::Caller& caller) {
  if (!caller.key.empty() || !service.options.anonymous_tier) return;
  if (auto tier = service.options.anonymous_tier()) caller.tier = std::move(tier);
}

Asker make_asker(const Service& service, tenancy::Caller caller, meter::UsageRecord work,
                 std::shared_ptr<RequestTrace> trace) {
  std::string id = work.id;
  RequestMeter::Surroundings around{service.meter, service.metrics, service.clock,
                                    service.options.max_commit_wait, std::move(trace)};
  auto meter = std::make_shared<RequestMeter>(std::move(around), caller, std::move(work));
  return {std::move(caller), std::move(id), std::move(meter)};
}

Asker asker_of(const Service& service, const Exchange& exchange, meter::UsageRecord::Kind kind) {
  meter::UsageRecord work;
  work.kind = kind;
  work.id = exchange.id;
  work.endpoint = exchange.endpoint;
  Asker asker = make_asker(service, exchange.caller, std::move(work), exchange.trace);
  asker.explains_route = exchange.request.header("x-kvasir-explain") == "route";
  return asker;
}

Asker part_of(Asker asker) {
  asker.num_requests = 0;
  return asker;
}

router::Reach reach_of(const tenancy::Caller& caller) {
  return {.models = caller.tier->models, .max_context = caller.tier->max_context};
}

wire::Origin origin_of(const Asker& asker) {
  return {.request_id = asker.request_id,
          .tenant = asker.caller.flow,
          .weight = asker.caller.tier->weight,
          .cache_namespace = asker.caller.flow};
}

}  // namespace kvasir::api
