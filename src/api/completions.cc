#include <utility>

#include "api/completion_request.h"
#include "api/endpoints.h"
#include "api/prepare.h"
#include "api/respond.h"

namespace kvasir::api {

using base::Result;

namespace {

Result<PreparedRequest> prepare(Service& service, std::string_view body) {
  TRY(json::object object, parse_object(body, service.options.max_json_depth));
  TRY(CompletionRequest request, read_completion_request(std::move(object)));
  TRY(router::Lease lease, service.router.pick(request.params.model));
  std::vector<std::vector<TokenId>> prompts;
  for (const TextOrTokens& prompt : request.prompts) {
    TRY(std::vector<TokenId> tokens, encode_prompt(lease.model(), prompt));
    prompts.push_back(std::move(tokens));
  }
  TRY(Job job, make_job(std::move(lease), request.params, prompts, "prompt"));
  return PreparedRequest{std::move(request.params), std::move(job)};
}

}  // namespace

boost::asio::awaitable<void> handle_completions(Service& service, Exchange& exchange) {
  return respond(service, exchange, prepare, kCompletionAnswer);
}

}  // namespace kvasir::api
