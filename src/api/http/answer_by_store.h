#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>

#include "api/http/fields.h"
#include "api/http/service.h"
#include "api/http/store_task.h"

// Endpoints whose answer is a record of the store.
namespace kvasir::api {

// The tenant's record that the path names with {id}.
store::Key key_of(const Exchange& exchange);

// What the store's work gives is the answer.
boost::asio::awaitable<void> answer_by(Service& service, Exchange& exchange, StoreWork<json::object> work);

// Reads a body into work for the store, away from the I/O threads where it is large.
using StorePlan = std::function<base::Result<StoreWork<json::object>>(const std::string& body)>;
boost::asio::awaitable<void> answer_by_plan(Service& service, Exchange& exchange, StorePlan plan);

}  // namespace kvasir::api
