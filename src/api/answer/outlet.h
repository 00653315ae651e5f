#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <vector>

#include "api/answer/answer_shape.h"
#include "api/http/event_log.h"
#include "api/http/key_watch.h"
#include "api/http/service.h"
#include "api/http/text_task.h"
#include "net/http_message.h"
#include "net/responder.h"

namespace kvasir::api {

// The way out of an answer. An error is a status while nothing has gone out, and a stream's last event then.
// A resumable stream goes on in its log when its client has left. On the exchange's executor.
class Outlet {
 public:
  Outlet(Service& service, Exchange& exchange, const AnswerKind& kind);
  ~Outlet();
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  // Before the first write.
  base::Status make_resumable();
  bool resumable() const { return log_ != nullptr; }
  WhenLeft when_left() const { return resumable() ? WhenLeft::go_on : WhenLeft::give_up; }
  // A resumable stream's client has left; others may come.
  void detach();
  // Nobody has come for so long that the answer need not go on.
  bool abandoned() const;

  // Of the answer, where its headers are not out yet.
  void add_header(std::string name, std::string value);
  const std::vector<net::HttpHeader>& headers() const { return headers_; }
  // Sends a stream's headers, once.
  boost::asio::awaitable<base::Status> start();
  boost::asio::awaitable<base::Status> write(std::string events);
  boost::asio::awaitable<base::Status> ping();
  boost::asio::awaitable<base::Status> finish();
  // `shape` is null where there is none yet, or its opening has not been written.
  boost::asio::awaitable<void> fail(base::Error error, AnswerShape* shape = nullptr);

  Exchange& exchange() { return exchange_; }
  KeyWatch& key() { return key_; }
  // The answer's and its stream's.
  const std::string& id() const { return id_; }

 private:
  // The error of a stream that nobody can resume.
  boost::asio::awaitable<base::Status> send(std::string text);

  Service& service_;
  Exchange& exchange_;
  const AnswerKind& kind_;
  KeyWatch key_;
  const std::string id_;
  std::vector<net::HttpHeader> headers_;
  net::SseWriter* writer_ = nullptr;  // the responder's own, once the headers are out
  bool detached_ = false;
  std::shared_ptr<EventLog> log_;
  std::unique_ptr<EventLog::Reader> client_;  // the one who asked, while it is there
};

}  // namespace kvasir::api
