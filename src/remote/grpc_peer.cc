#include "remote/grpc_peer.h"

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "obs/log.h"

namespace kvasir::remote {

namespace {

// A stranger that tries again and again must not fill the log: a line is repeated only after this time, and
// at most this many different lines are logged.
constexpr std::chrono::seconds kBetweenWarnings{5};
constexpr std::size_t kMostKnownLines = 16;

bool was_told_lately(std::string_view line) {
  using Clock = std::chrono::steady_clock;
  static std::mutex mutex;
  static std::map<std::string, Clock::time_point, std::less<>> told;  // guarded by mutex
  const std::lock_guard lock(mutex);
  const Clock::time_point now = Clock::now();
  const auto found = told.find(line);
  if (found != told.end()) {
    if (now < found->second + kBetweenWarnings) return true;
    found->second = now;
    return false;
  }
  if (told.size() >= kMostKnownLines) return true;
  told.emplace(line, now);
  return false;
}

// A failed handshake is a peer without the fleet's certificates, which the operator wants to know.
void tell_line(std::string_view line) {
  if (line.find("andshake failed") == std::string_view::npos || was_told_lately(line))
    obs::Log::debug("grpc", {{"reason", line}});
  else
    obs::Log::warn("fleet_handshake_failed", {{"reason", line}});
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> client_credentials(const PeerOptions& options) {
  if (!options.tls) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({.pem_root_certs = options.tls->authority,
                               .pem_private_key = options.tls->key,
                               .pem_cert_chain = options.tls->certificate});
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const PeerOptions& options) {
  if (!options.tls) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions ssl(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ssl.pem_root_certs = options.tls->authority;
  ssl.pem_key_cert_pairs.push_back({options.tls->key, options.tls->certificate});
  return grpc::SslServerCredentials(ssl);
}

std::shared_ptr<grpc::Channel> open_channel(const ChannelOptions& options) {
  const auto ms = [](base::Duration d) {
    return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(d).count());
  };
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMostMessageBytes));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, ms(options.ping_every));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ms(options.ping_timeout));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, ms(options.first_retry));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);  // also the time limit of one attempt
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, ms(options.last_retry));
  // Channels share no connection, even if two workers have the same address one after the other.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(options.address, client_credentials(options.peer), arguments);
}

void quiet_grpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
    gpr_set_log_function([](gpr_log_func_args* line) { tell_line(line->message); });
  });
}

std::string reason_of(const grpc::Status& status, const PeerOptions& options) {
  const std::string& text = status.error_message();
  if (status.ok() || status.error_code() != grpc::StatusCode::UNAVAILABLE) return text;
  if (!options.tls && (has(text, "Socket closed") || has(text, "reset by peer") || has(text, "Broken pipe")))
    return text +
           " (the other side may want certificates: give the fleet's with --fleet-cert, --fleet-key, "
           "--fleet-ca)";
  if (options.tls && has(text, "wrong version number"))
    return text + " (the other side speaks plain text; it needs certificates of the fleet, too)";
  return text;
}

}  // namespace kvasir::remote
