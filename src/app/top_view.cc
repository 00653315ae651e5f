#include "app/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/json_member.h"

namespace kvasir::app {

namespace json = boost::json;

namespace {

constexpr double kWindowS = 20;  // time that percentiles cover
constexpr double kRateS = 2;     // time that rates cover
constexpr int kBarCells = 10;
constexpr const char* kNone = "-";

const json::array& array_member(const json::value& value, std::string_view name) {
  static const json::array none;
  const json::value* found = member(value, name);
  return found != nullptr && found->is_array() ? found->as_array() : none;
}

const json::object& object_member(const json::value& value, std::string_view name) {
  static const json::object none;
  const json::value* found = member(value, name);
  return found != nullptr && found->is_object() ? found->as_object() : none;
}

std::vector<std::uint64_t> counts_member(const json::value& value, std::string_view name) {
  std::vector<std::uint64_t> counts;
  for (const json::value& count : array_member(value, name))
    counts.push_back(count.is_number() ? count.to_number<std::uint64_t>() : 0);
  return counts;
}

std::string duration(double seconds) {
  if (seconds < 0) return kNone;
  if (seconds < 0.01) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  return fmt::format("{:.1f} s", seconds);
}

std::string percent(double part) {
  return fmt::format("{:.0f} %", 100 * part);
}

std::string bar(double part) {
  const auto filled = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * kBarCells + 0.5);
  return '[' + std::string(filled, '#') + std::string(kBarCells - filled, '.') + ']';
}

// The lowest goodput of all classes.
std::string goodput(const json::value& model) {
  double worst = 2;
  for (const auto& [tier, ratio] : object_member(model, "goodput"))
    if (ratio.is_number()) worst = std::min(worst, ratio.to_number<double>());
  return worst > 1 ? kNone : percent(worst);
}

double used_part(const json::value& report) {
  const double all = number_member(report, "blocks");
  const double spare = number_member(report, "free_blocks") + number_member(report, "cached_blocks");
  return all > 0 ? (all - spare) / all : 0;
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

// Names come from clients, so control characters in them must not reach the terminal.
std::string fit(const std::string& line, int columns) {
  std::string out;
  int width = 0;
  for (const char c : line) {
    if (!is_continuation(c) && ++width > columns) break;
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return out;
}

}  // namespace

base::Status TopView::take(std::string_view event) {
  TRY(json::value data, base::parse_json(event));
  if (member(data, "latency_bounds") != nullptr) {
    version_ = text_member(data, "version");
    bounds_.clear();
    for (const json::value& bound : array_member(data, "latency_bounds"))
      if (bound.is_number()) bounds_.push_back(bound.to_number<double>());
    return base::ok();
  }
  const double at_s = number_member(data, "at_ms") / 1e3;
  for (const json::value& model : array_member(data, "models")) remember(model, at_s);
  look_ = std::move(data);
  ++num_looks_;
  return base::ok();
}

void TopView::remember(const json::value& model, double at_s) {
  const json::value* counters = member(model, "counters");
  if (counters == nullptr) return;
  std::deque<Sums>& history = history_[text_member(model, "name")];
  const double steps = number_member(*counters, "steps");
  if (!history.empty() && steps < history.back().steps) history.clear();  // the server has restarted
  history.push_back({at_s, number_member(*counters, "prefill_tokens"),
                     number_member(*counters, "decode_tokens"), number_member(*counters, "cached_tokens"),
                     steps, counts_member(model, "ttft"), counts_member(model, "tpot")});
  while (at_s - history.front().at_s > kWindowS) history.pop_front();
}

double TopView::percentile(const Counts& before, const Counts& now, double part) const {
  Counts counts = now;
  if (before.size() == now.size())
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] -= before[i];
  double left = 0;
  for (const std::uint64_t count : counts) left += part * static_cast<double>(count);
  if (left == 0 || bounds_.empty()) return -1;
  for (std::size_t i = 0; i < std::min(counts.size(), bounds_.size()); ++i) {
    const auto count = static_cast<double>(counts[i]);
    const double low = i == 0 ? 0 : bounds_[i - 1];
    if (count >= left && count > 0) return low + (bounds_[i] - low) * left / count;
    left -= count;
  }
  return bounds_.back();
}

std::string TopView::latencies(const Counts& before, const Counts& now) const {
  return fmt::format("{:>8} {:>8}", duration(percentile(before, now, 0.5)),
                     duration(percentile(before, now, 0.95)));
}

std::string TopView::model_line(const json::value& model) const {
  const std::string name = text_member(model, "name");
  std::string state = text_member(model, "state");
  if (state == "downloading") state = percent(number_member(model, "progress"));
  const std::string head = fmt::format("{:<20.20} {:<9.9}", name, state);
  const auto found = history_.find(name);
  const json::value* report = member(model, "report");
  if (found == history_.end() || report == nullptr) return head + ' ' + text_member(model, "reason");
  const std::deque<Sums>& history = found->second;
  const Sums& now = history.back();
  const auto recent =
      std::ranges::find_if(history, [&](const Sums& sums) { return now.at_s - sums.at_s <= kRateS; });
  const double seconds = now.at_s - recent->at_s;
  const auto rate = [&](double Sums::* what) {
    return seconds > 0 ? fmt::format("{:.1f}", (now.*what - (*recent).*what) / seconds) : kNone;
  };
  const double steps = now.steps - recent->steps;
  const double rows = now.read + now.written - recent->read - recent->written;
  const double prompts = now.read + now.cached - history.front().read - history.front().cached;
  // Before a whole window has been seen, percentiles cover the time since the server's start.
  const bool whole_window = now.at_s - history.front().at_s > kWindowS - 1;
  const Counts none;
  return fmt::format(
      "{} {:>8} {:>8} {} {} {:>7} {:>6} {:>4.0f} {:>4.0f} {} {:>5} {:>6}", head, rate(&Sums::written),
      rate(&Sums::read), latencies(whole_window ? history.front().ttft : none, now.ttft),
      latencies(whole_window ? history.front().tpot : none, now.tpot), goodput(model),
      steps > 0 ? fmt::format("{:.1f}", rows / steps) : kNone, number_member(*report, "running"),
      number_member(*report, "waiting"), bar(used_part(*report)), percent(used_part(*report)),
      prompts > 0 ? percent((now.cached - history.front().cached) / prompts) : kNone);
}

std::string TopView::queue_line() const {
  std::map<int, double, std::greater<>> queue;
  for (const json::value& model : array_member(look_, "models"))
    for (const auto& [priority, num] : object_member(model, "queue"))
      queue[std::atoi(std::string(priority).c_str())] += num.is_number() ? num.to_number<double>() : 0;
  std::string line = "queue by priority:";
  for (const auto& [priority, num] : queue) line += fmt::format("  {}: {:.0f}", priority, num);
  return line + fmt::format("   at the door: {:.0f}", number_member(look_, "lobby"));
}

std::string TopView::refusal_line() const {
  std::string line = "refused:";
  for (const auto& [reason, num] : object_member(look_, "refusals"))
    line +=
        fmt::format("  {}: {:.0f}", std::string_view(reason), num.is_number() ? num.to_number<double>() : 0);
  return line;
}

std::vector<std::string> TopView::sequence_lines() const {
  std::vector<std::string> lines;
  for (const json::value& model : array_member(look_, "models"))
    for (const json::value& one : array_member(model, "sequences"))
      lines.push_back(fmt::format(
          "{:<36.36} {:<20.20} {:<8} {:>4.0f} {:>8} {:>7.0f} {:>7.0f} {:>7.0f} {:>7.0f}  {}",
          text_member(one, "id"), text_member(one, "tenant"), text_member(one, "state"),
          number_member(one, "priority"), duration(number_member(one, "age_ms") / 1e3),
          number_member(one, "prompt"), number_member(one, "cached"), number_member(one, "output"),
          number_member(one, "blocks"), text_member(model, "name")));
  return lines;
}

std::vector<std::string> TopView::frame(Size size) const {
  std::vector<std::string> lines = {fmt::format("Kvasir {} at {}", version_, url_), ""};
  lines.push_back(
      fmt::format("{:<20} {:<9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>6} {:>4} {:>4} {:<18} {:>6}",
                  "MODEL", "STATE", "TOKENS/S", "READ/S", "TTFT p50", "p95", "TPOT p50", "p95", "GOODPUT",
                  "BATCH", "RUN", "WAIT", "KV BLOCKS", "CACHED"));
  for (const json::value& model : array_member(look_, "models")) lines.push_back(model_line(model));
  lines.emplace_back();
  lines.push_back(queue_line());
  if (!object_member(look_, "refusals").empty()) lines.push_back(refusal_line());
  lines.emplace_back();
  lines.push_back(fmt::format("{:<36} {:<20} {:<8} {:>4} {:>8} {:>7} {:>7} {:>7} {:>7}  {}", "REQUEST",
                              "TENANT", "STATE", "PRIO", "AGE", "PROMPT", "CACHED", "OUTPUT", "BLOCKS",
                              "MODEL"));
  for (std::string& line : sequence_lines()) lines.push_back(std::move(line));
  if (size.rows > 0 && lines.size() > static_cast<std::size_t>(size.rows))
    lines.resize(static_cast<std::size_t>(size.rows));
  for (std::string& line : lines) line = fit(line, size.columns);
  return lines;
}

}  // namespace kvasir::app
