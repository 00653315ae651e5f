#include <algorithm>
#include <array>
#include <cmath>

#include "sched/outlook.h"
#include "sched/planner.h"
#include "sched/prompt_order.h"
#include "sched/shares.h"
#include "sched/step_end.h"

// Simulates the steps to a request's first token with whole classes instead of single sequences, which takes
// a few microseconds instead of the milliseconds that planning each step would take.
namespace kvasir::sched {

namespace {

constexpr int kMostSteps = 48;  // what is left after this many steps is extrapolated
constexpr double kLeastChunk = 16;
// The part of a step's prompt tokens that goes to the first in rank, however long its prompt is; see
// share_rows.
constexpr double kFirstPart = 0.25;

// Prompts that are computed before or after the request's own.
struct Crowd {
  double num_tokens = 0;
  double num_prompts = 0;

  void add(double tokens, double prompts) {
    num_tokens += tokens;
    num_prompts += prompts;
  }
  double mean_tokens() const { return num_tokens / std::max(1.0, num_prompts); }
};

double cost_of(const WaitingLine& line) {
  return line.num_tokens + double{kExpectedOutput} * line.num_sequences;
}

double small_tokens(const Outlook& outlook, int priority) {
  double num_waiting = 0;
  for (const WaitingLine& line : outlook.waiting)
    if (line.priority >= priority) num_waiting += line.num_tokens;
  return most_small_tokens(outlook.cost, outlook.order_ttft_s, num_waiting);
}

// Finds the request's place among the tenants of its class, by tokens charged over weight, and among the
// prompts of its own tenant, of which the short ones go first.
class FairTurn {
 public:
  FairTurn(const Outlook& outlook, const wire::Outline& outline, double num_own)
      : tenant_(tenant_hash(outline.tenant)),
        most_small_(small_tokens(outlook, outline.priority)),
        size_(prompt_size(most_small_, num_own)) {
    for (const AwaitedTokens& prompt : outlook.prompts) {
      if (prompt.priority != outline.priority || prompt.tenant != tenant_ ||
          prompt_size(most_small_, prompt.num_left) <= size_)
        continue;
      (prompt.runs ? longer_running_ : longer_waiting_).add(prompt.num_left, 1);
    }
    for (const RunningClass& of : outlook.running)
      if (of.priority == outline.priority) charge_ = of.lowest_charge;
    for (const WaitingLine& line : outlook.waiting)
      if (line.priority == outline.priority && line.tenant == tenant_)
        charge_ = line.charge + cost_of(line) / line.weight;
  }

  // Adds the part of the line that is served before the request.
  void add_earlier(const WaitingLine& line, Crowd& ahead) const {
    if (line.tenant == tenant_) return add_shorter(line, ahead);
    const double all = cost_of(line);
    const double one = all / line.num_sequences;
    const double earlier = std::clamp((charge_ - line.charge) * line.weight + one, 0.0, all) / all;
    ahead.add(line.num_tokens * earlier, line.num_sequences * earlier);
  }
  // As above, for a line that came after the outlook was made.
  void add_earlier_arrival(const WaitingLine& line, Crowd& ahead) const {
    if (line.tenant != tenant_ || prompt_size(most_small_, line.num_tokens / line.num_sequences) <= size_)
      ahead.add(line.num_tokens, line.num_sequences);
  }
  const Crowd& longer_running() const { return longer_running_; }
  // The most tokens of a prompt that goes before the request even if it comes later.
  double most_shorter(double num_own) const {
    return most_small_ <= 0 ? num_own : size_ > 0 ? most_small_ * std::pow(kSizeFactor, size_ - 1) : 0;
  }
  double most_small() const { return most_small_; }
  bool has_longer() const { return longer_running_.num_prompts + longer_waiting_.num_prompts > 0; }

 private:
  void add_shorter(const WaitingLine& line, Crowd& ahead) const {
    ahead.add(std::max(0.0, line.num_tokens - longer_waiting_.num_tokens),
              std::max(0.0, line.num_sequences - longer_waiting_.num_prompts));
  }

