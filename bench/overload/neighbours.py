"""Tenants beside each other: a flood of a lower tier, and shares of tokens."""

import asyncio
import random
import statistics

from . import figures, plot
from .figures import Outcome
from .house import House
from .load import Backlog, Patience, Shape, Source, Target, closed_loop, open_loop
from .results import Result, Table, ms

# Lengths are alike, so that quiet times differ little and the flood's part can be seen.
STEADY = Shape(prompt=120, answer=16, spread=0)
STEADY_LOAD = 0.4  # the part of the time in which one of its requests is under way, where it is alone
FLOOD = Shape()
# Alike too: shares are those of computed tokens, of which a tenant with more short prompts receives more as text.
BACKLOG = Shape(prompt=12, answer=40, spread=0, most_answer=40)
LEAST_TOKENS = 400  # of each tenant: ten answers, of which one may lie across the window's edge
LEAST_SEEN = 8  # requests beside the flood, and half as many in each quiet phase, of which a p95 says something
SETTLED_S = 1.5  # from a flood's beginning until its requests wait in a queue


async def steady_rate(bench, target, tenant):
    """Requests a second that are little for this machine, after a few that warm it up."""
    outcomes = []
    draw = random.Random(bench.next_seed())
    for _ in range(5):
        outcome = Outcome(tenant.name)
        outcomes.append(await target.client.ask(target.drawn(tenant, STEADY, draw), outcome))
    alone_s = statistics.median(outcome.ended - outcome.sent for outcome in outcomes[1:])
    return STEADY_LOAD / alone_s


async def steady(bench, target, tenant, rate, seconds, others=()):
    arrivals = [0.1 + at for at in figures.even_arrivals(rate, seconds - 0.1)]
    sources = [Source(tenant, STEADY, arrivals), *others]
    return await open_loop(target, sources, seconds, bench.next_seed(), Patience(4 / rate, 4 / rate))


def latencies(outcomes):
    """p50 and p95 of TTFT, then of TPOT. An answer that did not come counts as endless."""
    ttft = [outcome.ttft_s for outcome in outcomes]
    tpot = [outcome.tpot_s if outcome.is_answered else float("inf") for outcome in outcomes]
    return [figures.percentile(values, share) for values in (ttft, tpot) for share in (0.5, 0.95)]


async def flood(bench):
    """`free` asks for ten times what the server can do, while `enterprise` asks for little."""
    result = Result("A flood of a lower tier")
    with House(bench.kvasir, bench.model, ["--kv-memory-mb", 192, *bench.flags]) as house:
        rich, poor = house.tenant("rich", "enterprise"), house.tenant("poor", "free")
        with house.serving() as server:
            await bench.ensure_rate(server, poor)
            target = Target(server.port, bench.model)
            rate = await steady_rate(bench, target, rich)
            before = await steady(bench, target, rich, rate, bench.quiet_s)
            arrivals = figures.poisson_arrivals(random.Random(bench.next_seed()), 10 * bench.rate, bench.flood_s)
            beside = await steady(bench, target, rich, rate, bench.flood_s, [Source(poor, FLOOD, arrivals, is_awaited=False)])
            await asyncio.sleep(1)
            after = await steady(bench, target, rich, rate, bench.quiet_s)
    for phase in (before, beside, after):
        result.saw(phase)
    flooded = figures.sent_within(beside.of(rich), beside.begin + SETTLED_S, beside.end)
    sent = {"quiet, before": before.of(rich), "beside the flood": flooded, "quiet, after": after.of(rich)}
    measured = {name: latencies([outcome for outcome in outcomes if not outcome.is_refused]) for name, outcomes in sent.items()}
    result.tables.append(Table(f"enterprise: {rate:.1f} requests/s, {STEADY.prompt} words in, {STEADY.answer} tokens out",
                               ["", "sent", "refused", "TTFT p50, ms", "TTFT p95", "TPOT p50, ms", "TPOT p95"],
                               [[name, str(len(sent[name])), str(sum(o.is_refused for o in sent[name])), ms(row[0]), ms(row[1]),
                                 f"{1000 * row[2]:.1f}", f"{1000 * row[3]:.1f}"] for name, row in measured.items()]))
    others = beside.of(poor)
    result.notes.append(f"free: {len(others)} requests sent at {10 * bench.rate:.0f}/s, {sum(o.is_answered for o in others)} answered, "
                        f"{sum(o.is_refused for o in others)} refused.")
    num_refused = sum(outcome.is_refused for outcome in flooded)
    result.check("enterprise's requests refused beside the flood", f"{num_refused} of {len(flooded)}", "none", num_refused == 0)
    for i, what in ((1, "TTFT"), (3, "TPOT")):
        num_seen = min(2 * len(before.of(rich)), 2 * len(after.of(rich)), len(flooded) - num_refused)
        if num_seen < LEAST_SEEN:
            result.skip(f"enterprise's {what} p95, of the quiet one",
                        f"too few answers for a p95 ({rate:.1f} requests/s are what this machine answers with ease)")
            continue
        quiet = figures.quiet_median(measured["quiet, before"][i], measured["quiet, after"][i])
        result.at_most(f"enterprise's {what} p95, of the quiet one", measured["beside the flood"][i] / quiet, 1.2, "{:.2f}")
    result.plots.append(plot.lines("enterprise's TTFT by the time of the request", "seconds of the phase", "TTFT, ms", [
        (name, [(o.sent - phase.begin, 1000 * o.ttft_s) for o in phase.of(rich) if o.tokens])
        for name, phase in (("quiet, before", before), ("beside the flood", beside), ("quiet, after", after))]))
    return result


