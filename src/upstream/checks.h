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

// Looks up one member's host name, checks its health from time to time, and notes the results in the Member.
// Each Checks has its own thread, so that a slow member delays no other; the thread sleeps nearly always.
class Checks {
 public:
  explicit Checks(std::shared_ptr<Member> member);
  // Returns within a moment, even if the member hangs.
  ~Checks() = default;

 private:
  void run(const std::stop_token& stop);
  void look_up(const std::stop_token& stop);
  // Why the member is not healthy; absent: it is healthy.
  std::optional<std::string> problem(const std::stop_token& stop);
  base::Result<net::HttpClient::Text> get(const net::Url& url, const std::stop_token& stop) const;
  void note(const std::optional<std::string>& problem);
  void read_load(const std::stop_token& stop);
  // Reads the context length that the member reports for the model.
  void learn_model(const std::stop_token& stop);
  void sleep(base::Duration pause, const std::stop_token& stop);

  const std::shared_ptr<Member> member_;
  const net::HttpClient client_;
  bool lists_models_ = false;    // it has no /health, so its list of models is used
  bool knows_model_ = false;     // the member has answered learn_model
  int checks_without_load_ = 0;  // checks to go before its metrics are read again
  std::string last_problem_;
  base::TimePoint looked_up_{};
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // touches the members above; ends first
};

}  // namespace kvasir::upstream
