"""Real servers under more load than they can take, each scenario against its bounds: goodput, a neighbour's flood, shares, predicted
first tokens, the cache, and what the checks cost.

`overload.py --kvasir BINARY [--only NAME,...] [--quick]`. Everything stays on this machine and ends within about five minutes; only
processes that it started are ended. It prints tables and writes a page with plots.
"""

import argparse
import asyncio
import datetime
import os
import pathlib
import resource
import sys
import time

from overload import cached, checks, neighbours, rates
from overload.load import Target
from overload.page import page
from overload.results import as_text, exit_status, print_result, summary

SCENARIOS = {"overload": rates.overload, "flood": neighbours.flood, "shares": neighbours.fairness, "prediction": rates.prediction,
             "cache": cached.cache, "checks": checks.cost}
WARN_LAG_S = 0.005


class Bench:
    """What scenarios share: the binary, how long each part is, and the rate that the first one found."""

    def __init__(self, options):
        self.kvasir = options.kvasir
        self.model = options.model
        self.flags = options.serve_flags.split()
        if "--compute-threads" not in self.flags:
            # A core stays free for the clients, who would be on other machines.
            self.flags += ["--compute-threads", str(max(1, (os.cpu_count() or 1) - 1))]
        self.rate = options.rate
        self.slo = None
        self.first_rate = 4.0
        self.seed = options.seed
        quick = options.quick
        self.factors = (1, 2, 3) if quick else (0.5, 1, 1.5, 2, 3)
        self.num_probes, self.probe_s, self.phase_s = (4, 2, 3) if quick else (7, 4, 10)
        self.quiet_s, self.flood_s = (4, 8) if quick else (9, 16)
        self.share_warm_s, self.share_s = (1, 5) if quick else (2, 18)
        self.prediction_s = 4 if quick else 18
        self.cache_warm_s, self.cache_quiet_s, self.cache_s = (1, 2, 8) if quick else (2, 5, 40)
        self.flood_most_s = 60

    def next_seed(self):
        self.seed += 1
        return self.seed

    def say(self, text):
        print(f"   {text}", file=sys.stderr, flush=True)

    async def ensure_rate(self, server, tenant):
        """Where no scenario before has found the sustained rate, probes find it now."""
        self.slo = self.slo or server.slo()
        if not self.rate:
            self.rate = await rates.find_rate(self, Target(server.port, self.model), tenant, self.slo)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kvasir", required=True, help="the kvasir binary")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--only", default="", help=f"some of {', '.join(SCENARIOS)}")
    parser.add_argument("--quick", action="store_true", help="about 90 s, with figures that say less")
    parser.add_argument("--rate", type=float, default=0, help="requests/s that are sustained, instead of probes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--serve-flags", default="", help="more flags for all servers, in one string")
    parser.add_argument("--page", type=pathlib.Path, default=pathlib.Path("build/bench/overload.html"))
    return parser.parse_args()


def about(options, results, seconds):
    load = os.getloadavg()
    return [f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores, load average {load[0]:.1f} at the end, "
            f"{options.model}{', quick' if options.quick else ''}, {seconds:.0f} s in all.",
            f"The load generator was late by at most {1000 * max((r.most_lag_s for r in results), default=0):.1f} ms."]


def main():
    options = arguments()
    names = options.only.split(",") if options.only else list(SCENARIOS)
    unknown = set(names) - set(SCENARIOS)
    if unknown:
        sys.exit(f"overload: no scenario {', '.join(sorted(unknown))}")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    bench, results, begin = Bench(options), [], time.monotonic()
    for name in names:
        print(f"overload: {name}", file=sys.stderr, flush=True)
        started = time.monotonic()
        result = asyncio.run(SCENARIOS[name](bench))
        result.seconds = time.monotonic() - started
        if result.most_lag_s > WARN_LAG_S:
            result.notes.append(f"the load generator was late by up to {1000 * result.most_lag_s:.1f} ms: times may be too long by as much")
        print_result(result)
        results.append(result)
    lines = about(options, results, time.monotonic() - begin)
    print("\n" + as_text(summary(results)) + "\n" + "\n".join(lines))
    options.page.parent.mkdir(parents=True, exist_ok=True)
    options.page.write_text(page(results, lines))
    print(f"The page is {options.page}.")
    return exit_status(results, is_quick=options.quick)


if __name__ == "__main__":
    sys.exit(main())
