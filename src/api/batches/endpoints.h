#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/service/route.h"
#include "api/http/service/service.h"

// The handlers of this folder, one file each. The routes table says which path leads to each.
namespace kvasir::api {

RouteGroup file_routes();

boost::asio::awaitable<void> handle_create_file(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_list_files(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_file(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_delete_file(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_file_content(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_create_batch(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_list_batches(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_batch(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_cancel_batch(Service& service, Exchange& exchange);

}  // namespace kvasir::api
