#include "tool/toolbox.h"

#include <pthread.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "net/client_connection.h"
#include "tool/http_tool.h"
#include "tool/mcp_source.h"

namespace kvasir::tool {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;
using Kind = config::ToolConfig::Kind;

namespace {

// Calls that run at once at most, over all requests.
constexpr int kMaxRunning = 256;
constexpr std::chrono::seconds kConnectTimeout{10};
// Never reached: the tool's own timeout ends an exchange long before this.
constexpr std::chrono::hours kReadTimeout{2};

base::Duration timeout_of(const config::ToolConfig& row) {
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(row.timeout_s));
}

Result<std::unique_ptr<Source>> make_source(const config::ToolConfig& row, Surroundings surroundings) {
  if (row.kind == Kind::http) return HttpTool::make(row, std::move(surroundings));
  return McpSource::make(row, std::move(surroundings));
}

Lookups::Found find_origin(const net::Url& url, const std::stop_token& stop) {
  net::HttpClientOptions options;
  options.connect_timeout = kConnectTimeout;
  options.read_timeout = kReadTimeout;
  return net::Origin::find(url, options, stop);
}

}  // namespace

Toolbox::Toolbox() : lookups_(io_.get_executor(), find_origin), work_(asio::make_work_guard(io_)) {}

Result<std::unique_ptr<Toolbox>> Toolbox::open(const std::vector<config::ToolConfig>& rows) {
  std::unique_ptr<Toolbox> box(new Toolbox());
  for (const config::ToolConfig& row : rows) {
    auto source = make_source(row, {box->io_.get_executor(), box->lookups_});
    if (!source.ok())
      return base::error(ErrorCode::invalid_argument, "tool '{}': {}", row.name, source.error().message);
    box->sources_.push_back({row, std::move(*source)});
  }
  if (rows.empty()) return box;
  box->thread_ = std::thread([&io = box->io_] {
    // The signal is blocked so that writing to a dead child process fails with an error instead.
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    io.run();
  });
  asio::post(box->io_, [&sources = box->sources_] {
    for (const Held& held : sources) held.source->start();
  });
  return box;
}

Toolbox::~Toolbox() {
  stop();
}

void Toolbox::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stopped_, true)) return;
  }
  asio::post(io_, [this] {
    const std::unordered_set<Lifeline*> lines = lines_;
    for (Lifeline* line : lines) line->end();
    for (const Held& held : sources_) held.source->stop();
  });
  work_.reset();
  if (thread_.joinable()) thread_.join();
  lookups_.stop();
}

const Toolbox::Held* Toolbox::held(std::string_view name) const {
  const auto it = std::ranges::find_if(sources_, [&](const Held& one) { return one.row.name == name; });
  return it == sources_.end() ? nullptr : &*it;
}

Result<std::vector<Definition>> Toolbox::find(std::string_view name) const {
  const std::size_t end = name.find("__");
  const Held* const from = held(name.substr(0, end));
  const auto no_such = [&] {
    std::vector<std::string_view> names;
    for (const Held& one : sources_) names.push_back(one.row.name);
    return base::error(ErrorCode::not_found, "this server has no tool '{}'; it has {}", name,
                       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  };
  if (from == nullptr) return no_such();
  TRY(std::vector<Definition> offers, from->source->offers());
  if (end == std::string_view::npos) return offers;
  std::erase_if(offers, [&](const Definition& one) { return one.name != name; });
  if (offers.empty()) return no_such();
  return offers;
}

std::vector<Toolbox::Row> Toolbox::list() const {
  std::vector<Row> rows;
  for (const Held& one : sources_) rows.push_back({one.row.name, one.row.kind, one.source->offers()});
  return rows;
}

void Toolbox::start(Call call, std::stop_token stop, std::function<void(Outcome)> done) {
  const Held* const from = held(std::string_view(call.tool).substr(0, call.tool.find("__")));
  std::unique_lock lock(mutex_);
  std::string refusal;
  if (from == nullptr)
    refusal = "There is no such tool.";
  else if (stopped_)
    refusal = "The server is shutting down.";
  else if (num_running_.load() >= kMaxRunning)
    refusal = "Too many tools are running; try again later.";
  if (!refusal.empty()) {
    lock.unlock();
    done(Outcome(true, std::move(refusal)));
    return;
  }
  ++num_running_;
  asio::co_spawn(io_, run(*from, std::move(call), std::move(stop), std::move(done)), asio::detached);
}

asio::awaitable<void> Toolbox::run(const Held& held, Call call, std::stop_token stop,
                                   std::function<void(Outcome)> done) {
  const auto line = std::make_shared<Lifeline>(io_.get_executor(), timeout_of(held.row));
  lines_.insert(line.get());
  Outcome outcome;
  {
    const std::stop_callback given_up(stop, [this, weak = std::weak_ptr<Lifeline>(line)] {
      asio::post(io_, [weak] {
        if (const auto locked = weak.lock()) locked->end();
      });
    });
    try {
      outcome = co_await held.source->call(std::move(call), *line);
    } catch (const std::exception& e) {
      outcome = Outcome(true, bounded_text(e.what(), 200));
    }
  }
  lines_.erase(line.get());
  --num_running_;
  done(std::move(outcome));
}

}  // namespace kvasir::tool
