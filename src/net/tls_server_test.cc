#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/certificate_watch.h"
#include "net/server_fixture.h"
#include "net/tls_session.h"
#include "obs/log.h"

// Tests of TLS itself. The other tests of the server run over both plain HTTP and TLS.
namespace kvasir::net {
namespace {

using namespace std::chrono_literals;

testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << text << "' lacks '" << part << "'";
}

class TlsServerTest : public ServerTest {
 protected:
  void TearDown() override { obs::Log::redirect({}); }

  ServerOptions quick() {
    ServerOptions options;
    options.tls_look_interval = 5ms;
    return options;
  }
  // Keeps the lines of the log from now on.
  void keep_log() {
    obs::Log::redirect([this](std::string_view line) {
      const std::lock_guard lock(mutex_);
      log_ += std::string(line) + "\n";
    });
  }
  bool logged(std::string_view text) {
    const std::lock_guard lock(mutex_);
    return log_.find(text) != std::string::npos;
  }
  void wait_for_log(std::string_view text) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!logged(text) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    ASSERT_TRUE(logged(text)) << text;
  }

  static long serial_of(LoopbackClient& client) {
    X509* certificate = SSL_get1_peer_certificate(client.tls()->native());
    const long serial = ASN1_INTEGER_get(X509_get0_serialNumber(certificate));
    X509_free(certificate);
    return serial;
  }
  // The number of the certificate that a new connection is shown.
  long shown() {
    trust_ = certificate_.client();
    LoopbackClient client = connect();
    return SSL_is_init_finished(client.tls()->native()) == 1 ? serial_of(client) : 0;
  }

  std::mutex mutex_;
  std::string log_;  // guarded by mutex_
};
INSTANTIATE_TEST_SUITE_P(Over, TlsServerTest, testing::Values(Layer::tls), name_of);

TEST_P(TlsServerTest, OldVersionsAreRefused) {
  serve();
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto context = certificate_.client();
    SSL_CTX_set_cipher_list(context->native(), "DEFAULT:@SECLEVEL=0");
    SSL_CTX_set_min_proto_version(context->native(), version);
    SSL_CTX_set_max_proto_version(context->native(), version);
    LoopbackClient client(port_);
    EXPECT_EQ(client.start_tls(*context), version >= TLS1_2_VERSION) << version;
    if (version < TLS1_2_VERSION) {
      EXPECT_TRUE(has(client.tls()->failure(), "version"));
    }
  }
  expect_undisturbed();
}

TEST_P(TlsServerTest, CiphersWithoutForwardSecrecyAreRefused) {
  serve();
  const auto context = certificate_.client();
  SSL_CTX_set_max_proto_version(context->native(), TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context->native(), "ECDHE-ECDSA-AES128-SHA:AES128-GCM-SHA256");
  LoopbackClient client(port_);
  EXPECT_FALSE(client.start_tls(*context));
}

TEST_P(TlsServerTest, SpeaksHttp11AmongTheProtocolsOffered) {
  serve();
  const auto offer = [&](const std::string& list) {
    const auto context = certificate_.client();
    SSL_CTX_set_alpn_protos(context->native(), reinterpret_cast<const unsigned char*>(list.data()),
                            static_cast<unsigned>(list.size()));
    LoopbackClient client(port_);
    if (!client.start_tls(*context)) return std::string("refused");
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(client.tls()->native(), &chosen, &size);
    return std::string(reinterpret_cast<const char*>(chosen), size);
  };
  EXPECT_EQ(offer("\x02h2\x08http/1.1"), "http/1.1");
  EXPECT_EQ(offer("\x08http/1.0"), "http/1.0");
  EXPECT_EQ(offer("\x02h2"), "refused");
}

