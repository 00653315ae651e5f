#include "ops/cuda/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/check.h"
#include "ops/cuda/device.h"
#include "ops/draw/host_team.h"

namespace kvasir::ops::cuda {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Drawn {
  std::vector<RowDrawn> rows;
  std::vector<TopToken> top;  // [rows, kMaxTopTokens]
};

// What rows are drawn from. Histories begin with the contents of `counts`.
struct Job {
  int cols = 0;
  std::vector<float> logits;
  std::vector<RowDraw> draws;
  std::vector<std::int32_t> counted;
  std::vector<TokenBias> biases;
  std::vector<std::uint32_t> masks;
  std::vector<std::uint32_t> counts;

  int rows() const { return static_cast<int>(draws.size()); }
};

template <class T>
T* upload(const Stream& stream, std::vector<DeviceBuffer>& buffers, const std::vector<T>& values) {
  auto buffer = DeviceBuffer::allocate(std::max<std::size_t>(1, values.size() * sizeof(T)));
  CHECK(buffer.ok(), "no memory");
  copy_to_device(stream.handle(), buffer->data(), values.data(), values.size() * sizeof(T));
  return buffers.emplace_back(std::move(*buffer)).template as<T>();
}

Drawn draw_on_device(Job& job) {
  const Stream stream;
  std::vector<DeviceBuffer> buffers;
  Drawn drawn{std::vector<RowDrawn>(job.draws.size()),
              std::vector<TopToken>(job.draws.size() * kMaxTopTokens)};
  const DrawArgs args{.cols = job.cols,
                      .logits = upload(stream, buffers, job.logits),
                      .draws = upload(stream, buffers, job.draws),
                      .lists = {upload(stream, buffers, job.counted), upload(stream, buffers, job.biases),
                                upload(stream, buffers, job.masks), (job.cols + 31) / 32},
                      .counts = upload(stream, buffers, job.counts),
                      .drawn = upload(stream, buffers, drawn.rows),
                      .top = upload(stream, buffers, drawn.top)};
  draw_rows(stream.handle(), job.rows(), args);
  copy_to_host(stream.handle(), drawn.rows.data(), args.drawn, drawn.rows.size() * sizeof(RowDrawn));
  copy_to_host(stream.handle(), drawn.top.data(), args.top, drawn.top.size() * sizeof(TopToken));
  copy_to_host(stream.handle(), job.counts.data(), args.counts, job.counts.size() * sizeof(std::uint32_t));
  stream.wait();
  return drawn;
}

Drawn draw_on_host(Job& job) {
  Drawn drawn{std::vector<RowDrawn>(job.draws.size()),
              std::vector<TopToken>(job.draws.size() * kMaxTopTokens)};
  draw_rows_on_host(job.rows(),
                    {.cols = job.cols,
                     .logits = job.logits.data(),
                     .draws = job.draws.data(),
                     .lists = {job.counted.data(), job.biases.data(), job.masks.data(), (job.cols + 31) / 32},
                     .counts = job.counts.data(),
                     .drawn = drawn.rows.data(),
                     .top = drawn.top.data()});
  return drawn;
}

std::vector<float> random_row(std::size_t cols, float deviation, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> row(cols);
  for (float& x : row) x = normal(random);
  return row;
}

void add_row(Job& job, const std::vector<float>& row, const RowDraw& draw) {
  job.cols = static_cast<int>(row.size());
  job.logits.insert(job.logits.end(), row.begin(), row.end());
  job.draws.push_back(draw);
}

TEST(CudaSample, TheLargestIsTheFirstOfEquals) {
  std::vector<float> row = random_row(151936, 1, 1);
  row[77777] = row[140000] = 9;
  Job job;
  add_row(job, row, {});
  const RowDrawn drawn = draw_on_device(job).rows.front();
  EXPECT_EQ(drawn.token, 77777);
  EXPECT_EQ(drawn.largest, 9);
}

TEST(CudaSample, WhatIsNoNumberIsTold) {
  Job job;
  std::vector<float> row(1000, 0.5f);
  row[10] = std::nanf("");
  add_row(job, row, {});
  row[10] = kInf;
  add_row(job, row, {.temperature = 1, .num_top = 4});
  add_row(job, std::vector<float>(1000, -kInf), {.temperature = 1, .top_p = 0.5f});
  const Drawn drawn = draw_on_device(job);
  EXPECT_EQ(drawn.rows[0].largest, kInf);
  EXPECT_EQ(drawn.rows[1].largest, kInf);
  EXPECT_EQ(drawn.rows[2].largest, -kInf);
}

std::vector<RowDraw> kinds() {
  return {{.temperature = 1},
          {.temperature = 0.7f},
          {.temperature = 1, .top_k = 50},
          {.temperature = 1.3f, .top_p = 0.9f, .top_k = 40},
          {.temperature = 0.5f, .top_p = 0.3f},
          {.temperature = 0.8f, .min_p = 0.1f},
          {.temperature = 0.6f, .top_p = 0.4f, .min_p = 0.02f},
          {.temperature = 2, .top_p = 0.95f},
          {.temperature = 3, .top_k = 60000}};
}

// Another test compares the same code on the host with the CPU's sampler. The device adds sums in another
// order, which may change the result at the edge of a token's share. With many rows, thread blocks have
// another size.
TEST(CudaSample, DrawsAsTheHostDoes) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform;
  for (const int repeats : {2, 16}) {
    for (const float deviation : {0.0f, 0.3f, 1.0f, 3.0f}) {
      Job job;
      std::vector<float> row = random_row(128256, deviation, 3);
      if (deviation == 1.0f)
        for (float& x : row) x = std::round(x * 4) / 4;  // many are equal
      for (RowDraw draw : kinds())
        for (int i = 0; i < repeats; ++i) {
          draw.u = uniform(random);
          add_row(job, row, draw);
        }
      const Drawn got = draw_on_device(job);
      const Drawn wanted = draw_on_host(job);
      int num_differing = 0;
      for (std::size_t i = 0; i < job.draws.size(); ++i)
        num_differing += got.rows[i].token != wanted.rows[i].token ? 1 : 0;
      EXPECT_LE(num_differing, 1) << "deviation " << deviation << " of " << job.rows();
    }
  }
}

