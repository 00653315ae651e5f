#include "tool/mcp_source.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "net/url.h"
#include "obs/log.h"
#include "tool/mcp_http.h"
#include "tool/mcp_stdio.h"

namespace kvasir::tool {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;
using base::Status;
using Kind = config::ToolConfig::Kind;

namespace {

constexpr std::chrono::seconds kFirstPause{1};
constexpr std::chrono::seconds kLongestPause{60};
constexpr std::chrono::hours kForever{24};
constexpr std::chrono::seconds kLeastBetweenRefreshes{1};
constexpr std::chrono::seconds kLeastConnectTimeout{30};
constexpr std::chrono::seconds kFarewell{1};
constexpr std::size_t kMaxFunctionName = 64;

base::Duration seconds_of(double seconds) {
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
}

// The tool's timeout may be too short to connect: a program may start slowly even if its tools are quick.
base::Duration connect_timeout(const config::ToolConfig& row) {
  return std::max<base::Duration>(seconds_of(row.timeout_s), kLeastConnectTimeout);
}

base::Error not_there(const std::string& name, std::string_view why) {
  base::Error error =
      base::error(ErrorCode::unavailable, "the tool server '{}' cannot be used now: {}", name, why);
  error.retry_after_s = 5;
  return error;
}

bool is_function_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return name.size() <= kMaxFunctionName && std::ranges::all_of(name, allowed);
}

}  // namespace

McpSource::McpSource(config::ToolConfig row, Surroundings surroundings)
    : row_(std::move(row)),
      surroundings_(std::move(surroundings)),
      alarm_(surroundings_.executor),
      refreshes_(kLeastBetweenRefreshes, clock_),
      offers_(not_there(row_.name, "it is being connected to")) {}

Result<std::unique_ptr<Source>> McpSource::make(const config::ToolConfig& row, Surroundings surroundings) {
  if (row.kind == Kind::mcp_http) TRY_OK(net::parse_url(row.url));
  return std::unique_ptr<Source>(std::make_unique<McpSource>(row, std::move(surroundings)));
}

void McpSource::start() {
  asio::co_spawn(surroundings_.executor, keep_connected(), asio::detached);
}

void McpSource::stop() {
  stopped_ = true;
  if (connecting_ != nullptr) connecting_->end();
  wake();
}

void McpSource::wake() {
  alarm_.cancel();
}

asio::awaitable<void> McpSource::sleep(base::Duration at_most) {
  alarm_.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(at_most));
  boost::system::error_code ignored;
  co_await alarm_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

Result<std::vector<Definition>> McpSource::offers() const {
  const std::lock_guard lock(mutex_);
  return offers_;
}

void McpSource::set_offers(Result<std::vector<Definition>> offers) {
  const std::lock_guard lock(mutex_);
  offers_ = std::move(offers);
}

Result<std::shared_ptr<McpTransport>> McpSource::make_transport() {
  McpEvents events;
  events.lost = [this] { wake(); };
  events.tools_changed = [this] {
    if (!std::exchange(changed_, true)) wake();
  };
  if (row_.kind == Kind::mcp_http) {
    TRY(net::Url url, net::parse_url(row_.url));
    return std::shared_ptr<McpTransport>(
        McpHttp::make(std::move(url), row_.headers, surroundings_, std::move(events)));
  }
  TRY(std::shared_ptr<McpStdio> child,
      McpStdio::start({row_.command, row_.args, row_.env}, surroundings_.executor, std::move(events)));
  return std::shared_ptr<McpTransport>(std::move(child));
}

asio::awaitable<Status> McpSource::connect() {
  Result<std::shared_ptr<McpTransport>> made = make_transport();
  if (!made.ok()) co_return std::move(made).error();
  transport_ = std::move(*made);
  Lifeline line(surroundings_.executor, connect_timeout(row_));
  connecting_ = &line;
  Status opened = co_await open_session(*transport_, line);
  connecting_ = nullptr;
  if (!opened.ok()) co_return opened;
  Status refreshed = co_await refresh();
  co_return refreshed;
}

asio::awaitable<Status> McpSource::refresh() {
  changed_ = false;
  refreshes_.step();
  Lifeline line(surroundings_.executor, connect_timeout(row_));
  connecting_ = &line;
  Result<std::vector<Definition>> tools = co_await list_tools(*transport_, line);
  connecting_ = nullptr;
  if (!tools.ok()) co_return std::move(tools).error();
  for (Definition& tool : *tools) tool.name = row_.name + "__" + tool.name;
  std::erase_if(*tools, [](const Definition& tool) { return !is_function_name(tool.name); });
  obs::Log::info("tool_server_ready", {{"name", row_.name}, {"tools", tools->size()}});
  set_offers(std::move(*tools));
  co_return base::ok();
}

asio::awaitable<void> McpSource::keep_connected() {
  base::Duration pause = kFirstPause;
  while (!stopped_) {
    Status connected = co_await connect();
    while (connected.ok() && !stopped_ && !transport_->lost()) {
      pause = kFirstPause;
      // A server may report changed tools again and again, so the rate of refreshes is limited.
      const base::Duration wait = changed_ ? refreshes_.wait() : kForever;
      if (wait > base::Duration::zero())
        co_await sleep(wait);
      else
        connected = co_await refresh();
    }
    if (transport_) {
      Lifeline farewell(surroundings_.executor, kFarewell);
      co_await transport_->close(farewell);
      transport_.reset();
    }
    if (stopped_) break;
    const std::string why = connected.ok() ? "it was lost" : connected.error().message;
    obs::Log::warn("tool_server_unavailable",
                   {{"name", row_.name}, {"reason", why}, {"retry_s", base::seconds(pause)}});
    set_offers(not_there(row_.name, why));
    co_await sleep(pause);
    pause = std::min<base::Duration>(pause * 2, kLongestPause);
  }
  set_offers(not_there(row_.name, "the server is shutting down"));
}

asio::awaitable<Outcome> McpSource::call(Call call, Lifeline& line) {
  const std::shared_ptr<McpTransport> transport = transport_;
  if (!transport || transport->lost()) co_return Outcome(true, "The tool server is not there at the moment.");
  json::object params{{"name", call.tool.substr(row_.name.size() + 2)},
                      {"arguments", std::move(call.arguments)}};
  if (!call.trace.traceparent.empty()) params["_meta"] = trace_meta(call.trace);
  Result<json::object> result = co_await transport->request("tools/call", std::move(params), line);
  if (!result.ok()) co_return Outcome(true, "The tool failed: " + result.error().message);
  co_return outcome_of(*result, row_.max_output_bytes);
}

}  // namespace kvasir::tool
