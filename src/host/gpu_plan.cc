#include "host/gpu_plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "kv/block.h"
#include "obs/log.h"

namespace kvasir::host {

using base::ErrorCode;
using base::Result;

namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr int kMaxBlocks = 1 << 24;

std::int64_t context_bytes(const KvDemand& demand) {
  return demand.bytes_per_block * demand.context_blocks;
}

base::Error too_little(std::int64_t budget, std::span<const KvDemand> demands) {
  std::string needs;
  for (const KvDemand& demand : demands)
    needs += fmt::format("{}'{}' {} MiB", needs.empty() ? "" : ", ", demand.model,
                         (context_bytes(demand) + kMiB - 1) / kMiB);
  return base::error(ErrorCode::too_large,
                     "the GPU has {} MiB left for KV, and one context of --max-context needs: {}",
                     budget / kMiB, needs);
}

// Divides the budget by shares. If `contexts_fit`, a model whose share is less than one context gets the
// context.
std::vector<double> by_share(double budget, std::span<const KvDemand> demands, bool contexts_fit) {
  std::vector<double> bytes(demands.size(), 0);
  std::vector<bool> fixed(demands.size(), false);
  for (bool again = true; again;) {
    again = false;
    double shares = 0;
    for (std::size_t i = 0; i < demands.size(); ++i) shares += fixed[i] ? 0 : demands[i].share;
    for (std::size_t i = 0; i < demands.size() && !again; ++i) {
      if (fixed[i]) continue;
      bytes[i] = budget * demands[i].share / shares;
      const auto context = static_cast<double>(context_bytes(demands[i]));
      if (!contexts_fit || bytes[i] >= context) continue;
      bytes[i] = context;
      budget -= context;
      fixed[i] = again = true;  // the other models have less to divide
    }
  }
  return bytes;
}

}  // namespace

Result<std::vector<int>> divide_kv(std::int64_t free_bytes, std::span<const KvDemand> demands,
                                   ContextIs context) {
  const std::int64_t budget = free_bytes / 10 * 9;
  std::int64_t contexts = 0;
  for (const KvDemand& demand : demands) contexts += context_bytes(demand);
  if (contexts > budget && context == ContextIs::asked_for) return too_little(budget, demands);
  const std::vector<double> bytes = by_share(static_cast<double>(budget), demands, contexts <= budget);
  std::vector<int> blocks;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    // A little is added, since rounding in doubles may leave a whole context slightly too small.
    const double count = std::floor(bytes[i] / static_cast<double>(demands[i].bytes_per_block) + 1e-6);
    if (count < 2)
      return base::error(ErrorCode::too_large, "the GPU has {} MiB left for KV, too little for '{}'",
                         budget / kMiB, demands[i].model);
    blocks.push_back(static_cast<int>(std::min<double>(count, kMaxBlocks)));
  }
  return blocks;
}

Result<std::map<std::string, double>> parse_shares(const std::vector<std::string>& shares,
                                                   const std::vector<std::string>& models) {
  std::map<std::string, double> parsed;
  for (const std::string& text : shares) {
    const std::size_t at = text.rfind('=');
    const std::string name = text.substr(0, at);
    const std::string_view number = at == std::string::npos ? "" : std::string_view(text).substr(at + 1);
    double share = 0;
    const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), share);
    const bool is_number = problem == std::errc() && end == number.data() + number.size();
    if (!is_number || !(share >= 0.001 && share <= 1000))
      return base::error(ErrorCode::invalid_argument,
                         "--gpu-kv-share: expected NAME=NUMBER with 0.001 to 1000, and got '{}'", text);
    if (std::ranges::find(models, name) == models.end())
      return base::error(ErrorCode::invalid_argument, "--gpu-kv-share: no model '{}' is served", name);
    parsed[name] = share;
  }
  return parsed;
}

void GpuPlan::count_out() {
  std::unique_lock lock(mutex_);
  arrive(lock);
}

Result<int> GpuPlan::join(KvDemand demand, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const std::size_t place = demands_.size();
  demands_.push_back(std::move(demand));
  arrive(lock);
  if (!all_there_.wait(lock, stop, [this] { return divided_.has_value(); }))
    return base::error(ErrorCode::cancelled, "stopped");
  if (!divided_->ok()) return divided_->error();
  return (*divided_)->at(place);
}

void GpuPlan::arrive(std::unique_lock<std::mutex>& lock) {
  CHECK(lock.owns_lock() && num_arrived_ < options_.num_models, "{} of {} models", num_arrived_ + 1,
        options_.num_models);
  if (++num_arrived_ < options_.num_models) return;
  const Result<std::int64_t> free = options_.free_bytes();
  divided_ = free.ok() ? divide_kv(*free, demands_, options_.context) : free.error();
  for (std::size_t i = 0; divided_->ok() && i < demands_.size(); ++i) {
    const int blocks = (*divided_)->at(i);
    obs::Log::info("gpu_plan", {{"model", demands_[i].model},
                                {"kv_mib", blocks * demands_[i].bytes_per_block / kMiB},
                                {"kv_tokens", std::int64_t{blocks} * kv::kBlockTokens},
                                {"free_mib", *free / kMiB}});
  }
  all_there_.notify_all();
}

}  // namespace kvasir::host
