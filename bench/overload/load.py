"""Load on one server: when requests are sent, what they ask, and how late the generator itself was."""

import asyncio
import contextlib
import dataclasses
import gc
import random
import typing

from . import figures
from .client import Client, chat_bytes
from .figures import Outcome

WORDS = ("time way year work day man world life hand part child eye woman place week case point home water room mother area money "
         "story fact month lot right study book word business issue side kind head house service friend father power hour game line "
         "end member law car city name team minute idea body back parent face others level office door health person art war "
         "history party result change morning reason research girl guy moment air teacher force education").split()


@dataclasses.dataclass(frozen=True)
class Shape:
    """Lengths of prompts, in words, and of answers, in tokens. A spread of 0: all alike."""

    prompt: int = 40
    answer: int = 12
    spread: float = 0.5
    most_prompt: int = 160
    most_answer: int = 32
    system: str = ""

    def draw(self, draw: random.Random):
        return (figures.lognormal_length(draw, self.prompt, self.spread, 4, self.most_prompt),
                figures.lognormal_length(draw, self.answer, self.spread, 4, self.most_answer))


@dataclasses.dataclass(frozen=True)
class Tenant:
    name: str
    key: str


def words(draw: random.Random, count):
    """A text that differs from every other from its first word on."""
    return " ".join([str(draw.randrange(10**6)), *draw.choices(WORDS, k=max(0, count - 4))])


class Target:
    """A server, and the model that is asked."""

    def __init__(self, port, model, *, wants_receipt=False):
        self.client = Client(port)
        self.port = port
        self.model = model
        self.wants_receipt = wants_receipt

    def request(self, tenant, messages, answer):
        body = {"model": self.model, "messages": messages, "stream": True, "stream_options": {"include_usage": True},
                "max_tokens": answer, "ignore_eos": True, "temperature": 0}
        if self.wants_receipt:
            body["kvasir"] = {"receipt": True}
        return chat_bytes(self.port, tenant.key, body)

    def drawn(self, tenant, shape, draw):
        prompt, answer = shape.draw(draw)
        system = [{"role": "system", "content": shape.system}] if shape.system else []
        return self.request(tenant, [*system, {"role": "user", "content": words(draw, prompt)}], answer)


@dataclasses.dataclass
class Phase:
    """What came of one stretch of load. `outcomes` has those that were given up at its end too."""

    begin: float
    end: float
    outcomes: list
    lag_s: list  # how late the generator's own timer was, over and over

    def of(self, tenant):
        return [outcome for outcome in self.outcomes if outcome.tenant == tenant.name]

    @property
    def seconds(self):
        return self.end - self.begin


class Source(typing.NamedTuple):
    """Requests of one tenant at given times, whether or not the server keeps up."""

    tenant: Tenant
    shape: Shape
    arrivals: list
    is_awaited: bool = True  # False: those that run at the phase's end are given up


class Patience(typing.NamedTuple):
    """How long requests may go on after a phase: until the first token, and then until the last one."""

    first_s: float
    rest_s: float


class Backlog(typing.NamedTuple):
    """So many requests of one tenant at any time: the next one follows when one has ended."""

    tenant: Tenant
    shape: Shape
    outstanding: int


async def watch_lag(lags):
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + 0.005
        await asyncio.sleep(0.005)
        lags.append(max(0.0, loop.time() - due))


@contextlib.asynccontextmanager
async def generating(lags):
    """Collects no garbage meanwhile, and notes how late the loop is."""
    gc.collect()
    gc.disable()
    watching = asyncio.ensure_future(watch_lag(lags))
    try:
        yield
    finally:
        watching.cancel()
        gc.enable()


async def give_up(tasks):
    tasks = [task for task in tasks if not task.done()]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
        await asyncio.sleep(0.3)  # the server notices that their clients are gone


async def settle(asked, patience):
    """Lets requests, as (task, outcome), end in their time, and gives up those that do not."""
    if asked:
        await asyncio.wait([task for task, _ in asked], timeout=patience.first_s)
        begun = [task for task, outcome in asked if outcome.tokens]
        await give_up([task for task, outcome in asked if not outcome.tokens])
        if begun:
            await asyncio.wait(begun, timeout=patience.rest_s)
    await give_up([task for task, _ in asked])


async def open_loop(target, sources, seconds, seed, patience):
    """Sends each source's requests at their times. Bodies are made beforehand."""
    loop = asyncio.get_running_loop()
    draw = random.Random(seed)
    plan = sorted(((at, source, target.drawn(source.tenant, source.shape, draw)) for source in sources for at in source.arrivals),
                  key=lambda entry: entry[0])
    phase = Phase(0, 0, [], [])
    awaited, others = [], []
    async with generating(phase.lag_s):
        phase.begin = loop.time()
        for at, source, data in plan:
            pause = phase.begin + at - loop.time()
            if pause > 0:
                await asyncio.sleep(pause)
            phase.lag_s.append(max(0.0, loop.time() - phase.begin - at))
            outcome = Outcome(source.tenant.name)
            phase.outcomes.append(outcome)
            task = asyncio.ensure_future(target.client.ask(data, outcome))
            (awaited if source.is_awaited else others).append((task, outcome))
        await asyncio.sleep(max(0, phase.begin + seconds - loop.time()))
        phase.end = loop.time()
        await settle(awaited, patience)
        await give_up([task for task, _ in others])
    return phase


async def keep_asking(target, backlog, draw, until, outcomes):
    loop = asyncio.get_running_loop()
    while loop.time() < until:
        outcome = Outcome(backlog.tenant.name)
        outcomes.append(outcome)
        await target.client.ask(target.drawn(backlog.tenant, backlog.shape, draw), outcome)
        if outcome.status != 200:
            await asyncio.sleep(0.05)  # refused: not a busy loop


async def closed_loop(target, backlogs, seconds, seed, outcomes=None):
    """Keeps each backlog for so long, then gives up what runs. `outcomes`: a list that is filled meanwhile."""
    loop = asyncio.get_running_loop()
    phase = Phase(0, 0, [] if outcomes is None else outcomes, [])
    async with generating(phase.lag_s):
        phase.begin = loop.time()
        until = phase.begin + seconds
        tasks = []
        for backlog in backlogs:
            for i in range(backlog.outstanding):
                draw = random.Random(f"{seed} {backlog.tenant.name} {i}")
                tasks.append(asyncio.ensure_future(keep_asking(target, backlog, draw, until, phase.outcomes)))
        try:
            await asyncio.sleep(seconds)
        finally:  # whoever cancels it ends its requests too
            phase.end = loop.time()
            await give_up(tasks)
    return phase
