#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/service/route.h"
#include "api/http/service/service.h"

// The handlers of this folder, one file each. The routes table says which path leads to each.
namespace kvasir::api {

RouteGroup openai_routes();

boost::asio::awaitable<void> handle_chat(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_completions(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_list_models(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_model(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_tokenize(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_detokenize(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_tokenizer_info(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_embeddings(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_moderations(Service& service, Exchange& exchange);

// The schemas of bodies. Each is defined in the file of its endpoint.
boost::json::object tokenize_request_schema();
boost::json::object detokenize_request_schema();
boost::json::object tokenizer_info_query_schema();
boost::json::object moderation_request_schema();

boost::asio::awaitable<void> handle_machine_models(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_load_model(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_unload_model(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_pull_model(Service& service, Exchange& exchange);
boost::json::object model_control_schema();

}  // namespace kvasir::api
