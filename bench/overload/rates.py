"""Goodput over the rate of arrivals, and predicted first tokens beside real ones."""

import asyncio
import dataclasses
import math
import random
import time

from . import figures, plot
from .house import House
from .load import Patience, Shape, Source, Target, open_loop
from .results import Result, Table, ms, percent

WARM_PART = 0.25  # of a phase: requests of its beginning do not count, since queues are empty then
SUSTAINED = 0.95  # the part of requests within both SLOs
CHAT = Shape()


@dataclasses.dataclass
class Point:
    factor: float
    rate: float
    goodput: float
    admitted_p95_s: float  # inf: so many were given up after the SLO for TTFT
    num_sent: int
    num_refused: int
    num_failed: int
    refusal_p99_s: float
    all_say_when: bool
    rss_mb: float


def patience(slo, shape):
    """After so long an answer has missed an SLO."""
    return Patience(slo.ttft_s + 0.05, shape.most_answer * slo.tpot_s)


async def poisson(bench, target, tenant, rate, seconds, slo):
    arrivals = figures.poisson_arrivals(random.Random(bench.next_seed()), rate, seconds)
    return await open_loop(target, [Source(tenant, CHAT, arrivals)], seconds, bench.next_seed(), patience(slo, CHAT))


def counted(phase):
    """What was sent after the phase's beginning, and the seconds in which it was."""
    begin = phase.begin + WARM_PART * phase.seconds
    return figures.sent_within(phase.outcomes, begin, phase.end), phase.end - begin


async def find_rate(bench, target, tenant, slo):
    """The highest rate that short probes say the server sustains, and all probes."""
    tried, rate = [], bench.first_rate
    for _ in range(bench.num_probes):
        phase = await poisson(bench, target, tenant, rate, bench.probe_s, slo)
        outcomes, _ = counted(phase)
        good = figures.share_of(outcomes, slo.is_met_by)
        tried.append((rate, not math.isnan(good) and good >= SUSTAINED))
        bench.say(f"probe: {rate:.1f}/s, {percent(good)} within the SLOs")
        rate = figures.next_rate(tried)
    return figures.sustained_rate(tried) or min(rate for rate, _ in tried) / 2


def point(factor, rate, phase, slo, rss_mb):
    outcomes, seconds = counted(phase)
    admitted = [outcome for outcome in outcomes if not outcome.is_refused]
    refused = [outcome for outcome in phase.outcomes if outcome.is_refused]
    return Point(factor=factor, rate=rate, goodput=figures.goodput(outcomes, slo, seconds),
                 admitted_p95_s=figures.percentile([outcome.ttft_s for outcome in admitted], 0.95),
                 num_sent=len(phase.outcomes), num_refused=len(refused),
                 num_failed=sum(1 for outcome in phase.outcomes if not outcome.is_refused and not outcome.is_answered),
                 refusal_p99_s=figures.percentile([outcome.ended - outcome.sent for outcome in refused], 0.99),
                 all_say_when=all(outcome.has_retry_after for outcome in refused), rss_mb=rss_mb)


async def measure_curve(bench, result, server, tenant, rate, slo, memory):
    target = Target(server.port, bench.model)
    watching = asyncio.ensure_future(server.watch_rss(memory, time.monotonic()))
    points = []
    for factor in bench.factors:
        phase = await poisson(bench, target, tenant, factor * rate, bench.phase_s, slo)
        result.saw(phase)
        points.append(point(factor, factor * rate, phase, slo, server.rss_mb()))
        bench.say(f"{factor:g}x: {points[-1].goodput:.2f} good/s of {factor * rate:.1f}/s, {points[-1].num_refused} refused")
    watching.cancel()
    target.client.close()
    return points


def curve_table(title, points):
    rows = [[f"{p.factor:g}x", f"{p.rate:.1f}", f"{p.goodput:.2f}", "over the SLO" if math.isinf(p.admitted_p95_s) else ms(p.admitted_p95_s),
             str(p.num_sent), str(p.num_refused), str(p.num_failed), "-" if math.isnan(p.refusal_p99_s) else f"{1000 * p.refusal_p99_s:.1f}",
             f"{p.rss_mb:.0f}"] for p in points]
    return Table(title, ["rate", "sent/s", "good/s", "TTFT p95, ms", "sent", "refused", "late", "refusal p99, ms", "RSS, MiB"], rows)


