#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "net/http_client.h"
#include "upstream/member.h"

namespace kvasir::upstream {

// Looks one member's name up, asks it from time to time how it is, and tells the member. It has a thread of
// its own, so that a slow member delays no other; it sleeps nearly always.
class Checks {
 public:
  explicit Checks(std::shared_ptr<Member> member);
  // Ends within a moment, whatever the member does.
  ~Checks() = default;

 private:
  void run(const std::stop_token& stop);
  void look_up(const std::stop_token& stop);
  // Why it is not healthy; nothing: it is.
  std::optional<std::string> problem(const std::stop_token& stop);
  base::Result<net::HttpClient::Text> get(const net::Url& url, const std::stop_token& stop) const;
  void note(const std::optional<std::string>& problem);
  void read_load(const std::stop_token& stop);
  // Reads what it says of the model.
  void learn_model(const std::stop_token& stop);
  void sleep(base::Duration pause, const std::stop_token& stop);

  const std::shared_ptr<Member> member_;
  const net::HttpClient client_;
  bool lists_models_ = false;    // it has no /health: the list of its models is asked for
  bool knows_model_ = false;     // what it says of the model was read
  int checks_without_load_ = 0;  // to go before its metrics are asked for again
  std::string last_problem_;
  base::TimePoint looked_up_{};
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // touches all of the above; ends first
};

}  // namespace kvasir::upstream
