#include <memory>
#include <stop_token>
#include <utility>

#include "api/completion_request.h"
#include "api/endpoints.h"
#include "api/prepare.h"
#include "api/read_body.h"
#include "api/respond.h"

namespace kvasir::api {

using base::Result;

namespace {

// A prompt that came as tokens is shown as their text.
std::shared_ptr<const EchoedPrompt> make_echo(const text::Tokenizer& tokenizer,
                                              const CompletionRequest& request, std::size_t i,
                                              const std::vector<TokenId>& tokens) {
  auto echo = std::make_shared<EchoedPrompt>();
  const auto* text = std::get_if<std::string>(&request.prompts[i]);
  echo->text = text != nullptr ? *text : tokenizer.decode(tokens);
  echo->first_token = tokens.empty() ? 0 : tokens.front();
  echo->alone = request.prompt_alone;
  return echo;
}

}  // namespace

Result<ReadRequest> read_completion_body(Service& service, std::string_view body) {
  TRY(json::object object, parse_object(body, service.options.max_json_depth));
  TRY(CompletionRequest parsed, read_completion_request(std::move(object)));
  TRY(router::Lease picked, service.router.pick(parsed.params.model));
  GenerateParams params = parsed.params;
  auto request = std::make_shared<const CompletionRequest>(std::move(parsed));
  auto lease = std::make_shared<router::Lease>(std::move(picked));
  auto encode = [request, lease](const std::stop_token& stop) -> Result<Job> {
    std::vector<std::vector<TokenId>> prompts;
    for (const TextOrTokens& prompt : request->prompts) {
      TRY(std::vector<TokenId> tokens, encode_prompt(lease->model(), prompt, stop));
      prompts.push_back(std::move(tokens));
    }
    std::vector<std::shared_ptr<const EchoedPrompt>> echoes;
    if (request->echo)
      for (std::size_t i = 0; i < prompts.size(); ++i)
        echoes.push_back(make_echo(*lease->model().tokenizer, *request, i, prompts[i]));
    TRY(Job job, make_job(std::move(*lease), request->params, prompts, "prompt"));
    job.echoes = std::move(echoes);
    return job;
  };
  ReadRequest read{std::move(params), completion_shape, std::move(encode)};
  read.takes_long = has_to_compile(lease->model(), read.params);
  return read;
}

boost::asio::awaitable<void> handle_completions(Service& service, Exchange& exchange) {
  return respond(service, exchange, read_completion_body, kCompletionAnswer);
}

}  // namespace kvasir::api
