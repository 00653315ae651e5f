#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/service.h"

// Files and the batches that are made of them; `file_routes.cc` says where each is reached.
namespace kvasir::api {

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
