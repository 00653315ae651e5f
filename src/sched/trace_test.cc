// Runs tests/trace/*.trace: commands in, the plan and the events of each step out, as text. Lines that begin
// with two spaces are what is expected after the command above them. The commands:
//   pool blocks=N budget=N sequences=N [target_ms=N | ttft_ms=N tpot_ms=N short_ms=N] [cache=off]
//   submit NAME prompt=SEGMENT:LENGTH[+...] max=N [priority=N] [stop=N: the Nth output is an end token]
//          [min=N] [ns=NAME] [public=N: so many tokens]
//   abort NAME | hold NAME | resume NAME | fail NAME (its next step ends in an error)
//   step | steps N | blocks
// A step takes 2 ms, 1 ms more for each row of a prompt, and 10 ms more for each other row.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "base/tests_dir_test.h"
#include "sched/scheduler.h"

namespace kvasir::sched {
namespace {

constexpr TokenId kStop = 7;

class Trace {
 public:
  std::string run(const std::string& command) {
    out_.str("");
    std::istringstream words(command);
    std::string verb, name;
    words >> verb;
    if (verb == "pool") return pool(words), out_.str();
    if (verb == "step") return step(), out_.str();
    if (verb == "blocks") return blocks(), out_.str();
    words >> name;
    if (verb == "submit") submit(name, words);
    if (verb == "abort") {
      scheduler_->abort(live_.at(name));
      alive_.erase(live_.at(name));
    }
    if (verb == "hold") scheduler_->hold(live_.at(name));
    if (verb == "resume") scheduler_->resume(live_.at(name));
    if (verb == "fail") failing_.insert(live_.at(name));
    for (int i = 0; verb == "steps" && i < std::stoi(name); ++i) step();
    return out_.str();
  }

  void finish() {
    for (const auto& [id, name] : std::map(names_))
      if (alive_.contains(id)) scheduler_->abort(id);
    EXPECT_EQ(scheduler_->pool().num_available(), scheduler_->pool().num_blocks());
  }

 private:
  using Options = std::map<std::string, std::string>;

