#include "remote/protocol.h"

#include <gtest/gtest.h>
#include <kvasir.pb.h>

namespace kvasir::remote {
namespace {

TEST(Protocol, PeersNeedAVersionThatBothSpeak) {
  EXPECT_TRUE(check_common("w", {1, 1}, {1, 1}).ok());
  EXPECT_TRUE(check_common("w", {1, 2}, {1, 1}).ok());
  EXPECT_TRUE(check_common("w", {1, 1}, {1, 2}).ok());
  EXPECT_TRUE(check_common("w", {2, 4}, {3, 3}).ok());
  const base::Status newer = check_common("the worker 'w'", {2, 3}, {1, 1});
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().message,
            "the worker 'w' speaks versions 2 to 3 of the protocol, this build version 1: they are too many "
            "releases apart");
  EXPECT_FALSE(check_common("w", {1, 1}, {2, 3}).ok());
}

TEST(Protocol, APeerThatNamesOneVersionSpeaksItAlone) {
  proto::Hello hello;
  hello.set_protocol(3);
  EXPECT_EQ(protocols_of(hello).oldest, 3u);
  EXPECT_EQ(protocols_of(hello).newest, 3u);
  set_protocols(hello);
  EXPECT_EQ(protocols_of(hello).newest, kProtocols.newest);
}

}  // namespace
}  // namespace kvasir::remote
