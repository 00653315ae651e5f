"""The prefix cache of one tenant beside another one's flood of new prompts."""

import asyncio
import random

from . import figures
from .figures import Outcome
from .house import House
from .load import Backlog, Phase, Shape, Target, closed_loop, generating, give_up, words
from .results import Result, Table, ms, percent

KV_MB = 20  # about 900 tokens of SmolLM2: the talks need a third, what runs of the flood another one
NUM_TALKS = 2
NUM_TURNS = 3
UNIQUE = Shape(prompt=70, answer=2, spread=0, most_answer=2)
# Between two turns of a talk the flood computes so many tokens of prompts, which is more than all blocks hold.
TURNOVER = 1400
LEAST_ANSWERS = 6  # in each phase
MOST_ANSWERS = 10  # after which a phase beside a flood ends
LEAST_FALL = 0.1  # of the cached part beside a flood of the tenant's own: less would mean that there was no pressure


class Flood:
    """New prompts of one tenant without an end, until `stop`."""

    def __init__(self, bench, server, tenant):
        self.outcomes = []
        target = Target(server.port, bench.model)
        self.task = asyncio.ensure_future(
            closed_loop(target, [Backlog(tenant, UNIQUE, 12)], bench.flood_most_s, bench.next_seed(), self.outcomes))

    def num_computed(self):
        return sum(outcome.prompt_tokens - outcome.cached_tokens for outcome in self.outcomes if outcome.is_answered)

    async def stop(self):
        self.task.cancel()
        await asyncio.wait([self.task])
        await asyncio.sleep(0.5)  # the server notices that its clients are gone


class Talks:
    """Conversations under one system message, a few at a time, each turn with all turns before it."""

    def __init__(self, bench, target, tenant):
        self.target = target
        self.tenant = tenant
        self.draw = random.Random(bench.next_seed())
        self.system = words(self.draw, 120)

    async def pause(self, flood, until):
        """Until the flood has had the time to take every block."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0.2)
        if flood is not None:
            enough = flood.num_computed() + TURNOVER
            while flood.num_computed() < enough and loop.time() < until:
                await asyncio.sleep(0.1)

    async def talk(self, until, outcomes, flood):
        loop = asyncio.get_running_loop()
        is_over = lambda: loop.time() >= until or (flood is not None and len(outcomes) >= MOST_ANSWERS)
        while not is_over():
            messages = [{"role": "system", "content": self.system}]
            for _ in range(NUM_TURNS):
                await self.pause(flood, until)
                if is_over():
                    return
                messages.append({"role": "user", "content": words(self.draw, 12)})
                outcome = Outcome(self.tenant.name)
                outcomes.append(outcome)
                await self.target.client.ask(self.target.request(self.tenant, messages, 4), outcome)
                messages.append({"role": "assistant", "content": words(self.draw, 6)})

    async def run(self, seconds, flood=None):
        loop = asyncio.get_running_loop()
        phase = Phase(loop.time(), loop.time() + seconds, [], [])
        async with generating(phase.lag_s):
            tasks = [asyncio.ensure_future(self.talk(phase.end, phase.outcomes, flood)) for _ in range(NUM_TALKS)]
            await asyncio.wait(tasks, timeout=seconds + 3)
            await give_up(tasks)
        return phase


async def measure(bench, server, talker, stranger):
    """Phases: quiet, beside another tenant's flood, and beside one of the tenant's own."""
    talks = Talks(bench, Target(server.port, bench.model), talker)
    await talks.run(bench.cache_warm_s)
    phases = [await talks.run(bench.cache_quiet_s)]
    for flooder in (stranger, talker):
        flood = Flood(bench, server, flooder)
        phases.append(await talks.run(bench.cache_s, flood))
        await flood.stop()
        await talks.run(bench.cache_warm_s)  # what is cached again is not counted
    return phases


async def cache(bench):
    """A tenant whose prompts repeat keeps its part of a small cache beside one whose prompts never do. The same flood from the
    tenant itself shows that there was something to lose."""
    result = Result("The cache beside a flood of new prompts")
    flags = ["--kv-memory-mb", KV_MB, "--max-batch-sequences", 3, *bench.flags]
    with House(bench.kvasir, bench.model, flags) as house:
        talker, stranger = house.tenant("talker", "one"), house.tenant("stranger", "one")
        with house.serving() as server:
            phases = await measure(bench, server, talker, stranger)
    ratios = [figures.cached_ratio(phase.outcomes) for phase in phases]
    counts = [sum(outcome.is_answered for outcome in phase.outcomes) for phase in phases]
    for phase in phases:
        result.saw(phase)
    names = ("quiet", "beside another tenant's flood", "beside a flood of its own")
    result.tables.append(Table(
        f"Conversations of {NUM_TURNS} turns under one system message, {KV_MB} MiB of KV",
        ["", "answers", "prompt tokens cached", "TTFT p50, ms"],
        [[name, str(count), percent(ratio), ms(figures.percentile([o.ttft_s for o in phase.outcomes], 0.5))]
         for name, count, ratio, phase in zip(names, counts, ratios, phases)]))
    what = "fall of the cached part beside another tenant's flood, points"
    if min(counts) < LEAST_ANSWERS:
        result.skip(what, f"too few answers ({min(counts)}): the flood is slow to take all blocks")
    elif ratios[0] - ratios[2] < LEAST_FALL:
        result.skip(what, f"no pressure: a flood of its own costs the tenant {100 * (ratios[0] - ratios[2]):.1f} points alone")
    else:
        result.at_most(what, 100 * (ratios[0] - ratios[1]), 10)
    return result
