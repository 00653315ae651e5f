#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http_client.h"

namespace kvasir::app {

// The model and its parameters.
struct ChatWish {
  std::string model;
  std::optional<double> temperature;  // absent: the server's default
};

struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
};

struct ServedModel {
  std::string id;
  bool ready = true;
};

// A client of an OpenAI-compatible API for a conversation. Blocking.
class ChatClient {
 public:
  struct Options {
    std::string url = "http://127.0.0.1:8080";  // with or without the trailing /v1
    std::string api_key;
    std::string ca_file;  // trusted besides the system's certificates
  };
  static base::Result<ChatClient> at(const Options& options);

  // If the server cannot be reached, the error is `unavailable` and says what to do.
  base::Result<std::vector<ServedModel>> models(std::stop_token stop) const;

  // Streams the answer; `on_text` gets each piece. Fails with `cancelled` after `stop` is requested; the
  // connection is then closed, so the server stops too.
  base::Status ask(const ChatWish& wish, const std::vector<ChatMessage>& messages,
                   const std::function<void(std::string_view)>& on_text, std::stop_token stop) const;

  // Reads the events of a path until the stream ends. `on_event` gets the data of each event; its error ends
  // the call.
  base::Status follow(const std::string& path, const std::function<base::Status(std::string_view)>& on_event,
                      std::stop_token stop) const;

  const std::string& url() const { return url_; }

 private:
  explicit ChatClient(const Options& options);
  base::Result<net::HttpCall> call(const std::string& path) const;
  base::Error explain(const base::Error& error) const;
  base::Status stream(const net::HttpCall& request,
                      const std::function<base::Status(std::string_view)>& on_event,
                      std::stop_token stop) const;

  std::string url_;
  std::string api_key_;
  net::HttpClient client_;
};

}  // namespace kvasir::app
