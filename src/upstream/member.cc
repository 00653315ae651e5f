#include "upstream/member.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "config/environment.h"
#include "upstream/choose_member.h"

namespace kvasir::upstream {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;

namespace {

constexpr std::size_t kMaxKept = 64;
constexpr std::chrono::seconds kKeep{30};  // servers close idle connections, often after a minute
constexpr std::size_t kMaxKey = 16 * 1024;

std::chrono::milliseconds to_ms(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3) + 1);
}

Result<std::string> read_key(const config::UpstreamConfig& config) {
  std::string key;
  if (!config.api_key_env.empty()) {
    key = config::environment(config.api_key_env.c_str());
    if (key.empty())
      return base::error(ErrorCode::invalid_argument, "upstream '{}': the variable {} is not set",
                         config.label, config.api_key_env);
  } else if (!config.api_key_file.empty()) {
    std::ifstream in(config.api_key_file, std::ios::binary);
    if (!in)
      return base::error(ErrorCode::invalid_argument, "upstream '{}': cannot read {}", config.label,
                         config.api_key_file);
    for (std::istreambuf_iterator<char> at(in), end; at != end && key.size() <= kMaxKey; ++at) key += *at;
    while (!key.empty() && (key.back() == '\n' || key.back() == '\r' || key.back() == ' ')) key.pop_back();
  }
  const bool is_visible =
      std::ranges::all_of(key, [](char c) { return c > ' ' && static_cast<unsigned char>(c) < 0x7f; });
  const bool wanted = !config.api_key_env.empty() || !config.api_key_file.empty();
  if (!is_visible || key.size() > kMaxKey || (wanted && key.empty()))
    return base::error(ErrorCode::invalid_argument, "upstream '{}': what should be its key is none",
                       config.label);
  return key;
}

// The address without slashes at its end. An address without a path gets "/v1".
Result<net::Url> base_url(const config::UpstreamConfig& config) {
  auto url = net::parse_url(config.url);
  if (!url.ok())
    return base::error(ErrorCode::invalid_argument, "upstream '{}': url: {}", config.label,
                       url.error().message);
  while (url->target.ends_with('/')) url->target.pop_back();
  if (url->target.empty()) url->target = "/v1";
  return url;
}

}  // namespace

Member::Member(const config::UpstreamConfig& config, net::Url url, const base::Clock& clock)
    : config_(config),
      url_(std::move(url)),
      id_(hash_of(config.label)),
      clock_(clock),
      context_length_(config.context_length) {}

Result<std::shared_ptr<Member>> Member::open(const config::UpstreamConfig& config, const base::Clock& clock) {
  TRY(net::Url url, base_url(config));
  TRY(const std::string key, read_key(config));
  std::shared_ptr<Member> member(new Member(config, std::move(url), clock));
  if (!key.empty()) member->headers_.emplace_back("Authorization", "Bearer " + key);
  member->key_ = key;
  return member;
}

net::Url Member::url_of(std::string_view path) const {
  net::Url url = url_;
  url.target += path;
  return url;
}

net::Url Member::root_url_of(std::string_view path) const {
  net::Url url = url_;
  constexpr std::string_view kVersion = "/v1";
  if (url.target.ends_with(kVersion)) url.target.resize(url.target.size() - kVersion.size());
  url.target += path;
  return url;
}

std::string Member::without_key(std::string words) const {
  constexpr std::string_view kStruck = "[key]";
  constexpr std::size_t kLeastPart = 4;  // shorter parts of the key are not hidden
  if (key_.empty()) return words;
  for (std::size_t at = words.find(key_); at != std::string::npos; at = words.find(key_, at + kStruck.size()))
    words.replace(at, key_.size(), kStruck);
  // Long texts were cut, so the end may hold the beginning of the key.
  for (std::size_t num = std::min(key_.size(), words.size()); num >= kLeastPart; --num) {
    if (!words.ends_with(std::string_view(key_).substr(0, num))) continue;
    words.replace(words.size() - num, num, kStruck);
    break;
  }
  return words;
}

net::HttpClientOptions Member::client_options() const {
  net::HttpClientOptions options;
  options.connect_timeout = to_ms(config_.connect_timeout_s);
  options.read_timeout = to_ms(std::max(config_.first_token_timeout_s, config_.read_timeout_s));
  options.max_redirects = 0;
  options.ca_file = config_.ca_file;
  options.keep_alive = true;
  return options;
}

