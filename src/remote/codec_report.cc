#include <algorithm>
#include <array>
#include <iterator>

#include "remote/codec.h"

namespace kvasir::remote {

using base::ErrorCode;
using base::Result;

namespace {

// Bounds of what a report may say, whatever a worker sends.
constexpr int kMostCount = 1 << 28;  // sums of several stay far from an overflow
constexpr int kMostPriorities = 256;
constexpr int kMostLines = 1 << 14;  // of an outlook; each forecast walks all of them

int sane(int count) {
  return std::clamp(count, 0, kMostCount);
}

void encode_line(const sched::WaitingLine& line, proto::WaitingLine& out) {
  out.set_tenant(line.tenant);
  out.set_priority(line.priority);
  out.set_charge(line.charge);
  out.set_weight(line.weight);
  out.set_num_tokens(line.num_tokens);
  out.set_num_sequences(line.num_sequences);
}

// Drops lines without weight or sequences, since the forecast divides by both.
std::vector<sched::WaitingLine> decode_lines(
    const google::protobuf::RepeatedPtrField<proto::WaitingLine>& in) {
  std::vector<sched::WaitingLine> lines;
  for (const proto::WaitingLine& line : in)
    if (line.weight() > 0 && line.num_sequences() > 0 && lines.size() < kMostLines)
      lines.push_back({line.tenant(), line.priority(), line.charge(), line.weight(), line.num_tokens(),
                       line.num_sequences()});
  return lines;
}

void encode_outlook(const sched::Outlook& outlook, proto::Outlook& out) {
  const sched::StepCost::Learned cost = outlook.cost.learned();
  out.mutable_cost_weights()->Add(cost.weights.begin(), cost.weights.end());
  out.set_cost_most_rows(cost.most_rows);
  out.set_cost_num_observed(cost.num_observed);
  out.set_slo_ttft_s(outlook.slo.ttft_s);
  out.set_slo_tpot_s(outlook.slo.tpot_s);
  out.set_order_ttft_s(outlook.order_ttft_s);
  out.set_short_s(outlook.short_s);
  out.set_fixed_step_s(outlook.fixed_step_s);
  out.set_prefill_share(outlook.prefill_share);
  out.set_max_batch_tokens(outlook.max_batch_tokens);
  out.set_max_sequences(outlook.max_sequences);
  out.set_num_free_tokens(outlook.num_free_tokens);
  out.set_mean_tail(outlook.mean_tail);
  out.set_mean_output(outlook.mean_output);
  out.set_waited_s(outlook.waited_s);
  out.set_highest_recent(outlook.highest_recent);
  out.set_in_flight_s(outlook.in_flight_s);
  out.set_now_s(outlook.now_s);
  for (const auto& arrival : outlook.recent.arrivals) {
    out.add_arrived_at_s(arrival.at_s);
    out.add_arrived_tokens(arrival.num_tokens);
  }
  out.set_next_arrival(static_cast<std::uint32_t>(outlook.recent.next));
  for (const sched::AwaitedTokens& prompt : outlook.prompts) {
    out.add_prompt_tenants(prompt.tenant);
    out.add_prompt_priorities(prompt.priority);
    out.add_prompt_lefts(prompt.num_left);
    out.add_prompt_runs(prompt.runs);
  }
  for (const sched::RunningClass& of : outlook.running) {
    proto::RunningClass& to = *out.add_running();
    to.set_priority(of.priority);
    to.set_num_streams(of.num_streams);
    to.set_kv_tokens(of.kv_tokens);
    to.set_prompt_tokens(of.prompt_tokens);
    to.set_num_prompts(of.num_prompts);
    to.set_lowest_charge(of.lowest_charge);
  }
  for (const sched::WaitingLine& line : outlook.waiting) encode_line(line, *out.add_waiting());
}

Result<sched::Outlook> decode_outlook(const proto::Outlook& in) {
  sched::StepCost::Learned cost{.most_rows = in.cost_most_rows(), .num_observed = in.cost_num_observed()};
  const int num_prompts = in.prompt_tenants_size();
  const auto most = static_cast<int>(sched::RecentPrompts::kMost);
  if (in.cost_weights_size() != static_cast<int>(cost.weights.size()) || in.arrived_at_s_size() > most ||
      in.arrived_tokens_size() != in.arrived_at_s_size() ||
      in.next_arrival() >= sched::RecentPrompts::kMost ||
      (in.next_arrival() > 0 && in.arrived_at_s_size() < most) ||
      in.prompt_priorities_size() != num_prompts || in.prompt_lefts_size() != num_prompts ||
      in.prompt_runs_size() != num_prompts)
    return base::error(ErrorCode::corrupt, "an outlook from a worker contradicts itself");
  std::ranges::copy(in.cost_weights(), cost.weights.begin());
  sched::Outlook outlook{.cost = sched::StepCost(cost),
                         .slo = {.ttft_s = in.slo_ttft_s(), .tpot_s = in.slo_tpot_s()},
                         .order_ttft_s = in.order_ttft_s(),
                         .short_s = in.short_s(),
                         .fixed_step_s = in.fixed_step_s(),
                         .prefill_share = in.prefill_share(),
                         .max_batch_tokens = in.max_batch_tokens(),
                         .max_sequences = in.max_sequences(),
                         .num_free_tokens = in.num_free_tokens(),
                         .mean_tail = in.mean_tail(),
                         .mean_output = in.mean_output(),
                         .waited_s = in.waited_s(),
                         .highest_recent = in.highest_recent(),
                         .in_flight_s = in.in_flight_s(),
                         .now_s = in.now_s()};
  outlook.recent.next = in.next_arrival();
  for (int i = 0; i < in.arrived_at_s_size(); ++i)
    outlook.recent.arrivals.push_back({in.arrived_at_s(i), in.arrived_tokens(i)});
  for (int i = 0; i < std::min(num_prompts, kMostLines); ++i)
    outlook.prompts.push_back(
        {in.prompt_tenants(i), in.prompt_priorities(i), in.prompt_lefts(i), in.prompt_runs(i)});
  for (const proto::RunningClass& of : in.running())
    if (outlook.running.size() < kMostPriorities)
      outlook.running.push_back({of.priority(), of.num_streams(), of.kv_tokens(), of.prompt_tokens(),
                                 of.num_prompts(), of.lowest_charge()});
  outlook.waiting = decode_lines(in.waiting());
  return outlook;
}

using Halves = google::protobuf::RepeatedField<std::uint64_t>;

void encode_hashes(const std::vector<kv::BlockHash>& hashes, Halves& out) {
  out.Reserve(static_cast<int>(2 * hashes.size()));
  for (const kv::BlockHash& hash : hashes) {
    out.AddAlreadyReserved(hash.high);
    out.AddAlreadyReserved(hash.low);
  }
}

std::vector<kv::BlockHash> decode_hashes(const Halves& in) {
  std::vector<kv::BlockHash> hashes;
  hashes.reserve(static_cast<std::size_t>(in.size() / 2));
  for (int i = 0; i + 1 < in.size(); i += 2) hashes.push_back({in[i], in[i + 1]});
  return hashes;
}

}  // namespace

void encode(const wire::WorkerReport& report, proto::Report& out) {
  out.set_num_blocks(report.num_blocks);
  out.set_num_free_blocks(report.num_free_blocks);
  out.set_num_cached_blocks(report.num_cached_blocks);
  out.set_num_running(report.num_running);
  out.set_num_waiting(report.num_waiting);
  for (const auto& [priority, count] : report.waiting) {
    out.add_waiting_priorities(priority);
    out.add_waiting_counts(count);
  }
  out.set_progressing(report.progressing);
  out.set_failed(report.failed);
  out.set_heartbeat_age_s(report.heartbeat_age_s);
  out.set_busy_s(report.busy_s);
  out.set_long_prompts_s(report.long_prompts_s);
  if (!report.kv_links) return;
  for (const wire::KvLink& link : *report.kv_links) {
    proto::KvLink& to = *out.add_kv_links();
    to.set_address(link.address);
    to.set_num_good(link.num_good);
    to.set_num_failed(link.num_failed);
    to.set_ended_well(link.ended_well);
    to.set_bytes_per_s(link.bytes_per_s);
  }
}

wire::WorkerReport decode_report(const proto::Report& in) {
  wire::WorkerReport report{.num_blocks = sane(in.num_blocks()),
                            .num_free_blocks = sane(in.num_free_blocks()),
                            .num_cached_blocks = sane(in.num_cached_blocks()),
                            .num_running = sane(in.num_running()),
                            .num_waiting = sane(in.num_waiting()),
                            .progressing = in.progressing(),
                            .failed = in.failed(),
                            .heartbeat_age_s = in.heartbeat_age_s(),
                            .busy_s = in.busy_s(),
                            .long_prompts_s = in.long_prompts_s()};
  const int count = std::min({in.waiting_priorities_size(), in.waiting_counts_size(), kMostPriorities});
  for (int i = 0; i < count; ++i) report.waiting[in.waiting_priorities(i)] = sane(in.waiting_counts(i));
  std::vector<wire::KvLink> links;
  for (const proto::KvLink& link : in.kv_links())
    links.push_back({.address = link.address(),
                     .num_good = link.num_good(),
                     .num_failed = link.num_failed(),
                     .ended_well = link.ended_well(),
                     .bytes_per_s = link.bytes_per_s() > 0 ? link.bytes_per_s() : wire::kSupposedBytesPerS});
  report.kv_links = std::make_shared<const std::vector<wire::KvLink>>(std::move(links));
  return report;
}

void encode(const seam::Prospect& prospect, proto::Report& out) {
  if (!prospect.outlook) return;
  encode_outlook(*prospect.outlook, *out.mutable_outlook());
  for (const sched::WaitingLine& line : prospect.arrived) encode_line(line, *out.add_arrived());
  out.set_outlook_age_s(prospect.age_s);
}

Result<seam::Prospect> decode_prospect(const proto::Report& in) {
  if (!in.has_outlook()) return seam::Prospect{};
  TRY(sched::Outlook outlook, decode_outlook(in.outlook()));
  return seam::Prospect{std::make_shared<const sched::Outlook>(std::move(outlook)),
                        decode_lines(in.arrived()), in.outlook_age_s()};
}

void encode(const wire::BlockChanges& changes, proto::Blocks& out) {
  out.set_number(changes.number);
  out.set_anew(changes.anew);
  encode_hashes(changes.added, *out.mutable_added());
  encode_hashes(changes.removed, *out.mutable_removed());
}

Result<wire::BlockChanges> decode(const proto::Blocks& in) {
  if (in.added_size() % 2 != 0 || in.removed_size() % 2 != 0)
    return base::error(ErrorCode::corrupt, "block changes from a worker have half a hash");
  return wire::BlockChanges{in.number(), in.anew(), decode_hashes(in.added()), decode_hashes(in.removed())};
}

}  // namespace kvasir::remote
