#include "upstream/upstreams.h"

#include <algorithm>
#include <utility>

#include "obs/log.h"

namespace kvasir::upstream {

using base::Result;

namespace {

constexpr std::string_view kLoopback[] = {"127.0.0.1", "::1", "localhost"};

void warn_of_bare_key(const Member& member) {
  const net::Url url = member.url_of("");
  if (url.tls || member.headers().empty() || std::ranges::find(kLoopback, url.host) != std::end(kLoopback))
    return;
  obs::Log::warn("upstream_key_unencrypted", {{"upstream", member.label()}});
}

}  // namespace

Result<std::unique_ptr<Upstreams>> Upstreams::open(const std::vector<config::UpstreamConfig>& configs,
                                                   const base::Clock& clock) {
  std::unique_ptr<Upstreams> upstreams(new Upstreams());
  std::vector<std::string> names;
  for (const config::UpstreamConfig& config : configs)
    if (std::ranges::find(names, config.name) == names.end()) names.push_back(config.name);
  for (const std::string& name : names) {
    std::vector<std::shared_ptr<Member>> members;
    for (const config::UpstreamConfig& config : configs) {
      if (config.name != name) continue;
      TRY(std::shared_ptr<Member> member, Member::open(config, clock));
      warn_of_bare_key(*member);
      members.push_back(std::move(member));
    }
    upstreams->pools_.push_back(std::make_shared<Pool>(name, std::move(members)));
  }
  return upstreams;
}

Upstreams::~Upstreams() {
  stop();
  observations_.clear();
}

void Upstreams::start() {
  for (const auto& pool : pools_)
    for (const auto& member : pool->members()) checks_.push_back(std::make_unique<Checks>(member));
}

void Upstreams::stop() {
  checks_.clear();
  running_.end_all({.code = base::ErrorCode::unavailable,
                    .message = "the server is shutting down",
                    .reason = "server_draining",
                    .retry_after_s = 5});
}

void Upstreams::close_connections() {
  for (const auto& pool : pools_)
    for (const auto& member : pool->members()) member->close_connections();
}

std::shared_ptr<Pool> Upstreams::find(std::string_view name) const {
  const auto found = std::ranges::find_if(pools_, [&](const auto& pool) { return pool->name() == name; });
  return found == pools_.end() ? nullptr : *found;
}

void Upstreams::observe(obs::Registry& registry) {
  if (pools_.empty()) return;
  // Makes a function that reads a number from each member.
  const auto of_members = [this](auto read) {
    return [this, read] {
      std::vector<obs::Sample> samples;
      for (const auto& pool : pools_)
        for (const auto& member : pool->members())
          samples.emplace_back(obs::Labels{{"model", pool->name()}, {"upstream", member->label()}},
                               static_cast<double>(read(*member)));
      return samples;
    };
  };
  observations_.push_back(registry.observe_gauges(
      {"llm_upstream_up", "1 where the last checks of the upstream went well and it is not ejected."}, {},
      of_members([](const Member& member) { return member.is_up() && !member.is_ejected() ? 1 : 0; })));
  observations_.push_back(
      registry.observe_gauges({"llm_upstream_in_flight", "Requests of this server that the upstream has."},
                              {}, of_members([](const Member& member) { return member.view().in_flight; })));
  observations_.push_back(
      registry.observe_gauges({"llm_upstream_load", "Requests of anybody that the upstream has."}, {},
                              of_members([](const Member& member) { return member.view().load; })));
  observations_.push_back(registry.observe_counters(
      {"llm_upstream_requests_total", "Requests to upstreams, by how they ended there."}, {}, [this] {
        std::vector<obs::Sample> samples;
        for (const auto& pool : pools_)
          for (const auto& member : pool->members()) {
            const Member::Counts counts = member->counts();
            for (const auto& [outcome, count] :
                 {std::pair("good", counts.good), std::pair("failed", counts.failed),
                  std::pair("busy", counts.busy), std::pair("other", counts.other)})
              samples.emplace_back(
                  obs::Labels{{"model", pool->name()}, {"upstream", member->label()}, {"outcome", outcome}},
                  static_cast<double>(count));
          }
        return samples;
      }));
  observations_.push_back(registry.observe_counters(
      {"llm_upstream_retries_total", "Requests that went on to another upstream."}, {}, [this] {
        std::vector<obs::Sample> samples;
        for (const auto& pool : pools_)
          samples.emplace_back(obs::Labels{{"model", pool->name()}},
                               static_cast<double>(pool->num_retries()));
        return samples;
      }));
}

}  // namespace kvasir::upstream
