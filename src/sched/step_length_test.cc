#include "sched/step_length.h"

#include <gtest/gtest.h>

#include <vector>

namespace kvasir::sched {
namespace {

constexpr StepBounds kBounds{
    .slo = {.ttft_s = 0.5, .tpot_s = 0.05}, .short_s = 0.013, .decode_s = 0.006, .prefill_share = 0.5};
constexpr double kLongestS = 0.05 * 0.9;

double chosen_s(const StepBounds& bounds, const std::vector<AwaitedPrompt>& prompts) {
  return choose_step(bounds, prompts).aim_s;
}

AwaitedPrompt prompt(double work_s, double waited_s = 0) {
  return {.work_s = work_s, .alone_s = work_s, .waited_s = waited_s};
}

TEST(StepLength, IsShortWhereNoPromptIsInAHurry) {
  EXPECT_DOUBLE_EQ(chosen_s(kBounds, {}), 0.013);
  EXPECT_DOUBLE_EQ(chosen_s(kBounds, {prompt(0.01)}), 0.013);
}

TEST(StepLength, IsShortByTheSloToo) {
  StepBounds quick = kBounds;
  quick.slo.tpot_s = 0.02;
  EXPECT_DOUBLE_EQ(chosen_s(quick, {}), 0.006 * 1.5);
  quick.prefill_share = 0.1;
  EXPECT_DOUBLE_EQ(chosen_s(quick, {}), 0.02 * 0.4);
}

TEST(StepLength, GrowsWithWhatWaitsAndHowLong) {
  double last_s = 0.013;
  for (const int num_prompts : {8, 9, 10}) {
    const double s = chosen_s(kBounds, std::vector<AwaitedPrompt>(num_prompts, prompt(0.01)));
    EXPECT_GT(s, last_s);
    EXPECT_LE(s, kLongestS);
    last_s = s;
  }
  // Prefill gets so much of the time that the last prompt is served after a quarter of the TTFT SLO.
  EXPECT_NEAR(chosen_s(kBounds, std::vector<AwaitedPrompt>(10, prompt(0.01))), 0.006 / (1 - 0.1 / 0.125),
              1e-9);
  EXPECT_GT(chosen_s(kBounds, {prompt(0.01, 0.11)}), chosen_s(kBounds, {prompt(0.01, 0.05)}));
}

TEST(StepLength, IsAsLongAsStreamsAllowWhereSomebodyWillBeLate) {
  EXPECT_DOUBLE_EQ(chosen_s(kBounds, std::vector<AwaitedPrompt>(100, prompt(0.01))), kLongestS);
  EXPECT_DOUBLE_EQ(chosen_s(kBounds, {prompt(0.01, 3)}), kLongestS);
}

TEST(StepLength, ReachesTheEndOfAPromptThatIsNear) {
  const StepTarget target = choose_step(kBounds, {});
  EXPECT_DOUBLE_EQ(target.reaching(0.01), 0.013);
  EXPECT_DOUBLE_EQ(target.reaching(0.018), 0.018);
  EXPECT_DOUBLE_EQ(target.reaching(0.03), 0.013);
  EXPECT_DOUBLE_EQ((StepTarget{.aim_s = 0.04, .longest_s = 0.045}).reaching(0.05), 0.04);
}

TEST(StepLength, IsLongWhereNobodyReads) {
  StepBounds nobody = kBounds;
  nobody.decode_s = 0;
  // The step takes a quarter of the TTFT SLO, since the next arrival waits for its end.
  EXPECT_DOUBLE_EQ(chosen_s(nobody, {prompt(0.001)}), 0.125);
}

TEST(StepLength, LeavesPrefillItsShareWhereStreamsAloneAreOverTheSlo) {
  StepBounds many = kBounds;
  many.decode_s = 0.06;
  EXPECT_DOUBLE_EQ(chosen_s(many, std::vector<AwaitedPrompt>(100, prompt(0.01))), 0.06 * 1.5);
  EXPECT_DOUBLE_EQ(chosen_s(many, {prompt(0.001)}), 0.06 * 1.5);
}

AwaitedPrompt prompt_with_ttft(double ttft_s, double work_s = 0.01) {
  return {.work_s = work_s, .alone_s = work_s, .ttft_s = ttft_s};
}

TEST(StepLength, TheStreamsOwnSloBoundsIt) {
  const std::vector<AwaitedPrompt> many(100, prompt(0.01));
  StepBounds own = kBounds;
  own.tpot_s = 0.03;
  EXPECT_DOUBLE_EQ(chosen_s(own, many), 0.03 * 0.9);
  own.tpot_s = 0.1;
  EXPECT_DOUBLE_EQ(chosen_s(own, many), 0.1 * 0.9);
  // A very lax SLO makes no longer steps, since the next arrival waits for the step's end.
  own.tpot_s = 60;
  EXPECT_DOUBLE_EQ(chosen_s(own, many), 0.125);
}

TEST(StepLength, EachPromptIsAimedAtItsOwnSlo) {
  const double ordinary_s = chosen_s(kBounds, std::vector<AwaitedPrompt>(9, prompt(0.01)));
  const auto with_last = [](double ttft_s) {
    std::vector<AwaitedPrompt> prompts(9, prompt(0.01));
    prompts.back().ttft_s = ttft_s;
    return chosen_s(kBounds, prompts);
  };
  EXPECT_NEAR(with_last(0.45), 0.006 / (1 - 0.09 / (0.45 / 4)), 1e-9);
  EXPECT_GT(with_last(0.45), ordinary_s);
  EXPECT_LT(with_last(5), ordinary_s);
}

TEST(StepLength, WithoutStreamsAStrictPromptWaitsForAShorterStep) {
  StepBounds nobody = kBounds;
  nobody.decode_s = 0;
  EXPECT_DOUBLE_EQ(chosen_s(nobody, {prompt_with_ttft(0.24), prompt(0.01)}), 0.06);
  EXPECT_DOUBLE_EQ(chosen_s(nobody, {prompt_with_ttft(5)}), 0.125);
  EXPECT_DOUBLE_EQ(chosen_s(nobody, {prompt_with_ttft(0.001)}), kLongestS);
}

TEST(StepLength, AnSloOutOfReachBreaksNothing) {
  StepBounds own = kBounds;
  own.tpot_s = 0.001;
  EXPECT_DOUBLE_EQ(chosen_s(own, std::vector<AwaitedPrompt>(100, prompt(0.01))), 0.006 * 1.5);
  // A prompt that takes 10 ms alone is aimed at the model's SLO, not given up.
  EXPECT_DOUBLE_EQ(chosen_s(kBounds, std::vector<AwaitedPrompt>(10, prompt_with_ttft(0.001))),
                   chosen_s(kBounds, std::vector<AwaitedPrompt>(10, prompt(0.01))));
}

TEST(StepLength, APromptThatIsLateEvenAloneHurriesNobody) {
  EXPECT_DOUBLE_EQ(chosen_s(kBounds, {prompt(11)}), 0.013);
  // A prompt that can be in time alone is in a hurry.
  EXPECT_DOUBLE_EQ(chosen_s(kBounds, {prompt(0.4)}), kLongestS);
}

}  // namespace
}  // namespace kvasir::sched
