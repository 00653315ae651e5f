#include <memory>
#include <stop_token>
#include <utility>

#include "api/chat_request.h"
#include "api/endpoints.h"
#include "api/prepare.h"
#include "api/respond.h"

namespace kvasir::api {

using base::Result;

namespace {

Result<ReadRequest> read(Service& service, std::string_view body) {
  TRY(json::object object, parse_object(body, service.options.max_json_depth));
  TRY(ChatRequest parsed, read_chat_request(std::move(object)));
  TRY(router::Lease picked, service.router.pick(parsed.params.model));
  if (const auto& stops = picked.model().chat_template->stops(); !parsed.params.ignore_eos)
    parsed.params.stop.insert(parsed.params.stop.end(), stops.begin(), stops.end());
  GenerateParams params = parsed.params;
  auto request = std::make_shared<const ChatRequest>(std::move(parsed));
  auto lease = std::make_shared<router::Lease>(std::move(picked));
  auto encode = [request, lease](const std::stop_token& stop) -> Result<Job> {
    TRY(std::vector<TokenId> tokens, encode_chat(lease->model(), *request, stop));
    return make_job(std::move(*lease), request->params, {std::move(tokens)}, "messages");
  };
  ReadRequest read{std::move(params), std::move(encode)};
  read.compiles = has_to_compile(lease->model(), read.params);
  return read;
}

}  // namespace

boost::asio::awaitable<void> handle_chat(Service& service, Exchange& exchange) {
  return respond(service, exchange, read, kChatAnswer);
}

}  // namespace kvasir::api
