#include <gtest/gtest.h>

#include <string>

#include "net/http_client.h"
#include "net/server_fixture.h"

namespace kvasir::net {
namespace {

using base::ErrorCode;

class TlsClientTest : public ServerTest {
 protected:
  HttpCall get(const std::string& host, const std::string& target) const {
    HttpCall call;
    call.url = parse_url(fmt::format("https://{}:{}{}", host, port_, target)).value();
    return call;
  }
  HttpClient trusting() const {
    HttpClientOptions options;
    options.connect_timeout = kPatience;
    options.ca_file = certificate_.files().certificate;
    return HttpClient(options);
  }
};
INSTANTIATE_TEST_SUITE_P(Over, TlsClientTest, testing::Values(Layer::tls), name_of);

TEST_P(TlsClientTest, AsksByNameAndByAddress) {
  serve();
  for (const char* host : {"localhost", "127.0.0.1"}) {
    const auto text = trusting().text(get(host, "/stream?500"), 100'000, {});
    ASSERT_TRUE(text.ok()) << text.error().message;
    EXPECT_TRUE(text->body.ends_with("data: 499\n\n"));
  }
  HttpCall call = get("localhost", "/echo");
  call.method = "POST";
  call.body = std::string(1'000'000, 'x');
  const auto text = trusting().text(call, 2'000'000, {});
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(text->body, "POST " + call.body);
}

TEST_P(TlsClientTest, WhomNobodyVouchesForIsNotAsked) {
  serve();
  HttpClientOptions options;
  options.connect_timeout = kPatience;
  const auto text = HttpClient(options).text(get("localhost", "/hello"), 100, {});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, ErrorCode::unavailable);
  EXPECT_NE(text.error().message.find("cannot trust localhost"), std::string::npos) << text.error().message;
  EXPECT_EQ(server_->stats().requests.load(), 0u);
}

TEST_P(TlsClientTest, ACertificateForAnotherNameIsNotTrusted) {
  ServerOptions options;
  options.host = "127.0.0.2";
  serve(options);
  const auto text = trusting().text(get("127.0.0.2", "/hello"), 100, {});
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("mismatch"), std::string::npos) << text.error().message;
}

TEST_P(TlsClientTest, AServerWithoutTlsIsUnreachable) {
  ServerOptions options;
  HttpServer plain(options,
                   [this](HttpRequest& request, Responder& responder) { return answer(request, responder); });
  port_ = plain.start().value();
  const auto text = trusting().text(get("localhost", "/hello"), 100, {});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, ErrorCode::unavailable);
  plain.stop();
}

TEST_P(TlsClientTest, ABodyCutOffIsAnError) {
  serve();
  for (const char* target : {"/cut", "/pieces?1"}) {
    const auto text = trusting().text(get("localhost", target), 100, {});
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().code, ErrorCode::io) << text.error().message;
  }
}

TEST_P(TlsClientTest, AFileOfCertificatesThatIsNoneIsAnError) {
  serve();
  HttpClientOptions options;
  options.ca_file = certificate_.files().key;
  const auto text = HttpClient(options).text(get("localhost", "/hello"), 100, {});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(text.error().message.find(options.ca_file), std::string::npos);
}

}  // namespace
}  // namespace kvasir::net
