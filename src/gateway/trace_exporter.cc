#include "gateway/trace_exporter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/random_bytes.h"
#include "obs/log.h"

namespace kvasir::gateway {

using base::ErrorCode;
using base::Result;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kBatchSpans = 512;
constexpr milliseconds kBatchWait{1000};
constexpr int kMaxAttempts = 6;
constexpr milliseconds kMaxPause{30'000};
constexpr std::size_t kMaxReplyBytes = 64 * 1024;
constexpr std::chrono::minutes kBetweenComplaints{1};
constexpr std::string_view kTracesPath = "/v1/traces";

net::HttpClientOptions client_options() {
  net::HttpClientOptions options;
  options.connect_timeout = milliseconds(2000);
  options.read_timeout = milliseconds(10'000);
  options.max_redirects = 0;
  return options;
}

std::size_t num_spans_of(const std::vector<obs::FinishedTrace>& batch) {
  std::size_t sum = 0;
  for (const obs::FinishedTrace& trace : batch) sum += trace.spans.size();
  return sum;
}

// The statuses after which OTLP asks for another attempt.
bool is_passing_status(int status) {
  constexpr std::array<int, 4> kPassing{429, 502, 503, 504};
  return std::ranges::find(kPassing, status) != kPassing.end();
}

milliseconds retry_after(std::string_view header) {
  int seconds = 0;
  std::from_chars(header.data(), header.data() + header.size(), seconds);
  return std::clamp(milliseconds(std::chrono::seconds(std::clamp(seconds, 0, 3600))), milliseconds(0),
                    kMaxPause);
}

void add_traces_path(std::string& target) {
  const std::size_t query = std::min(target.find('?'), target.size());
  std::string path = target.substr(0, query);
  while (path.ends_with('/')) path.pop_back();
  if (!path.ends_with(kTracesPath)) path += kTracesPath;
  target = path + target.substr(query);
}

}  // namespace

Result<std::optional<TraceExporter::Options>> trace_options(const config::Settings& settings) {
  if (settings.otlp_endpoint.empty()) return std::optional<TraceExporter::Options>();
  auto url = net::parse_url(settings.otlp_endpoint);
  if (!url.ok()) return base::error(ErrorCode::invalid_argument, "otlp_endpoint: {}", url.error().message);
  TraceExporter::Options options;
  options.url = std::move(*url);
  add_traces_path(options.url.target);
  options.protocol = settings.otlp_protocol == "http/json" ? TraceExporter::Protocol::json
                                                           : TraceExporter::Protocol::protobuf;
  for (const std::string& pair : settings.otlp_headers) {
    const std::size_t equals = pair.find('=');
    options.headers.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  options.source = {.service_name = settings.otlp_service_name,
                    .version = KVASIR_VERSION,
                    .instance = obs::hex_of(base::random_uint64())};
  return std::optional(std::move(options));
}

TraceExporter::TraceExporter(Options options, obs::Tracer& tracer, obs::Registry& registry)
    : options_(std::move(options)), tracer_(tracer), client_(client_options()) {
  observations_.push_back(registry.observe_counter(
      {"kvasir_trace_spans_exported_total", "Spans that the receiver of traces has taken."}, {},
      [this] { return static_cast<double>(tracer_.num_exported_spans()); }));
  observations_.push_back(registry.observe_counter(
      {"kvasir_trace_spans_dropped_total",
       "Spans that were lost, since the queue was full or the receiver did not take them."},
      {}, [this] { return static_cast<double>(tracer_.num_dropped_spans()); }));
  thread_ = std::thread([this] { loop(); });
}

void TraceExporter::stop() {
  if (!thread_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    tracer_.hurry();
    if (!changed_.wait_for(lock, options_.max_flush, [this] { return ended_; })) given_up_.request_stop();
  }
  thread_.join();
}

void TraceExporter::loop() {
  for (;;) {
    const std::vector<obs::FinishedTrace> batch = tracer_.wait(kBatchSpans, kBatchWait);
    if (!batch.empty()) send(batch);
    const std::lock_guard lock(mutex_);
    if (!stopping_ || !batch.empty()) continue;
    ended_ = true;
    changed_.notify_all();
    return;
  }
}

void TraceExporter::send(const std::vector<obs::FinishedTrace>& batch) {
  const std::size_t num_spans = num_spans_of(batch);
  const bool as_json = options_.protocol == Protocol::json;
  net::HttpCall call;
  call.method = "POST";
  call.url = options_.url;
  call.headers = options_.headers;
  call.headers.emplace_back("Content-Type", as_json ? "application/json" : "application/x-protobuf");
  call.body = as_json ? obs::otlp_json(batch, options_.source) : obs::otlp_protobuf(batch, options_.source);
  milliseconds wait = options_.first_pause;
  for (int i = 1;; ++i) {
    const Attempt made = attempt(call);
    if (made.sent == Sent::yes) return tracer_.count_exported(num_spans);
    const milliseconds jitter(base::random_uint64() % static_cast<std::uint64_t>(wait.count() / 4 + 1));
    const bool again =
        made.sent == Sent::later && i < kMaxAttempts && pause(std::max(made.pause, wait + jitter));
    if (!again) {
      tracer_.count_dropped(num_spans);
      return complain(made.problem, num_spans);
    }
    wait = std::min(wait * 2, kMaxPause);
  }
}

TraceExporter::Attempt TraceExporter::attempt(const net::HttpCall& call) const {
  const Result<net::HttpClient::Text> text = client_.text(call, kMaxReplyBytes, given_up_.get_token());
  if (!text.ok()) {
    const ErrorCode code = text.error().code;
    const bool passing =
        code == ErrorCode::unavailable || code == ErrorCode::timeout || code == ErrorCode::io;
    return {passing ? Sent::later : Sent::no, milliseconds(0), text.error().message};
  }
  const int status = text->reply.status;
  if (status >= 200 && status < 300) return {.sent = Sent::yes, .problem = {}};
  return {is_passing_status(status) ? Sent::later : Sent::no, retry_after(text->reply.header("retry-after")),
          fmt::format("status {}", status)};
}

bool TraceExporter::pause(milliseconds duration) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, duration, [this] { return stopping_; });
}

void TraceExporter::complain(const std::string& problem, std::size_t num_spans) {
  const auto now = std::chrono::steady_clock::now();
  if (complained_ && now - *complained_ < kBetweenComplaints) return;
  complained_ = now;
  obs::Log::warn("traces_lost",
                 {{"receiver", options_.url.authority()}, {"spans", num_spans}, {"reason", problem}});
}

}  // namespace kvasir::gateway