  const std::uint64_t tenant_;
  const double most_small_;
  const double size_;
  Crowd longer_running_;
  Crowd longer_waiting_;
  double charge_ = 0;
};

// Simulates the steps to come, for the classes of one priority and above.
class Play {
 public:
  // The influence of other classes. Lower classes that have work take their part of the time.
  struct Others {
    bool expects_higher = false;
    bool has_lower = false;
    bool is_alone = false;  // the whole memory is free, too
  };
  Play(const Outlook& outlook, Slo slo, Others others)
      : outlook_(outlook),
        slo_(slo),
        others_(others),
        free_tokens_(others.is_alone ? 1e12 : outlook.num_free_tokens),
        waited_s_(others.is_alone ? 0 : outlook.waited_s) {}

  void add_streams(const RunningClass& of) {
    rows_ += of.num_streams;
    kv_tokens_ += static_cast<double>(of.kv_tokens);
  }
  void add_ahead(const Crowd& ahead) { ahead_.add(ahead.num_tokens, ahead.num_prompts); }
  // Adds prompts that are served later. They fill up the steps, which take longer for it.
  void add_behind(const Crowd& behind) {
    behind_.add(std::max(0.0, behind.num_tokens), std::max(0.0, behind.num_prompts));
  }
  // Expects shorter prompts that come later and go first.
  void expect(double tokens_per_s, double never_overtaken, bool first_in_rank_is_longer) {
    overtaken_per_s_ = tokens_per_s;
    never_overtaken_ = never_overtaken;
    own_part_ = first_in_rank_is_longer ? 1 - kFirstPart : 1;
  }
  void wait_until(double seconds) { now_s_ = std::max(now_s_, seconds); }

  // The time when everything ahead is computed.
  double drain() { return run_with(0, 0); }
  // The time of the request's first token.
  double run_with(double num_own, double num_cached) {
    own_left_ = own_ = num_own;
    own_cached_ = num_cached;
    const double started_s = now_s_;
    const double before = ahead_.num_tokens + own_left_;
    for (int i = 0; i < kMostSteps; ++i) {
      if (own_ <= 0 && ahead_.num_tokens < 0.5) return now_s_;
      step();
      if (own_ > 0 && own_left_ <= 0) return now_s_;
    }
    const double left = ahead_.num_tokens + own_left_;
    const double done = std::max(1.0, before - left);
    return now_s_ + (now_s_ - started_s) * left / done;
  }

 private:
  StepLoad streams() const {
    return {.decode_sequences = static_cast<int>(std::lround(rows_)),
            .kv_tokens = static_cast<std::int64_t>(kv_tokens_)};
  }

  bool chooses_length() const { return outlook_.fixed_step_s <= 0 && slo_.tpot_s > 0; }

  // The step's length if the next prompt would take `whole_s`.
  double target_s(double decode_s, double whole_s) const {
    const double least_s = decode_s * (1 + outlook_.prefill_share);
    if (outlook_.fixed_step_s > 0) return std::max(outlook_.fixed_step_s * (decode_s > 0 ? 1 : 4), least_s);
    if (slo_.tpot_s <= 0) return 1e9;
    const StepCost& cost = outlook_.cost;
    const auto tokens = [](double n) { return static_cast<int>(std::min(n, 1e9)); };
    const std::array<AwaitedPrompt, 3> prompts = {
        AwaitedPrompt{.work_s = cost.prefill_s(tokens(ahead_.num_tokens), 0), .waited_s = waited_s_ + now_s_},
        AwaitedPrompt{.work_s = cost.prefill_s(tokens(own_left_), 0),
                      .alone_s = cost.prefill_s(tokens(own_), 0),
                      .waited_s = now_s_},
        AwaitedPrompt{.work_s = cost.prefill_s(tokens(behind_.num_tokens), 0), .waited_s = now_s_}};
    const std::size_t first = ahead_.num_tokens > 0 ? 0 : 1;
    const std::size_t count = (behind_.num_tokens > 0 ? 3 : 2) - first;
    const StepTarget target = choose_step({.slo = slo_,
                                           .short_s = outlook_.short_s,
                                           .decode_s = decode_s,
                                           .prefill_share = outlook_.prefill_share},
                                          std::span(prompts).subspan(first, count));
    const double chosen_s = target.reaching(whole_s);
    if (!others_.expects_higher) return chosen_s;
    return std::min(chosen_s, std::max(expecting_step_s(outlook_.cost, outlook_.short_s), least_s));
  }

