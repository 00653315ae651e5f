#include "ops/cuda/product_ways.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace kvasir::ops::cuda {
namespace {

using ProductWay = ProductWays::Way;

TEST(ProductWays, AreThereAfterARestartOnTheSameMachine) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "product_ways_test";
  std::filesystem::remove_all(folder);
  const std::filesystem::path file = folder / "new" / "ways";
  const ProductWay library{.algorithm = {1, ~std::uint64_t{0}, 3, 4, 5, 6, 7, 8}};
  const ProductWay own{.algorithm = library.algorithm, .own = WideShape{4, 2}};
  {
    ProductWays ways(file, "a GPU, a driver");
    EXPECT_EQ(ways.find({1, 2, 3, 4}), nullptr);
    ways.keep({1, 2, 3, 4}, library);
    ways.keep({8, 4096, 14336, 257}, own);
    ways.save();
  }
  const ProductWays again(file, "a GPU, a driver");
  ASSERT_NE(again.find({1, 2, 3, 4}), nullptr);
  EXPECT_EQ(*again.find({1, 2, 3, 4}), library);
  ASSERT_NE(again.find({8, 4096, 14336, 257}), nullptr);
  EXPECT_EQ(*again.find({8, 4096, 14336, 257}), own);
  EXPECT_EQ(ProductWays(file, "a GPU, another driver").find({1, 2, 3, 4}), nullptr);
  // If a file was cut off, its complete lines are still read.
  std::string text;
  {
    std::ifstream in(file);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::ofstream(file) << text.substr(0, text.size() - 5);
  const ProductWays cut(file, "a GPU, a driver");
  EXPECT_NE(cut.find({1, 2, 3, 4}), nullptr);
  EXPECT_EQ(cut.find({8, 4096, 14336, 257}), nullptr);
  // The file cannot be written.
  ProductWays nowhere("/proc/nowhere/ways", "a GPU, a driver");
  nowhere.keep({1, 2, 3, 4}, library);
  nowhere.save();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kvasir::ops::cuda
