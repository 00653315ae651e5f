#include "remote/grpc_peer.h"

#include <grpc/support/log.h>

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

void quiet_grpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
    gpr_set_log_function(
        [](gpr_log_func_args* line) { obs::Log::debug("grpc", {{"reason", line->message}}); });
  });
}

}  // namespace kvasir::remote