  // Prompt tokens that find a place in the batch and in memory.
  double num_placeable(double mean_prompt) const {
    const double places = std::max(0.0, outlook_.max_sequences - rows_);
    return std::min(places * mean_prompt, std::max(0.0, free_tokens_));
  }

  // Prompt tokens of one step.
  struct Rows {
    double ahead = 0;
    double own = 0;
    double behind = 0;

    double all() const { return ahead + own + behind; }
  };

  StepLoad load_of(const Rows& rows) const {
    StepLoad load = streams();
    const double done = own_cached_ + own_ - own_left_;
    load.prefill_tokens = static_cast<int>(std::lround(rows.all()));
    load.prefill_kv_tokens =
        static_cast<std::int64_t>(rows.ahead * rows.ahead / 2 + rows.own * (done + rows.own / 2));
    return load;
  }

  Rows share_rows() const {
    const double work = ahead_.num_tokens + own_left_;
    if (work <= 0) return {};
    const StepLoad load = streams();
    const double decode_s = load.decode_sequences > 0 ? outlook_.cost.predict_s(load) : 0;
    const bool is_next = has_turn();
    const double next_s = outlook_.cost.predict_s(
        load_of({.ahead = is_next ? 0 : ahead_.mean_tokens(), .own = is_next ? own_left_ : 0}));
    const int most = std::max(1, outlook_.max_batch_tokens - load.decode_sequences);
    const int room = outlook_.cost.prefill_room(load, target_s(decode_s, next_s), most);
    const double budget = std::min<double>(std::max(double(room), kLeastChunk), most);
    const double prompts = ahead_.num_prompts + (own_left_ > 0 ? 1 : 0);
    const double taken = std::min({work, own_part_ * budget, num_placeable(work / std::max(1.0, prompts))});
    const double ahead = std::min(taken, ahead_.num_tokens);
    const Rows rows{
        .ahead = ahead, .own = taken - ahead, .behind = std::min(budget - taken, behind_.num_tokens)};
    return chooses_length() ? ended(rows, (1 - own_part_) * budget) : rows;
  }

  // True if no whole prompt is ahead: at most a part of one that may still come and overtake.
  bool has_turn() const { return ahead_.num_prompts < 0.5; }

  // Ends the step with the next prompt if that pays. The first in rank keeps its part; see end_with_prompts.
  Rows ended(const Rows& whole, double of_first) const {
    const bool is_next = has_turn();
    const double next = is_next ? own_left_ : ahead_.mean_tokens();
    const double taken = is_next ? whole.own : whole.ahead;
    if (next <= 0 || taken < next - 0.5) return whole;
    const Rows kept{.ahead = is_next ? whole.ahead : next,
                    .own = is_next ? next : 0,
                    .behind = std::min(whole.behind, of_first)};
    const Rows left{
        .ahead = whole.ahead - kept.ahead, .own = whole.own - kept.own, .behind = whole.behind - kept.behind};
    if (left.all() < 1) return whole;
    const double others = ahead_.num_prompts + (own_left_ > 0 ? 1 : 0) + behind_.num_prompts - 1;
    const Cut cut{.kept = load_of(kept),
                  .left = load_of(left),
                  .whole = load_of(whole),
                  .num_ended = 1,
                  .num_waiting = static_cast<int>(std::lround(std::max(1.0, others)))};
    return gain_s(outlook_.cost, cut) > 0 ? kept : whole;
  }

