#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/service/route.h"
#include "api/http/service/service.h"

// The handlers of this folder. The routes table says which path leads to each.
namespace kvasir::api {

RouteGroup ollama_routes();

boost::asio::awaitable<void> handle_ollama_chat(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_ollama_generate(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_ollama_embed(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_ollama_embeddings(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_ollama_tags(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_ollama_ps(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_ollama_show(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_ollama_pull(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_ollama_version(Service& service, Exchange& exchange);
// Answers for Ollama's endpoints that are not offered: those that make, copy, push or delete models.
boost::asio::awaitable<void> handle_ollama_not_offered(Service& service, Exchange& exchange);

// The schemas of bodies. Each is defined in the file of its endpoint.
boost::json::object ollama_embed_schema();
boost::json::object ollama_embeddings_schema();
boost::json::object ollama_show_schema();
boost::json::object ollama_pull_schema();

}  // namespace kvasir::api