Member::View Member::view() const {
  const std::lock_guard lock(mutex_);
  View view;
  view.admits = standing_.admits(clock_.now()) && origin_ != nullptr;
  view.in_flight = in_flight_;
  view.full = in_flight_ >= config_.max_in_flight;
  view.load = in_flight_;
  if (reported_load_) view.load = std::max(in_flight_, *reported_load_ + in_flight_ - in_flight_at_report_);
  return view;
}

bool Member::is_up() const {
  const std::lock_guard lock(mutex_);
  return standing_.is_up() && origin_ != nullptr;
}

bool Member::is_ejected() const {
  const std::lock_guard lock(mutex_);
  return standing_.is_ejected();
}

int Member::context_length() const {
  const std::lock_guard lock(mutex_);
  return context_length_;
}

void Member::enter() {
  const std::lock_guard lock(mutex_);
  ++in_flight_;
  standing_.begin(clock_.now());
}

void Member::leave(Ending ending) {
  const std::lock_guard lock(mutex_);
  --in_flight_;
  if (ending == Ending::good) {
    ++counts_.good;
    standing_.note_good(clock_.now());
  } else {
    ++counts_.other;
    standing_.note_nothing();
  }
}

void Member::leave(const Failure& failure) {
  const std::lock_guard lock(mutex_);
  --in_flight_;
  const base::TimePoint now = clock_.now();
  switch (failure.says) {
    case Failure::Says::nothing:
      ++counts_.other;
      return standing_.note_nothing();
    case Failure::Says::busy:
      ++counts_.busy;
      return standing_.note_busy(now + failure.pause);
    case Failure::Says::failed:
      ++counts_.failed;
      return standing_.note_failure(now);
    case Failure::Says::useless:
      ++counts_.failed;
      return standing_.note_useless(now);
  }
}

Member::Counts Member::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::unique_ptr<net::ClientConnection> Member::take_connection(const asio::any_io_executor& executor) {
  std::unique_ptr<net::ClientConnection> old;  // closed after the lock is released, on its executor
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(kept_.rbegin(), kept_.rend(), [&](const Kept& kept) { return kept.executor == executor; });
  if (found != kept_.rend()) {
    std::unique_ptr<net::ClientConnection> connection = std::move(found->connection);
    const bool fresh = clock_.now() - found->since < kKeep;
    kept_.erase(std::next(found).base());
    if (fresh) return connection;
    old = std::move(connection);
  }
  if (!origin_) return nullptr;
  return std::make_unique<net::ClientConnection>(executor, origin_);
}

void Member::keep(std::unique_ptr<net::ClientConnection> connection, const asio::any_io_executor& executor) {
  if (!connection->open()) return;
  const std::lock_guard lock(mutex_);
  if (kept_.size() < kMaxKept) kept_.push_back({executor, std::move(connection), clock_.now()});
}

void Member::close_connections() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
}

void Member::set_origin(std::shared_ptr<const net::Origin> origin) {
  const std::lock_guard lock(mutex_);
  origin_ = std::move(origin);
}

bool Member::has_origin() const {
  const std::lock_guard lock(mutex_);
  return origin_ != nullptr;
}

bool Member::note_check(bool good) {
  const std::lock_guard lock(mutex_);
  return standing_.note_check(good);
}

void Member::note_load(std::optional<int> load) {
  const std::lock_guard lock(mutex_);
  reported_load_ = load;
  in_flight_at_report_ = in_flight_;
}

void Member::note_context_length(int tokens) {
  const std::lock_guard lock(mutex_);
  if (config_.context_length == 0) context_length_ = tokens;
}

Slot& Slot::operator=(Slot&& other) noexcept {
  end();
  member_ = std::move(other.member_);
  return *this;
}

void Slot::note_good() {
  if (const auto member = std::move(member_)) member->leave(Member::Ending::good);
}

void Slot::note(const Failure& failure) {
  if (const auto member = std::move(member_)) member->leave(failure);
}

void Slot::end() {
  if (const auto member = std::move(member_)) member->leave(Member::Ending::nothing);
}

}  // namespace kvasir::upstream
