#include "net/url.h"

#include <gtest/gtest.h>

namespace kvasir::net {
namespace {

TEST(Url, TakesAddressesApart) {
  const struct {
    const char* text;
    Url expected;
  } cases[] = {
      {"http://host", {false, "host", "80", "/"}},
      {"https://Host.Example:8443/a/b?c=d#e", {true, "host.example", "8443", "/a/b?c=d"}},
      {"http://[::1]:9000/x", {false, "::1", "9000", "/x"}},
      {"https://host?q", {true, "host", "443", "/?q"}},
      {"HTTP://h/", {false, "h", "80", "/"}},
  };
  for (const auto& c : cases) {
    const auto url = parse_url(c.text);
    ASSERT_TRUE(url.ok()) << url.error().message;
    EXPECT_TRUE(url->same_origin(c.expected)) << c.text;
    EXPECT_EQ(url->target, c.expected.target) << c.text;
  }
  EXPECT_EQ(parse_url("http://[::1]:9000/x")->text(), "http://[::1]:9000/x");
  EXPECT_EQ(parse_url("https://h:443/x")->authority(), "h");
}

TEST(Url, RefusesWhatIsNone) {
  for (const char* text : {"", "host", "ftp://h", "http://", "http://:80", "http://h:0", "http://h:99999",
                           "http://h:8a", "http://user@h", "http://[::1", "http://[::1]x", "http://h/a b",
                           "http://h/a\r\nX: y", "http://h\xc3\xa9"})
    EXPECT_FALSE(parse_url(text).ok()) << text;
}

TEST(Url, APasswordIsNotRepeated) {
  const auto refused = parse_url("http://ada:sesame@h/x");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message.find("sesame"), std::string::npos) << refused.error().message;
}

TEST(Url, FollowsLocations) {
  const Url from = parse_url("https://h:1/a/b?c").value();
  EXPECT_EQ(resolve_location(from, "/x")->text(), "https://h:1/x");
  EXPECT_EQ(resolve_location(from, "x?y")->text(), "https://h:1/a/x?y");
  EXPECT_EQ(resolve_location(from, "//g/x")->text(), "https://g/x");
  EXPECT_EQ(resolve_location(from, "http://g/x")->text(), "http://g/x");
  EXPECT_FALSE(resolve_location(from, "http://").ok());
}

}  // namespace
}  // namespace kvasir::net
