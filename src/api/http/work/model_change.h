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

// How a stream reports the progress of a model.
struct ModelStory {
  net::SseWriter& writer;
  // Returns the text for a state; empty: nothing is sent. The same text is not sent twice in a row.
  std::function<std::string(const router::ModelState& state)> news;
  std::string_view ping;
};

// One request to load, fetch or unload a model. The work goes on even if the request ends earlier. Lives on
// the exchange's executor. The service must have a residence.
class ModelChange {
 public:
  ModelChange(Service& service, Exchange& exchange, std::string model, ModelWish wish);
  ~ModelChange();
  ModelChange(const ModelChange&) = delete;
  ModelChange& operator=(const ModelChange&) = delete;

  // Starts the change. Returns the errors of Residence's methods.
  boost::asio::awaitable<base::Status> begin();
  // Waits until the change is done, and reports its progress to `story` if there is one. cancelled: the
  // client left.
  boost::asio::awaitable<base::Status> follow(const ModelStory* story);

 private:
  // Checks that the files are there after a pull, since another request may have cancelled it.
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
