#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>

#include "api/http/json/fields.h"
#include "api/http/service/service.h"
#include "api/http/work/store_task.h"

// Helps endpoints that answer with a record of the store.
namespace kvasir::api {

// The key of the tenant's record that the path names with {id}.
store::Key key_of(const Exchange& exchange);

// Answers with the object that `work` returns.
boost::asio::awaitable<void> answer_by(Service& service, Exchange& exchange, StoreWork<json::object> work);

// Turns a body into work for the store. A large body is parsed away from the I/O threads.
using StorePlan = std::function<base::Result<StoreWork<json::object>>(const std::string& body)>;
boost::asio::awaitable<void> answer_by_plan(Service& service, Exchange& exchange, StorePlan plan);

}  // namespace kvasir::api
