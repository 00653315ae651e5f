#include "tool/http_tool.h"

#include <string_view>
#include <utility>

#include "tool/exchange.h"

namespace kvasir::tool {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;

namespace {

// Bytes of an error's body that are read at most: enough to say what is wrong.
constexpr std::size_t kMaxComplaintBytes = 1024;

}  // namespace

HttpTool::HttpTool(const config::ToolConfig& row, net::Url url, Definition definition,
                   Surroundings surroundings)
    : url_(std::move(url)),
      headers_(row.headers),
      max_output_bytes_(row.max_output_bytes),
      definition_(std::move(definition)),
      surroundings_(std::move(surroundings)) {}

Result<std::unique_ptr<Source>> HttpTool::make(const config::ToolConfig& row, Surroundings surroundings) {
  TRY(net::Url url, net::parse_url(row.url));
  TRY(json::value parameters, base::parse_json(row.parameters));
  Definition definition{row.name, row.description, std::move(parameters)};
  return std::unique_ptr<Source>(
      new HttpTool(row, std::move(url), std::move(definition), std::move(surroundings)));
}

asio::awaitable<Outcome> HttpTool::call(Call wanted, Lifeline& line) {
  net::HttpCall call;
  call.method = "POST";
  call.url = url_;
  for (const auto& [name, value] : headers_) call.headers.emplace_back(name, value);
  call.headers.emplace_back("Content-Type", "application/json");
  add_trace(wanted.trace, call);
  call.body = base::json_text(wanted.arguments);
  std::string body;
  net::ReplySink sink;
  // Keeps one byte more than the limit, as the sign that the output was longer.
  sink.body = [&](std::string_view bytes) -> base::Status {
    body += bytes.substr(0, max_output_bytes_ + 1 - body.size());
    if (body.size() <= max_output_bytes_) return base::ok();
    return base::error(ErrorCode::too_large, "the result is too long");
  };
  int status = 0;
  sink.head = [&](const net::HttpReply& reply) {
    status = reply.status;
    return base::ok();
  };
  Result<net::HttpReply> reply = co_await exchange(surroundings_, call, sink, line);
  if (!reply.ok() && reply.error().code != ErrorCode::too_large)
    co_return Outcome(true, "The tool failed: " + reply.error().message);
  if (status < 200 || status > 299)
    co_return Outcome(true, fmt::format("The tool answered with status {}: {}", status,
                                        bounded_text(body, kMaxComplaintBytes)));
  co_return Outcome(false, bounded_text(body, max_output_bytes_));
}

}  // namespace kvasir::tool
