#include "app/chat_session.h"

#include <gtest/gtest.h>

namespace kvasir::app {
namespace {

TEST(Printable, KeepsTextAndDropsWhatMovesTheCursor) {
  EXPECT_EQ(printable("plain\ttext\nnext"), "plain\ttext\nnext");
  EXPECT_EQ(printable("na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80"),
            "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m\r\x07\x7f"), "[31mred[0m");
  EXPECT_EQ(printable("c1\xc2\x9bm \xc2\xa0"), "c1m \xc2\xa0");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "ab");
}

}  // namespace
}  // namespace kvasir::app
