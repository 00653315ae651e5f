#include <string>
#include <utility>

#include "api/http/caller/caller.h"
#include "api/http/json/object_schema.h"
#include "api/openai/endpoints.h"
#include "base/json.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

struct InfoQuery {
  std::string model;  // empty: the first model that is ready
};

constexpr Field<InfoQuery> kInfoFields[] = {
    {"model",
     [](const json::value& v, InfoQuery& q) -> Status {
       TRY(q.model, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "One of the models; the first that is ready where absent."})"},
};

json::value token_of(const text::Tokenizer& tokenizer, std::optional<TokenId> id) {
  return id ? json::value(std::string(tokenizer.bytes(*id))) : json::value(nullptr);
}

Result<json::object> tokenizer_info(const Service& service, const Exchange& exchange) {
  InfoQuery query;
  TRY_OK(read_query<InfoQuery>(exchange.request.query, kInfoFields, query));
  const router::Reach reach = reach_of(exchange.caller);
  if (query.model.empty())
    for (const router::ModelStatus& model : service.router.models(reach))
      if (model.text && query.model.empty()) query.model = model.name;
  TRY(const router::AnyText any, service.router.any_text(query.model, reach));
  const router::ModelText& model = router::common_text(any);
  const text::Tokenizer& tokenizer = *model.tokenizer;
  json::object info{{"model", model.name},
                    {"vocab_size", tokenizer.size()},
                    {"model_max_length", model.context_length},
                    {"bos_token", token_of(tokenizer, tokenizer.bos())},
                    {"eos_token", token_of(tokenizer, tokenizer.eos())},
                    {"add_bos_token", tokenizer.add_bos()},
                    {"add_eos_token", tokenizer.add_eos()}};
  if (const auto* chat = std::get_if<router::ChatTextPtr>(&any))
    info["chat_template"] = (*chat)->chat_template->source();
  return info;
}

}  // namespace

json::object tokenizer_info_query_schema() {
  return ObjectSchema().add<InfoQuery>(kInfoFields).take();
}

asio::awaitable<void> handle_tokenizer_info(Service& service, Exchange& exchange) {
  const Result<json::object> info = tokenizer_info(service, exchange);
  if (!info.ok()) co_return co_await reply_error(exchange, info.error());
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(*info)));
}

}  // namespace kvasir::api
