#include "upstream/checks.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "net/client_connection.h"
#include "obs/log.h"
#include "upstream/reported_load.h"

namespace kvasir::upstream {

namespace json = boost::json;
using base::Result;

namespace {

constexpr std::chrono::seconds kCheckTimeout{5};
constexpr std::chrono::seconds kLookUpAgain{30};
constexpr std::chrono::milliseconds kPauseWhileDown{500};
constexpr std::size_t kMaxAnswer = 4 << 20;
constexpr int kChecksWithoutLoad = 60;

net::HttpClientOptions options_of(const Member& member) {
  net::HttpClientOptions options = member.client_options();
  options.keep_alive = false;
  options.read_timeout = kCheckTimeout;
  return options;
}

// The model's context length in a list of models, under the names that servers use; 0: none.
int context_length_of(const json::object& model) {
  const auto number = [](const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    const bool good = value != nullptr && value->is_int64() && value->get_int64() > 0;
    return good ? static_cast<int>(std::min<std::int64_t>(value->get_int64(), 1 << 30)) : 0;
  };
  for (const char* name : {"max_model_len", "context_window", "context_length"})
    if (const int length = number(model, name); length > 0) return length;
  const json::value* meta = model.if_contains("meta");
  if (meta == nullptr || !meta->is_object()) return 0;
  const int length = number(meta->get_object(), "n_ctx");
  return length > 0 ? length : number(meta->get_object(), "n_ctx_train");
}

}  // namespace

Checks::Checks(std::shared_ptr<Member> member)
    : member_(std::move(member)),
      client_(options_of(*member_)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Checks::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look_up(stop);
    const std::optional<std::string> wrong = problem(stop);
    if (stop.stop_requested()) return;
    note(wrong);
    if (!wrong && !knows_model_) learn_model(stop);
    if (!wrong) read_load(stop);
    auto pause = std::chrono::duration<double>(member_->config().check_interval_s);
    if (wrong) pause = std::min<std::chrono::duration<double>>(pause, kPauseWhileDown);
    sleep(std::chrono::duration_cast<base::Duration>(pause), stop);
  }
}

void Checks::sleep(base::Duration pause, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, stop, pause, [] { return false; });
}

void Checks::look_up(const std::stop_token& stop) {
  const base::TimePoint now = base::RealClock().now();
  if (member_->has_origin() && last_problem_.empty() && now - looked_up_ < kLookUpAgain) return;
  auto origin = net::Origin::find(member_->url_of(""), member_->client_options(), stop);
  if (!origin.ok()) return;  // the next check reports the problem
  looked_up_ = now;
  member_->set_origin(std::move(*origin));
}

Result<net::HttpClient::Text> Checks::get(const net::Url& url, const std::stop_token& stop) const {
  net::HttpCall call;
  call.url = url;
  call.headers = member_->headers();
  return client_.text(call, kMaxAnswer, stop);
}

std::optional<std::string> Checks::problem(const std::stop_token& stop) {
  if (!member_->has_origin()) {
    const auto found = net::Origin::find(member_->url_of(""), member_->client_options(), stop);
    if (!found.ok()) return found.error().message;
  }
  const std::string& path = member_->config().health_path;
  if (!lists_models_) {
    const auto reply = get(member_->root_url_of(path.empty() ? "/health" : path), stop);
    if (!reply.ok()) return reply.error().message;
    const int status = reply->reply.status;
    if (status >= 200 && status < 300) return std::nullopt;
    const bool has_none = status == 404 || status == 405 || status == 401 || status == 403;
    if (!path.empty() || !has_none) return fmt::format("its health is status {}", status);
    lists_models_ = true;
  }
  const auto reply = get(member_->url_of("/models"), stop);
  if (!reply.ok()) return reply.error().message;
  const int status = reply->reply.status;
  if (status == 401 || status == 403) return fmt::format("it does not take our key (status {})", status);
  if (status < 200 || status >= 300) return fmt::format("the list of its models is status {}", status);
  return std::nullopt;
}

void Checks::note(const std::optional<std::string>& problem) {
  const bool changed = member_->note_check(!problem.has_value());
  const std::string why = member_->without_key(problem.value_or(""));
  const config::UpstreamConfig& config = member_->config();
  if (changed && !problem)
    obs::Log::info("upstream_up", {{"upstream", config.label}, {"model", config.name}});
  else if (problem && (changed || why != last_problem_))
    obs::Log::warn("upstream_down", {{"upstream", config.label}, {"model", config.name}, {"reason", why}});
  last_problem_ = why;
}

void Checks::read_load(const std::stop_token& stop) {
  if (checks_without_load_ > 0) {
    --checks_without_load_;
    return;
  }
  const auto reply = get(member_->root_url_of("/metrics"), stop);
  if (stop.stop_requested()) return;
  std::optional<int> load;
  if (reply.ok() && reply->reply.status == 200) load = reported_load(reply->body);
  member_->note_load(load);
  if (!load) checks_without_load_ = kChecksWithoutLoad;
}

void Checks::learn_model(const std::stop_token& stop) {
  const auto reply = get(member_->url_of("/models"), stop);
  if (stop.stop_requested() || !reply.ok() || reply->reply.status != 200) return;
  knows_model_ = true;
  const auto list = base::parse_json(reply->body);
  if (!list.ok() || !list->is_object()) return;
  const json::value* data = list->get_object().if_contains("data");
  if (data == nullptr || !data->is_array()) return;
  const config::UpstreamConfig& config = member_->config();
  for (const json::value& value : data->get_array()) {
    const json::object* model = value.if_object();
    const json::value* id = model == nullptr ? nullptr : model->if_contains("id");
    if (id == nullptr || *id != json::value(config.model)) continue;
    if (const int length = context_length_of(*model); length > 0) member_->note_context_length(length);
    return;
  }
  obs::Log::warn("upstream_lacks_model", {{"upstream", config.label}, {"model", config.model}});
}

}  // namespace kvasir::upstream
