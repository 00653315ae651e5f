#include <utility>

#include "api/chat_request.h"
#include "api/endpoints.h"
#include "api/prepare.h"
#include "api/respond.h"

namespace kvasir::api {

using base::Result;

namespace {

Result<PreparedRequest> prepare(Service& service, std::string_view body) {
  TRY(json::object object, parse_object(body, service.options.max_json_depth));
  TRY(ChatRequest request, read_chat_request(std::move(object)));
  TRY(router::Lease lease, service.router.pick(request.params.model));
  TRY(std::vector<TokenId> tokens, encode_chat(lease.model(), request));
  if (const auto& stops = lease.model().chat_template->stops(); !request.params.ignore_eos)
    request.params.stop.insert(request.params.stop.end(), stops.begin(), stops.end());
  TRY(Job job, make_job(std::move(lease), request.params, {std::move(tokens)}, "messages"));
  return PreparedRequest{std::move(request.params), std::move(job)};
}

}  // namespace

boost::asio::awaitable<void> handle_chat(Service& service, Exchange& exchange) {
  return respond(service, exchange, prepare, kChatAnswer);
}

}  // namespace kvasir::api