  void step() {
    const Rows rows = share_rows();
    const double step_s = std::max(outlook_.cost.predict_s(load_of(rows)), 1e-6);
    now_s_ += step_s * (others_.has_lower ? 1 + kLowerShare : 1);
    join(rows.ahead);
    behind_.add(-rows.behind, -rows.behind / std::max(1.0, behind_.mean_tokens()));
    if (own_left_ - rows.own > never_overtaken_) ahead_.add(overtaken_per_s_ * step_s, 0);
    own_left_ -= rows.own;
    if (own_left_ < 0.5) own_left_ = 0;
    free_tokens_ -= rows.all();
    let_streams_go_on();
  }

  // Prompts that were computed become streams.
  void join(double num_tokens) {
    if (num_tokens <= 0) return;
    const double prompts = ahead_.num_prompts * num_tokens / ahead_.num_tokens;
    rows_ += prompts;
    kv_tokens_ += num_tokens;
    ahead_.num_prompts -= prompts;
    ahead_.num_tokens = std::max(0.0, ahead_.num_tokens - num_tokens);
  }

  // Each stream gets a token, and some end.
  void let_streams_go_on() {
    const double part = std::min(1.0, 1 / std::max(1.0, outlook_.mean_output));
    free_tokens_ += kv_tokens_ * part - rows_;
    kv_tokens_ += rows_ - kv_tokens_ * part;
    rows_ -= rows_ * part;
  }

