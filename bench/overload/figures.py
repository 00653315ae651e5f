"""Figures from what clients saw. Everything here is a pure function of its arguments."""

import dataclasses
import math
import random
import statistics


@dataclasses.dataclass(slots=True)
class Outcome:
    """One request as its client saw it. Times are seconds of the client's monotonic clock."""

    tenant: str
    sent: float = 0.0  # just before the first byte was written
    status: int = 0  # 0: no answer
    tokens: list = dataclasses.field(default_factory=list)  # when each piece of text came
    ended: float | None = None
    has_retry_after: bool = False
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    predicted_ttft_ms: float | None = None
    error: str = ""

    @property
    def is_answered(self):
        return self.status == 200 and self.ended is not None and not self.error and bool(self.tokens)

    @property
    def is_refused(self):
        return self.status in (429, 503)

    @property
    def ttft_s(self):
        return self.tokens[0] - self.sent if self.tokens else math.inf

    @property
    def tpot_s(self):
        """Of the text after the first token. Tokens without text of their own count, since the server counts them."""
        count = max(self.output_tokens, len(self.tokens))
        return (self.tokens[-1] - self.tokens[0]) / (count - 1) if count > 1 and self.tokens else 0.0


@dataclasses.dataclass(frozen=True)
class Slo:
    ttft_s: float
    tpot_s: float

    def is_met_by(self, outcome):
        return outcome.is_answered and outcome.ttft_s <= self.ttft_s and outcome.tpot_s <= self.tpot_s


def percentile(values, share):
    """The smallest value that `share` of all values do not exceed; nan without values."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def share_of(values, is_good):
    """The part of them that is good; nan without values."""
    values = list(values)
    return sum(1 for value in values if is_good(value)) / len(values) if values else math.nan


def sent_within(outcomes, begin, end):
    return [outcome for outcome in outcomes if begin <= outcome.sent < end]


def goodput(outcomes, slo, seconds):
    """Requests a second within both SLOs, of those that were sent in a stretch of so many seconds."""
    return sum(1 for outcome in outcomes if slo.is_met_by(outcome)) / seconds


def poisson_arrivals(draw: random.Random, rate, seconds):
    """Seconds from the beginning, at most ten times as many as expected."""
    arrivals = []
    at = draw.expovariate(rate)
    while at < seconds and len(arrivals) < 10 * rate * seconds + 100:
        arrivals.append(at)
        at += draw.expovariate(rate)
    return arrivals


def even_arrivals(rate, seconds):
    return [i / rate for i in range(int(rate * seconds))]


def lognormal_length(draw: random.Random, median, spread, least, most):
    return max(least, min(most, round(median * math.exp(draw.gauss(0, spread)))))


def waiting_intervals(outcomes, end):
    """When a tenant had a request without a first token, as disjoint intervals in order."""
    merged = []
    for outcome in sorted(outcomes, key=lambda one: one.sent):
        if outcome.is_refused:
            continue
        until = outcome.tokens[0] if outcome.tokens else end
        if merged and outcome.sent <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], until))
        else:
            merged.append((outcome.sent, until))
    return merged


def longest_common(a, b):
    """The longest stretch that lies in an interval of each; None where there is none."""
    common = [(max(x[0], y[0]), min(x[1], y[1])) for x in a for y in b]
    common = [piece for piece in common if piece[1] > piece[0]]
    return max(common, key=lambda piece: piece[1] - piece[0], default=None)


def backlogged_window(outcomes_a, outcomes_b, end):
    """The longest time in which both tenants always had a request without a first token."""
    return longest_common(waiting_intervals(outcomes_a, end), waiting_intervals(outcomes_b, end))


def tokens_within(outcomes, begin, end):
    """Tokens of answers that came in that time. A piece of text that held several counts as several."""
    total = 0.0
    for outcome in outcomes:
        inside = sum(1 for at in outcome.tokens if begin <= at < end)
        total += inside * (max(1.0, outcome.output_tokens / len(outcome.tokens)) if inside else 0)
    return total


def served_within(outcomes, begin, end):
    """The same with the tokens of prompts, which count where the first token comes; cached ones do not."""
    prompts = sum(outcome.prompt_tokens - outcome.cached_tokens for outcome in outcomes
                  if outcome.tokens and begin <= outcome.tokens[0] < end)
    return tokens_within(outcomes, begin, end) + prompts


def off_by(value, wanted):
    """The relative distance, as a share of what is wanted."""
    return abs(value - wanted) / wanted if wanted else math.inf


def quiet_median(before, after):
    return statistics.median([before, after])


def cached_ratio(outcomes):
    """The part of all prompt tokens that was found in the cache; nan without answers."""
    prompt = sum(outcome.prompt_tokens for outcome in outcomes if outcome.is_answered)
    cached = sum(outcome.cached_tokens for outcome in outcomes if outcome.is_answered)
    return cached / prompt if prompt else math.nan


def next_rate(tried):
    """The rate to try after `tried`, a list of (rate, whether it was sustained): doubles until one fails, then halves the
    distance between the highest that was sustained and the lowest that was not."""
    good = [rate for rate, is_sustained in tried if is_sustained]
    bad = [rate for rate, is_sustained in tried if not is_sustained]
    if not bad:
        return 2 * max(good)
    if not good:
        return min(bad) / 2
    return (max(good) + min(bad)) / 2


def sustained_rate(tried):
    """The highest rate that was sustained below all that were not; 0 without one."""
    lowest_bad = min((rate for rate, is_sustained in tried if not is_sustained), default=math.inf)
    return max((rate for rate, is_sustained in tried if is_sustained and rate < lowest_bad), default=0.0)
