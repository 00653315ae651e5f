#include "gateway/trace_exporter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <thread>

#include "base/json.h"
#include "net/http_server.h"

namespace kvasir::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A collector that answers with given statuses, and an exporter that sends to it.
class TraceExporterTest : public testing::Test {
 protected:
  TraceExporterTest() {
    collector_ = std::make_unique<net::HttpServer>(
        net::ServerOptions{},
        [this](net::HttpRequest& request, net::Responder& responder) { return answer(request, responder); });
    port_ = collector_->start().value();
  }
  ~TraceExporterTest() override {
    exporter_.reset();
    collector_->stop();
  }

  void open() {
    TraceExporter::Options options;
    options.url = net::parse_url("http://127.0.0.1:" + std::to_string(port_) + "/v1/traces").value();
    options.protocol = TraceExporter::Protocol::json;
    options.first_pause = milliseconds(1);
    options.max_flush = milliseconds(200);
    exporter_ = std::make_unique<TraceExporter>(std::move(options), tracer_, registry_);
  }
  void trace() { tracer_.begin("a", {}, obs::Tracer::Detail::spans); }
  template <class Condition>
  static bool wait_for(Condition condition) {
    const auto deadline = steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && steady_clock::now() < deadline) std::this_thread::yield();
    return condition();
  }

  boost::asio::awaitable<void> answer(net::HttpRequest& request, net::Responder& responder) {
    const auto number = static_cast<std::size_t>(num_requests_++);
    if (hangs_) {
      boost::asio::steady_timer timer(responder.executor(), std::chrono::hours(1));
      responder.on_disconnect([&timer] { timer.cancel(); });
      boost::system::error_code ignored;
      co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
      co_return;
    }
    if (!base::parse_json(request.body).ok()) ++num_wrong_;
    net::HttpResponse response(number < statuses_.size() ? statuses_[number] : 200, "", "");
    (void)co_await responder.send(std::move(response));
  }

  base::RealClock clock_;
  obs::Registry registry_;
  obs::Tracer tracer_{{.records = true}, clock_};
  std::unique_ptr<net::HttpServer> collector_;
  std::uint16_t port_ = 0;
  std::vector<int> statuses_;  // of the first requests; later ones get 200
  std::atomic<bool> hangs_{false};
  std::atomic<int> num_requests_{0};
  std::atomic<int> num_wrong_{0};
  std::unique_ptr<TraceExporter> exporter_;
};

TEST_F(TraceExporterTest, ABatchIsTriedAgainWhileTheCollectorIsBusy) {
  statuses_ = {503, 429, 502, 200};
  open();
  trace();
  EXPECT_TRUE(wait_for([&] { return tracer_.num_exported_spans() == 1; }));
  EXPECT_EQ(num_requests_, 4);
  EXPECT_EQ(num_wrong_, 0);
  EXPECT_EQ(tracer_.num_dropped_spans(), 0u);
}

TEST_F(TraceExporterTest, ABatchThatIsRefusedIsDropped) {
  statuses_ = {400};
  open();
  trace();
  EXPECT_TRUE(wait_for([&] { return tracer_.num_dropped_spans() == 1; }));
  EXPECT_EQ(num_requests_, 1);
  trace();
  EXPECT_TRUE(wait_for([&] { return tracer_.num_exported_spans() == 1; }));
  const std::string metrics = registry_.text();
  EXPECT_NE(metrics.find("kvasir_trace_spans_dropped_total 1"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("kvasir_trace_spans_exported_total 1"), std::string::npos) << metrics;
}

TEST_F(TraceExporterTest, ABatchIsTriedOnlySoOften) {
  statuses_.assign(6, 503);
  open();
  trace();
  EXPECT_TRUE(wait_for([&] { return tracer_.num_dropped_spans() == 1; }));
  EXPECT_EQ(num_requests_, 6);
}

TEST_F(TraceExporterTest, WhatWaitsIsSentAtTheEnd) {
  open();
  for (int i = 0; i < 3; ++i) trace();
  exporter_->stop();
  EXPECT_EQ(tracer_.num_exported_spans(), 3u);
}

TEST_F(TraceExporterTest, ACollectorThatHangsDoesNotHoldUpTheEnd) {
  hangs_ = true;
  open();
  trace();
  EXPECT_TRUE(wait_for([&] { return num_requests_ == 1; }));
  const auto start = steady_clock::now();
  exporter_->stop();
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(8));
  EXPECT_EQ(tracer_.num_dropped_spans(), 1u);
}

TEST(TraceOptionsTest, ThePathIsAddedWhereItIsMissing) {
  config::Settings settings;
  EXPECT_FALSE(trace_options(settings).value().has_value());
  for (const auto& [given, target] : {std::pair("http://h:4318", "/v1/traces"),
                                      {"http://h:4318/", "/v1/traces"},
                                      {"https://h/v1/traces", "/v1/traces"},
                                      {"https://h/api/otel?x=1", "/api/otel/v1/traces?x=1"}}) {
    settings.otlp_endpoint = given;
    EXPECT_EQ(trace_options(settings).value()->url.target, target);
  }
  settings.otlp_endpoint = "collector:4318";
  EXPECT_EQ(trace_options(settings).error().message.substr(0, 14), "otlp_endpoint:");
  settings.otlp_endpoint = "http://h";
  settings.otlp_headers = {"a=b=c"};
  const auto options = trace_options(settings).value();
  EXPECT_EQ(options->headers[0].name, "a");
  EXPECT_EQ(options->headers[0].value, "b=c");
}

}  // namespace
}  // namespace kvasir::gateway
