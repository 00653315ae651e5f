#include "remote/grpc_peer.h"

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <mutex>

#include "obs/log.h"

namespace kvasir::remote {

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
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);  // it bounds an attempt
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, ms(options.last_retry));
  // Also where two workers have one address after each other.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(options.address, client_credentials(options.peer), arguments);
}

void quiet_grpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
    gpr_set_log_function(
        [](gpr_log_func_args* line) { obs::Log::debug("grpc", {{"reason", line->message}}); });
  });
}

}  // namespace kvasir::remote