def judge(result, points, slo):
    by_factor = {p.factor: p for p in points}
    peak = max(p.goodput for p in points)
    worst = max(p.admitted_p95_s for p in points)
    refused = [p for p in points if p.num_refused]
    result.at_least("goodput at 3x, of the peak", by_factor[3].goodput / peak if peak else math.nan, 0.9, "{:.2f}")
    result.at_most("TTFT p95 of admitted requests at any rate, ms", 1000 * worst, 1000 * slo.ttft_s, "{:.0f}")
    if refused:
        result.at_most("refusals' p99, ms", max(1000 * p.refusal_p99_s for p in refused), 10)
        result.check("Retry-After on refusals", "on all" if all(p.all_say_when for p in refused) else "missing", "on all",
                     all(p.all_say_when for p in refused))
    else:
        result.check("refusals at 3x", "none", "some: the server has to refuse what it cannot serve", False)
    result.at_most("RSS after 3x, of that after 1x", by_factor[3].rss_mb / by_factor[1].rss_mb, 1.1, "{:.2f}")


async def overload(bench):
    """More requests than can be served: how many are served well, and how the others are refused."""
    result = Result("Overload")
    with House(bench.kvasir, bench.model, ["--kv-memory-mb", 192, *bench.flags]) as house:
        tenant = house.tenant("load", "free")
        with house.serving() as server:
            slo = server.slo()
            bench.slo = slo
            bench.rate = await find_rate(bench, Target(server.port, bench.model), tenant, slo)
            memory = []
            points = await measure_curve(bench, result, server, tenant, bench.rate, slo, memory)
        result.notes.append(f"SLOs: {ms(slo.ttft_s)} ms to the first token, {ms(slo.tpot_s)} ms for each further one. "
                            f"Sustained: {bench.rate:.1f} requests/s ({CHAT.prompt} words in, {CHAT.answer} tokens out in the median).")
        result.tables.append(curve_table("Admission on", points))
        judge(result, points, slo)
        curves = [("admission on", [(p.rate, p.goodput) for p in points])]
        with house.serving("--admission", "off", "--slo-ttft-ms", round(1000 * slo.ttft_s), "--slo-tpot-ms",
                           round(1000 * slo.tpot_s)) as server:
            off = await measure_curve(bench, result, server, tenant, bench.rate, slo, [])
        result.tables.append(curve_table("Admission off", off))
        curves.append(("admission off", [(p.rate, p.goodput) for p in off]))
    most = 1.4 * max(p.goodput for p in points)
    curves.append(("all served well", [(0, 0), (most, most)]))
    result.plots.append(plot.lines("Goodput over the rate", "requests/s sent", "requests/s within both SLOs", curves))
    result.plots.append(plot.lines("Memory of the server over the five rates", "seconds", "RSS, MiB", [("RSS", memory)], marks=False))
    return result


async def prediction(bench):
    """The first token's time as the server foretold it beside what the client saw."""
    result = Result("Predicted TTFT")
    with House(bench.kvasir, bench.model, ["--kv-memory-mb", 192, *bench.flags]) as house, house.serving() as server:
        tenant = house.tenant("load", "free")
        await bench.ensure_rate(server, tenant)
        target = Target(server.port, bench.model, wants_receipt=True)
        phase = await poisson(bench, target, tenant, 0.7 * bench.rate, bench.prediction_s, bench.slo)
    result.saw(phase)
    told = [outcome for outcome in phase.outcomes if outcome.is_answered and outcome.predicted_ttft_ms is not None]
    if not told:
        answered = sum(1 for outcome in phase.outcomes if outcome.is_answered)
        result.check("predicted within 25 %", f"none of {answered} answers has kvasir.predicted_ttft_ms", "some", False)
        return result
    errors = [figures.off_by(outcome.predicted_ttft_ms / 1000, outcome.ttft_s) for outcome in told]
    result.tables.append(Table(f"At {0.7 * bench.rate:.1f} requests/s", ["", "p50", "p90", "p95"], [
        ["off by, of the real one", *(percent(figures.percentile(errors, share)) for share in (0.5, 0.9, 0.95))],
        ["real, ms", *(ms(figures.percentile([o.ttft_s for o in told], share)) for share in (0.5, 0.9, 0.95))]]))
    within = figures.share_of(errors, lambda error: error <= 0.25)
    result.at_least(f"requests predicted within 25 %, of {len(told)}", within, 0.9, "{:.2f}")
    result.plots.append(plot.scatter("Predicted over real TTFT", "real, ms", "predicted, ms",
                                     [(1000 * o.ttft_s, o.predicted_ttft_ms) for o in told], 0.25))
    return result
