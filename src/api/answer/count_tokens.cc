#include "api/answer/count_tokens.h"

#include <stop_token>
#include <string>
#include <utility>

#include "api/answer/encode/prompt.h"
#include "api/answer/encode/system_prompt.h"
#include "api/answer/model/auto_model.h"
#include "api/answer/model/await_model.h"
#include "api/answer/server_tools/server_tools.h"
#include "api/http/caller/caller.h"
#include "api/http/work/text_task.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;

asio::awaitable<Result<std::size_t>> count_tokens(Service& service, Exchange& exchange, ChatRequest chat) {
  base::Status chosen = choose_model(service, exchange.caller, chat, exchange.num_body_bytes);
  if (!chosen.ok()) co_return std::move(chosen).error();
  base::Status added = add_server_tools(service.tools, chat.tools);
  if (!added.ok()) co_return std::move(added).error();
  add_system_prompt(exchange.caller, chat);
  for (const std::string& warning : chat.params.warnings)
    exchange.headers.emplace_back("x-kvasir-warning", warning);
  const auto held = co_await await_model(service, exchange, chat.params.model);
  if (!held.ok()) co_return held.error();
  Result<router::ChatTextPtr> model = service.router.chat_text(chat.params.model, reach_of(exchange.caller));
  if (!model.ok()) co_return std::move(model).error();
  exchange.model = chat.params.model;
  TextTask<std::size_t>::Work work =
      [model = *model, chat = std::move(chat)](const std::stop_token& stop) -> Result<std::size_t> {
    TRY(const EncodedChat encoded, encode_chat(*model, chat, stop));
    return encoded.tokens.size();
  };
  co_return co_await run_text_work<std::size_t>(service.tokenizing, exchange, exchange.num_body_bytes,
                                                std::move(work));
}

}  // namespace kvasir::api