TEST(CudaSample, AdjustsAndReportsAsTheHostDoes) {
  std::mt19937 random(6);
  for (const int num_rows : {24, 160}) {
    Job job;
    const int cols = 50257;
    job.counts.assign(static_cast<std::size_t>(num_rows * count_words(cols)), ~0u);
    for (int r = 0; r < num_rows; ++r) {
      RowDraw draw{.temperature = r % 2 == 0 ? 0.0f : 0.8f, .u = 0.37};
      if (r % 8 == 1) draw.top_p = 0.9f;
      if (r % 8 == 3) draw.top_k = 30;
      if (r % 8 == 5) draw.min_p = 0.01f, draw.top_p = 0.99f;
      if (r % 3 == 0) {
        draw.repetition_penalty = 1.3f;
        draw.frequency_penalty = 0.2f;
        draw.presence_penalty = 0.4f;
        draw.history = r;
        draw.clears = 1;
        draw.first_counted = static_cast<std::int32_t>(job.counted.size());
        draw.num_prompt_counted = 300;
        draw.num_counted = 2000;
        for (int i = 0; i < 2000; ++i) job.counted.push_back(static_cast<std::int32_t>(random() % 700));
      }
      if (r % 4 == 0) {
        draw.first_bias = static_cast<std::int32_t>(job.biases.size());
        draw.num_biases = 40;
        for (int i = 0; i < 40; ++i)
          job.biases.push_back(
              {static_cast<std::int32_t>(random() % static_cast<unsigned>(cols)), i < 35 ? 1.5f : -kInf});
      }
      if (r % 5 == 0) {
        draw.mask = static_cast<std::int32_t>(job.masks.size() / static_cast<std::size_t>((cols + 31) / 32));
        for (int i = 0; i < (cols + 31) / 32; ++i) job.masks.push_back(static_cast<std::uint32_t>(random()));
      }
      if (r % 2 == 0) draw.num_top = r % 21;
      if (r % 7 == 6) draw.given = r, draw.num_top = 20;
      add_row(job, random_row(static_cast<std::size_t>(cols), 2, static_cast<unsigned>(r)), draw);
    }
    Job same = job;
    const Drawn got = draw_on_device(job);
    const Drawn wanted = draw_on_host(same);
    for (std::size_t r = 0; r < job.draws.size(); ++r) {
      SCOPED_TRACE(r);
      EXPECT_EQ(got.rows[r].token, wanted.rows[r].token);
      EXPECT_NEAR(got.rows[r].largest, wanted.rows[r].largest, 1e-5);
      EXPECT_NEAR(got.rows[r].logprob, wanted.rows[r].logprob, 1e-4);
      for (int i = 0; i < job.draws[r].num_top; ++i) {
        const std::size_t at = r * kMaxTopTokens + static_cast<std::size_t>(i);
        EXPECT_EQ(got.top[at].token, wanted.top[at].token);
        EXPECT_NEAR(got.top[at].logprob, wanted.top[at].logprob, 1e-4);
      }
    }
    EXPECT_EQ(job.counts, same.counts);
  }
}

TEST(CudaSample, DrawsFromTheDistribution) {
  constexpr int kDraws = 40'000;
  constexpr int kCols = 200;
  const std::vector<float> row = random_row(kCols, 1.5f, 9);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform;
  for (const float top_p : {1.0f, 0.8f}) {
    Job job;
    for (int i = 0; i < kDraws; ++i)
      add_row(job, row, {.temperature = 1.2f, .top_p = top_p, .u = uniform(random)});
    const Drawn drawn = draw_on_device(job);
    std::vector<double> p;
    double total = 0;
    for (const float x : row) p.push_back(std::exp(x / 1.2)), total += p.back();
    std::vector<std::size_t> order(row.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, [&](auto a, auto b) { return p[a] > p[b]; });
    std::size_t num_kept = 0;
    double kept = 0;
    while (num_kept < order.size() && kept < top_p * total * (1 - 1e-9)) kept += p[order[num_kept++]];
    std::vector<int> seen(row.size());
    for (const RowDrawn& one : drawn.rows) ++seen[static_cast<std::size_t>(one.token)];
    double chi2 = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const double expected = i < num_kept ? p[order[i]] / kept * kDraws : 0;
      if (i >= num_kept)
        EXPECT_EQ(seen[order[i]], 0);
      else
        chi2 += std::pow(seen[order[i]] - expected, 2) / expected;
    }
    const double freedom = static_cast<double>(num_kept) - 1;
    EXPECT_LT(chi2, freedom + 3.1 * std::sqrt(2 * freedom) + 4) << num_kept << " kept";  // true of 99.9 %
  }
}

}  // namespace
}  // namespace kvasir::ops::cuda