TEST_P(TlsServerTest, APlainRequestIsToldToUseHttps) {
  serve();
  LoopbackClient client(port_);
  client.send(post_request("/echo", std::string(100'000, 'x')));
  const auto response = client.read_response();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 400);
  EXPECT_EQ(code_of(*response), "https_expected");
  EXPECT_TRUE(client.at_end());
  LoopbackClient other(port_);
  other.send("SSH-2.0-OpenSSH_9.2\r\n");
  other.read_until("nothing like that");  // reads an alert and the end of the connection
  expect_undisturbed();
  EXPECT_EQ(server_->stats().failed_handshakes.load(), 2u);
  EXPECT_EQ(server_->stats().requests.load(), 1u);
}

TEST_P(TlsServerTest, AStalledHandshakeIsDropped) {
  ServerOptions options;
  options.header_timeout = 100ms;
  serve(options);
  LoopbackClient mute(port_);
  LoopbackClient slow(port_);
  slow.send(std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11));
  EXPECT_TRUE(mute.at_end());
  EXPECT_TRUE(slow.at_end());
  EXPECT_EQ(server_->stats().failed_handshakes.load(), 2u);
}

TEST_P(TlsServerTest, HandshakesCountAsConnections) {
  ServerOptions options;
  options.max_connections = 2;
  serve(options);
  const std::vector<LoopbackClient> stalled = [&] {
    std::vector<LoopbackClient> clients;
    for (int i = 0; i < 2; ++i) clients.emplace_back(port_);
    return clients;
  }();
  while (server_->stats().open_connections.load() < 2) std::this_thread::yield();
  LoopbackClient third = connect();
  const auto response = third.read_response();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(code_of(*response), "too_many_connections");
}

TEST_P(TlsServerTest, StoppingEndsHandshakes) {
  serve();
  LoopbackClient client(port_);
  while (server_->stats().open_connections.load() < 1) std::this_thread::yield();
  server_->stop_accepting();
  EXPECT_TRUE(client.at_end());
}

TEST_P(TlsServerTest, TheEndOfAnAnswerAndACutOffOneDiffer) {
  serve();
  LoopbackClient whole = connect();
  whole.send(get_request("/hello", "Connection: close\r\n"));
  EXPECT_EQ(whole.read_response()->body, "hello");
  char byte = 0;
  EXPECT_EQ(whole.tls()->read(boost::asio::buffer(&byte, 1)).step, TlsSession::Step::end);
  LoopbackClient half = connect();
  half.send(get_request("/cut"));
  half.read_until("half\n\n\r\n");
  EXPECT_EQ(half.tls()->read(boost::asio::buffer(&byte, 1)).step, TlsSession::Step::failed);
}

// The client's announcement that it leaves may be read together with the request, and then causes no later
// event.
TEST_P(TlsServerTest, WhoSaysThatItLeavesIsGone) {
  serve();
  for (int i = 0; i < 20; ++i) {
    LoopbackClient client = connect();
    client.send(get_request("/wait"));
    (void)client.tls()->say_end();
    ASSERT_TRUE(left_.try_acquire_for(kPatience));
  }
}

TEST_P(TlsServerTest, AFloodOfNewKeysDisturbsNobody) {
  ServerOptions options;
  options.idle_timeout = 2s;
  serve(options);
  LoopbackClient client = connect();
  const auto renew_keys = [&] {
    return SSL_key_update(client.tls()->native(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
           SSL_do_handshake(client.tls()->native()) == 1;
  };
  // Renewing keys now and then is accepted.
  ASSERT_TRUE(renew_keys());
  client.send(get_request("/hello"));
  EXPECT_EQ(client.read_response()->body, "hello");
  for (int i = 0; renew_keys(); ++i)
    if (i % 1000 == 0) expect_undisturbed();
  EXPECT_TRUE(client.at_end());
}

TEST_P(TlsServerTest, NewConnectionsGetANewCertificate) {
  serve(quick());
  LoopbackClient running = connect();
  running.send(get_request("/wait"));
  ASSERT_TRUE(entered_.try_acquire_for(kPatience));
  LoopbackClient kept = connect();
  kept.send(get_request("/hello"));
  EXPECT_EQ(kept.read_response()->body, "hello");
  const long before = certificate_.serial();
  EXPECT_EQ(shown(), before);
  keep_log();
  certificate_.renew();
  wait_for_log("tls_certificate_loaded");
  EXPECT_NE(certificate_.serial(), before);
  while (shown() != certificate_.serial()) std::this_thread::yield();
  expect_undisturbed();
  // Connections from before keep their certificate.
  EXPECT_EQ(serial_of(kept), before);
  kept.send(get_request("/hello"));
  EXPECT_EQ(kept.read_response()->body, "hello");
  EXPECT_FALSE(left_.try_acquire());
  running.reset();
  EXPECT_TRUE(left_.try_acquire_for(kPatience));
}

TEST_P(TlsServerTest, ABadNewPairIsNotTaken) {
  serve(quick());
  const long before = certificate_.serial();
  const auto trust = certificate_.client();
  keep_log();
  write_file(certificate_.files().certificate, "not a certificate");
  wait_for_log("tls_certificate_kept");
  EXPECT_TRUE(logged(certificate_.files().certificate));
  LoopbackClient client(port_);
  ASSERT_TRUE(client.start_tls(*trust));
  EXPECT_EQ(serial_of(client), before);
  std::filesystem::remove(certificate_.files().certificate);
  wait_for_log("cannot read the TLS");
  // A good certificate is loaded after the bad ones.
  certificate_.renew();
  wait_for_log("tls_certificate_loaded");
  while (shown() != certificate_.serial()) std::this_thread::yield();
}

TEST_P(TlsServerTest, AWrongPairIsAnErrorThatNamesTheFile) {
  const TlsFiles good = certificate_.files();
  const TestCertificate other;
  const auto complaint = [](const TlsFiles& files) {
    const auto started = CertificateWatch::start(files, 1s);
    return started.ok() ? std::string("none") : started.error().message;
  };
  EXPECT_EQ(complaint(good), "none");
  EXPECT_EQ(complaint({"/nowhere/cert.pem", good.key}),
            "cannot read the TLS certificate /nowhere/cert.pem: No such file or directory");
  EXPECT_EQ(complaint({good.certificate, "/nowhere/key.pem"}),
            "cannot read the TLS key /nowhere/key.pem: No such file or directory");
  EXPECT_TRUE(has(complaint({good.key, good.key}), good.key + " holds no usable TLS certificate in PEM"));
  EXPECT_TRUE(has(complaint({good.certificate, good.certificate}),
                  good.certificate + " holds no usable TLS key in PEM"));
  EXPECT_TRUE(has(complaint({good.certificate, other.files().key}),
                  other.files().key + " does not belong to the first certificate of " + good.certificate));
  other.lock_key();
  EXPECT_TRUE(has(complaint(other.files()), "has a passphrase"));
}

TEST_P(TlsServerTest, AKeyThatAllMayReadIsLogged) {
  keep_log();
  ASSERT_TRUE(CertificateWatch::start(certificate_.files(), 1s).ok());
  EXPECT_FALSE(logged("tls_key_readable_by_all"));
  std::filesystem::permissions(certificate_.files().key, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  ASSERT_TRUE(CertificateWatch::start(certificate_.files(), 1s).ok());
  EXPECT_TRUE(logged("tls_key_readable_by_all"));
}

}  // namespace
}  // namespace kvasir::net
