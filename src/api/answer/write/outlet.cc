#include "api/answer/write/outlet.h"

#include <utility>
#include <vector>

#include "api/http/caller/rate_limit_headers.h"
#include "api/http/service/request_id.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

Outlet::Outlet(Service& service, Exchange& exchange, const AnswerKind& kind)
    : service_(service),
      exchange_(exchange),
      kind_(kind),
      key_(service, exchange),
      id_(make_answer_id(kind.id_prefix)) {}

Outlet::~Outlet() {
  if (log_ != nullptr) log_->end();
}

Status Outlet::make_resumable() {
  TRY(log_, service_.streams.open({exchange_.caller.tenant, id_}));
  client_ = std::make_unique<EventLog::Reader>(log_, [] {});
  key_.add_stream(id_);
  return base::ok();
}

void Outlet::detach() {
  detached_ = true;
  client_.reset();
}

void Outlet::go_on_alone() {
  alone_ = true;
  detach();
  key_.add_stream(id_);
}

bool Outlet::abandoned() const {
  return !alone_ && log_ != nullptr && service_.streams.abandoned(*log_);
}

void Outlet::add_header(std::string name, std::string value) {
  std::erase_if(headers_, [&name](const net::HttpHeader& header) { return header.name == name; });
  headers_.emplace_back(std::move(name), std::move(value));
}

asio::awaitable<Status> Outlet::start() {
  if (writer_ != nullptr || detached_) co_return base::ok();
  std::vector<net::HttpHeader> headers = headers_;
  headers.emplace_back("x-request-id", exchange_.id);
  if (exchange_.errors == ErrorStyle::anthropic) headers.emplace_back("request-id", exchange_.id);
  headers.emplace_back("x-stream-id", id_);
  headers.insert(headers.end(), exchange_.headers.begin(), exchange_.headers.end());
  for (net::HttpHeader& header : rate_limit_headers(exchange_)) headers.push_back(std::move(header));
  Result<net::SseWriter*> writer = co_await exchange_.responder.start_stream(std::move(headers), kind_.media);
  if (!writer.ok() && resumable()) {
    detach();
    co_return base::ok();
  }
  if (!writer.ok()) co_return std::move(writer).error();
  exchange_.status = 200;
  writer_ = *writer;
  co_return base::ok();
}

asio::awaitable<Status> Outlet::send(std::string text) {
  if (detached_) co_return base::ok();
  Status written = co_await writer_->write(std::move(text));
  if (written.ok() || log_ == nullptr) co_return written;
  detach();
  co_return base::ok();
}

asio::awaitable<Status> Outlet::write(std::string events) {
  if (log_ != nullptr) events = log_->append(events);
  return send(std::move(events));
}

asio::awaitable<Status> Outlet::ping() {
  return send(std::string(kind_.ping));
}

asio::awaitable<void> Outlet::finish(std::string events) {
  if (log_ != nullptr) {
    events = log_->append(events);
    log_->end();
  }
  if (detached_) co_return;
  const Status written = co_await writer_->finish(std::move(events));
  if (!written.ok() && resumable()) detach();
}

asio::awaitable<void> Outlet::fail(Error error, AnswerShape* shape) {
  if (error.code == ErrorCode::cancelled && exchange_.responder.disconnected()) co_return;
  const bool unsent = writer_ == nullptr && !detached_;
  if (unsent || alone_) co_await reply_error(exchange_, error);
  if (unsent || (alone_ && log_ == nullptr)) co_return;
  note_error(exchange_, error);
  std::string event = shape != nullptr ? shape->failure(error) : error_event(error, exchange_.errors);
  co_await finish(std::move(event));
}

}  // namespace kvasir::api
