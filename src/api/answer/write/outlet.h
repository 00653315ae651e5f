#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <vector>

#include "api/answer/shape/answer_shape.h"
#include "api/http/service/service.h"
#include "api/http/wait/event_log.h"
#include "api/http/work/key_watch.h"
#include "api/http/work/text_task.h"
#include "net/http_message.h"
#include "net/responder.h"

namespace kvasir::api {

// Sends one answer to its client. An error becomes an HTTP status if nothing has been sent yet, and otherwise
// the last event of the stream. A resumable stream continues in its log after its client has left. Used on
// the exchange's executor.
class Outlet {
 public:
  Outlet(Service& service, Exchange& exchange, const AnswerKind& kind);
  ~Outlet();
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  // Must be called before the first write.
  base::Status make_resumable();
  bool resumable() const { return log_ != nullptr; }
  WhenLeft when_left() const { return resumable() ? WhenLeft::go_on : WhenLeft::give_up; }
  // Notes that the client of a resumable stream has left. Other readers may come.
  void detach();
  // Continues the answer without a client. It can be cancelled by its id.
  void go_on_alone();
  // Whether the stream has had no reader for so long that the answer may end.
  bool abandoned() const;

  // Sets a header of the answer. It has no effect once the headers have been sent.
  void add_header(std::string name, std::string value);
  const std::vector<net::HttpHeader>& headers() const { return headers_; }
  // Sends the headers of a stream. Later calls do nothing.
  boost::asio::awaitable<base::Status> start();
  boost::asio::awaitable<base::Status> write(std::string events);
  boost::asio::awaitable<base::Status> ping();
  // Sends the last events and ends the stream.
  boost::asio::awaitable<void> finish(std::string events);
  // Ends the answer with an error. `shape` is null if there is none yet, or if its opening has not been
  // written.
  boost::asio::awaitable<void> fail(base::Error error, AnswerShape* shape = nullptr);

  Exchange& exchange() { return exchange_; }
  KeyWatch& key() { return key_; }
  // The id of the answer and of its stream.
  const std::string& id() const { return id_; }

 private:
  // Writes to the client. Fails only if the client is gone and the stream is not resumable.
  boost::asio::awaitable<base::Status> send(std::string text);

  Service& service_;
  Exchange& exchange_;
  const AnswerKind& kind_;
  KeyWatch key_;
  const std::string id_;
  std::vector<net::HttpHeader> headers_;
  net::SseWriter* writer_ = nullptr;  // owned by the responder; null until the headers are sent
  bool detached_ = false;
  bool alone_ = false;
  std::shared_ptr<EventLog> log_;
  std::unique_ptr<EventLog::Reader> client_;  // counts the first client as a reader while it is connected
};

}  // namespace kvasir::api
