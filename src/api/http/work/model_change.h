#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "api/http/service/service.h"
#include "api/http/wait/model_watch.h"
#include "api/http/work/key_watch.h"
#include "base/result.h"
#include "net/responder.h"
#include "router/residence.h"

namespace kvasir::api {

enum class ModelWish : std::uint8_t { loaded, unloaded, pulled };

// How a stream tells of a model on its way.
struct ModelStory {
  net::SseWriter& writer;
  // What is said of a state; empty: nothing. The same is not said twice in a row.
  std::function<std::string(const router::ModelState& state)> news;
  std::string_view ping;
};

// One request that brings a model or sends it away. The work goes on when the request ends before. Lives on
// the exchange's executor. The service must have a residence.
class ModelChange {
 public:
  ModelChange(Service& service, Exchange& exchange, std::string model, ModelWish wish);
  ~ModelChange();
  ModelChange(const ModelChange&) = delete;
  ModelChange& operator=(const ModelChange&) = delete;

  // The errors of Residence's methods.
  boost::asio::awaitable<base::Status> begin();
  // Waits until it is done, and tells the story meanwhile. Null: nothing is told. cancelled: the client left.
  boost::asio::awaitable<base::Status> follow(const ModelStory* story);

 private:
  // What came after a pull may be nothing, where somebody gave it up.
  boost::asio::awaitable<base::Status> check_pulled();
  boost::asio::awaitable<void> pause();

  Service& service_;
  Exchange& exchange_;
  KeyWatch key_;
  const std::string model_;
  const ModelWish wish_;
  ModelWatch watch_;
  bool has_left_ = false;
};

}  // namespace kvasir::api