  const Outlook& outlook_;
  const Slo slo_;
  const Others others_;
  double now_s_ = 0;  // since the outlook was made
  double rows_ = 0;   // streams
  double kv_tokens_ = 0;
  double free_tokens_;
  double waited_s_;
  Crowd ahead_;
  Crowd behind_;
  double overtaken_per_s_ = 0;  // tokens per second
  double never_overtaken_ = 0;  // a request with at most this many tokens left is not overtaken
  double own_part_ = 1;         // part of a step's prompt tokens for the request and those ahead of it
  double own_ = 0;
  double own_left_ = 0;
  double own_cached_ = 0;
};

wire::Latency alone(const Outlook& outlook, const Slo& slo, const wire::Outline& outline) {
  Play play(outlook, slo, {.is_alone = true});
  return {.ttft_s = play.run_with(static_cast<double>(outline.num_prompt_tokens), 0),
          .tpot_s = outlook.cost.predict_s(
              {.decode_sequences = outline.num_sequences, .kv_tokens = outline.num_prompt_tokens})};
}

// The latency beside a higher class: a small part of the time, of which streams of the request's own class
// take theirs first.
wire::Latency beside_higher(const Outlook& outlook, int priority, double to_compute, int num_sequences,
                            double drained_s) {
  StepLoad higher;
  StepLoad all{.decode_sequences = num_sequences};
  for (const RunningClass& of : outlook.running) {
    all.decode_sequences += of.num_streams;
    all.kv_tokens += of.kv_tokens;
    if (of.priority <= priority) continue;
    higher.decode_sequences += of.num_streams;
    higher.kv_tokens += of.kv_tokens;
  }
  const double step_s = outlook.cost.predict_s(higher);
  const double rows_s = outlook.cost.predict_s(all) - step_s;
  const double rows_part = std::min(kLowerShare, rows_s / std::max(step_s, 1e-6));
  const double prompt_part = std::max(kLowerShare - rows_part, kLowerShare / 10);
  const double work_s = outlook.cost.prefill_s(static_cast<int>(std::min(to_compute, 1e9)), 0);
  return {.ttft_s = drained_s + work_s / prompt_part,
          .tpot_s = step_s * std::max(1.0, rows_s / (kLowerShare * step_s))};
}

template <class IsThere>
bool any_class(const Outlook& outlook, std::span<const WaitingLine> arrivals, const IsThere& is_there) {
  return std::ranges::any_of(outlook.running, is_there) || std::ranges::any_of(outlook.waiting, is_there) ||
         std::ranges::any_of(arrivals, is_there);
}

}  // namespace

wire::Forecast forecast(const Outlook& outlook, std::span<const WaitingLine> arrivals,
                        const wire::Outline& outline, int num_cached, double since_s) {
  const Slo slo{.ttft_s = outline.slo_ttft_s > 0 ? outline.slo_ttft_s : outlook.slo.ttft_s,
                .tpot_s = outline.slo_tpot_s > 0 ? outline.slo_tpot_s : outlook.slo.tpot_s};
  const int priority = outline.priority;
  const bool yields =
      any_class(outlook, arrivals, [priority](const auto& one) { return one.priority > priority; });
  const bool has_lower =
      any_class(outlook, arrivals, [priority](const auto& one) { return one.priority < priority; });
  const double own =
      std::max(1.0, static_cast<double>(outline.num_prompt_tokens - num_cached) - outlook.mean_tail);
  const FairTurn turn(outlook, outline, own);
  Play play(outlook, slo, {.expects_higher = outlook.highest_recent > priority, .has_lower = has_lower});
  Crowd lower;  // prompts of classes between the highest one and the request's
  int num_rows = outline.num_sequences;
  std::int64_t kv_tokens = outline.num_prompt_tokens;
  const auto place = [&](const WaitingLine& line, Crowd& now) {
    if (line.priority < priority) return;
    Crowd& ahead = yields && line.priority == priority ? lower : now;
    if (line.priority > priority)
      ahead.add(line.num_tokens, line.num_sequences);
    else
      turn.add_earlier(line, ahead);
    num_rows += line.num_sequences;
  };
  Crowd first;
  Crowd all;  // prompts of the class and of higher ones
  for (const RunningClass& of : outlook.running) {
    if (of.priority < priority) continue;
    num_rows += of.num_streams + of.num_prompts;
    kv_tokens += of.kv_tokens;
    if (yields && of.priority == priority) {
      lower.add(of.prompt_tokens, of.num_prompts);
      continue;
    }
    play.add_streams(of);
    all.add(of.prompt_tokens, of.num_prompts);
    first.add(of.prompt_tokens, of.num_prompts);
    if (of.priority == priority)
      first.add(-turn.longer_running().num_tokens, -turn.longer_running().num_prompts);
  }
  for (const WaitingLine& line : outlook.waiting) {
    place(line, first);
    if (line.priority >= priority) all.add(line.num_tokens, line.num_sequences);
  }
  for (const WaitingLine& line : arrivals) {
    if (line.priority >= priority) all.add(line.num_tokens, line.num_sequences);
    if (line.priority == priority) {
      turn.add_earlier_arrival(line, yields ? lower : first);
      num_rows += line.num_sequences;
    } else {
      place(line, first);
    }
  }
  play.add_ahead(first);
  play.expect(outlook.recent.shorter_per_s(outlook.now_s + since_s, turn.most_shorter(own)),
              turn.most_small(), turn.has_longer());
  play.add_behind({all.num_tokens - first.num_tokens - lower.num_tokens,
                   all.num_prompts - first.num_prompts - lower.num_prompts});
  play.wait_until(std::max(since_s, outlook.in_flight_s));

  wire::Forecast result{.alone = alone(outlook, slo, outline),
                        .slo = {slo.ttft_s, slo.tpot_s},
                        .is_idle = outlook.running.empty() && outlook.waiting.empty() && arrivals.empty()};
  if (yields) {
    const double drained_s = play.drain() - since_s;
    result.expected =
        beside_higher(outlook, priority, lower.num_tokens + own, outline.num_sequences, drained_s);
  } else {
    result.expected = {
        .ttft_s = play.run_with(own, num_cached) - since_s,
        .tpot_s = outlook.cost.predict_s({.decode_sequences = num_rows, .kv_tokens = kv_tokens})};
  }
  return result;
}

}  // namespace kvasir::sched