  static Options options(std::istream& words) {
    Options out;
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      EXPECT_NE(equals, std::string::npos) << word;
      out[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return out;
  }
  static int number(const Options& options, const std::string& key, int otherwise) {
    const auto found = options.find(key);
    return found == options.end() ? otherwise : std::stoi(found->second);
  }

  void pool(std::istream& words) {
    const Options o = options(words);
    scheduler_ = std::make_unique<Scheduler>(SchedulerOptions{
        .num_blocks = number(o, "blocks", 0),
        .max_batch_tokens = number(o, "budget", 0),
        .max_batch_sequences = number(o, "sequences", 0),
        .target_step_s = number(o, "target_ms", 0) / 1e3,
        .slo = {.ttft_s = number(o, "ttft_ms", 0) / 1e3, .tpot_s = number(o, "tpot_ms", 0) / 1e3},
        .short_step_s = number(o, "short_ms", 0) / 1e3,
        .prefix_cache = !o.contains("cache")});
  }

  void submit(const std::string& name, std::istream& words) {
    Options o = options(words);
    wire::GenerateRequest request;
    std::istringstream segments(o.at("prompt"));
    for (std::string segment; std::getline(segments, segment, '+');) {
      const auto colon = segment.find(':');
      const int base =
          1000 * (1 + int(segments_.try_emplace(segment.substr(0, colon), segments_.size()).first->second));
      for (int i = 0; i < std::stoi(segment.substr(colon + 1)); ++i) request.prompt.push_back(base + i);
    }
    request.max_tokens = number(o, "max", 1);
    request.min_tokens = number(o, "min", 0);
    request.priority = number(o, "priority", 0);
    request.origin.cache_namespace = o["ns"];
    request.num_public_tokens = number(o, "public", 0);
    request.stop_tokens = {kStop};
    const base::Result<SequenceId> id = scheduler_->submit(std::move(request));
    if (!id.ok()) {
      out_ << "  refused: " << id.error().message << "\n";
      return;
    }
    live_[name] = *id;
    names_[*id] = name;
    alive_.insert(*id);
    stop_at_[*id] = number(o, "stop", 0);
  }

  static std::string rendered(const StepPlan& plan, const std::map<SequenceId, std::string>& names) {
    std::ostringstream out;
    for (const SequenceId id : plan.preempted) out << "  preempt " << names.at(id) << "\n";
    for (const StepPlan::Copy& copy : plan.copies) out << "  copy " << copy.from << " to " << copy.to << "\n";
    for (const StepPlan::Slice& slice : plan.slices) {
      out << "  " << names.at(slice.sequence) << " " << slice.num_computed << "+" << slice.num_rows
          << " blocks";
      for (std::size_t i = 0; i < slice.blocks.size(); ++i)
        out << (i + slice.num_new_blocks >= slice.blocks.size() ? " +" : " ") << slice.blocks[i];
      out << (slice.wants_token() ? " sample\n" : "\n");
    }
    return plan.empty() ? "  nothing to do\n" : out.str();
  }

  void step() {
    const StepPlan plan = scheduler_->plan();
    const std::string text = rendered(plan, names_);
    EXPECT_EQ(text, rendered(scheduler_->plan(), names_)) << "planning changed something";
    out_ << text;
    if (plan.empty()) return;
    StepResult result;
    result.seconds = 0.002 + 0.001 * plan.load.prefill_tokens + 0.010 * plan.load.decode_sequences;
    for (const StepPlan::Slice& slice : plan.slices) {
      StepResult::Outcome& outcome = result.outcomes.emplace_back();
      if (failing_.erase(slice.sequence)) outcome.error = base::error(base::ErrorCode::internal, "no logits");
      if (!slice.wants_token()) continue;
      const int num_output = int(slice.known.size()) - slice.num_prompt + 1;
      const bool stops = num_output == stop_at_[slice.sequence];
      outcome.token = wire::Token{stops ? kStop : TokenId(900000 + slice.sequence * 1000 + num_output)};
    }
    for (const SequenceEvent& e : scheduler_->commit(plan, std::move(result))) {
      if (!e.event.last()) continue;
      alive_.erase(e.sequence);
      out_ << "  " << names_.at(e.sequence) << " ends: "
           << (e.event.error                                 ? e.event.error->message
               : *e.event.finish == wire::FinishReason::stop ? "stop"
                                                             : "length")
           << ", prompt " << e.event.usage.prompt_tokens << " cached " << e.event.usage.cached_tokens
           << " output " << e.event.usage.output_tokens << " preempted " << e.event.usage.num_preemptions
           << "\n";
    }
  }

  void blocks() {
    const kv::BlockPool& pool = scheduler_->pool();
    out_ << "  free " << pool.num_free() << " cached " << pool.num_cached() << " used "
         << pool.num_blocks() - pool.num_available() << "\n";
  }

  std::unique_ptr<Scheduler> scheduler_;
  std::map<std::string, std::size_t> segments_;
  std::map<std::string, SequenceId> live_;
  std::map<SequenceId, std::string> names_;
  std::set<SequenceId> alive_;
  std::map<SequenceId, int> stop_at_;
  std::set<SequenceId> failing_;
  std::ostringstream out_;
};

std::vector<std::string> trace_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(base::kTestsDir) + "/trace"))
    if (entry.path().extension() == ".trace") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

class TraceTest : public testing::TestWithParam<std::string> {};

TEST_P(TraceTest, PlansAsWritten) {
  std::ifstream file(std::string(base::kTestsDir) + "/trace/" + GetParam() + ".trace");
  std::string expected, actual;
  Trace trace;
  for (std::string line; std::getline(file, line);) {
    expected += line + "\n";
    if (line.starts_with("  ")) continue;
    actual += line + "\n";
    if (!line.empty() && line[0] != '#') {
      SCOPED_TRACE(line);
      actual += trace.run(line);
    }
  }
  EXPECT_EQ(expected, actual);
  if (HasFailure()) std::cout << "---- as it ran\n" << actual << "----\n";
  trace.finish();
}

INSTANTIATE_TEST_SUITE_P(Traces, TraceTest, testing::ValuesIn(trace_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kvasir::sched
