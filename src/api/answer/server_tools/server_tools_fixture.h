#pragma once

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/api_fixture.h"
#include "net/http_server.h"
#include "tool/toolbox.h"

namespace kvasir::api {

// Tools served over HTTP. `add` answers "sum of" and its arguments, and `meet` answers after two calls of it
// have come. `broken` fails, `long` answers with 5 MiB, and `hangs` never answers.
class ToolServer {
 public:
  ToolServer() {
    tool_server_ = std::make_unique<net::HttpServer>(
        net::ServerOptions{},
        [this](net::HttpRequest& request, net::Responder& responder) { return answer(request, responder); });
    tool_port_ = tool_server_->start().value();
    std::vector<config::ToolConfig> rows;
    for (const char* name : {"add", "meet", "broken", "long", "hangs"}) rows.push_back(row(name));
    rows.back().timeout_s = 0.05;
    toolbox_ = tool::Toolbox::open(rows).value();
  }
  ~ToolServer() {
    toolbox_->stop();
    tool_server_->stop();
  }
  tool::Toolbox& box() { return *toolbox_; }

 private:
  config::ToolConfig row(const std::string& name) const {
    config::ToolConfig row;
    row.name = name;
    row.description = "The tool " + name + ".";
    row.parameters = R"({"type": "object", "properties": {"a": {"type": "integer"}}})";
    row.url = "http://127.0.0.1:" + std::to_string(tool_port_) + "/" + name;
    row.timeout_s = 20;
    row.max_output_bytes = 64 << 10;
    return row;
  }
  boost::asio::awaitable<void> answer(net::HttpRequest& request, net::Responder& responder) {
    net::HttpResponse response(200, "text/plain", "sum of " + request.body);
    boost::asio::steady_timer forever(responder.executor(), std::chrono::steady_clock::time_point::max());
    boost::system::error_code ignored;
    if (request.path == "/broken") response.status = 503;
    if (request.path == "/long") response.body = std::string(5 << 20, 'x');
    responder.on_disconnect([&forever] { forever.cancel(); });
    if (request.path == "/hangs") {
      co_await forever.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
      co_return;
    }
    if (request.path == "/meet") {
      // There is only one I/O thread, so the first call waits and the second wakes it.
      if (waiting_ == nullptr) {
        waiting_ = &forever;
        co_await forever.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
        waiting_ = nullptr;
      } else {
        waiting_->cancel();
      }
    }
    responder.on_disconnect({});
    (void)co_await responder.send(std::move(response));
  }

  std::unique_ptr<net::HttpServer> tool_server_;
  std::uint16_t tool_port_ = 0;
  boost::asio::steady_timer* waiting_ = nullptr;
  std::unique_ptr<tool::Toolbox> toolbox_;
};

inline std::string call_of(const std::string& name, const std::string& arguments = R"({"a": 1})") {
  return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>";
}

inline std::string prompt_text(const wire::GenerateRequest& request) {
  std::string text;
  for (const TokenId id : request.prompt) text += id < 256 ? std::string(1, static_cast<char>(id)) : "|";
  return text;
}

inline int count_of(const std::string& text, const std::string& word) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

class ServerToolsTest : private ToolServer, public ApiTest {
 protected:
  ServerToolsTest() : ApiTest(std::chrono::milliseconds(20), &ToolServer::box()) {}
  // Handlers may still wait for a tool.
  ~ServerToolsTest() override { ToolServer::box().stop(); }

  // The model writes `first` until the prompt has results, and then "Done."
  void serve_calls(const std::string& first, int context_length = 4096) {
    serve(
        [first](const wire::GenerateRequest& request) {
          const bool over = prompt_text(request).find("<tool_response>") != std::string::npos;
          return says(over ? "Done." : first, 7)(request);
        },
        context_length);
  }
  Reply ask(const std::string& tools, const std::string& more = "") {
    return post("/v1/chat/completions", chat_body(R"(, "server_tools": )" + tools + more));
  }
  static json::value message(const Reply& reply) { return reply.body.at("choices").at(0).at("message"); }
  static const json::array& calls(const Reply& reply) {
    return reply.body.at("server_tool_calls").as_array();
  }
};

}  // namespace kvasir::api
