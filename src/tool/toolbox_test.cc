#include "tool/toolbox.h"

#include <gtest/gtest.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <future>
#include <semaphore>

#include "net/http_server.h"

namespace kvasir::tool {
namespace {

using config::ToolConfig;

// Serves HTTP tools, one for each path.
class ToolboxTest : public testing::Test {
 protected:
  ToolboxTest() {
    server_ = std::make_unique<net::HttpServer>(
        net::ServerOptions{},
        [this](net::HttpRequest& request, net::Responder& responder) { return answer(request, responder); });
    port_ = server_->start().value();
  }
  ~ToolboxTest() override {
    box_.reset();
    server_->stop();
  }

  ToolConfig row(const std::string& name) const {
    ToolConfig row;
    row.name = name;
    row.description = "does " + name;
    row.parameters = R"({"type": "object"})";
    row.url = "http://127.0.0.1:" + std::to_string(port_) + "/" + name;
    row.headers = {{"X-Secret", "open sesame"}};
    row.max_output_bytes = 1024;
    row.timeout_s = 20;
    return row;
  }
  void open(const std::vector<ToolConfig>& rows) {
    auto box = Toolbox::open(rows);
    ASSERT_TRUE(box.ok()) << box.error().message;
    box_ = std::move(*box);
  }
  std::future<Outcome> start(const std::string& tool, json::object arguments = {},
                             const std::stop_token& stop = {}) {
    auto promise = std::make_shared<std::promise<Outcome>>();
    box_->start({tool, std::move(arguments)}, stop,
                [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
    return promise->get_future();
  }
  Outcome call(const std::string& tool, json::object arguments = {}) {
    return start(tool, std::move(arguments)).get();
  }

  boost::asio::awaitable<void> answer(net::HttpRequest& request, net::Responder& responder) {
    net::HttpResponse response(200, "text/plain", "");
    if (request.path == "/echo") {
      response.body = request.method + " " + std::string(request.header("x-secret").value_or("-")) + " " +
                      std::string(request.header("content-type").value_or("-")) + " " + request.body;
    } else if (request.path == "/trace") {
      response.body = std::string(request.header("traceparent").value_or("-")) + " " +
                      std::string(request.header("tracestate").value_or("-"));
    } else if (request.path == "/broken") {
      response.status = 500;
      response.body = "out of order";
    } else if (request.path == "/long") {
      response.body = std::string(1023, 'x') + "ä" + std::string(5 << 20, 'y');
    } else if (request.path == "/elsewhere") {
      response.status = 307;
      response.headers.emplace_back("Location", "/echo");
    } else if (request.path == "/bytes") {
      response.body = "a\xff\xfe b";
    } else if (request.path == "/hangs") {
      boost::asio::steady_timer forever(responder.executor(), std::chrono::steady_clock::time_point::max());
      responder.on_disconnect([&forever] { forever.cancel(); });
      entered_.release();
      boost::system::error_code ignored;
      co_await forever.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
      left_.release();
      co_return;
    }
    (void)co_await responder.send(std::move(response));
  }

  std::unique_ptr<net::HttpServer> server_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Toolbox> box_;
  std::counting_semaphore<> entered_{0};
  std::counting_semaphore<> left_{0};
};

TEST_F(ToolboxTest, ArgumentsArePostedWithTheHeadersOfTheSettings) {
  open({row("echo")});
  const Outcome outcome = call("echo", {{"city", "Oslo"}, {"url", "http://example.invalid/"}});
  EXPECT_FALSE(outcome.failed);
  EXPECT_EQ(outcome.text,
            R"(POST open sesame application/json {"city":"Oslo","url":"http://example.invalid/"})");
}

TEST_F(ToolboxTest, ATraceIsPassedOn) {
  open({row("trace")});
  const auto context =
      obs::parse_trace_context("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "v=1");
  auto promise = std::make_shared<std::promise<Outcome>>();
  box_->start({"trace", {}, obs::TraceHeaders(*context)}, {},
              [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
  EXPECT_EQ(promise->get_future().get().text, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 v=1");
}

TEST_F(ToolboxTest, AToolThatFailsSaysSo) {
  open({row("broken")});
  const Outcome outcome = call("broken");
  EXPECT_TRUE(outcome.failed);
  EXPECT_EQ(outcome.text, "The tool answered with status 500: out of order");
}

TEST_F(ToolboxTest, MegabytesAreCutBetweenCharacters) {
  open({row("long")});
  const Outcome outcome = call("long");
  EXPECT_FALSE(outcome.failed);
  EXPECT_EQ(outcome.text, std::string(1023, 'x') + "\n[cut off: the result is longer than 1024 bytes]");
}

TEST_F(ToolboxTest, BytesThatAreNoTextAreReplaced) {
  open({row("bytes")});
  EXPECT_EQ(call("bytes").text, "a\xEF\xBF\xBD\xEF\xBF\xBD b");
}

TEST_F(ToolboxTest, RedirectsAreNotFollowed) {
  open({row("elsewhere")});
  const Outcome outcome = call("elsewhere");
  EXPECT_TRUE(outcome.failed);
  EXPECT_NE(outcome.text.find("redirects (status 307)"), std::string::npos) << outcome.text;
}

TEST_F(ToolboxTest, AToolThatHangsEndsWithItsTime) {
  ToolConfig slow = row("hangs");
  slow.timeout_s = 0.05;
  open({slow});
  const Outcome outcome = call("hangs");
  EXPECT_TRUE(outcome.failed);
  EXPECT_EQ(outcome.text, "The tool failed: no result within 0.05 s");
  left_.acquire();  // the connection of the call is closed, too
}

TEST_F(ToolboxTest, OneThatHangsHoldsNobodyUp) {
  open({row("hangs"), row("echo")});
  std::stop_source stop;
  std::future<Outcome> hanging = start("hangs", {}, stop.get_token());
  entered_.acquire();
  EXPECT_FALSE(call("echo").failed);
  stop.request_stop();
  EXPECT_TRUE(hanging.get().failed);
  left_.acquire();
}

TEST_F(ToolboxTest, StoppingGivesUpWhatRuns) {
  open({row("hangs")});
  std::future<Outcome> hanging = start("hangs");
  entered_.acquire();
  box_->stop();
  EXPECT_TRUE(hanging.get().failed);
  EXPECT_EQ(call("hangs").text, "The server is shutting down.");
}

TEST_F(ToolboxTest, AServerThatIsDownIsAFailedCall) {
  ToolConfig down = row("echo");
  {
    // Takes a port and closes it, so that nothing listens there.
    net::HttpServer gone(
        {}, [](net::HttpRequest&, net::Responder&) -> boost::asio::awaitable<void> { co_return; });
    down.url = "http://127.0.0.1:" + std::to_string(gone.start().value()) + "/";
    gone.stop();
  }
  open({down});
  const Outcome outcome = call("echo");
  EXPECT_TRUE(outcome.failed);
  EXPECT_NE(outcome.text.find("cannot reach"), std::string::npos) << outcome.text;
}

TEST_F(ToolboxTest, ToolsAreFoundByName) {
  open({row("echo"), row("long")});
  const auto found = box_->find("echo");
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().description, "does echo");
  const auto missing = box_->find("weather");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "this server has no tool 'weather'; it has echo, long");
  EXPECT_FALSE(box_->find("echo__more").ok());
  EXPECT_EQ(call("nobody").text, "There is no such tool.");
  EXPECT_EQ(box_->list().size(), 2u);
}

TEST_F(ToolboxTest, ABadAddressIsRefusedAtTheStart) {
  ToolConfig bad = row("echo");
  bad.url = "http://user@host/";
  const auto box = Toolbox::open({bad});
  ASSERT_FALSE(box.ok());
  EXPECT_TRUE(box.error().message.starts_with("tool 'echo': ")) << box.error().message;
}

}  // namespace
}  // namespace kvasir::tool
