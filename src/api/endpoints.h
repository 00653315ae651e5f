#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/service.h"

// One endpoint a file; `routes.cc` says where each is reached.
namespace kvasir::api {

boost::asio::awaitable<void> handle_chat(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_completions(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_list_models(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_model(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_messages(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_count_tokens(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_responses(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_count_response(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_get_response(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_delete_response(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_response_items(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_stream(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_tokenize(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_detokenize(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_embeddings(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_moderations(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_live(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_ready(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_progress(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_metrics(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_openapi(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_docs(Service& service, Exchange& exchange);

// Of the bodies whose tables stand in their endpoint's file.
boost::json::object tokenize_request_schema();
boost::json::object stream_query_schema();
boost::json::object response_query_schema();
boost::json::object detokenize_request_schema();
boost::json::object moderation_request_schema();

boost::asio::awaitable<void> handle_create_conversation(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_list_conversations(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_conversation(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_change_conversation(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_delete_conversation(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_list_messages(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_message(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_add_message(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_edit_message(Service& service, Exchange& exchange);

}  // namespace kvasir::api
