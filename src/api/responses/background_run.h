#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "api/answer/question/question.h"
#include "api/http/service/service.h"
#include "api/http/wait/busy_count.h"
#include "api/http/wait/endings.h"
#include "api/http/wait/wake.h"
#include "net/responder.h"

namespace kvasir::api {

// A response that goes on without its client: a request of its own, which the client's request begins and
// then leaves. A draining server waits for it, and it has its own line in the log. Used and destroyed on the
// executor of the request that began it.
class BackgroundRun {
 public:
  // `begun_by` need not outlive this object.
  BackgroundRun(Service& service, Exchange& begun_by);
  BackgroundRun(const BackgroundRun&) = delete;
  BackgroundRun& operator=(const BackgroundRun&) = delete;

  Exchange& exchange() { return exchange_; }

  // Called once the response has been admitted and is in the store, with the `body` that is stored.
  void accept(std::string id, std::string body);

  // Begins to answer the question, which continues after this function has returned. Returns once the
  // response was accepted or refused.
  static boost::asio::awaitable<void> begin(std::shared_ptr<BackgroundRun> run, Question question);

  bool is_accepted() const { return running_.has_value(); }
  // The accepted response's id, and its body when it was accepted.
  const std::string& id() const { return id_; }
  const std::string& body() const { return body_; }
  // Sends the client the refusal of a response that was not accepted.
  boost::asio::awaitable<void> refuse(Exchange& client);

 private:
  static boost::asio::awaitable<void> go_on(std::shared_ptr<BackgroundRun> run, Question question);

  Service& service_;
  net::HttpRequest request_;
  net::HeldResponder responder_;
  Exchange exchange_;
  const BusyCount::Hold busy_;
  std::optional<Endings::Running> running_;
  std::string id_;
  std::string body_;
  bool over_ = false;
  const std::shared_ptr<Wake> wake_;
};

}  // namespace kvasir::api
