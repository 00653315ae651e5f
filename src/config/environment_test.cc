#include "config/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace kvasir::config {
namespace {

TEST(Environment, FollowsTheXdgBaseDirectories) {
  ::setenv("HOME", "/home/someone", 1);
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("XDG_CONFIG_HOME");
  ::unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(default_model_dir(), "/home/someone/.cache/kvasir/models");
  EXPECT_EQ(user_config_dir(), "/home/someone/.config/kvasir");
  EXPECT_EQ(default_data_dir(), "/home/someone/.local/share/kvasir");
  ::setenv("XDG_CACHE_HOME", "/fast/cache", 1);
  ::setenv("XDG_CONFIG_HOME", "relative", 1);
  EXPECT_EQ(default_model_dir(), "/fast/cache/kvasir/models");
  EXPECT_EQ(user_config_dir(), "/home/someone/.config/kvasir");
}

TEST(Environment, AnUnsetVariableIsEmpty) {
  ::unsetenv("KVASIR_NOT_SET");
  EXPECT_EQ(environment("KVASIR_NOT_SET"), "");
}

}  // namespace
}  // namespace kvasir::config