async def shares_of(bench, result, server, backlogs):
    """Tokens that each of two backlogs received while both had requests waiting, and served ones."""
    phase = await closed_loop(Target(server.port, bench.model), backlogs, bench.share_s, bench.next_seed())
    result.saw(phase)
    one, other = (phase.of(backlog.tenant) for backlog in backlogs)
    window = figures.backlogged_window(one, other, phase.end)
    if window is None or window[1] - window[0] < phase.seconds / 2:
        result.skip("shares", f"both were backlogged for {0 if window is None else window[1] - window[0]:.1f} s alone")
        return None
    begin, end = max(window[0], phase.begin + bench.share_warm_s), window[1]
    edges = [begin + (end - begin) * i / 20 for i in range(21)]
    curves = [(backlog.tenant.name, [(edge - begin, figures.tokens_within(phase.of(backlog.tenant), begin, edge)) for edge in edges])
              for backlog in backlogs]
    result.plots.append(plot.lines("Tokens received", "seconds", "tokens", curves, marks=False))
    return [(figures.tokens_within(part, begin, end), figures.served_within(part, begin, end)) for part in (one, other)] + [end - begin]


async def fairness(bench):
    """Two tenants who always want more: their tokens are as their weights, whatever they ask for."""
    result = Result("Shares of two backlogged tenants")
    rows = []
    with House(bench.kvasir, bench.model, ["--max-batch-sequences", 8, *bench.flags]) as house:
        few, many = house.tenant("few", "one"), house.tenant("many", "one")
        light, heavy = house.tenant("light", "one"), house.tenant("heavy", "three")
        for what, wanted, backlogs in (
                ("demands 1:10, one tier", 1, [Backlog(few, BACKLOG, 12), Backlog(many, BACKLOG, 120)]),
                ("weights 1:3", 3, [Backlog(light, BACKLOG, 40), Backlog(heavy, BACKLOG, 40)])):
            with house.serving() as server:
                found = await shares_of(bench, result, server, backlogs)
            if found is None:
                continue
            (one, served_one), (other, served_other), seconds = found
            rows.append([what, f"{seconds:.1f}", f"{one:.0f}", f"{other:.0f}", f"{other / one:.3f}", f"{served_other / served_one:.3f}"])
            if min(one, other) < LEAST_TOKENS:
                result.skip(f"{what}: received, off from 1:{wanted}", f"too few tokens for 5 % ({min(one, other):.0f})")
                continue
            result.at_most(f"{what}: received, off from 1:{wanted}", figures.off_by(other / one, wanted), 0.05, "{:.3f}")
    result.tables.append(Table("Tokens received while both had requests waiting",
                               ["", "seconds", "first", "second", "second/first", "with prompts"], rows))
    return result
