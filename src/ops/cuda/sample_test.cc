#include "ops/cuda/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/check.h"
#include "ops/cuda/device.h"

namespace kvasir::ops::cuda {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<RowDrawn> draw(const std::vector<float>& logits, const std::vector<RowDraw>& draws) {
  const auto cols = static_cast<int>(logits.size() / draws.size());
  const Stream stream;
  auto x = DeviceBuffer::allocate(logits.size() * sizeof(float));
  auto wanted = DeviceBuffer::allocate(draws.size() * sizeof(RowDraw));
  auto drawn = DeviceBuffer::allocate(draws.size() * sizeof(RowDrawn));
  CHECK(x.ok() && wanted.ok() && drawn.ok(), "no memory");
  copy_to_device(stream.handle(), x->data(), logits.data(), x->size());
  copy_to_device(stream.handle(), wanted->data(), draws.data(), wanted->size());
  draw_rows(stream.handle(), static_cast<int>(draws.size()), cols, x->as<const float>(),
            wanted->as<const RowDraw>(), drawn->as<RowDrawn>());
  std::vector<RowDrawn> result(draws.size());
  copy_to_host(stream.handle(), result.data(), drawn->data(), drawn->size());
  stream.wait();
  return result;
}

std::vector<float> random_row(std::size_t cols, float deviation, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> row(cols);
  for (float& x : row) x = normal(random);
  return row;
}

TEST(CudaSample, TheLargestIsTheFirstOfEquals) {
  std::vector<float> row = random_row(151936, 1, 1);
  row[77777] = row[140000] = 9;
  const RowDrawn drawn = draw(row, {{}}).front();
  EXPECT_EQ(drawn.token, 77777);
  EXPECT_EQ(drawn.largest, 9);
}

TEST(CudaSample, WhatIsNoNumberIsTold) {
  std::vector<float> rows(3000, 0.5f);
  rows[10] = std::nanf("");
  rows[1500] = kInf;
  for (std::size_t i = 2000; i < 3000; ++i) rows[i] = -kInf;
  const std::vector<RowDrawn> drawn = draw(rows, {{}, {.temperature = 1}, {.temperature = 1, .top_p = 0.5f}});
  EXPECT_EQ(drawn[0].largest, kInf);
  EXPECT_EQ(drawn[1].largest, kInf);
  EXPECT_EQ(drawn[2].largest, -kInf);
}

// The token that u falls to in double arithmetic. Sets `near_edge` if u is near the edge of a token's share.
int expected(const std::vector<float>& row, const RowDraw& d, bool& near_edge) {
  std::vector<int> ids(row.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int>(i);
  const bool by_count = d.top_k > 0 && d.top_k < static_cast<int>(row.size());
  if (by_count || d.top_p < 1)
    std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) {
      return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
    });
  const float max = *std::max_element(row.begin(), row.end());
  const auto weight = [&](int id) {
    return std::exp((double{row[static_cast<std::size_t>(id)]} - max) / d.temperature);
  };
  if (by_count) ids.resize(static_cast<std::size_t>(d.top_k));
  double total = 0;
  for (const int id : ids) total += weight(id);
  if (d.top_p < 1) {
    double sum = 0;
    std::size_t count = 0;
    while (count < ids.size() && sum < d.top_p * total) sum += weight(ids[count++]);
    ids.resize(count);
  }
  std::erase_if(ids, [&](int id) { return weight(id) < d.min_p; });
  total = 0;
  for (const int id : ids) total += weight(id);
  double left = d.u * total;
  for (const int id : ids) {
    left -= weight(id);
    near_edge = near_edge || std::abs(left) < 1e-5 * total;
    if (left < 0) return id;
  }
  return ids.back();
}

TEST(CudaSample, DrawsAsTheCpuDoes) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform;
  int num_compared = 0;
  for (const float deviation : {1.0f, 3.0f}) {
    const std::vector<float> row = random_row(32000, deviation, 3);
    std::vector<RowDraw> kinds = {{.temperature = 1},
                                  {.temperature = 0.7f},
                                  {.temperature = 1, .top_k = 50},
                                  {.temperature = 1.3f, .top_p = 0.9f, .top_k = 40},
                                  {.temperature = 0.5f, .top_p = 0.3f},
                                  {.temperature = 0.8f, .min_p = 0.1f},
                                  {.temperature = 0.6f, .top_p = 0.4f, .min_p = 0.02f}};
    std::vector<RowDraw> draws;
    std::vector<float> rows;
    for (const RowDraw& kind : kinds) {
      for (int i = 0; i < 12; ++i) {
        draws.push_back(kind);
        draws.back().u = uniform(random);
        rows.insert(rows.end(), row.begin(), row.end());
      }
    }
    const std::vector<RowDrawn> drawn = draw(rows, draws);
    for (std::size_t i = 0; i < draws.size(); ++i) {
      bool near_edge = false;
      const int wanted = expected(row, draws[i], near_edge);
      if (near_edge || drawn[i].token < 0) continue;
      EXPECT_EQ(drawn[i].token, wanted) << "deviation " << deviation << " draw " << i;
      ++num_compared;
    }
  }
  EXPECT_GT(num_compared, 100);
}

TEST(CudaSample, TooManyToSortAreTheHosts) {
  const std::vector<float> row(32000, 1.0f);
  EXPECT_EQ(draw(row, {{.temperature = 1, .top_p = 0.5f}}).front().token, -1);
}

}  // namespace
}  // namespace kvasir::ops::cuda
