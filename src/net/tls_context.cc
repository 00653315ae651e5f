#include "net/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>

namespace kvasir::net {

using base::ErrorCode;

namespace {

// The ciphers for TLS 1.2. All ciphers of TLS 1.3 are sound.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr std::array<std::string_view, 2> kProtocols = {"http/1.1", "http/1.0"};

// `offered` is a list of names, each after its length. A client that offers none of kProtocols is refused.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  const std::string_view list(reinterpret_cast<const char*>(offered), offered_size);
  for (std::size_t at = 0; at < list.size(); at += 1U + offered[at]) {
    if (std::ranges::find(kProtocols, list.substr(at + 1, offered[at])) == kProtocols.end()) continue;
    *chosen = offered + at + 1;
    *chosen_size = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Fails for an encrypted key, where OpenSSL would ask for the passphrase at the terminal.
int no_passphrase(char*, int, int, void* asked) {
  if (asked != nullptr) *static_cast<bool*>(asked) = true;
  return -1;
}

base::Result<SSL_CTX*> common_context(const SSL_METHOD* method) {
  SSL_CTX* context = SSL_CTX_new(method);
  if (context == nullptr) return base::error(ErrorCode::internal, "TLS: {}", take_tls_error());
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // A write that had to wait may be repeated from another address. Idle connections hold no buffers;
  // otherwise each would hold two of 17 KiB.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);  // TlsSession counts records without data
  SSL_CTX_set_read_ahead(context, 1);                // a record in one system call, not two
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return context;
}

base::Status readable(const char* what, const std::string& path) {
  if (std::FILE* file = std::fopen(path.c_str(), "rb")) {
    std::fclose(file);
    return base::ok();
  }
  return base::error(ErrorCode::invalid_argument, "cannot read the {} {}: {}", what, path,
                     std::generic_category().message(errno));
}

base::Status load_certificate(SSL_CTX* context, const std::string& path) {
  TRY_OK(readable("TLS certificate", path));
  if (SSL_CTX_use_certificate_chain_file(context, path.c_str()) == 1) return base::ok();
  return base::error(ErrorCode::invalid_argument, "{} holds no usable TLS certificate in PEM: {}", path,
                     take_tls_error());
}

base::Status load_key(SSL_CTX* context, const TlsFiles& files) {
  TRY_OK(readable("TLS key", files.key));
  bool asked = false;
  SSL_CTX_set_default_passwd_cb_userdata(context, &asked);
  const bool loaded = SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  if (loaded && SSL_CTX_check_private_key(context) == 1) return base::ok();
  const int code = ERR_GET_REASON(ERR_peek_error());
  const std::string reason = take_tls_error();
  if (asked)
    return base::error(ErrorCode::invalid_argument, "the TLS key {} has a passphrase; one without is needed",
                       files.key);
  if (code == X509_R_KEY_VALUES_MISMATCH || code == X509_R_KEY_TYPE_MISMATCH)
    return base::error(ErrorCode::invalid_argument,
                       "the TLS key {} does not belong to the first certificate of {}", files.key,
                       files.certificate);
  return base::error(ErrorCode::invalid_argument, "{} holds no usable TLS key in PEM: {}", files.key, reason);
}

}  // namespace

std::string take_tls_error() {
  const unsigned long code = ERR_peek_error();  // the first error is the cause; the others only passed it on
  const char* reason = ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "unknown error" : reason;
}

void TlsContext::Free::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}

base::Result<std::shared_ptr<const TlsContext>> TlsContext::client(const std::string& ca_file) {
  TRY(SSL_CTX * native, common_context(TLS_client_method()));
  std::shared_ptr<const TlsContext> context(new TlsContext(native));
  SSL_CTX_set_verify(native, SSL_VERIFY_PEER, nullptr);
  if (SSL_CTX_set_default_verify_paths(native) != 1) ERR_clear_error();
  if (!ca_file.empty() && SSL_CTX_load_verify_file(native, ca_file.c_str()) != 1)
    return base::error(ErrorCode::invalid_argument, "cannot read the certificates in {}: {}", ca_file,
                       take_tls_error());
  return context;
}

base::Result<std::shared_ptr<const TlsContext>> TlsContext::server(const TlsFiles& files) {
  TRY(SSL_CTX * native, common_context(TLS_server_method()));
  std::shared_ptr<const TlsContext> context(new TlsContext(native));
  if (SSL_CTX_set_cipher_list(native, kCiphers) != 1)
    return base::error(ErrorCode::internal, "TLS: {}", take_tls_error());
  SSL_CTX_set_default_passwd_cb(native, no_passphrase);
  SSL_CTX_set_num_tickets(native, 1);
  SSL_CTX_set_alpn_select_cb(native, choose_protocol, nullptr);
  TRY_OK(load_certificate(native, files.certificate));
  TRY_OK(load_key(native, files));
  return context;
}

std::string TlsContext::expiry() const {
  const X509* certificate = SSL_CTX_get0_certificate(context_.get());
  BIO* text = BIO_new(BIO_s_mem());
  std::string expiry;
  if (certificate != nullptr && ASN1_TIME_print(text, X509_get0_notAfter(certificate)) == 1) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(text, &bytes);
    expiry.assign(bytes, static_cast<std::size_t>(size));
  }
  BIO_free(text);
  return expiry;
}

}  // namespace kvasir::net
