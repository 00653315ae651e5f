#include "engine/embed_worker.h"

#include <algorithm>
#include <utility>

namespace kvasir::engine {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

Error stopping_error() {
  return Error{.code = ErrorCode::unavailable,
               .message = "the server is shutting down; try another, or this one later",
               .reason = "server_draining",
               .retry_after_s = 5};
}

}  // namespace

EmbedWorker::EmbedWorker(EmbedOptions options, Encode encode)
    : options_(options), encode_(std::move(encode)), thread_([this] { loop(); }) {}

EmbedWorker::~EmbedWorker() {
  stop();
}

base::Status EmbedWorker::embed(wire::EmbedRequest request, Done done) {
  auto job = std::make_shared<Job>();
  job->request = std::move(request);
  job->done = std::move(done);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return stopping_error();
    if (jobs_.size() >= options_.max_waiting)
      return Error{ErrorCode::exhausted,
                   "too many requests wait for this model; try again later",
                   {},
                   "rate_limit_exceeded",
                   1};
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
  return base::ok();
}

wire::WorkerReport EmbedWorker::report() const {
  const std::lock_guard lock(mutex_);
  const int num_running = jobs_.empty() ? 0 : 1;
  return {.num_running = num_running, .num_waiting = static_cast<int>(jobs_.size()) - num_running};
}

void EmbedWorker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

EmbedWorker::Jobs EmbedWorker::await_jobs() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
  if (stopping_) return {};
  return {jobs_.begin(), jobs_.end()};
}

void EmbedWorker::loop() {
  for (Jobs jobs = await_jobs(); !jobs.empty(); jobs = await_jobs()) {
    const auto unwanted = [](const auto& job) { return job->request.stop.stop_requested(); };
    for (const auto& job : jobs)
      if (unwanted(job)) end(job, base::error(ErrorCode::cancelled, "the client left"));
    std::erase_if(jobs, unwanted);
    if (!jobs.empty()) run_batch(jobs);
  }
  std::deque<std::shared_ptr<Job>> left;
  {
    const std::lock_guard lock(mutex_);
    left.swap(jobs_);
  }
  for (const auto& job : left) job->done(stopping_error());
}

std::vector<EmbedWorker::Share> EmbedWorker::take_shares(const Jobs& jobs,
                                                         std::vector<std::vector<TokenId>>& batch) const {
  std::vector<Share> shares;
  const std::size_t for_each = options_.max_batch_tokens / jobs.size();
  std::size_t num_tokens = 0;
  for (const auto& job : jobs) {
    std::vector<std::vector<TokenId>>& sequences = job->request.sequences;
    std::size_t own_tokens = 0;
    std::size_t count = 0;
    for (; job->num_taken < sequences.size(); ++count) {
      const std::size_t size = sequences[job->num_taken].size();
      if (!batch.empty() && num_tokens + size > options_.max_batch_tokens) break;
      if (count > 0 && own_tokens + size > for_each) break;
      num_tokens += size;
      own_tokens += size;
      batch.push_back(std::move(sequences[job->num_taken++]));
    }
    if (count > 0) shares.push_back({job, count});
  }
  return shares;
}

void EmbedWorker::run_batch(const Jobs& jobs) {
  std::vector<std::vector<TokenId>> batch;
  const std::vector<Share> shares = take_shares(jobs, batch);
  const Result<std::vector<float>> vectors = encode_(batch);
  const auto dimensions = static_cast<std::size_t>(options_.dimensions);
  std::size_t first = 0;
  for (const auto& [job, count] : shares) {
    if (!vectors.ok()) {
      end(job, vectors.error());
      continue;
    }
    const auto begin = vectors->begin() + static_cast<std::ptrdiff_t>(first * dimensions);
    job->vectors.insert(job->vectors.end(), begin, begin + static_cast<std::ptrdiff_t>(count * dimensions));
    first += count;
    if (job->num_taken == job->request.sequences.size()) end(job, std::move(job->vectors));
  }
  // Jobs that had no place in this batch come first in the next one.
  if (shares.size() == jobs.size()) return;
  const std::lock_guard lock(mutex_);
  const auto served = [&](const auto& job) {
    return std::ranges::find(shares, job, &Share::job) != shares.end();
  };
  std::ranges::stable_partition(jobs_, std::not_fn(served));
}

void EmbedWorker::end(const std::shared_ptr<Job>& job, Result<std::vector<float>> result) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(jobs_, job);
  }
  job->done(std::move(result));
}

}  // namespace kvasir::engine
